"""``assess accuracy``: estimators against a truth that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.assess_result import Assessment
from counterrank.checks import finite, identifiers, numbers, some_rows
from counterrank.compare import Plan
from counterrank.data.ids import positions
from counterrank.errors import InputError
from counterrank.inference.intervals import normal_quantile
from counterrank.meta.accuracy import Trials, accuracy, apart
from counterrank.meta.grounds import enough
from counterrank.schema import Roles, Table, label
from counterrank.tables import opened
from counterrank.verbs.recommended import listed


@dataclass(frozen=True)
class AccuracyRow:
    """``value`` is the relative RMSE of the estimator named in ``measure``."""

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


@dataclass(frozen=True)
class Against:
    """Relative RMSE of ``system`` (an estimator) less that of ``baseline``, the best one."""

    measure: str
    system: str
    baseline: str
    difference: float
    p: float


def assess_accuracy(
    table: object, *, level: float = 0.95, columns: Mapping[str, str] | None = None
) -> Assessment:
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
    Plan(level=level)
    read = _read(table, columns)
    trials = _trials(read)
    rows = [_row(t, level) for t in trials]
    order = sorted(range(len(rows)), key=lambda k: rows[k].value)
    best = order[0]
    p = {k: apart(trials[k], trials[best]) for k in order[1:]}
    return Assessment(
        kind="assess accuracy",
        estimates=rows,
        comparisons=[
            Against(
                "relative RMSE", rows[k].measure, rows[best].measure,
                rows[k].value - rows[best].value, p[k],
            )
            for k in order[1:]
        ],
        diagnoses=[enough(rows[0].systems, "systems")],
        recommendation=recommend(rows, p, level),
        tables={},
        protocol={
            "unit": "repetition" if rows[0].repetitions > 1 else "system",
            "error": "(estimate - truth) / truth",
            "test": "t, paired squared errors, against the lowest relative RMSE, not corrected",
            "level": level,
        },
        inputs=(read.input(),),
        units=_units(read.frame),
    )  # fmt: skip


def recommend(rows: list[AccuracyRow], p: dict[int, float], level: float) -> tuple[str, ...]:
    """The smallest error, whether its order and intervals hold too, and who is no worse."""
    best = min(rows, key=lambda r: r.value)
    alpha = (1 - level) / max(len(p), 1)
    tied = [rows[k].measure for k, found in p.items() if not found <= alpha]
    size = f"{best.systems} system{'s' * (best.systems != 1)}"
    first = (
        f"{best.measure} {'errs least' if len(rows) > 1 else 'was assessed alone'}: relative RMSE"
        f" {best.value:.3g} over {size} (bias {best.bias:+.1%})"
    )
    first += f"; not separated from it: {listed(tied)}." if tied else "."
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
    return first, f"{second}.", third


def _read(table: object, columns: Mapping[str, str] | None) -> Table:
    source = opened(table, trec=(), name=label(table, "the table"))
    required = ("system", "estimator", "estimate", "truth")
    roles = Roles(source.name, required, ("low", "high", "repetition"), columns)
    frame = roles.renamed(source.read(roles.choose))
    some_rows(frame, source.name)
    names = [c for c in ("system", "estimator", "repetition") if c in frame.columns]
    frame = identifiers(frame, names, source.name)
    for column in [c for c in ("estimate", "truth", "low", "high") if c in frame.columns]:
        frame = numbers(frame, column, source.name)
        finite(frame, column, source.name)
    if {"low", "high"} <= set(frame.columns) and (frame["low"] > frame["high"]).any():
        bad = frame.with_row_index("row", offset=1).filter(pl.col("low") > pl.col("high"))
        raise InputError(
            f'"{source.name}" has intervals whose low is above their high.',
            found=f"Found {bad.height:,} of {frame.height:,} rows (first: row {bad['row'][0]},"
            f" {bad['low'][0]:g} to {bad['high'][0]:g}).",
            todo="Swap the columns where the table is made, or --columns low=high,high=low.",
        )
    if (frame["truth"] == 0).any():
        bad = frame.filter(pl.col("truth") == 0)
        raise InputError(
            f'Column "truth" of "{source.name}" must not be 0: errors are shares of it.',
            found=f"Found {bad.height:,} of {frame.height:,} rows (first: {bad['system'][0]!r}).",
            todo="Leave out systems that earn nothing.",
        )
    blank = [pl.lit("1").alias("repetition")] if "repetition" not in frame.columns else []
    ends = [pl.lit(float("nan")).alias(c) for c in ("low", "high") if c not in frame.columns]
    frame = frame.with_columns(*blank, *ends)
    return Table(source, frame.with_columns(pl.col("system", "estimator").cast(pl.String)))


def _trials(table: Table) -> list[Trials]:
    """One array per column and estimator; refused if cells are missing or stand twice."""
    frame = table.frame
    systems, again = (frame[c].unique(maintain_order=True) for c in ("system", "repetition"))
    out = []
    for part in frame.partition_by("estimator", maintain_order=True):
        name = part["estimator"][0]
        cell = positions(part["system"], systems) * len(again) + positions(
            part["repetition"], again
        )
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
        out.append(Trials(name, *arrays))
        if not np.allclose(out[-1].truth, out[0].truth, rtol=1e-9, atol=0):
            raise InputError(
                f'"{table.name}" has another truth for {name} than for {out[0].estimator}.',
                todo="A system has one true value in each repetition, whatever estimates it.",
            )
    return out


def _row(t: Trials, level: float) -> AccuracyRow:
    found = accuracy(t)
    half = normal_quantile(0.5 + level / 2) * found.se
    return AccuracyRow(
        measure=t.estimator,
        value=found.relative_rmse,
        se=found.se,
        low=max(found.relative_rmse - half, 0.0),
        high=found.relative_rmse + half,
        level=level,
        bias=found.bias,
        variance=found.variance,
        coverage=found.coverage,
        kendall=found.kendall,
        regret=found.regret,
        systems=t.truth.shape[0],
        repetitions=t.truth.shape[1],
    )


def _units(frame: pl.DataFrame) -> pl.DataFrame:
    """The relative error of each estimate."""
    return frame.select(
        unit="repetition",
        system="system",
        measure="estimator",
        value=pl.col("estimate") / pl.col("truth") - 1,
    )
