"""The page of coverage has the table of every simulation that makes one, and no other."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_has_every_table_and_the_commit_that_made_it():
    spec = importlib.util.spec_from_file_location("table", ROOT / "tests/simulation/table.py")
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    page = table.tables_of(ROOT / "docs" / "coverage.md")
    assert list(page) == list(table.simulations().values())
    for title, text in page.items():
        assert re.search(r"\nMade at commit `[0-9a-f]{9,}`\.\n$", text), title
