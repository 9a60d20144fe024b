r"""Discriminative power: how well a measure tells systems apart (Valcarce et al. 2020, 4.2).

Every pair of systems gets the p of a paired permutation test. The curve is all p-values in falling
order; :math:`DP = \sum_j p_j` is the area under it, the lower the better. Sakai (2006) counts the
share of pairs below a level, Lu et al. (2016) take the median p.

How sure DP is, comes from resampling users. A permutation test of every resample would cost a
thousand times the one test, so there p is that of the normal distribution the flipped sums tend to:

.. math:: p = \frac{1 + N \cdot 2 \Phi(-|D| / \sqrt Q)}{1 + N}

with :math:`N` flips. Its DP on the sample itself stands beside the permutation's. Resampled
p-values are off centre (a second helping of noise moves them), so only the spread of
:math:`\log DP` is used: :math:`DP \exp(\pm z \cdot sd)`. What it covers is the DP expected of as
many users like these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterrank.assess.unit_values import Values, all_pairs, resample_users
from counterrank.core.arrays import Floats
from counterrank.core.format import in_a_sentence
from counterrank.core.parallel import Progress, quiet
from counterrank.data.ids import hash_ids
from counterrank.diagnostics.diagnostic import Diagnostic
from counterrank.results.rows import as_comparison
from counterrank.stats.compare import Comparison
from counterrank.stats.estimates import normal_quantile
from counterrank.stats.permutation import Keep, at_once, permutation_test
from counterrank.stats.plan import Plan


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
class PCurve:
    """The p-values of one measure in falling order."""

    measure: str
    p: list[float]


@dataclass(frozen=True)
class DiscriminativePower:
    """p-values (measures x pairs), and log DP of each resample (draws x measures).

    ``approximate`` is DP by the normal distribution on the sample itself.
    """

    p: Floats
    pairs: list[tuple[int, int]]
    draws: int
    approximate: Floats
    again: Floats

    @property
    def protocol(self) -> dict[str, Any]:
        """How p-values and intervals were made."""
        test = "permutation, two-sided, difference of means"
        interval = "log DP, standard deviation over resampled users, normal p"
        return {"test": test, "draws": self.draws, "interval": interval}

    @property
    def dp(self) -> Floats:
        """:math:`DP` of each measure."""
        dp: Floats = self.p.sum(axis=1)
        return dp

    @property
    def spread(self) -> Floats:
        """Standard deviation of log DP."""
        spread: Floats = self.again.std(axis=0, ddof=1)
        return spread

    def interval(self, level: float) -> Floats:
        """Low and high end for each measure; no p is above 1, so no DP above the pairs."""
        half = normal_quantile(0.5 + level / 2) * self.spread
        high = np.minimum(self.dp * np.exp(half), len(self.pairs))
        return np.stack([self.dp * np.exp(-half), high], axis=1)

    def apart(self, a: int, b: int, level: float) -> bool:
        """Whether the DP of two measures differ, by the spread of their log ratio."""
        spread = float((self.again[:, a] - self.again[:, b]).std(ddof=1))
        ratio = abs(float(np.log(self.dp[a] / self.dp[b])))
        return ratio > normal_quantile(0.5 + level / 2) * spread


def discriminative_power(
    values: Values, plan: Plan, *, progress: Progress = quiet, keep: Keep = at_once
) -> DiscriminativePower:
    """p-values of all pairs in all measures, and DP under resampled users."""
    scores = [values.scores(m) for m in range(len(values.measures))]
    systems = len(values.systems)
    pairs = all_pairs(systems)
    tested = permutation_test(
        scores, pairs, ids=hash_ids(values.units), draws=plan.draws, seed=plan.seed,
        progress=progress, keep=keep,
    )  # fmt: skip

    def dps(sums: list[Floats]) -> Floats:
        each = [normal_p(*differences_of_sums(s, systems), tested.draws).sum(axis=1) for s in sums]
        return np.stack(each, axis=1)

    approximate = dps([products(x).sum(axis=0, keepdims=True) for x in scores])[0]
    columns = map(products, scores)  # of a hundred systems wide: no two are held at once
    again = resample_users(values.units, columns, dps, plan, progress=progress, keep=keep)
    return DiscriminativePower(tested.p, pairs, tested.draws, approximate, np.log(again))


def products(x: Floats) -> Floats:
    """Columns of one measure (units x systems): each system, then each product of two.

    Values are centred by unit, which changes no difference.
    """
    x = x - x.mean(axis=1, keepdims=True)
    units, systems = x.shape
    out = np.empty((units, systems * (systems + 3) // 2))
    out[:, :systems], begin = x, systems
    for a in range(systems):
        out[:, begin : begin + systems - a] = x[:, a, None] * x[:, a:]
        begin += systems - a
    return out


def differences_of_sums(sums: Floats, systems: int) -> tuple[Floats, Floats]:
    r""":math:`D` and :math:`Q` of every pair (draws x pairs) from the sums of ``products``.

    Let :math:`w_u` say how often user :math:`u` was drawn. A pair's difference is
    :math:`D = \sum_u w_u d_u`, and its variance under random signs :math:`Q = \sum_u w_u d_u^2`.
    Both follow from the systems' values :math:`x_a` and their products :math:`x_a x_b`, so one
    product of weights and columns serves all pairs.
    """
    left, right = np.array(all_pairs(systems)).T
    a, b = np.triu_indices(systems)
    place = np.zeros((systems, systems), np.int64)
    place[a, b] = place[b, a] = systems + np.arange(len(a))
    square = sums[:, place[left, left]] + sums[:, place[right, right]]
    square -= 2 * sums[:, place[left, right]]
    return sums[:, left] - sums[:, right], np.maximum(square, 0)


def normal_p(difference: Floats, square: Floats, draws: int) -> Floats:
    """The two-sided p that a permutation test with so many flips would tend to."""
    from scipy.special import ndtr

    flat = square <= 1e-12 * np.max(square, initial=0.0)  # two systems alike: nothing to flip
    z = np.abs(difference) / np.sqrt(np.where(flat, np.inf, square))
    return (1 + draws * 2 * ndtr(-z)) / (1 + draws)


def power_rows(values: Values, power: DiscriminativePower, level: float) -> list[PowerRow]:
    """DP of each measure and what else its p-values say."""
    ends = power.interval(level)
    return [
        PowerRow(
            measure=label,
            value=float(power.dp[m]),
            se=float(power.dp[m] * power.spread[m]),
            low=float(ends[m, 0]),
            high=float(ends[m, 1]),
            level=level,
            significant=float(np.mean(power.p[m] <= 1 - level + 1e-12)),
            median_p=float(np.median(power.p[m])),
            pairs=len(power.pairs),
            units=int(values.shared(m).sum()),
        )
        for m, label in enumerate(values.measures)
    ]


def pair_rows(values: Values, power: DiscriminativePower, **told: Any) -> list[Comparison]:
    """Every pair in every measure: the difference of its values, and the permutation p."""
    totals = values.totals()
    units = [int(values.shared(m).sum()) for m in range(len(values.measures))]
    return [
        as_comparison(
            None, measure=label, system=values.systems[a], baseline=values.systems[b],
            difference=float(totals[m, a] - totals[m, b]), p=float(power.p[m, j]),
            units=units[m], test="permutation", draws=power.draws, **told,
        )
        for m, label in enumerate(values.measures)
        for j, (a, b) in enumerate(power.pairs)
    ]  # fmt: skip


def curves(values: Values, power: DiscriminativePower) -> list[PCurve]:
    """The p-values of every measure, the largest first."""
    falling = np.sort(power.p, axis=1)[:, ::-1].tolist()
    return list(map(PCurve, values.measures, falling))


def normal_approximation(values: Values, power: DiscriminativePower) -> Diagnostic:
    """Resampled p-values are normal ones; on the sample itself DP is known both ways."""
    off = np.abs(power.approximate / power.dp - 1)
    m = int(np.argmax(off))
    worst, measure = float(off[m]), values.measures[m]
    verdict = "pass" if worst <= 0.1 else "caution" if worst <= 0.5 else "fail"
    text = (
        f"DP of {measure} by the normal distribution is {worst:.1%} off the permutation's;"
        " intervals of DP rest on the former."
    )
    if verdict != "pass":
        text += " Read the p-values, not the intervals."
    return Diagnostic("normal approximation", measure, worst, 0.1, verdict, text)


def recommend_by_power(rows: list[PowerRow], power: DiscriminativePower, level: float) -> list[str]:
    """The lowest DP, who is not told apart from it, and what that means for a comparison."""
    order = sorted(range(len(rows)), key=lambda m: rows[m].value)
    best, last = rows[order[0]], rows[order[-1]]
    pairs = f"{best.pairs:,} pair{'s' * (best.pairs != 1)}"
    if len(rows) == 1:
        first = f"{best.measure} has a DP of {best.value:.3g} over {pairs} of systems."
        use = "Give more measures to learn which tells these systems apart best."
    else:
        strict = 1 - (1 - level) / (len(rows) - 1)  # the best is compared with every other
        tied = [rows[m].measure for m in order[1:] if not power.apart(order[0], m, strict)]
        first = (
            f"{best.measure} has the lowest DP, {best.value:.3g}"
            f" ({level:.0%} interval {best.low:.3g} to {best.high:.3g}) over {pairs},"
            f" against {last.value:.3g} for {last.measure}."
        )
        ahead = (
            f"not separated from it: {in_a_sentence(tied)}" if tied else "it is ahead of all others"
        )
        use = f"Use {best.measure} where differences between systems are small; {ahead}."
        if len(tied) == len(rows) - 1:
            first = (
                f"The measures are not separated: DP goes from {best.value:.3g}"
                f" ({best.measure}) to {last.value:.3g} ({last.measure}) over {pairs}."
            )
            use = "Choose by what the measure means, not by its power on these data."
    called = f"At {level:.0%} {best.measure} calls {best.significant:.0%} of the pairs different"
    called += f", {last.measure} {last.significant:.0%}" if len(rows) > 1 else ""
    sample = "most of these systems are too close for this sample"
    if best.significant >= 0.9:
        sample = "the sample is large enough for systems as far apart as these"
    elif best.significant >= 0.5:
        sample = "closer systems need more users"
    return [first, f"{called}, each pair by itself; {sample}.", use]
