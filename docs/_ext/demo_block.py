"""The demonstration's output in the README: printed by the demo, never by hand.

``python docs/_ext/demo_block.py`` writes it anew; a test of the README holds it to the demo.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=<!-- printed by counterrank demo -->\n```\n).*?(?=^```$)", re.S | re.M)
FIRST, LAST = "Seconds watched per session", "The same by hand"


def printed() -> str:
    """What the demo prints at 80 columns, from its table to the truth."""
    source = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "COLUMNS": "80", "PYTHONPATH": source}
    words = [sys.executable, "-m", "counterrank", "demo", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            words, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=True
        )
    text = done.stdout
    return text[text.index(FIRST) : text.index(LAST)].rstrip() + "\n"


def shown() -> str:
    """What the README shows."""
    (block,) = BLOCK.findall(README.read_text(encoding="utf-8"))
    return str(block)


if __name__ == "__main__":
    text = printed()
    README.write_text(
        BLOCK.sub(lambda _: text, README.read_text(encoding="utf-8")), encoding="utf-8"
    )
