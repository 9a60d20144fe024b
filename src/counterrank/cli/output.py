"""A result on standard output: a table, one JSON document, or CSV."""

from __future__ import annotations

import csv
import math
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from counterrank.core.format import wrap_text
from counterrank.documents.decision import decide

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
    document = result.to_dict()
    some = ("exposure", "reward", "method")  # what only some verbs tell apart
    has = {name for name in some if any(name in row for row in document["estimates"])}
    names = [name for name in CSV if name in has or name not in some]
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in document["estimates"]:
        writer.writerow({"kind": "estimate", **row})
    for row in document["comparisons"]:
        writer.writerow({"kind": "comparison", **row, "value": row["difference"]})


LEAST, MOST = 12, 32  # characters of a bar
LEFT, RIGHT, LINE, POINT, ZERO, TRUTH = "├", "┤", "─", "●", "┊", "◆"
PLAIN = str.maketrans({"├": "|", "┤": "|", "─": "-", "●": "o", "┊": ":", "◆": "*", "…": "~"})

Ends = tuple[float, float, float]  # low, value, high


def plain(text: str, encoding: str | None) -> str:
    """The text in signs that the stream can write: a sign for a sign, so columns stay."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.translate(PLAIN)
    return text


def beside(lines: list[str], ends: Sequence[Ends | None], wide: int, *, zero: str) -> list[str]:
    """The last lines with a bar behind each, where there is room for bars; otherwise as they are.

    ``zero`` (yes, no) says whether the scale holds 0 and shows it.
    """
    text = lines[len(lines) - len(ends) :]
    room = wide - 2 - max(map(len, text), default=0)
    drawn = bars(ends, min(room, MOST), marks=[0.0] * len(ends) if zero == "yes" else None)
    if room < LEAST or not any(drawn):
        return lines
    left = max(map(len, text))
    rows = [f"{row:<{left}}  {bar}".rstrip() for row, bar in zip(text, drawn, strict=True)]
    return lines[: len(lines) - len(ends)] + rows


def bars(
    ends: Sequence[Ends | None],
    width: int,
    *,
    marks: Sequence[float | None] | None = None,
    sign: str = ZERO,
) -> list[str]:
    """One bar for each interval, ``width`` wide, with ``sign`` at its mark; blank without ends."""
    at = marks or [None] * len(ends)
    shown = [e if e is not None and all(map(math.isfinite, e)) else None for e in ends]
    known = [x for e, m in zip(shown, at, strict=True) if e for x in (*e, m) if x is not None]
    if not known or width < 1:
        return [""] * len(ends)
    least, most = min(known), max(known)

    def place(x: float) -> int:
        return round((x - least) / (most - least) * (width - 1)) if most > least else 0

    out = []
    for e, mark in zip(shown, at, strict=True):
        line = [" "] * width
        if e is not None:
            low, value, high = map(place, e)
            line[low : high + 1] = [LINE] * (high + 1 - low)
            line[low], line[high] = LEFT, RIGHT
            line[value] = POINT
            if mark is not None and (sign != ZERO or line[place(mark)] in (" ", LINE)):
                line[place(mark)] = sign
        out.append("".join(line).rstrip())
    return out


# fmt: off
COUNTS = (
    "duplicates", "sample size", "effective sample size", "rank sample", "rows per item", "events",
    "Simpson's paradox", "conversions", "effective slates", "empty strata", "experiments",
    "systems", "users in stratum", "users", "constant user features", "constant item features",
    "predictions",
)
# fmt: on
DECIMAL = (
    "list length",
    "mean weight",
    "weight tail",
    "click above",
    "random ranks",
    "doubly robust",
)  # fmt: skip


def grounds(found: list[Diagnosis], wide: int) -> list[str]:
    """Failures first, then cautions, each once for all systems it holds for."""
    order = {"fail": 0, "caution": 1}
    loud = sorted((d for d in found if d.verdict in order), key=lambda d: order[d.verdict])
    lines = ["What this rests on"]
    told: dict[tuple[str, str, str], list[str]] = {}
    for d in loud:
        told.setdefault((d.verdict, d.name, d.meaning), []).append(d.subject)
    for (verdict, name, meaning), subjects in told.items():
        who = subjects[0] if len(subjects) == 1 else f"{len(subjects)} systems"
        lines += wrap_text(f"{verdict:<8} {name}, {who}: {meaning}", wide, " " * 9)
    quiet = sorted((d for d in found if d.verdict == "pass"), key=lambda d: found.index(d))
    names = list(dict.fromkeys(d.name for d in quiet))
    short = [_short(name, [d.value for d in quiet if d.name == name]) for name in names]
    if short:
        lines += wrap_text(f"{'pass':<8} {', '.join(short)}.", wide, " " * 9)
    return lines


def verdict(document: Mapping[str, Any], wide: int) -> list[str]:
    """The decision the result speaks for, as the last lines; nothing if there is none to take."""
    found = decide(document)
    if found.verdict == "read":
        return []
    return ["", *wrap_text(f"Verdict: {found.verdict}. {found.sentence}", wide, "  ")]


def _short(name: str, values: list[float]) -> str:
    """A name with its value, or the range over systems."""
    style = "{:,.0f}" if name in COUNTS else "{:.2f}" if name in DECIMAL else "{:.1%}"
    ends = [style.format(min(values)), style.format(max(values))]
    if name == "weight tail" and max(values) == -math.inf:
        return "weights without a tail"
    if name == "agreement":
        return "DCG and nDCG in the same order"
    return f"{name} {' to '.join(key for key, _ in groupby(ends))}"
