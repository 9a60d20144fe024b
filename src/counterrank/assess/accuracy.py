r"""Estimators against a truth that is known, over many systems and repetitions.

Let :math:`\hat v_{sr}` be the estimate of system :math:`s` in repetition :math:`r`, :math:`v_s` its
true value, and :math:`\delta_{sr} = (\hat v_{sr} - v_s) / v_s`.

* relative RMSE :math:`\sqrt{\overline{\delta^2}}`; the mean over repetitions of
  :math:`\rho_r = \sqrt{\overline{\delta_{\cdot r}^2}}`, that of all systems in one, with its
  standard error :math:`sd(\rho) / \sqrt R` (what published tables print); bias
  :math:`\bar\delta`, and variance: that of :math:`\delta_{sr}` over repetitions, mean over systems;
* coverage: share of intervals that hold the truth;
* Kendall's :math:`\tau` of the systems' order by estimate with the true one, mean over repetitions;
* regret :math:`1 - v_{\hat s} / v_{best}` of picking the system :math:`\hat s` with the highest
  estimate, mean over repetitions (of tied picks, their mean).

Systems of one repetition share their data, so spreads are over repetitions; of a single one, over
systems, as if these were independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats
from counterrank.core.errors import InputError
from counterrank.core.format import in_a_sentence
from counterrank.data.checks import LARGEST, identifiers, real
from counterrank.data.ids import positions
from counterrank.data.schema import ColumnNames, Roles, Table, label, read_alone
from counterrank.data.sources import open_source
from counterrank.results.rows import as_comparison
from counterrank.stats.compare import Comparison
from counterrank.stats.correlation import kendall_tau, relative_rmse
from counterrank.stats.estimates import normal_quantile
from counterrank.stats.inference import SMALLEST


@dataclass(frozen=True)
class AccuracyRow:
    """``value`` is the relative RMSE of the estimator named in ``measure``, over all trials.

    ``mean_rmse`` is the mean over repetitions of the relative RMSE of each, ``mean_rmse_se`` its
    standard error over them, which a single repetition does not have.
    """

    measure: str
    value: float
    se: float
    low: float
    high: float
    level: float
    bias: float
    variance: float
    coverage: float
    kendall: float
    regret: float
    systems: int
    repetitions: int
    mean_rmse: float
    mean_rmse_se: float


@dataclass(frozen=True, eq=False)
class Trials:
    """One estimator: systems x repetitions; ``low`` and ``high`` are NaN where not given."""

    estimator: str
    estimate: Floats
    truth: Floats
    low: Floats
    high: Floats

    @property
    def delta(self) -> Floats:
        r""":math:`\delta`."""
        return (self.estimate - self.truth) / self.truth

    @property
    def squares(self) -> Floats:
        r"""Mean :math:`\delta^2` of each repetition; of a single one, of each system."""
        squares: Floats = np.mean(self.delta**2, axis=0 if self.delta.shape[1] > 1 else 1)
        return squares


def accuracy_row(trials: Trials, level: float) -> AccuracyRow:
    """All figures of one estimator; NaN where the trials cannot say."""
    delta, squares = trials.delta, trials.squares
    rmse = relative_rmse(trials.truth.ravel(), trials.estimate.ravel())
    systems, repetitions = delta.shape
    tau = kendall_tau(trials.estimate.T, trials.truth.T)
    known = ~np.isnan(trials.low) & ~np.isnan(trials.high)
    inside = (trials.low <= trials.truth) & (trials.truth <= trials.high)
    se = _se(squares) / (2 * rmse) if rmse > 0 else 0.0
    half = normal_quantile(0.5 + level / 2) * se
    each = np.sqrt((delta**2).mean(axis=0))
    nan = float("nan")
    return AccuracyRow(
        measure=trials.estimator,
        value=rmse,
        se=se,
        low=max(rmse - half, 0.0),
        high=rmse + half,
        level=level,
        bias=float(delta.mean()),
        variance=float(delta.var(axis=1, ddof=1).mean()) if repetitions > 1 else nan,
        coverage=float(inside[known].mean()) if known.any() else nan,
        kendall=float(np.nanmean(tau)) if np.isfinite(tau).any() else nan,
        regret=float(np.mean(list(map(_regret, trials.estimate.T, trials.truth.T)))),
        systems=systems,
        repetitions=repetitions,
        mean_rmse=float(each.mean()),
        mean_rmse_se=_se(each),
    )


def against_best(
    trials: Sequence[Trials], rows: Sequence[AccuracyRow], **told: Any
) -> list[Comparison]:
    """Every other estimator compared with the one that errs least, by rising error."""
    best, *others = sorted(range(len(rows)), key=lambda k: rows[k].value)
    return [
        as_comparison(
            None, estimator=rows[k].measure, baseline=rows[best].measure, test="t",
            difference=rows[k].value - rows[best].value, p=same_error(trials[k], trials[best]),
            **told,
        )
        for k in others
    ]  # fmt: skip


def same_error(a: Trials, b: Trials) -> float:
    r"""Two-sided p that two estimators err alike: paired t-test of their squared errors.

    Of n differences without spread it is :math:`2 / 2^n`: their signs are all that is known.
    """
    from scipy.special import stdtr

    d = a.squares - b.squares
    if len(d) < 2 or not d.any():
        return 1.0
    spread = _se(d)
    if not spread > 0:
        return max(2.0 ** (1 - len(d)), SMALLEST)
    return max(float(2 * stdtr(len(d) - 1, -abs(d.mean()) / spread)), SMALLEST)


def _se(x: Floats) -> float:
    return float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else float("nan")


def _regret(estimate: Floats, truth: Floats) -> float:
    """What the pick loses, as a share of the best; tied picks by their mean."""
    picked = truth[estimate == estimate.max()].mean()
    return float((truth.max() - picked) / abs(truth.max()))


def recommend_by_accuracy(
    rows: Sequence[AccuracyRow], others: Sequence[Comparison], level: float
) -> list[str]:
    """The smallest error, whether its order and intervals hold too, and who is no worse."""
    best = min(rows, key=lambda r: r.value)
    alpha = (1 - level) / max(len(others), 1)
    tied = [other.estimator for other in others if not other.p <= alpha]
    size = f"{best.systems} system{'s' * (best.systems != 1)}"
    first = (
        f"{best.measure} {'errs least' if len(rows) > 1 else 'was assessed alone'}: relative RMSE"
        f" {best.value:.3g} over {size} (bias {best.bias:+.1%})"
    )
    first += f"; not separated from it: {in_a_sentence(tied)}." if tied else "."
    chosen = min(rows, key=lambda r: r.regret)
    second = (
        f"Picking a system by {best.measure} costs {best.regret:.1%} of the best one's value"
        f" (Kendall's tau {best.kendall:.2f})"
    )
    if best.systems < 2:
        second = "With one system there is nothing to pick and no order to compare"
    elif chosen.regret < best.regret:
        second += f"; by {chosen.measure} {chosen.regret:.1%}"
    if np.isnan(best.coverage):
        third = f"Use {best.measure}; give low and high to learn whether its intervals hold."
    elif best.coverage >= level - 0.05:
        third = f"Use {best.measure}: its intervals hold the truth in {best.coverage:.0%} of cases."
    else:
        third = (
            f"Use {best.measure} for its value, but not its intervals: they hold the truth in only"
            f" {best.coverage:.0%} of cases where {level:.0%} was promised."
        )
    if tied and len(tied) == len(rows) - 1:
        trials = f"{best.repetitions} repetitions" if best.repetitions > 1 else size
        third = f"Choose by other grounds: {trials} cannot separate their errors."
    return [first, f"{second}.", third]


def read_trials(table: object, columns: Mapping[str, str] | None) -> Table:
    """A table of estimates beside the truth; what it does not have is filled in."""
    source = open_source(table, trec=(), name=label(table, "the table"))
    required = ("system", "estimator", "estimate", "truth")
    roles = Roles(source.name, required, ("low", "high", "repetition"), ColumnNames.of(columns))
    return read_alone(source, roles, _check_trials)


def _check_trials(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    names = [c for c in ("system", "estimator", "repetition") if c in frame.columns]
    frame = identifiers(frame, names, table)
    for column in [c for c in ("estimate", "truth", "low", "high") if c in frame.columns]:
        frame = real(frame, column, table)
    if {"low", "high"} <= set(frame.columns) and (frame["low"] > frame["high"]).any():
        bad = frame.with_row_index("row", offset=1).filter(pl.col("low") > pl.col("high"))
        raise InputError(
            f'"{table}" has intervals whose low is above their high.',
            found=f"Found {bad.height:,} of {frame.height:,} rows (first: row {bad['row'][0]},"
            f" {bad['low'][0]:g} to {bad['high'][0]:g}).",
            todo="Swap the columns where the table is made, or --columns low=high,high=low.",
        )
    if (small := frame["truth"].abs() < 1 / LARGEST).any():
        bad = frame.filter(small)
        raise InputError(
            f'Column "truth" of "{table}" must not be 0: errors are shares of it.',
            found=f"Found {bad.height:,} of {frame.height:,} rows (first: {bad['system'][0]!r}).",
            todo="Leave out systems that earn nothing.",
        )
    blank = [pl.lit("1").alias("repetition")] if "repetition" not in frame.columns else []
    ends = [pl.lit(float("nan")).alias(c) for c in ("low", "high") if c not in frame.columns]
    frame = frame.with_columns(*blank, *ends)
    return frame.with_columns(pl.col("system", "estimator").cast(pl.String))


def trials_of(table: Table) -> list[Trials]:
    """One array per column and estimator; refused if cells are missing or stand twice."""
    frame = table.frame
    systems, again = (frame[c].unique(maintain_order=True) for c in ("system", "repetition"))
    trials: list[Trials] = []
    for part in frame.partition_by("estimator", maintain_order=True):
        name = part["estimator"][0]
        place = positions(part["repetition"], again)
        cell = positions(part["system"], systems) * len(again) + place
        if len(np.unique(cell)) != len(cell) or len(cell) != len(systems) * len(again):
            raise InputError(
                f'"{table.name}" must have every system in every repetition, once, for {name}.',
                found=f"{len(np.unique(cell)):,} of {len(systems) * len(again):,} cells in"
                f" {len(cell):,} rows.",
                todo="Add what is missing; several rows of one cell need a column repetition.",
            )
        by = np.argsort(cell)
        arrays = [
            part[c].to_numpy()[by].reshape(len(systems), len(again))
            for c in ("estimate", "truth", "low", "high")
        ]
        trials.append(Trials(name, *arrays))
        if not np.allclose(trials[-1].truth, trials[0].truth, rtol=1e-9, atol=0):
            raise InputError(
                f'"{table.name}" has another truth for {name} than for {trials[0].estimator}.',
                todo="A system has one true value in each repetition, whatever estimates it.",
            )
    return trials


def relative_errors(frame: pl.DataFrame) -> pl.DataFrame:
    """The relative error of each estimate."""
    error = pl.col("estimate") / pl.col("truth") - 1
    return frame.select(unit="repetition", system="system", measure="estimator", value=error)
