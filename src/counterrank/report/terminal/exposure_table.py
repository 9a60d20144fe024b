"""The curve of a learned position model: a line per rank, with a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterrank.core.format import decimals, interval_text, number, wrap_text

if TYPE_CHECKING:
    from counterrank.position.learn.curve import Parameter
    from counterrank.position.learn.learned import Learned, RankRow
    from counterrank.results.result import Result

BAR = 30


def exposure_lines(result: Result, wide: int) -> list[str]:
    """A block per context: rank, value, interval, bar; then the model and how to read it."""
    learned: Learned = result.learned
    asked = learned.request
    lines: list[str] = []
    for value, part in list(learned.parts.items()) or learned.curves():
        head = f"Exposure by rank, {asked.method}, {part.basis.sessions:,} sessions"
        lines += wrap_text(f"{head}, {asked.by} {value}" if value else head, wide, "  ")
        lines += _block(part.rows(asked), fitted=asked.model != "table")
        shown = ", ".join(map(_parameter, part.parameters))
        lines += wrap_text(f"{asked.model}: {shown}", wide, "  ") if shown else []
        lines.append("")
    scale = "shares of rank 1" if learned.whole.curve.relative else "chances of being seen"
    text = (
        f"Values are {scale}. [..]: {asked.level:.0%} interval by the delta method, clustered by"
        f" {learned.whole.basis.by}, each rank by itself."
    )
    return [*lines, *wrap_text(text, wide)]


def _parameter(p: Parameter) -> str:
    places = decimals([p.se])
    return f"{p.name} {number(p.value, places)} {interval_text(p.low, p.high, places)}"


def _block(rows: list[RankRow], *, fitted: bool) -> list[str]:
    """One line per rank; ``|`` marks the fitted curve on the bar."""
    places = decimals(row.se for row in rows)
    top = max(max(row.value, row.model) for row in rows) or 1.0
    out = []
    for row in rows:
        bar = "#" * round(BAR * row.value / top)
        if fitted:
            at = round(BAR * row.model / top)
            bar = f"{bar:<{at + 1}}"
            bar = f"{bar[:at]}|{bar[at + 1 :]}"
        ends = interval_text(row.low, row.high, places)
        out.append(f"{row.rank:>5}  {number(row.value, places)}  {ends}  {bar}".rstrip())
    return out
