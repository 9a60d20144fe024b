"""Size of the page of so many rankers in ten measures, how long it takes to make, and to open.

As JSON. Opening is a whole headless Chromium that loads the page and prints its elements, less one
that loads nothing; the best of three.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

import counterrank as cr
from counterrank.report import page
from counterrank.simulate import judged_world

MEASURES = [f"{m}@{k}" for m in ("nDCG", "DCG", "P", "Recall", "AP") for k in (5, 10)]


def seconds_of(address: str) -> float:
    """A browser that loads it, from its start to its end."""
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", address]
    took = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run(words, capture_output=True, check=True)
        took.append(time.perf_counter() - began)
    return min(took)


def main() -> None:
    world, rows = judged_world(users=40), []
    runs = list(world.runs.values())
    for systems in (5, 100):
        named = {f"system {n}": runs[n % len(runs)] for n in range(systems)}
        asked = {"measure": MEASURES, "baseline": "system 0", "test": "t"}
        document = cr.evaluate(world.judgments, named, **asked).to_dict()
        began = time.perf_counter()
        written = page([document]).encode()
        row = {"rankers": systems, "megabytes": len(written) / 1e6}
        row["seconds"] = time.perf_counter() - began
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "page.html")
            file.write_bytes(written)
            row["opens"] = seconds_of(file.as_uri()) - seconds_of("about:blank")
        rows.append(row)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
