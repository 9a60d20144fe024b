"""The README shows what the demo prints, and what it points to is there, once."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_demo_prints_what_the_readme_shows(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    import demo_block

    monkeypatch.delitem(sys.modules, "demo_block")
    assert demo_block.shown() == demo_block.printed(), (
        "python docs/_ext/demo_block.py writes it anew"
    )


def test_no_row_twice():
    rows = [line for line in README.splitlines() if line.startswith("| ")]
    links = re.findall(r"^\|.*?\]\(([^)]+)\)", README, re.MULTILINE)
    for counted in (Counter(rows), Counter(links)):
        assert not [what for what, times in counted.items() if times > 1]


def test_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
    assert len(targets) > 20
    assert not [t for t in targets if not (ROOT / t).exists()]


def test_every_guide_is_in_the_table():
    listed = set(re.findall(r"docs/guide/([\w-]+)\.md", README))
    assert listed == {path.stem for path in (ROOT / "docs" / "guide").glob("*.md")}
