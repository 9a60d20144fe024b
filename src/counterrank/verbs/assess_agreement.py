"""``assess agreement``: which measures put the systems in the same order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from counterrank.assess_result import Assessment
from counterrank.data.runs import Runs, has_runs
from counterrank.engine import Engine
from counterrank.errors import CounterrankError, UsageError, one_of
from counterrank.inference import DRAWS
from counterrank.inference.intervals import normal_quantile
from counterrank.meta import (
    Checkpoint,
    Values,
    at_least,
    enough_resamples,
    fingerprint,
    geometric_twin,
    values_of,
)
from counterrank.meta.agreement import Orders, orders
from counterrank.meta.grounds import enough, enough_units
from counterrank.meta.resampling import all_pairs
from counterrank.policies import Policies
from counterrank.progress import Progress, quiet
from counterrank.ranking import DCG, DEFAULTS, Measure, dcg_forms, measure
from counterrank.stats.compare import Plan
from counterrank.verbs.assess_power import RESAMPLES
from counterrank.verbs.recommended import agreed

MEANS = ("both", "given")


@dataclass(frozen=True)
class AgreementRow:
    """Two measures. ``value`` is the share of pairs of systems they order differently.

    ``opposed`` counts the pairs that both call different, in opposite directions.
    """

    measure: str
    other: str
    value: float
    se: float
    low: float
    high: float
    level: float
    pearson: float
    kendall: float
    opposed: int
    units: int


@dataclass(frozen=True)
class Tau:
    """Kendall's tau of the systems' orders by two measures."""

    measure: str
    other: str
    kendall: float


@dataclass(frozen=True)
class Opposed:
    """Two systems that two measures call different, each in favour of another one.

    ``difference`` is ``system`` minus ``baseline`` in ``measure``, ``other_difference`` in
    ``other``.
    """

    measure: str
    other: str
    system: str
    baseline: str
    difference: float
    other_difference: float
    p: float
    other_p: float


def assess_agreement(
    source: object,
    runs: Runs | None = None,
    *,
    measures: Sequence[str | Measure] = (),
    means: str = "both",
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
    """Do measures agree on the order of systems? DCG and nDCG first.

    ``source`` is judgments, with ``runs``; or alone a table with unit, system, measure and value,
    a folder written by ``--out``, or a result. With runs, DCG and nDCG are added in the form asked
    for. ``means="both"`` adds each measure's geometric mean, ``given`` adds none.

    Every two measures get Pearson's and Kendall's correlation over the systems, the probability
    that they order a pair of systems differently, with an interval from ``resamples`` of the users,
    and the pairs they call different (permutation test with ``draws`` flips, at ``level``) in
    opposite directions. ``resume`` is a folder for results so far. The other options are those of
    ``evaluate``.
    """
    one_of("means", means, MEANS)
    plan = Plan(level=level, draws=draws, resamples=resamples, seed=seed)
    enough_resamples(resamples)
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    wanted = _with_dcg(measures) if has_runs(runs) else measures
    given = values_of(
        source,
        runs,
        measures=wanted,
        policies=policies,
        engine=engine,
        columns=columns,
        progress=progress,
    )
    at_least(given, 2, why="An order")
    given = given.only([*(label for pair in _dcg_pairs(given) for label in pair), *given.measures])
    values = given.with_geometric() if means == "both" else given
    if len(values.measures) < 2:
        raise UsageError("Agreement needs at least two measures.", todo="Add one: --measure RR@10.")
    key = fingerprint("agreement", values.x, values.measures, draws, resamples, seed)
    found = orders(
        values,
        draws=plan.draws,
        resamples=plan.resamples,
        seed=plan.seed,
        progress=progress,
        keep=Checkpoint(resume, key),
    )
    rows = _rows(values, given, found, level)
    told = [row for row in rows if not _twins((row.measure, row.other))] or rows
    return Assessment(
        kind="assess agreement",
        estimates=rows,
        comparisons=[],
        diagnoses=[
            enough_units(min(row.units for row in rows)),
            enough(len(values.systems), "systems"),
        ],
        recommendation=agreed(told, len(all_pairs(len(values.systems)))),
        tables={
            "taus": [
                Tau(values.measures[a.first], values.measures[a.second], a.kendall)
                for a in found.agreements
            ],
            "opposed": _opposed(values, found, rows, level),
        },
        protocol={
            "unit": "user",
            "policies": asdict(policies) if has_runs(runs) else None,
            "means": means,
            "inversion": "ties in both left out, in the first a disagreement, in the second none",
            "interval": "normal, standard deviation over resampled users",
            "test": "permutation, two-sided, each pair by itself",
            "draws": draws,
            "resamples": resamples,
            "level": level,
            "seed": seed,
        },
        inputs=values.inputs,
        units=values.frame(),
    )


def _with_dcg(measures: Sequence[str | Measure]) -> list[str | Measure]:
    """The measures asked for, and DCG and nDCG in the same form."""
    listed = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    asked = [measure(m) for m in listed or DEFAULTS]
    forms = [m for pair in dcg_forms(asked) for m in pair]
    return list(dict.fromkeys([*asked, *forms]))


def _dcg_pairs(values: Values) -> list[tuple[str, str]]:
    """DCG and nDCG where both are there."""
    known = []
    for label in values.measures:
        try:
            known.append(measure(label))
        except CounterrankError:
            continue
    plain = [m for m in known if isinstance(m, DCG) and m.mean == "arithmetic"]
    labels = [(str(a), str(b)) for a, b in (dcg_forms(plain) if plain else [])]
    return [p for p in labels if set(p) <= set(values.measures)]


def _rows(values: Values, given: Values, found: Orders, level: float) -> list[AgreementRow]:
    """DCG and nDCG first, then the measures given, then each against its geometric mean."""
    z = normal_quantile(0.5 + level / 2)
    first = _dcg_pairs(values)
    rows = []
    for a in found.agreements:
        pair = values.measures[a.first], values.measures[a.second]
        if not (set(pair) <= set(given.measures) or _twins(pair)):
            continue
        rows.append(
            AgreementRow(
                measure=pair[0],
                other=pair[1],
                value=a.inversion,
                se=a.spread,
                low=max(a.inversion - z * a.spread, 0.0),
                high=min(a.inversion + z * a.spread, 1.0),
                level=level,
                pearson=a.pearson,
                kendall=a.kendall,
                opposed=len(found.opposed(a.first, a.second, 1 - level + 1e-12)),
                units=int((values.shared(a.first) & values.shared(a.second)).sum()),
            )
        )

    def place(row: AgreementRow) -> tuple[bool, bool]:
        pair = row.measure, row.other
        return pair not in first, _twins(pair)

    return sorted(rows, key=place)


def _twins(pair: tuple[str, str]) -> bool:
    """Whether the second is the first's geometric mean."""
    return pair[1] == geometric_twin(pair[0])


def _opposed(
    values: Values, found: Orders, rows: list[AgreementRow], level: float
) -> list[Opposed]:
    pairs = all_pairs(len(values.systems))
    out = []
    for row in rows:
        a, b = values.measures.index(row.measure), values.measures.index(row.other)
        for j in found.opposed(a, b, 1 - level + 1e-12):
            s, t = pairs[j]
            out.append(
                Opposed(
                    row.measure,
                    row.other,
                    values.systems[s],
                    values.systems[t],
                    float(found.totals[a, s] - found.totals[a, t]),
                    float(found.totals[b, s] - found.totals[b, t]),
                    float(found.p[a, j]),
                    float(found.p[b, j]),
                )
            )
    return out
