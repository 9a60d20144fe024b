"""A result on standard output: a table, one JSON document, or CSV."""

from __future__ import annotations

import csv
import shutil
import sys
from typing import TYPE_CHECKING

from counterrank.cli.grounds import grounds
from counterrank.cli.table import table

if TYPE_CHECKING:
    from counterrank.evaluation import Evaluation

# fmt: off
CSV = (
    "kind", "measure", "system", "baseline", "value", "se", "low", "high", "lift", "p",
    "p_corrected", "detectable", "units",
)
# fmt: on


def show(result: Evaluation, format: str) -> None:
    """Print the whole result."""
    if format == "json":
        print(result.to_json())
    elif format == "csv":
        _csv(result)
    else:
        wide = shutil.get_terminal_size().columns
        say([*table(result, wide), "", *grounds(result.diagnoses, wide)])


def say(lines: list[str]) -> None:
    """Print lines as they are; on a terminal headings and verdicts stand out."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    styles = {"+ ": "green", "- ": "red", "fail ": "bold red", "caution ": "bold yellow"}
    for line in lines:
        text = Text(line)
        for begin, style in styles.items():
            if line.startswith(begin):
                text.stylize(style, 0, len(begin))
        if " users" in line and not line.startswith(" ") and ", " in line:
            text.stylize("bold")
        console.print(text)


def _csv(result: Evaluation) -> None:
    """One row per estimate and per comparison; the value of a comparison is the difference."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(CSV)
    for e in result.estimates:
        own = (e.value, e.se, e.low, e.high, "", "", "", "", e.units)
        writer.writerow(("estimate", e.measure, e.system, "", *own))
    for c in result.comparisons:
        cells = (c.difference, c.se, c.low, c.high, c.lift, c.p, c.p_corrected, c.detectable)
        writer.writerow(("comparison", c.measure, c.system, c.baseline, *cells, c.units))
