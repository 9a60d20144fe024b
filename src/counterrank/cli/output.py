"""A result on standard output: a table, one JSON document, or CSV."""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from counterrank.cli.bars import plain
from counterrank.cli.grounds import grounds, verdict

if TYPE_CHECKING:
    from counterrank.diagnostics.diagnosis import Diagnosis

# fmt: off
CSV = (
    "kind", "measure", "exposure", "reward", "method", "system", "baseline", "value", "se", "low",
    "high", "lift", "p", "p_corrected", "detectable", "units",
)
# fmt: on


class Result(Protocol):
    """What every verb's result can do."""

    @property
    def estimates(self) -> Sequence[Any]:
        """Rows of values."""

    @property
    def comparisons(self) -> Sequence[Any]:
        """Rows of differences."""

    @property
    def diagnoses(self) -> list[Diagnosis]:
        """What the numbers rest on."""

    def to_dict(self) -> dict[str, Any]:
        """The whole document."""

    def to_json(self) -> str:
        """The same as text."""


R = TypeVar("R", bound=Result)


def show(result: R, format: str, table: Callable[[R, int], list[str]]) -> None:
    """Print the whole result; ``table`` lays it out for people."""
    if format == "json":
        print(result.to_json())
    elif format == "csv":
        _csv(result)
    else:
        wide = shutil.get_terminal_size().columns
        rests = grounds(result.diagnoses, wide)
        say([*table(result, wide), "", *rests, *verdict(result.to_dict(), wide)])


def say(lines: list[str]) -> None:
    """Print lines as they are; on a terminal headings and verdicts stand out."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    styles = {"+ ": "green", "- ": "red", "fail ": "bold red", "caution ": "bold yellow"}
    styles["Verdict: "] = "bold"
    for line in (plain(line, sys.stdout.encoding) for line in lines):
        text = Text(line)
        for begin, style in styles.items():
            if line.startswith(begin):
                text.stylize(style, 0, len(begin))
        if " users" in line and not line.startswith(" ") and ", " in line:
            text.stylize("bold")
        console.print(text)


def _csv(result: Result) -> None:
    """One row per estimate and per comparison; the value of a comparison is the difference."""
    some = ("exposure", "reward", "method")  # what only some verbs tell apart
    estimates, comparisons = (_rows(result, name) for name in ("estimates", "comparisons"))
    has = {name for name in some if any(name in row for row in estimates)}
    names = [name for name in CSV if name in has or name not in some]
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in estimates:
        writer.writerow({"kind": "estimate", **row})
    for row in comparisons:
        writer.writerow({"kind": "comparison", **row, "value": row["difference"]})


def _rows(result: Any, name: str) -> list[dict[str, Any]]:
    """Rows by the names that documents have for them."""
    if hasattr(result, "rows"):
        rows: list[dict[str, Any]] = result.rows(name)
        return rows
    return [dict(vars(row)) for row in getattr(result, name)]
