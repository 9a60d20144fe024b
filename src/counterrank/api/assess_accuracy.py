"""``assess accuracy``: estimators against a truth that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterrank.api import verb as v

if TYPE_CHECKING:
    from counterrank.results.result import Result


@v.verb
def assess_accuracy(table: v.Table, *, level: v.Level = 0.95, columns: v.Columns = None) -> Result:
    """How close do estimators come to a known truth?

    ``table`` has system, estimator, estimate and truth; optionally low and high (the estimate's
    interval) and repetition. Every estimator must have every system in every repetition.

    Each estimator gets its relative RMSE with an interval at ``level``, bias, variance, coverage,
    Kendall's tau of the systems' order, and the regret of picking by it; the best is compared with
    every other by their squared errors, paired.

    >>> import counterrank as cr
    >>> import polars as pl
    >>> table = pl.DataFrame({
    ...     "system": ["a", "b", "c"] * 2, "estimator": ["IPS"] * 3 + ["DM"] * 3,
    ...     "estimate": [0.4, 0.3, 0.1, 0.45, 0.3, 0.12], "truth": [0.5, 0.25, 0.1] * 2})
    >>> round(cr.assess_accuracy(table).estimates[0].value, 6)
    0.163299
    """
    from counterrank.assess import pipeline

    return pipeline.assess_accuracy(table, level, columns)
