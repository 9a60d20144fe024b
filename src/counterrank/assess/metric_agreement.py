r"""Do two measures put systems in the same order?

Over the systems: Pearson's and Kendall's correlation of their values, and the probability of
inversion, the share of pairs of systems that the two measures order differently (Jeunen et al.
2024, section 6; ties by its rule). Its interval is :math:`\pm z` standard deviations over resampled
users; what it covers is the rate expected of as many users like these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from counterrank.assess.inputs import read_values
from counterrank.assess.request import ResamplingRequest
from counterrank.assess.unit_values import Values, all_pairs, resample_users
from counterrank.core.arrays import Bools, Floats, Ints
from counterrank.core.errors import UsageError
from counterrank.core.format import in_a_sentence
from counterrank.core.parallel import Progress, quiet
from counterrank.data.ids import hash_ids
from counterrank.metrics import DCG, DEFAULTS, Measure, dcg_forms, measure, nDCG
from counterrank.metrics.registry import geometric_twin, known_measure
from counterrank.stats.correlation import ROUNDING, inversions, kendall_tau, pearson
from counterrank.stats.estimates import normal_quantile
from counterrank.stats.permutation import Keep, at_once, permutation_test
from counterrank.stats.plan import Plan

ALIKE = 0.05  # share of pairs ordered differently, at most, by two measures of which one will do
PROTOCOL = {
    "inversion": "ties in both left out, in the first a disagreement, in the second none",
    "interval": "normal, standard deviation over resampled users",
    "test": "permutation, two-sided, each pair by itself",
}


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


def pair_directions(totals: Floats, systems: int) -> Ints:
    """1, 0 or -1 for each pair of systems (last axis): which is ahead."""
    left, right = np.array(all_pairs(systems)).T
    gap = totals[..., left] - totals[..., right]
    gap[np.abs(gap) <= ROUNDING * np.abs(totals).max(axis=-1, keepdims=True)] = 0
    return np.sign(gap).astype(np.int64)


@dataclass(frozen=True)
class Orders:
    """``totals`` is measures x systems; ``rows`` are those of every two measures.

    ``opposed`` has, by the places of two measures, the pairs of systems that both call different,
    each the other way round, and ``p`` that of each pair (measures x pairs), NaN if not asked, by
    ``draws`` sign flips.
    """

    totals: Floats
    p: Floats
    opposed: dict[tuple[int, int], list[int]]
    rows: list[AgreementRow]
    draws: int


def compare_orders(
    values: Values, plan: Plan, *, progress: Progress = quiet, keep: Keep = at_once
) -> Orders:
    """Every two measures compared, each over the users that all systems have."""
    systems, count = len(values.systems), len(values.measures)
    scores = [values.scores(m) for m in range(count)]
    means = np.array([x.mean(axis=0) for x in scores])  # 0 for units left out: same order
    ahead = pair_directions(means, systems)

    def rates(sums: list[Floats]) -> Floats:
        each = [pair_directions(s, systems) for s in sums]
        return np.stack([inversions(a, b) for a, b in combinations(each, 2)], axis=1)

    again = resample_users(values.units, scores, rates, plan, progress=progress, keep=keep)
    totals, (p, draws) = values.totals(), _p_values(values, scores, ahead, plan, progress, keep)
    z, alpha = normal_quantile(0.5 + plan.level / 2), 1 - plan.level + 1e-12
    opposed, rows = {}, []
    for (a, b), spread in zip(
        combinations(range(count), 2), again.std(axis=0, ddof=1), strict=True
    ):
        both: Bools = (ahead[a] * ahead[b] < 0) & (p[a] <= alpha) & (p[b] <= alpha)
        opposed[a, b] = np.flatnonzero(both).tolist()
        rate, se = float(inversions(ahead[a], ahead[b])), float(spread)
        rows.append(
            AgreementRow(
                values.measures[a],
                values.measures[b],
                value=rate,
                se=se,
                low=max(rate - z * se, 0.0),
                high=min(rate + z * se, 1.0),
                level=plan.level,
                pearson=pearson(totals[a], totals[b]),
                kendall=float(kendall_tau(means[a], means[b])),
                opposed=len(opposed[a, b]),
                units=int((values.shared(a) & values.shared(b)).sum()),
            )
        )
    return Orders(totals, p, opposed, rows, draws)


def _p_values(
    values: Values, scores: list[Floats], ahead: Ints, plan: Plan, progress: Progress, keep: Keep
) -> tuple[Floats, int]:
    """p-values of the pairs that some two measures order differently, and by how many flips.

    The others need none.
    """
    pairs = all_pairs(scores[0].shape[1])
    p = np.full(ahead.shape, np.nan)
    turned = np.flatnonzero((ahead > 0).any(axis=0) & (ahead < 0).any(axis=0))
    if not len(turned):
        return p, 0
    tested = permutation_test(
        scores, [pairs[j] for j in turned], ids=hash_ids(values.units), draws=plan.draws,
        seed=plan.seed, progress=progress, keep=keep,
    )  # fmt: skip
    p[:, turned] = tested.p
    return p, tested.draws


def agreement_values(request: ResamplingRequest) -> tuple[Values, tuple[str, ...]]:
    """Values of all measures, DCG and nDCG first, and the labels of those that were given."""
    asked = request.values
    if asked.judged:
        asked = replace(asked, measures=_with_dcg(asked.measures))
    given = read_values(asked)
    given = given.only([*(label for pair in dcg_pairs(given) for label in pair), *given.measures])
    values = given.with_geometric() if request.means == "both" else given
    if len(values.measures) < 2:
        raise UsageError("Agreement needs at least two measures.", todo="Add one: --measure RR@10.")
    return values, given.measures


def _with_dcg(labels: Sequence[str | Measure]) -> list[Measure]:
    """The measures asked for; where these are none or one, DCG and nDCG in the same form too."""
    asked = [measure(m) for m in labels or DEFAULTS]
    if len(dict.fromkeys(labels)) > 1:
        return asked
    forms = [m for pair in dcg_forms(asked) for m in pair]
    return list(dict.fromkeys([*asked, *forms]))


def dcg_pairs(values: Values) -> list[tuple[str, str]]:
    """DCG and nDCG where both are there."""
    known = map(known_measure, values.measures)
    plain = [m for m in known if isinstance(m, DCG) and m.mean == "arithmetic"]
    labels = [(str(a), str(b)) for a, b in (dcg_forms(plain) if plain else [])]
    return [p for p in labels if set(p) <= set(values.measures)]


def agreement_rows(values: Values, given: Sequence[str], orders: Orders) -> list[AgreementRow]:
    """DCG and nDCG first, then the measures given, then each against its geometric mean."""
    first = dcg_pairs(values)
    rows = [r for r in orders.rows if {r.measure, r.other} <= set(given) or is_twin(r)]
    return sorted(rows, key=lambda r: ((r.measure, r.other) not in first, is_twin(r)))


def is_twin(row: AgreementRow) -> bool:
    """Whether the second measure is the first's geometric mean."""
    return row.other == geometric_twin(row.measure)


def opposed_systems(values: Values, orders: Orders, rows: list[AgreementRow]) -> list[Opposed]:
    """The pairs of systems that two measures put the other way round, both being sure."""
    pairs, found = all_pairs(len(values.systems)), []
    for row in rows:
        both = [values.measures.index(label) for label in (row.measure, row.other)]
        for j in orders.opposed[both[0], both[1]]:
            s, t = pairs[j]
            apart = (orders.totals[both, s] - orders.totals[both, t]).tolist()
            names = row.measure, row.other, values.systems[s], values.systems[t]
            found.append(Opposed(*names, *apart, *orders.p[both, j].tolist()))
    return found


def recommend_by_agreement(every: Sequence[AgreementRow], pairs: int) -> list[str]:
    """How far the first two measures disagree, who agrees with whom, and what to report."""
    rows = [row for row in every if not is_twin(row)] or list(every)
    r = rows[0]
    if all(np.isnan(row.kendall) for row in rows):
        return [
            f"By {r.measure} and {r.other} all systems are equal.",
            "Where nothing is ordered, orders can neither agree nor differ.",
            "Compare systems that differ, or look for a fault in the runs.",
        ]
    level = f"{r.level:.0%} interval {r.low:.1%} to {r.high:.1%}"
    flat = np.isnan(r.kendall)
    if flat:
        first = f"{r.measure} or {r.other} sees no difference between any two systems."
    elif r.value == 0 and r.high == 0:
        first = f"{r.measure} and {r.other} order all pairs of systems alike ({pairs} in all)."
    else:
        first = (
            f"{r.measure} and {r.other} order {r.value:.1%} of {pairs} pairs of systems differently"
            f" ({level}, Kendall's tau {r.kendall:.2f}); on {r.opposed} of them both are sure."
        )
    names = list(dict.fromkeys(name for row in rows for name in (row.measure, row.other)))
    tau = {frozenset((row.measure, row.other)): row.kendall for row in rows}
    tau = {pair: t for pair, t in tau.items() if t == t}  # a measure that orders nothing has none
    names = [n for n in names if any(n in pair for pair in tau)]
    mean = {n: np.mean([t for pair, t in tau.items() if n in pair]) for n in names}
    far = min(rows, key=lambda row: row.kendall if row.kendall == row.kendall else 2)
    centre = max(names, key=lambda n: mean[n])
    ends = {frozenset((row.measure, row.other)): row.high for row in rows}
    near = [n for n in names if n != centre and ends.get(frozenset((n, centre)), 1) <= ALIKE]
    second = f"Least alike are {far.measure} and {far.other} (tau {far.kendall:.2f}); {centre} is"
    second += f" closest to the others (mean tau {mean[centre]:.2f})."
    if len(names) < 3:
        second = "No third measure orders these systems, so none can be compared with these two."
    if flat:
        third = "Choose among the measures that tell these systems apart."
    elif r.opposed:
        third = (
            f"The choice between {r.measure} and {r.other} decides {r.opposed} of these pairs, so"
            " choose by the question and not by habit"
        )
        if [type(known_measure(label)) for label in (r.measure, r.other)] == [DCG, nDCG]:
            third += ": a total such as clicks or sales speaks for DCG, one vote per user for nDCG"
        third += "."
    elif r.high == 0:
        third = f"Either of {r.measure} and {r.other} may be reported: the order is the same"
        third += f", and {in_a_sentence(near)} would add little to {centre}." if near else "."
    elif r.low == 0:
        third = (
            f"These users do not settle whether the orders of {r.measure} and {r.other} differ, so"
            " report both or collect more."
        )
    else:
        third = (
            f"Report both {r.measure} and {r.other}: their orders differ, though on no pair of"
            " systems are both measures sure."
        )
    return [first, second, third]
