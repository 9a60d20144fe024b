"""A figure, and the few chart shapes all figures are made of, as Altair charts without data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from counterrank.documents.document import plain
from counterrank.report.html import name, text, visible

Row = Mapping[str, Any]
Rows = Sequence[Row]
K = TypeVar("K")

# Okabe and Ito's colours, which people with impaired colour vision tell apart.
BLUE, ORANGE, GREEN, RED, GREY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#767676"
PALETTE = (BLUE, ORANGE, GREEN, RED, "#cc79a7", "#56b4e9", "#8c6d00", GREY)
DATA = "rows"  # the data set every chart draws; the page holds it once, for chart and download
NAMES = {"labelLimit": 0}  # the page has cut long ones already, where no number is hurt
STEP = 24  # pixels for each row of a chart
WIDTH = 520  # pixels of a chart where no page says how wide it is, as in a notebook


@dataclass(frozen=True)
class Figure:
    """``name`` is its id and the name of its CSV file; ``chart`` is a Vega-Lite specification."""

    name: str
    title: str
    reading: str
    rows: Rows
    chart: Mapping[str, Any]

    def altair(self) -> Any:
        """The figure as an Altair chart that carries its data, and shows itself offline."""
        import altair as alt

        chart = alt.Chart.from_dict(with_rows(self.chart, [dict(row) for row in self.rows]))
        object.__setattr__(chart, "__class__", _offline(type(chart)))  # type: ignore[arg-type]
        return chart


def with_rows(chart: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    """The chart with its rows, beside data of its own such as a line at 0."""
    return {**chart, "datasets": {**chart.get("datasets", {}), DATA: rows}}


@cache
def _offline(kind: type) -> type:
    """A chart that notebooks show as a picture: Altair's own way loads scripts from the network."""

    def picture(chart: Any, *_: Any, **__: Any) -> dict[str, str]:
        return {"image/svg+xml": as_svg(chart.to_dict(), WIDTH)}

    return type(kind.__name__, (kind,), {"_repr_mimebundle_": picture})


def as_svg(spec: Mapping[str, Any], width: int) -> str:
    """A specification drawn, as wide as said where it would be as wide as a page."""
    import vl_convert

    fitted = {**spec, "width": width} if spec.get("width") == "container" else spec
    svg: str = vl_convert.vegalite_to_svg(json.dumps(plain(fitted)))
    return svg


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
    order: list[str],
    title: str,
    zero: str = "no",
    mark: str = "",
    diamond: str = "",
) -> dict[str, Any]:
    """A forest plot: a point and its interval per row.

    ``mark`` is the column that colours it, ``diamond`` one that is drawn beside the point.
    """
    import altair as alt

    data = alt.NamedData(DATA)
    rows = alt.Y(f"{y}:N", sort=order, title=None, axis=NAMES)
    at = alt.X(f"{x}:Q", title=title, scale=alt.Scale(zero=False, padding=12))
    colour: Any = alt.value(BLUE)
    if mark:
        words, shades = ["better", "not separated", "worse"], [GREEN, GREY, RED]
        colour = alt.Color(
            f"{mark}:N",
            scale=alt.Scale(domain=words, range=shades),
            legend=alt.Legend(title=None, orient="top"),
        )
    fields = [f"{y}:N", f"{x}:Q", "low:Q", "high:Q", *[f"{diamond}:Q"] * bool(diamond)]
    hover = [alt.Tooltip(field) for field in fields]
    base = alt.Chart(data).encode(y=rows, tooltip=hover, color=colour)
    low = alt.X("low:Q", title=title, scale=alt.Scale(zero=False, padding=12))
    layers = [
        base.mark_rule(strokeWidth=3, opacity=0.55).encode(x=low, x2="high:Q"),
        base.mark_point(filled=True, size=80, opacity=1).encode(x=at),
    ]
    if diamond:
        shape = base.mark_point(filled=True, shape="diamond", size=110, opacity=1)
        layers.append(shape.encode(x=f"{diamond}:Q", color=alt.value(ORANGE)))
    if zero == "yes":
        line = alt.Chart(alt.InlineData([{"at": 0}])).mark_rule(strokeDash=[4, 4], color=GREY)
        layers.insert(0, line.encode(x="at:Q"))
    return _spec(alt.layer(*layers).properties(width="container", height={"step": STEP}))


def dots(x: str, y: str, *, order: list[str], by: str, title: str) -> dict[str, Any]:
    """Points in rows, coloured by what they belong to, with a thin line through each colour."""
    import altair as alt

    colour = _colour(by, labelLimit=0)
    base = alt.Chart(alt.NamedData(DATA)).encode(
        x=alt.X(f"{x}:Q", title=title, scale=alt.Scale(zero=False)),
        y=alt.Y(f"{y}:N", sort=order, title=None, axis=NAMES),
        color=colour,
        tooltip=[f"{by}:N", f"{y}:N", f"{x}:Q", "low:Q", "high:Q"],
    )
    rules = base.mark_rule(strokeWidth=2, opacity=0.4).encode(x="low:Q", x2="high:Q")
    points = base.mark_point(filled=True, size=80, opacity=1)
    both = alt.layer(rules, points).properties(width="container", height={"step": STEP + 8})
    return _spec(both)


def bars(x: str, y: str, *, by: str, x_title: str, title: str) -> dict[str, Any]:
    """Bars side by side in the order of the data, one colour for each value of ``by``."""
    import altair as alt

    chart = (
        alt.Chart(alt.NamedData(DATA))
        .mark_bar()
        .encode(
            x=alt.X(f"{x}:N", title=x_title, sort=None, axis=alt.Axis(labelAngle=-40)),
            xOffset=alt.XOffset(f"{by}:N"),
            y=alt.Y(f"{y}:Q", title=title),
            color=_colour(by),
            tooltip=[f"{x}:N", f"{by}:N", f"{y}:Q"],
        )
    )
    return _spec(chart.properties(width="container", height=220))


def bands(
    x: str, y: str, *, by: str, x_title: str, title: str, kind: str = "Q", band: str = "yes"
) -> dict[str, Any]:
    """Lines with bands: one colour for each value of ``by``."""
    import altair as alt

    across = alt.X(f"{x}:{kind}", title=x_title, sort=None)
    colour = _colour(by, labelLimit=0)
    hover = [f"{by}:N", f"{x}:{kind}", f"{y}:Q"]
    base = alt.Chart(alt.NamedData(DATA)).encode(x=across, color=colour)
    up = alt.Y(f"{y}:Q", title=title, scale=alt.Scale(zero=False))
    layers: list[Any] = [base.mark_line(point=True).encode(y=up, tooltip=hover)]
    if band == "yes":
        spread = alt.Y("low:Q", title=title, scale=alt.Scale(zero=False))
        layers.insert(0, base.mark_area(opacity=0.15).encode(y=spread, y2="high:Q"))
    return _spec(alt.layer(*layers).properties(width="container", height=260))


def grid(
    x: str,
    y: str,
    value: str,
    *,
    order: list[str],
    title: str,
    colours: tuple[str, ...] = ("#ffffff", BLUE),
    ends: tuple[float, float] = (0, 1),
) -> dict[str, Any]:
    """A matrix of shaded cells with the value in each."""
    import altair as alt

    turned = alt.Axis(labelAngle=-40, labelLimit=0)
    rows = alt.Y(f"{y}:N", sort=order, title=None, axis=NAMES)
    shade = alt.Color(
        f"{value}:Q", scale=alt.Scale(domain=list(ends), range=list(colours)), title=title
    )
    base = alt.Chart(alt.NamedData(DATA)).encode(
        x=alt.X(f"{x}:N", sort=order, title=None, axis=turned),
        y=rows,
        tooltip=[f"{y}:N", f"{x}:N", f"{value}:Q"],
    )
    cells = base.mark_rect().encode(color=shade)
    return _spec(cells.properties(width="container", height={"step": STEP}))


def scatter(x: str, y: str, *, name: str, titles: tuple[str, str], mark: str) -> dict[str, Any]:
    """Points with a name on hover; ``mark`` colours them."""
    import altair as alt

    return _spec(
        alt.Chart(alt.NamedData(DATA))
        .mark_point(filled=True, size=90, opacity=0.9)
        .encode(
            x=alt.X(f"{x}:Q", title=titles[0], scale=alt.Scale(zero=False)),
            y=alt.Y(f"{y}:Q", title=titles[1], scale=alt.Scale(zero=False)),
            color=_colour(mark, PALETTE[:4]),
            tooltip=[f"{name}:N", f"{x}:Q", f"{y}:Q"],
        )
        .properties(width="container", height=320)
    )


def _colour(by: str, shades: Sequence[str] = PALETTE, **legend: Any) -> Any:
    """A colour for each value of a column, explained on top."""
    import altair as alt

    explained = alt.Legend(title=None, orient="top", **legend)
    return alt.Color(f"{by}:N", scale=alt.Scale(range=list(shades)), legend=explained)


def _spec(chart: Any) -> dict[str, Any]:
    """The Vega-Lite specification of a chart."""
    found: dict[str, Any] = chart.to_dict()
    return found


def draw_svg(figure: Figure) -> str:
    """The figure as SVG, with its title and how to read it; nothing in it can run or load."""
    svg = as_svg(visible(with_rows(figure.chart, list(figure.rows))), WIDTH)
    return f"<p><strong>{name(figure.title)}</strong><br>{text(figure.reading)}</p>{svg}"
