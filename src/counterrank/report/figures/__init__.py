"""All figures: those of each verb, which draw what they find in its document, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from counterrank.core.errors import UsageError, nearest
from counterrank.core.format import printable
from counterrank.report.charts import Figure
from counterrank.report.figures import assess_charts, strata_charts, value_charts

Draw = Callable[[Mapping[str, Any]], list[Figure]]

DRAWN = ("measure", "estimator")  # what a figure can be asked for
VALUES: tuple[Draw, ...] = (value_charts.lifts, value_charts.estimates, value_charts.matrix)
FIGURES: dict[str, tuple[Draw, ...]] = {  # of each verb, in the order of the page
    "evaluate": (*VALUES, value_charts.dcg_and_ndcg),
    "estimate": (*VALUES, value_charts.weight_charts, value_charts.sweeps, value_charts.truth),
    "funnel": (*VALUES, value_charts.weight_charts),
    "strata": (
        strata_charts.strata_values_chart, strata_charts.flips, strata_charts.agreement_charts,
    ),
    "exposure": (value_charts.curve,),
    "assess power": (assess_charts.power,),
    "assess robustness": (assess_charts.robustness,),
    "assess agreement": (assess_charts.taus,),
    "assess online": (assess_charts.online,),
    "assess accuracy": (assess_charts.accuracy,),
}  # fmt: skip


def figures(document: Mapping[str, Any]) -> list[Figure]:
    """Every figure the document has the data for, in the order of the page."""
    flat = {**document.get("tables", {}), **document}  # a figure asks for rows by their name
    draws = FIGURES.get(str(document.get("kind")), ())
    return [figure for draw in draws for figure in draw(flat)]


def main_figure(document: Mapping[str, Any], measure: str | None) -> Figure:
    """The first figure of the page, of all rows or of one measure's."""
    kept = document
    if measure is not None:
        every = dict.fromkeys(r[key] for key in DRAWN for r in document["estimates"])
        labels = [label for label in every if label != "mean"]
        if measure not in labels:
            raise UsageError(
                f'The result has no "{printable(measure)}".',
                found=nearest(measure, labels),
                todo=f"It has: {', '.join(labels)}.",
            )
        several = ("estimates", "comparisons")
        own = {n: [r for r in document[n] if measure in (r[k] for k in DRAWN)] for n in several}
        kept = {**document, **own}
    found = figures(kept)
    if not found:
        raise UsageError("The result holds nothing to draw.")
    return found[0]
