"""All figures: those of each verb, which draw what they find in its document, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any

from counterrank.core.errors import UsageError, unknown
from counterrank.report.charts import Figure
from counterrank.report.figures import assess_charts, strata_charts, value_charts

Draw = Callable[[Mapping[str, Any]], Iterable[Figure]]

VALUES: tuple[Draw, ...] = (value_charts.lifts, value_charts.leading_values, value_charts.matrix)
FIGURES: dict[str, tuple[Draw, ...]] = {  # of each verb, in the order of the page
    "evaluate": (*VALUES, value_charts.dcg_and_ndcg),
    "estimate": (
        *VALUES, value_charts.tipping, value_charts.weight_charts, value_charts.sweeps,
        value_charts.truth,
    ),
    "funnel": (*VALUES, value_charts.tipping, value_charts.weight_charts),
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

NAMES = {
    "lifts", "values", "pairs", "tipping", "weights", "sweep", "effective", "truth", "dcg-ndcg",
    "strata", "flip", "agreement", "positions", "power", "p_curve", "robustness", "taus",
    "correlation", "cases", "accuracy",
}  # fmt: skip


def figures(document: Mapping[str, Any]) -> list[Figure]:
    """Every figure the document has the data for, in the order of the page."""
    flat = {**document.get("tables", {}), **document}  # a figure asks for rows by their name
    draws = FIGURES.get(str(document.get("kind")), ())
    return [figure for draw in draws for figure in draw(flat)]


def figure_named(document: Mapping[str, Any], name: str = "") -> Figure:
    """The figure of that name, or the first of several of it; without a name the first of all."""
    found = figures(document)
    if not found:
        raise UsageError("The result holds nothing to draw.")
    same = [f for f in found if name in ("", f.name, f.stem)]
    if same:
        return same[0]
    names = dict.fromkeys(f.name for f in found)
    raise unknown(f'The result has no figure "{name}".', name, names)


def figure_of_file(document: Mapping[str, Any], path: str) -> Figure:
    """The figure that a file is named after; the first, if the name is no figure's."""
    names = {name for f in figures(document) for name in (f.name, f.stem)}
    stem = PurePath(path).stem
    return figure_named(document, stem if stem in names | NAMES else "")
