"""All figures: each looks at a document and draws what it finds there, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from counterrank.report.charts import Figure
from counterrank.report.figures import assess_charts, strata_charts, value_charts

Draw = Callable[[Mapping[str, Any]], list[Figure]]

ALL: tuple[Draw, ...] = (
    strata_charts.strata_values_chart, strata_charts.flips, strata_charts.agreement_charts,
    value_charts.lifts, value_charts.estimates, value_charts.matrix, value_charts.dcg_and_ndcg,
    value_charts.curve, value_charts.weight_charts, value_charts.sweeps,
    assess_charts.power, assess_charts.robustness, assess_charts.taus, assess_charts.online,
    assess_charts.accuracy, value_charts.truth,
)  # fmt: skip


def figures(document: Mapping[str, Any]) -> list[Figure]:
    """Every figure the document has the data for, in the order of the page."""
    flat = {**document.get("tables", {}), **document}  # a figure asks for rows by their name
    return [figure for draw in ALL for figure in draw(flat)]
