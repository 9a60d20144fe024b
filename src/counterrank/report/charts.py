"""The few chart shapes all figures are made of, as Altair charts without their data."""

from __future__ import annotations

from typing import Any

from counterrank.report.figure import BLUE, DATA, GREEN, GREY, ORANGE, PALETTE, RED

STEP = 24  # pixels for each row of a chart


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
    rows = alt.Y(f"{y}:N", sort=order, title=None, axis=alt.Axis(labelLimit=160))
    at = alt.X(f"{x}:Q", title=title, scale=alt.Scale(zero=False, padding=12))
    colour: Any = alt.value(BLUE)
    if mark:
        words, shades = ["better", "not separated", "worse"], [GREEN, GREY, RED]
        colour = alt.Color(
            f"{mark}:N",
            scale=alt.Scale(domain=words, range=shades),
            legend=alt.Legend(title=None, orient="top"),
        )
    told = [(y, "N"), (x, "Q"), ("low", "Q"), ("high", "Q")] + [(diamond, "Q")] * bool(diamond)
    hover = [alt.Tooltip(f"{name}:{kind}") for name, kind in told]
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

    colour = alt.Color(
        f"{by}:N",
        scale=alt.Scale(range=list(PALETTE)),
        legend=alt.Legend(title=None, orient="top", labelLimit=220),
    )
    base = alt.Chart(alt.NamedData(DATA)).encode(
        x=alt.X(f"{x}:Q", title=title, scale=alt.Scale(zero=False)),
        y=alt.Y(f"{y}:N", sort=order, title=None, axis=alt.Axis(labelLimit=180)),
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
            color=alt.Color(
                f"{by}:N",
                scale=alt.Scale(range=list(PALETTE)),
                legend=alt.Legend(title=None, orient="top"),
            ),
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
    colour = alt.Color(
        f"{by}:N",
        scale=alt.Scale(range=list(PALETTE)),
        legend=alt.Legend(title=None, orient="top", labelLimit=220),
    )
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

    turned = alt.Axis(labelAngle=-40, labelLimit=120)
    rows = alt.Y(f"{y}:N", sort=order, title=None, axis=alt.Axis(labelLimit=160))
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
            color=alt.Color(
                f"{mark}:N",
                scale=alt.Scale(range=[BLUE, ORANGE, GREEN, RED]),
                legend=alt.Legend(title=None, orient="top"),
            ),
            tooltip=[f"{name}:N", f"{x}:Q", f"{y}:Q"],
        )
        .properties(width="container", height=320)
    )


def _spec(chart: Any) -> dict[str, Any]:
    """The Vega-Lite specification of a chart."""
    found: dict[str, Any] = chart.to_dict()
    return found
