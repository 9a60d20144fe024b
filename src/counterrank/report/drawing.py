"""What every figure is drawn with: scales, ticks, and the one mark of an estimate, as SVG.

Positions across are per cent where nothing says how wide a figure is, so that a page need not
measure or redraw, and pixels in a picture, which other programs read too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from counterrank.core.format import shorten
from counterrank.documents.requirements import Ends
from counterrank.report.html import DASH, text

MINUS = "\u2212"
Say = Callable[[float | None], str]  # a number in words


@dataclass(frozen=True)
class Scale:
    """Numbers from ``low`` to ``high`` across a figure ``width`` pixels wide, or all of it."""

    low: float
    high: float
    width: float | None = None
    percent: bool = False

    @classmethod
    def over(
        cls, values: Iterable[float], width: float | None = None, *, percent: bool = False
    ) -> Scale:
        """A scale that holds all values, with some room at both ends."""
        known = [v for v in values if math.isfinite(v)] or [0.0, 1.0]
        low, high = min(known), max(known)
        room = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
        return cls(low - room, high + room, width, percent)

    def on(self, width: float | None) -> Scale:
        """The same numbers on another width."""
        return Scale(self.low, self.high, width, self.percent)

    def share(self, value: float) -> float:
        """Where a number lies, from 0 to 1; what lies outside is at the edge."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def holds(self, value: float) -> bool:
        """Whether a number is on the scale."""
        return self.low <= value <= self.high

    def x(self, value: float) -> str:
        """Where a number lies, as SVG writes it."""
        return length(self.share(value), self.width)

    def between(self, low: float, high: float) -> str:
        """How wide the stretch between two numbers is."""
        return length(max(self.share(high) - self.share(low), 0.0), self.width)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers on the scale."""
        step = round_step((self.high - self.low) / most)
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step) + 1)]

    def label(self, tick: float, *, sign: bool = False) -> str:
        """A tick in words."""
        step = round_step((self.high - self.low) / 6)
        size = 100 if self.percent else 1
        places = max(0, -math.floor(math.log10(step * size) + 1e-9))
        return said(tick * size, places, sign=sign) + "%" * self.percent


def length(share: float, width: float | None) -> str:
    """A share of the width, as SVG writes it."""
    return f"{share * 100:.2f}%" if width is None else f"{share * width:.1f}"


def round_step(least: float) -> float:
    """The next of 1, 2, 5, 10, ... that is no smaller."""
    if not least > 0 or not math.isfinite(least):
        return 1.0
    power: float = 10.0 ** math.floor(math.log10(least))
    return next(power * by for by in (1, 2, 5, 10) if power * by >= least * (1 - 1e-9))


def said(value: float | None, places: int = 1, *, sign: bool = False) -> str:
    """A number as people read it: thousands apart, a real minus, nothing that is minus zero."""
    if value is None or not math.isfinite(value):
        return DASH
    shown = f"{abs(value):,.{places}f}"
    if not shown.strip("0.,"):
        return shown
    return (MINUS if value < 0 else "+" * sign) + shown


def as_percent(share: float | None, *, sign: bool = True) -> str:
    """A share in per cent; beyond a thousand without decimals."""
    if share is None or not math.isfinite(share):
        return DASH
    return said(100 * share, 1 if abs(share) < 10 else 0, sign=sign) + "%"


def day_words(day: date) -> str:
    """A day as people read it."""
    return f"{day.day} {day:%b %Y}"


def ends_words(ends: Ends | None, say: Say) -> str:
    """Both ends of an interval in words."""
    low, high = ends or (None, None)
    return f"{say(low)} to {say(high)}"


@dataclass(frozen=True)
class Span:
    """An estimate: its core, if the assumptions hold, and its wings, for what is not ruled out.

    ``claim`` is what is shown (better, worse, cannot_tell); ``clear``, whether the core alone is.
    """

    value: float
    core: Ends | None = None
    wings: Ends | None = None
    claim: str = "cannot_tell"
    clear: str = ""

    @property
    def ends(self) -> list[float]:
        """All ends that are known, and the value."""
        every = (self.value, *(self.core or ()), *(self.wings or ()))
        return [x for x in every if math.isfinite(x)]

    @property
    def look(self) -> str:
        """Classes: which way the core points, and whether the wings do too."""
        held = self.claim in ("better", "worse")
        return f"{self.claim} held" if held else self.clear


def mark(span: Span, scale: Scale, middle: float, size: float = 12) -> str:
    """The mark: pale wings, a solid core, a tick at the estimate, at a height of ``middle``.

    Wings that leave the scale end at its edge with a small arrow.
    """
    if not math.isfinite(span.value):
        return ""
    top, drawn = middle - size / 2, []
    if span.wings:
        drawn.append(_bar("w", span.wings, scale, top + 0.5, size - 1))
        drawn += [
            f'<text class="b" x="{scale.x(end)}" y="{middle + 4:g}" text-anchor="{side}">{sign}'
            "</text>"
            for end, side, sign in zip(span.wings, ("start", "end"), "\u2039\u203a", strict=True)
            if not scale.holds(end)
        ]
    if span.core:
        drawn.append(_bar("n", span.core, scale, top, size))
    drawn.append(
        f'<rect class="pt" x="{scale.x(span.value)}" y="{top - 3:g}" width="2"'
        f' height="{size + 6:g}" transform="translate(-1)"/>'
    )
    return f'<g class="{span.look}">{"".join(drawn)}</g>'


def _bar(look: str, ends: Ends, scale: Scale, top: float, tall: float) -> str:
    return (
        f'<rect class="{look}" x="{scale.x(ends[0])}" y="{top:g}" width="{scale.between(*ends)}"'
        f' height="{tall:g}"/>'
    )


def grid_lines(scale: Scale, ticks: Sequence[float], top: float, foot: float) -> str:
    """A thin line at every tick, a dark one at nothing."""
    return "".join(
        f'<line class="{"zero" if tick == 0 else "rule"}" x1="{scale.x(tick)}"'
        f' x2="{scale.x(tick)}" y1="{top:g}" y2="{foot:g}"/>'
        for tick in ticks
    )


def tick_labels(scale: Scale, ticks: Sequence[float], y: float, *, sign: bool = False) -> str:
    """Words of ticks; those at the edges stay inside."""
    return "".join(
        put_text(scale.x(t), y, scale.label(t, sign=sign), side(scale.share(t)), "b" * (t == 0))
        for t in ticks
    )


def side(share: float) -> str:
    """Which part of a word stands at its place, so that it stays inside the figure."""
    return "start" if share < 0.04 else "end" if share > 0.96 else "middle"


def put_text(x: str, y: float, words: str, anchor: str = "start", look: str = "") -> str:
    """Words in a figure."""
    kind = f' class="{look}"' if look else ""
    end = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x}" y="{y:g}"{end}{kind}>{text(words)}</text>'


def short_text(x: str, y: float, words: object, most: int, look: str = "", end: str = "") -> str:
    """A name in a figure, cut in its middle; the whole of it is its title."""
    whole = str(words)
    cut = text(shorten(whole, most))
    title = f"<title>{text(shorten(whole, 300))}</title>" if len(whole) > most else ""
    anchor = f' text-anchor="{end}"' if end else ""
    return f'<text class="{look}" x="{x}" y="{y:g}"{anchor}>{cut}{title}</text>'


def picture(inner: str, height: float, label: str = "") -> str:
    """One SVG of the page, told to those who do not see it unless it has no label."""
    told = f'role="img" aria-label="{text(label)}"' if label else 'aria-hidden="true"'
    return f'<svg class="fig" width="100%" height="{height:g}" {told}>{inner}</svg>'


def axis(scale: Scale, ticks: Sequence[float]) -> str:
    """The ticks of a column of marks, for the head of its table."""
    return picture(tick_labels(scale, ticks, 12, sign=True), 16)


def grid_style(scale: Scale, ticks: Sequence[float], kind: str = "") -> str:
    """A grid behind the cells of a table, so that the line at nothing runs through all rows."""
    lines = sorted(ticks, key=lambda tick: tick != 0)
    inks = ("ink" if tick == 0 else "rule" for tick in lines)
    shades = ",".join(f"linear-gradient(var(--{ink}),var(--{ink}))" for ink in inks)
    return f"--g{kind}:{shades};--p{kind}:{','.join(f'{scale.x(tick)} 0' for tick in lines)}"
