"""The page of coverage has the table of every simulation that makes one, and no other.

What README and definitions say of coverage and of calibration is true of these pages.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def loaded():
    spec = importlib.util.spec_from_file_location("table", ROOT / "tests/simulation/table.py")
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    return table, table.tables_of(DOCS / "coverage.md")


def test_the_page_has_every_table_and_the_commit_that_made_it():
    table, page = loaded()
    assert list(page) == list(table.simulations().values())
    for title, text in page.items():
        assert re.search(r"\nMade at commit `[0-9a-f]{9,}`\.\n$", text), title


class Held(NamedTuple):
    """How often a condition's intervals held the truth, and how often it was said beforehand."""

    condition: str
    estimator: str
    value: float
    lift: float
    said: float

    @property
    def least(self):
        return min(self.value, self.lift)

    @property
    def picked(self):
        return re.search(r"looks best|the best, ", self.condition)

    @property
    def guessed(self):
        """By chances that are fitted where a liking is hidden, or counted by a power law."""
        return re.search(r"^hidden liking, .* fitted|with a power law|by published", self.condition)


def held(title=""):
    """The rows of the page's tables, or of one; what was not asked counts as kept."""
    found = []
    for name, text in loaded()[1].items():
        lines = [line.strip("| ").split(" | ") for line in text.splitlines() if "|" in line]
        heads = [] if not lines else [cell.strip() for cell in lines[0]]
        if title in name and "value covered" in heads:
            for line in lines[2:]:
                row = dict(zip(heads, map(str.strip, line), strict=True))
                kept = [float(row.get(f"{of} covered") or 0.95) for of in ("value", "lift")]
                own = row["condition"], row["estimator"]
                found.append(Held(*own, *kept, float(row.get("diagnosed", "1"))))
    assert found, title
    return found


def percent(pattern, text):
    """The numbers of a sentence, which may be broken into lines."""
    found = re.search(pattern.replace(" ", r"\s+"), text)
    assert found, pattern
    return [float(x) for x in found.groups()]


def cut(share):
    """A share as whole per cent, of which there are no more."""
    return int(100 * share + 1e-9)


def test_the_readme_says_what_the_page_of_coverage_has():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [row for row in held() if row.estimator != "DM" and not row.guessed]
    clipped = [row for row in rows if "clip" in row.estimator]
    plain = [row for row in rows if "clip" not in row.estimator and not row.picked]
    quiet = [row for row in plain if row.said < 0.5]
    low, high = percent(r"hold value and lift in (\d+) to (\d+) %", readme)
    assert low <= min(cut(row.least) for row in quiet)
    assert max(max(row.value, row.lift) for row in quiet) < (high + 0.5) / 100
    (least,) = percent(r"those of clipped weights in (\d+) % and more", readme)
    assert least == min(cut(row.least) for row in clipped)
    value, lift = percent(r"values down to (\d+) %, lifts to (\d+) %", readme)
    assert (value, lift) == (
        min(cut(row.value) for row in plain),
        min(cut(row.lift) for row in plain),
    )
    below, said = percent(r"held less than (\d+) %, .*? in at least (\d+) % of the logs", readme)
    poor = [row for row in plain if 100 * row.least < below]
    assert said == min(cut(row.said) for row in poor)
    guessed = [row for row in held() if row.guessed]
    most, said = percent(r"are held in (?:up to )?(\d+) % and pass in (\d+) %", readme)
    assert most == max(cut(row.value) for row in guessed)
    assert 100 - said == min(cut(row.said) for row in guessed)
    (best,) = percent(r"the one that looks best is held in (\d+) %", readme)
    assert best == min(cut(row.value) for row in rows if row.picked)


def test_the_definition_of_positions_says_what_the_page_has():
    text = (DOCS / "definitions" / "positions.md").read_text(encoding="utf-8")
    rows = held("position model was learned")
    told = percent(
        r"the value in ([\d.]+) to ([\d.]+) % and the lift in ([\d.]+) to ([\d.]+) %", text
    )
    values, lifts = ([100 * getattr(row, of) for row in rows] for of in ("value", "lift"))
    ends = (min(values), max(values), min(lifts), max(lifts))
    assert told == [round(x, 1) for x in ends]


def test_the_readme_has_the_main_rows_of_the_page_of_calibration():
    page = (DOCS / "calibration.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace(" %", "%")
    outside, better = "the truth lies outside the", "better is claimed of what is truly worse"
    shown = {name: name for name in (f"{outside} second interval, if pass", better)}
    shown[f"{outside} plain interval, if pass"] = f"{outside} plain interval, if pass"
    shown["... if caution"] = f"{outside} second interval, if caution"
    for here, there in shown.items():
        (told,) = re.findall(rf"^ *\| {re.escape(here)} \| (.*?) \| (.*?) \|$", readme, re.M)
        due = re.findall(rf"^\| {re.escape(there)} \| (.*?) \| (.*?) \|$", page, re.M)
        assert list(told) == [re.sub(r"%([],])", r"\1", f"{share} of {n}") for share, n in due]
    (logs,) = re.findall(r"This page is of ([\d,]+) logs", page)
    assert f"{logs} logs" in readme
    sound = re.findall(r"^\| clean, a week ahead \| 20,000 \| ([\d.]+)%", page, re.M)
    (told,) = re.findall(r"\| a sound log of 20,000 sessions passes \| (.*?) \|$", readme, re.M)
    assert re.findall(r"(\d+)% \[", told) == [f"{float(share):.0f}" for share in sound]
