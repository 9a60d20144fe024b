"""A figure, and the few shapes that all figures have, as plain values a document can hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from counterrank.core.file_writer import whole_text
from counterrank.report.drawing import put_text
from counterrank.report.html import text
from counterrank.report.palette import notebook_style, picture_style
from counterrank.report.shapes import Panel, panels

Row = Mapping[str, Any]
Rows = Sequence[Row]
K = TypeVar("K")
WIDTH = 720  # pixels of a picture
ACROSS = 4  # panels beside each other in a picture


@dataclass(frozen=True)
class Figure:
    """``name`` is its id; ``chart`` is what `forest_plot` and the others below return."""

    name: str
    title: str
    reading: str
    rows: Rows
    chart: Mapping[str, Any]

    @property
    def stem(self) -> str:
        """Its name without its number, where several are numbered."""
        return re.sub(r"-\d+$", "", self.name)

    @property
    def panels(self) -> list[Panel]:
        """Its parts: one, or small multiples on one scale."""
        return panels(self.chart, self.rows)

    def html(self) -> str:
        """The figure as wide as the page, or as a column of it for each of several panels."""
        drawn = [panel.html(self.title) for panel in self.panels]
        return drawn[0] if len(drawn) == 1 else f'<div class="multiples">{"".join(drawn)}</div>'

    def svg(self, width: int = WIDTH) -> str:
        """The figure as a picture of its own, for papers and slides: nothing in it can load."""
        several = self.panels
        columns = min(len(several), ACROSS)
        own = width / columns - 16 * (columns > 1)
        rows = [several[n : n + columns] for n in range(0, len(several), columns)]
        y, drawn = 34.0, [put_text("0", 16, self.title, look="b big")]
        for row in rows:
            for n, panel in enumerate(row):
                name = put_text("0", 12, panel.title, look="b") if panel.title else ""
                down = 18 if name else 0
                inner = f'<g transform="translate(0 {down})">{panel.draw(own)}</g>'
                place = f"{n * width / columns:g} {y:g}"
                drawn.append(f'<g transform="translate({place})">{name}{inner}</g>')
            y += max(panel.height for panel in row) + 34
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="fig" width="{width}" height="{y:g}"'
            f' viewBox="-12 -8 {width + 24} {y + 8:g}" role="img"><title>{text(self.title)}</title>'
            f"<desc>{text(self.reading)}</desc><style>{picture_style()}</style>"
            f'<rect x="-12" y="-8" width="{width + 24}" height="{y + 8:g}" fill="#ffffff"/>'
            f"{''.join(drawn)}</svg>\n"
        )

    def save(self, path: str) -> str:
        """Write the picture; a file that ends in .svg."""
        whole_text(Path(path), self.svg())
        return path

    def _repr_html_(self) -> str:
        """The figure in a notebook, light or dark as that is."""
        return (
            f'<div class="counterrank">{notebook_style()}<p><strong>{text(self.title)}</strong>'
            f"<br>{text(self.reading)}</p>{self.html()}</div>"
        )


def group_rows(rows: Iterable[Row], key: Callable[[Row], K]) -> dict[K, list[Row]]:
    """The rows of each key, in the order in which keys occur."""
    groups: dict[K, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def forest_plot(
    x: str,
    y: str,
    *,
    title: str,
    order: Sequence[str] = (),
    wide: Sequence[str] = (),
    claim: str = "",
    diamond: str = "",
    zero: bool = False,
    percent: bool = False,
) -> dict[str, Any]:
    """The mark of an estimate in each row, in the order of the rows or in ``order``.

    ``wide`` are columns with both ends of the wider interval, ``claim`` the one that colours both,
    ``diamond`` one with a number to set beside them.
    """
    return {
        "shape": "forest", "x": x, "y": y, "title": title, "order": list(order),
        "ends": ["low", "high"], "wide": list(wide), "claim": claim, "diamond": diamond,
        "zero": zero, "percent": percent,
    }  # fmt: skip


def reach_plot(x: str, y: str, *, title: str, start: float, line: float) -> dict[str, Any]:
    """How far each row reaches from ``start``, and a line that it should reach."""
    return {"shape": "reach", "x": x, "y": y, "title": title, "start": start, "line": line}


def dots(x: str, y: str, *, order: Sequence[str], by: str, title: str) -> dict[str, Any]:
    """Rows of points with their intervals, one colour for each value of ``by``."""
    return {"shape": "dots", "x": x, "y": y, "order": list(order), "by": by, "title": title}


def histograms(x: str, *, bars: str, steps: str, by: str, title: str) -> dict[str, Any]:
    """Bars and steps over the same bins: a panel for each value of ``by``, all on one scale."""
    return {"shape": "histograms", "x": x, "bars": bars, "steps": steps, "by": by, "title": title}


def bands(
    x: str, y: str, *, by: str, x_title: str, title: str, kind: str = "Q", band: str = "yes",
    least: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Lines with bands, one for each value of ``by``; of kind Q where x is a quantity.

    The upright scale holds ``least``, so that a small change of a count looks small.
    """
    return {
        "shape": "lines", "x": x, "y": y, "by": by, "x_title": x_title, "title": title,
        "kind": kind, "band": band, "least": least,
    }  # fmt: skip


def grid(
    x: str, y: str, value: str, *, order: Sequence[str], title: str, dark: float = 1.0
) -> dict[str, Any]:
    """A matrix of shaded cells with the value in each; darkest at ``dark``, 0 or 1."""
    return {
        "shape": "grid", "x": x, "y": y, "value": value, "order": list(order), "title": title,
        "dark": dark,
    }  # fmt: skip


def scatter(x: str, y: str, *, name: str, titles: Sequence[str], mark: str) -> dict[str, Any]:
    """Points; ``mark`` gives their colour and shape, ``name`` what they are called."""
    return {"shape": "scatter", "x": x, "y": y, "name": name, "titles": list(titles), "mark": mark}
