"""All figures: each looks at a document and draws what it finds there, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from counterrank.report.figure import Figure
from counterrank.report.figures.assess_charts import accuracy, online, power, robustness, taus
from counterrank.report.figures.curve_charts import curve, sweeps, weight_charts
from counterrank.report.figures.pair_charts import dcg_and_ndcg, matrix
from counterrank.report.figures.strata_charts import agreement_charts, flips, strata_values_chart
from counterrank.report.figures.value_charts import estimates, lifts, truth

Draw = Callable[[Mapping[str, Any]], list[Figure]]

ALL: tuple[Draw, ...] = (
    strata_values_chart, flips, agreement_charts, lifts, estimates, matrix, dcg_and_ndcg, curve,
    weight_charts, sweeps, power, robustness, taus, online, accuracy, truth,
)  # fmt: skip


def figures(document: Mapping[str, Any]) -> list[Figure]:
    """Every figure the document has the data for, in the order of the page."""
    return [figure for draw in ALL for figure in draw(document)]
