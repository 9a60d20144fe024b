"""A figure: its title, how to read it in one line, its data, and its chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Rows = Sequence[Mapping[str, Any]]

# Okabe and Ito's colours, which people with impaired colour vision tell apart.
BLUE, ORANGE, GREEN, RED, GREY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#767676"
PALETTE = (BLUE, ORANGE, GREEN, RED, "#cc79a7", "#56b4e9", "#8c6d00", GREY)
DATA = "rows"  # the data set every chart draws; the page holds it once, for chart and download


@dataclass(frozen=True)
class Figure:
    """``name`` is its id and the name of its CSV file; ``chart`` is a Vega-Lite specification."""

    name: str
    title: str
    reading: str
    rows: Rows
    chart: Mapping[str, Any]

    def altair(self) -> Any:
        """The figure as an Altair chart that carries its data."""
        import altair as alt

        whole = {**self.chart, "datasets": {DATA: [dict(row) for row in self.rows]}}
        return alt.Chart.from_dict(whole)
