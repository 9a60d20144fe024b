"""The shapes of figures, drawn: what `counterrank.report.charts` asks for becomes SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from counterrank.core.format import printable, shorten
from counterrank.documents.requirements import Ends
from counterrank.report.drawing import (
    Scale,
    Span,
    as_percent,
    grid_lines,
    length,
    mark,
    picture,
    put_text,
    said,
    short_text,
    tick_labels,
)
from counterrank.report.html import name as named
from counterrank.report.point_names import name_points

Row = Mapping[str, Any]
Rows = Sequence[Row]
KINDS = 6  # colours; dashes and shapes tell more apart, and go on where colours begin again
PLOT = 200  # pixels of the height of curves and of points
NAMED = 12  # points that have names
TICK = 34  # pixels of a word below a bar


@dataclass(frozen=True)
class Panel:
    """A part of a figure: ``draw`` makes it, so many pixels wide or as wide as the page."""

    title: str
    height: float
    draw: Callable[[float | None], str]

    def html(self, label: str) -> str:
        """As SVG of a page, under its title."""
        drawn = picture(self.draw(None), self.height, f"{label} {self.title}".strip())
        return f"<div><h4>{named(self.title)}</h4>{drawn}</div>" if self.title else drawn


def panels(chart: Mapping[str, Any], rows: Rows) -> list[Panel]:
    """What a figure shows."""
    asked = dict(chart)
    return SHAPES[asked.pop("shape")](rows, **asked)


def number_of(row: Row, key: str) -> float | None:
    """A number of a row, if there is one that can be drawn."""
    value = row.get(key) if key else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def ends_of(row: Row, keys: Sequence[str]) -> Ends | None:
    """An interval of a row, if both of its ends can be drawn."""
    found = numbers_of([row], *keys)
    return (found[0], found[1]) if len(found) == 2 else None


def numbers_of(rows: Rows, *keys: str) -> list[float]:
    """Every such number."""
    found = (number_of(row, key) for row in rows for key in keys)
    return [value for value in found if value is not None]


def draw_forest(
    rows: Rows, *, x: str, y: str, title: str, order: Sequence[str], ends: Sequence[str],
    wide: Sequence[str], claim: str, diamond: str, zero: bool, percent: bool,
) -> list[Panel]:  # fmt: skip
    """Marks below each other, each under its name and beside its numbers."""
    place = {label: n for n, label in enumerate(order)}
    shown = sorted(rows, key=lambda row: place.get(str(row[y]), len(place)))
    core = numbers_of(rows, x, diamond, *ends) + [0.0] * zero
    whole = Scale.over(cut_far(core, numbers_of(rows, *wide)), percent=percent)
    fine = figures_after(whole)

    def words(row: Row) -> str:
        say = partial(as_percent, sign=zero) if percent else partial(said, places=fine, sign=zero)
        parts = [say(number_of(row, x))]
        several = (ends_of(row, keys) for keys in (ends, wide))
        parts += [f"[{say(both[0])}, {say(both[1])}]" for both in several if both]
        if (true := number_of(row, diamond)) is not None:
            parts.append(f"◇ {say(true)}")
        return " ".join(parts[:3])

    def draw(width: float | None) -> str:
        scale, foot = whole.on(width), 22 + 40 * len(shown)
        drawn = [across(scale, foot, sign=zero)]
        for n, row in enumerate(shown):
            top = 22 + 40 * n
            value = number_of(row, x)
            look = str(row.get(claim, "")) if claim else ""
            span = Span(
                math.nan if value is None else value, ends_of(row, ends), ends_of(row, wide), look,
                str(row.get("clear", "")),
            )  # fmt: skip
            drawn.append(short_text("0", top + 13, row[y], 26, "b ha"))
            drawn.append(put_text(length(1, width), top + 13, words(row), "end", "ha"))
            drawn.append(mark(span, scale, top + 27, 10))
            if (true := number_of(row, diamond)) is not None:
                drawn.append(set_shape(scale.x(true), top + 27, DIAMOND, "dm"))
        return "".join([*drawn, put_text("0", foot + 14, title)])

    return [Panel("", 42 + 40 * len(shown), draw)]


def across(scale: Scale, foot: float, *, sign: bool = False) -> str:
    """Ticks on top and the lines below them."""
    ticks = scale.ticks()
    return grid_lines(scale, ticks, 20, foot) + tick_labels(scale, ticks, 13, sign=sign)


def cut_far(core: Sequence[float], wings: Sequence[float]) -> list[float]:
    """Ends to draw: wings may reach three times as far as the cores do, not further."""
    low, high = min(core, default=0.0), max(core, default=1.0)
    room = 3 * (high - low) or abs(high) or 1.0
    return [*core, *(min(max(end, low - room), high + room) for end in wings)]


def figures_after(scale: Scale) -> int:
    """Decimals that three digits of the scale's length need."""
    size = max(scale.high - scale.low, 1e-12)
    return min(max(2 - math.floor(math.log10(size)), 0), 6)


def draw_reach(rows: Rows, *, x: str, y: str, title: str, start: float, line: float) -> list[Panel]:
    """A stretch from the start to each row's number."""
    far = [v for v in numbers_of(rows, x) if v < 5 * line] or [line]
    whole = Scale(start, max(*far, line) + 0.1 * (max(*far, line) - start))

    def draw(width: float | None) -> str:
        scale, foot = whole.on(width), 22 + 40 * len(rows)
        drawn = [across(scale, foot)]
        drawn.append(
            f'<line class="zero" x1="{scale.x(line)}" x2="{scale.x(line)}" y1="20" y2="{foot}"/>'
        )
        for n, row in enumerate(rows):
            top, value = 22 + 40 * n, number_of(row, x)
            look = "ref" if value is None or value >= line else "bad"
            at = length(1, width) if value is None else scale.x(value)
            end = put_text(length(1, width), top + 13, beyond(value, whole), "end", "ha")
            drawn += [short_text("0", top + 13, row[y], 34, "b ha"), end]
            drawn.append(
                f'<g class="{look}"><line class="axis" x1="{scale.x(start)}" x2="{at}"'
                f' y1="{top + 27}" y2="{top + 27}" stroke-width="2"/>'
                f'<circle cx="{at}" cy="{top + 27}" r="5"/></g>'
            )
        return "".join([*drawn, put_text("0", foot + 14, title)])

    return [Panel("", 42 + 40 * len(rows), draw)]


def beyond(value: float | None, scale: Scale) -> str:
    """A number, or that nothing within reach is."""
    if value is None:
        return "none found"
    return said(value, 2) if value <= scale.high else f"{said(value, 1)} \u203a"


def draw_dots(
    rows: Rows, *, x: str, y: str, order: Sequence[str], by: str, title: str
) -> list[Panel]:
    """In each row a thin mark for each value of ``by``."""
    kinds = list(dict.fromkeys(str(row[by]) for row in rows))
    whole = Scale.over(numbers_of(rows, x, "low", "high"))
    tall = 24 + 13 * len(kinds)

    def draw(width: float | None) -> str:
        scale, foot = whole.on(width), 22 + tall * len(order)
        drawn = [across(scale, foot)]
        for n, part in enumerate(order):
            drawn.append(short_text("0", 34 + tall * n, part, 60, "b ha"))
            for row in (row for row in rows if row[y] == part):
                drawn.append(thin(row, x, scale, 43 + tall * n, kinds.index(str(row[by]))))
        return "".join([*drawn, put_text("0", foot + 14, title), legend(kinds, foot + 32, width)])

    return [Panel("", 22 + tall * len(order) + 24 + legend_height(kinds), draw)]


def thin(row: Row, x: str, scale: Scale, top: float, kind: int) -> str:
    """A point with its interval, one of several below each other."""
    middle, value = top + 13 * kind, number_of(row, x)
    drawn = ""
    if ends := ends_of(row, ("low", "high")):
        drawn = (
            f'<line class="line {colour(kind)}" x1="{scale.x(ends[0])}" x2="{scale.x(ends[1])}"'
            f' y1="{middle}" y2="{middle}"/>'
        )
    return drawn if value is None else drawn + set_shape(scale.x(value), middle, *kind_shape(kind))


def draw_histograms(
    rows: Rows, *, x: str, bars: str, steps: str, by: str, title: str
) -> list[Panel]:
    """Small multiples: bars, and a step over them, on one scale."""
    bins = list(dict.fromkeys(str(row[x]) for row in rows))
    up = Scale(0, max([*numbers_of(rows, bars, steps), 1e-9]) * 1.05, percent=True)

    def panel(own: Rows) -> Callable[[float | None], str]:
        def draw(width: float | None) -> str:
            part, points = 1 / len(bins), []
            every = math.ceil(len(bins) * TICK / (width or 8 * TICK))
            one = bins.index("1") if "1" in bins else 0
            drawn = levels(up, 3, 0, 100, width, zero=False)
            for row in own:
                n = bins.index(str(row[x]))
                tall = 100 * up.share(number_of(row, bars) or 0)
                drawn.append(
                    f'<rect class="share" x="{length((n + 0.12) * part, width)}"'
                    f' width="{length(0.76 * part, width)}" y="{100 - tall:.1f}"'
                    f' height="{tall:.1f}"/>'
                )
                y = 100 - 100 * up.share(number_of(row, steps) or 0)
                points += [f"{n * part * 1000:.1f},{y:.1f}", f"{(n + 1) * part * 1000:.1f},{y:.1f}"]
            curve = f'<polyline class="step" points="{" ".join(points)}"/>'
            drawn.append(stretch(curve, 0, 100, width))
            for n, label in enumerate(bins):
                if (n - one) % every == 0:
                    drawn.append(
                        put_text(length((n + 0.5) * part, width), 116, label, "middle",
                                 "b" * (label == "1"))
                    )  # fmt: skip
            return "".join([*drawn, put_text("0", 134, title)])

        return draw

    systems = dict.fromkeys(str(row[by]) for row in rows)
    return [
        Panel(label, 140, panel([row for row in rows if str(row[by]) == label]))
        for label in systems
    ]


def stretch(inner: str, top: float, tall: float, width: float | None) -> str:
    """What is drawn from 0 to 1000 across, brought to the width; lines stay as thick."""
    return (
        f'<svg y="{top:g}" width="{length(1, width)}" height="{tall:g}"'
        f' viewBox="0 0 1000 {tall:g}" preserveAspectRatio="none">{inner}</svg>'
    )


def levels(
    up: Scale, most: int, top: float, tall: float, width: float | None, *, zero: bool = True
) -> list[str]:
    """Thin lines across at the ticks of an upright scale, and their words, that of 0 or not."""
    drawn = []
    for tick in up.ticks(most):
        y = top + tall - tall * up.share(tick)
        line = f'x1="0" x2="{length(1, width)}" y1="{y:.1f}" y2="{y:.1f}"'
        drawn.append(f'<line class="rule" {line}/>')
        drawn.append(put_text("0", y - 3, up.label(tick), look="ha") if tick or zero else "")
    return drawn


def draw_lines(
    rows: Rows, *, x: str, y: str, by: str, x_title: str, title: str, kind: str, band: str,
    least: float | None = None,
) -> list[Panel]:  # fmt: skip
    """Curves, and what they may be off by."""
    kinds = list(dict.fromkeys(str(row[by]) for row in rows))
    steps = list(dict.fromkeys(row[x] for row in rows))
    keys = (y, "low", "high") if band == "yes" else (y,)
    up = Scale.over([*numbers_of(rows, *keys), math.nan if least is None else least])
    numeric = kind == "Q"
    ends = numbers_of(rows, x) if numeric else [-0.3, len(steps) - 0.7]
    room = 0.1 * (max(ends, default=1.0) - min(ends, default=0.0)) or 1.0
    across = Scale(min(ends, default=0.0) - room, max(ends, default=1.0) + room / 2)

    def at(row: Row) -> float:
        return across.share(float(row[x]) if numeric else steps.index(row[x]))

    def height(value: float) -> float:
        return PLOT - PLOT * up.share(value)

    def draw(width: float | None) -> str:
        drawn, inner = levels(up, 5, 20, PLOT, width), []
        for n, label in enumerate(kinds):
            own = [row for row in rows if str(row[by]) == label and number_of(row, y) is not None]
            if band == "yes":
                inner.append(band_path([(at(r), r) for r in own], height, n))
            points = " ".join(f"{1000 * at(r):.1f},{height(float(r[y])):.1f}" for r in own)
            inner.append(f'<polyline class="line {colour(n)}" points="{points}"/>')
        drawn.append(stretch("".join(inner), 20, PLOT, width))
        drawn += [
            set_shape(length(at(row), width), 20 + height(value), *kind_shape(n))
            for n, label in enumerate(kinds if len(kinds) > 1 else ())
            for row in rows
            if str(row[by]) == label and (value := number_of(row, y)) is not None
        ]
        if numeric:
            drawn.append(tick_labels(across.on(width), across.ticks(), PLOT + 36))
        else:
            every = math.ceil(len(steps) / 10)
            drawn += [
                put_text(length(across.share(n), width), PLOT + 36, printable(str(step))[:12],
                         "middle")
                for n, step in enumerate(steps) if n % every == 0
            ]  # fmt: skip
        return "".join([*drawn, around(title, x_title, kinds, width)])

    return [Panel("", PLOT + 58 + legend_height(kinds), draw)]


def around(title: str, x_title: str, kinds: Sequence[str], width: float | None) -> str:
    """What is told above and below curves and points."""
    below = put_text(length(1, width), PLOT + 52, x_title, "end")
    return put_text("0", 10, title) + below + legend(kinds, PLOT + 70, width)


def band_path(
    points: Sequence[tuple[float, Row]], height: Callable[[float], float], kind: int
) -> str:
    """The band of a curve."""
    both = [(x, ends) for x, row in points if (ends := ends_of(row, ("low", "high")))]
    there = [f"{1000 * x:.1f},{height(high):.1f}" for x, (_, high) in both]
    back = [f"{1000 * x:.1f},{height(low):.1f}" for x, (low, _) in reversed(both)]
    return f'<polygon class="band k{kind % KINDS + 1}" points="{" ".join(there + back)}"/>'


def draw_scatter(
    rows: Rows, *, x: str, y: str, name: str, titles: Sequence[str], mark: str
) -> list[Panel]:
    """Points over two scales; where few are, each is named that has room for it."""
    kinds = list(dict.fromkeys(str(row[mark]) for row in rows))
    up, whole = Scale.over(numbers_of(rows, y)), Scale.over(numbers_of(rows, x))

    def draw(width: float | None) -> str:
        scale, drawn = whole.on(width), levels(up, 5, 20, PLOT, width)
        drawn.append(grid_lines(scale, scale.ticks(), 20, 20 + PLOT))
        drawn.append(tick_labels(scale, scale.ticks(), PLOT + 36))
        own = [r for r in rows if None not in (number_of(r, x), number_of(r, y))]
        highs = [20 + PLOT - PLOT * up.share(float(row[y])) for row in own]
        for row, high in zip(own, highs, strict=True):
            kind = kinds.index(str(row[mark]))
            drawn.append(set_shape(scale.x(float(row[x])), high, *kind_shape(kind)))
        if len(rows) <= NAMED:
            shares = [whole.share(float(row[x])) for row in own]
            names = [shorten(str(row[name]), 16) for row in own]
            ticks = [20 + PLOT - PLOT * up.share(tick) for tick in up.ticks(5)]
            drawn += name_points(names, shares, highs, width, ticks, 20.0 + PLOT)
        return "".join([*drawn, around(titles[1], titles[0], kinds, width)])

    return [Panel("", PLOT + 58 + legend_height(kinds), draw)]


def draw_grid(
    rows: Rows, *, x: str, y: str, value: str, order: Sequence[str], title: str, dark: float
) -> list[Panel]:
    """A matrix; columns are numbered as rows are, as names would not fit."""
    if not all(isinstance(label, str) for label in order):
        raise TypeError("a name in the matrix is no text")
    known = {(str(row[y]), str(row[x])): number_of(row, value) for row in rows}
    most, left = len(order), 0.26
    part = (1 - left) / most

    def draw(width: float | None) -> str:
        drawn = [put_text("0", 12, title)]
        for i, label in enumerate(order):
            top = 22 + 24 * i
            drawn.append(short_text("0", top + 16, f"{i + 1} {label}", 18))
            middle = length(left + (i + 0.5) * part, width)
            drawn.append(put_text(middle, 14, str(i + 1), "middle"))
            for k, other in enumerate(order):
                found = known.get((label, other))
                if found is None:
                    continue
                shade = max(0.0, 0.45 * (1 - min(abs(found - dark), 1)))
                at = length(left + k * part, width)
                drawn.append(
                    f'<rect class="cell" fill-opacity="{shade:.2f}" x="{at}" y="{top}"'
                    f' width="{length(part * 0.97, width)}" height="23"/>'
                )
                if most <= 12:
                    middle = length(left + (k + 0.5) * part, width)
                    drawn.append(put_text(middle, top + 16, said(found, 2), "middle", "b"))
        return "".join(drawn)

    return [Panel("", 26 + 24 * most, draw)]


DIAMOND = "M0-7 6 0 0 7-6 0z"
POINTS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "M-4-4h8v8h-8z", "M0-5 5 4H-5z", "M0-6 5 0 0 6-5 0z",
)  # fmt: skip


def set_shape(x: str, y: float, path: str, look: str) -> str:
    """A small shape at a place that may be per cent."""
    return (
        f'<svg x="{x}" y="{y:.1f}" overflow="visible" width="1" height="1">'
        f'<path class="{look}" d="{path}"/></svg>'
    )


def colour(kind: int) -> str:
    """Colour and dash of the lines of a kind."""
    return f"k{kind % KINDS + 1} h{kind // KINDS % 4 + 1}"


def kind_shape(kind: int) -> tuple[str, str]:
    """Shape and colour of the points of a kind."""
    return POINTS[kind % len(POINTS)], f"k{kind % KINDS + 1}"


def legend_height(kinds: Sequence[str]) -> float:
    """What the words below take."""
    return 18.0 * math.ceil(len(kinds) / 3) if len(kinds) > 1 else 0.0


def legend(kinds: Sequence[str], top: float, width: float | None) -> str:
    """What each colour and shape is, in two or three columns."""
    drawn, columns = [], min(len(kinds), 3)
    for n, label in enumerate(kinds if len(kinds) > 1 else ()):
        y = top + 18 * (n // columns)
        place = length((n % columns) / columns, width)
        path, look = kind_shape(n)
        drawn.append(
            f'<svg x="{place}" y="{y - 4:g}" overflow="visible" width="1" height="1">'
            f'<line class="line {colour(n)}" x1="0" x2="20" y1="0" y2="0"/>'
            f'<path class="{look}" transform="translate(10 0)" d="{path}"/>'
            f'<g transform="translate(26 4)">{short_text("0", 0, label, 45 // columns)}</g></svg>'
        )
    return "".join(drawn)


SHAPES: dict[str, Callable[..., list[Panel]]] = {
    "forest": draw_forest, "reach": draw_reach, "dots": draw_dots, "histograms": draw_histograms,
    "lines": draw_lines, "scatter": draw_scatter, "grid": draw_grid,
}  # fmt: skip
