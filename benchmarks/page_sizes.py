"""Size of the page of so many rankers in ten measures, how long it takes to make, and to open.

As JSON. Opening is what headless Chromium says of itself, from the call of the page to the end of
its load event; the best of three. A script that asks it for this is put into a copy of the page.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from pathlib import Path

import counterrank as cr
from counterrank.report import page
from counterrank.simulate import judged_world

MEASURES = [f"{m}@{k}" for m in ("nDCG", "DCG", "P", "Recall", "AP") for k in (5, 10)]


ASK = """<script>addEventListener("load", () => setTimeout(() => {
  document.documentElement.innerHTML = `<b>${performance.timing.loadEventEnd
    - performance.timing.navigationStart}</b>`;
}))</script>"""


def seconds_to_open(written: str) -> float:
    """As a browser tells it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        file.write_text(written.replace("</head>", f"{ASK}</head>", 1))
        words = ["chromium", "--headless", "--no-sandbox", "--dump-dom", file.as_uri()]
        said = [subprocess.run(words, capture_output=True, text=True).stdout for _ in range(3)]
    return min(float(re.search("<b>([0-9]+)</b>", one)[1]) for one in said) / 1000


def main() -> None:
    world, rows = judged_world(users=40), []
    runs = list(world.runs.values())
    for systems in (5, 100):
        named = {f"system {n}": runs[n % len(runs)] for n in range(systems)}
        asked = {"measure": MEASURES, "baseline": "system 0", "test": "t"}
        document = cr.evaluate(world.judgments, named, **asked).to_dict()
        began = time.perf_counter()
        written = page([document])
        row = {"rankers": systems, "megabytes": len(written.encode()) / 1e6}
        row["seconds"] = time.perf_counter() - began
        rows.append({**row, "opens": seconds_to_open(written)})
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
