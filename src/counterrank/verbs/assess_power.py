"""``assess power``: how well each measure tells systems apart."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from counterrank.assess_result import Assessment
from counterrank.data.runs import Runs, has_runs
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.engine import Engine
from counterrank.inference import DRAWS
from counterrank.meta import Checkpoint, Values, at_least, enough_resamples, fingerprint, values_of
from counterrank.meta.grounds import approximated, enough, enough_units
from counterrank.meta.power import Power, discriminative_power
from counterrank.policies import Policies
from counterrank.progress import Progress, quiet
from counterrank.ranking import Measure
from counterrank.stats.compare import Plan
from counterrank.verbs.recommended import counted, listed, most

RESAMPLES = 1000


@dataclass(frozen=True)
class PowerRow:
    """``value`` is DP, the sum of the p-values of all pairs: the lower, the better."""

    measure: str
    value: float
    se: float
    low: float
    high: float
    level: float
    significant: float
    median_p: float
    pairs: int
    units: int


@dataclass(frozen=True)
class PairRow:
    """One pair in one measure: the difference of its values, and the permutation p."""

    measure: str
    system: str
    baseline: str
    difference: float
    p: float
    units: int


@dataclass(frozen=True)
class Curve:
    """The p-values of one measure in falling order."""

    measure: str
    p: list[float]


def assess_power(
    source: object,
    runs: Runs | None = None,
    *,
    measures: Sequence[str | Measure] = (),
    level: float = 0.95,
    draws: int = DRAWS,
    resamples: int = RESAMPLES,
    seed: int = 0,
    missing: str = "zero",
    no_relevant: str = "zero",
    unjudged: str = "ignore",
    duplicates: str = "error",
    ties: str = "id",
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = quiet,
) -> Assessment:
    """How well each measure tells systems apart: p-values of all pairs, their curve, DP.

    ``source`` is judgments, with ``runs``; or alone a table with unit, system, measure and value,
    a folder written by ``--out``, or a result. ``measures`` are labels; of a table, some of its.

    DP is the sum of the p-values of all pairs, from ``draws`` sign flips that all pairs and
    measures share; ``significant`` the share of pairs with p at most 1 - ``level``. The interval
    of DP comes from ``resamples`` of the users, in which p is the normal one.
    ``resume`` is a folder for results so far: the same call goes on where it stopped.
    The other options are those of ``evaluate``.

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=100)
    >>> result = cr.assess_power(world.judgments, world.runs, measures=["nDCG@10", "RR@10"],
    ...                          draws=2000, resamples=200)
    >>> [row.measure for row in result.estimates]
    ['nDCG@10', 'RR@10']
    """
    plan = Plan(level=level, draws=draws, resamples=resamples, seed=seed)
    enough_resamples(resamples)
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    values = values_of(
        source,
        runs,
        measures=measures,
        policies=policies,
        engine=engine,
        columns=columns,
        progress=progress,
    )
    at_least(values, 2, why="Discriminative power")
    done = discriminative_power(
        values,
        draws=plan.draws,
        resamples=plan.resamples,
        seed=plan.seed,
        progress=progress,
        keep=Checkpoint(
            resume, fingerprint("power", values.x, values.measures, draws, resamples, seed)
        ),
    )
    estimates = _rows(values, done, level)
    return Assessment(
        kind="assess power",
        estimates=estimates,
        comparisons=_pairs(values, done),
        diagnoses=[
            enough_units(min(row.units for row in estimates)),
            enough(len(values.systems), "systems"),
            _approximation(values, done),
        ],
        recommendation=recommend(estimates, done, level),
        tables={
            "curves": [
                Curve(label, np.sort(p)[::-1].tolist())
                for label, p in zip(values.measures, done.p, strict=True)
            ]
        },
        protocol={
            "unit": "user",
            "policies": asdict(policies) if has_runs(runs) else None,
            "test": "permutation, two-sided, difference of means",
            "draws": done.draws,
            "interval": "log DP, standard deviation over resampled users, normal p",
            "resamples": resamples,
            "level": level,
            "seed": seed,
        },
        inputs=values.inputs,
        units=values.frame(),
    )


def recommend(rows: list[PowerRow], done: Power, level: float) -> tuple[str, ...]:
    """The lowest DP, who is not told apart from it, and what that means for a comparison."""
    order = sorted(range(len(rows)), key=lambda m: rows[m].value)
    best, last = rows[order[0]], rows[order[-1]]
    pairs = counted(best.pairs)
    if len(rows) == 1:
        first = f"{best.measure} has a DP of {best.value:.3g} over {pairs} of systems."
        use = "Give more measures to learn which tells these systems apart best."
    else:
        strict = 1 - (1 - level) / (len(rows) - 1)  # the best is compared with every other
        tied = [rows[m].measure for m in order[1:] if not done.apart(order[0], m, strict)]
        first = (
            f"{best.measure} has the lowest DP, {best.value:.3g}"
            f" ({level:.0%} interval {best.low:.3g} to {best.high:.3g}) over {pairs},"
            f" against {last.value:.3g} for {last.measure}."
        )
        use = f"Use {best.measure} where differences between systems are small"
        use += (
            f"; not separated from it: {listed(tied)}." if tied else "; it is ahead of all others."
        )
        if len(tied) == len(rows) - 1:
            first = (
                f"The measures are not separated: DP goes from {best.value:.3g}"
                f" ({best.measure}) to {last.value:.3g} ({last.measure}) over {pairs}."
            )
            use = "Choose by what the measure means, not by its power on these data."
    called = (
        f"At {level:.0%} {best.measure} calls {best.significant:.0%} of the pairs different"
        + (f", {last.measure} {last.significant:.0%}" if len(rows) > 1 else "")
        + f", each pair by itself; {most(best.significant)}."
    )
    return first, called, use


def _rows(values: Values, done: Power, level: float) -> list[PowerRow]:
    ends = done.interval(level)
    return [
        PowerRow(
            measure=label,
            value=float(done.dp[m]),
            se=float(done.dp[m] * done.spread[m]),
            low=float(ends[m, 0]),
            high=float(ends[m, 1]),
            level=level,
            significant=float(np.mean(done.p[m] <= 1 - level + 1e-12)),
            median_p=float(np.median(done.p[m])),
            pairs=len(done.pairs),
            units=int(values.shared(m).sum()),
        )
        for m, label in enumerate(values.measures)
    ]


def _pairs(values: Values, done: Power) -> list[PairRow]:
    totals = values.totals()
    units = [int(values.shared(m).sum()) for m in range(len(values.measures))]
    return [
        PairRow(
            measure=label,
            system=values.systems[a],
            baseline=values.systems[b],
            difference=float(totals[m, a] - totals[m, b]),
            p=float(done.p[m, j]),
            units=units[m],
        )
        for m, label in enumerate(values.measures)
        for j, (a, b) in enumerate(done.pairs)
    ]


def _approximation(values: Values, done: Power) -> Diagnosis:
    off = np.abs(done.approximate / done.dp - 1)
    m = int(np.argmax(off))
    return approximated(float(off[m]), values.measures[m])
