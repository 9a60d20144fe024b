"""Which method orders the systems as open-loop feedback does, and by how much better?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from counterrank.core.arrays import Floats, divide
from counterrank.core.errors import UsageError
from counterrank.stats.correlation import dependent_correlations, kendall_tau
from counterrank.stats.estimates import normal_quantile
from counterrank.stats.units import Estimate
from counterrank.stratified.request import LEAST, RESAMPLES


@dataclass(frozen=True)
class Agreement:
    """How well a method's order of the systems agrees with that of open-loop feedback.

    ``kendall`` is tau-b with its interval over users; ``settled`` is tau with the noise of the
    users extrapolated away, without a claim of precision. ``difference`` is the tau less that
    of ``baseline``, with its interval over users and the two-sided ``p``. ``t``, ``t_one_sided``
    and ``t_two_sided`` are the test of published experiments, which puts taus where Pearson
    correlations belong and takes the systems for a random sample. A method that ties all systems
    has no tau (NaN).
    """

    measure: str
    estimator: str
    kendall: float
    low: float
    high: float
    se: float
    settled: float
    baseline: str
    difference: float
    difference_low: float
    difference_high: float
    p: float
    t: float
    t_one_sided: float
    t_two_sided: float
    systems: int
    draws: int


def agreements(
    measure: str,
    truth: Sequence[Estimate],
    methods: Mapping[str, Sequence[Estimate]],
    *,
    baseline: str = "holdout",
    level: float = 0.95,
    draws: int = RESAMPLES,
) -> list[Agreement]:
    r"""Agreement of each method with the open loop's ``truth``, and compared with ``baseline``.

    Truth and methods have an estimate for each system, with at least ``draws`` resamples. A user's
    weight in a resample depends on the user's id alone, so that it is the same under every method
    and in the truth, wherever the user stands.

    Noise pulls tau towards 0, and a resample, which adds as much noise again, pulls it further. So
    intervals have the width of the resampled taus but the observed tau as their centre:

    .. math:: \hat\tau \pm z\, sd(\tau^*)

    They are for the tau that users like these give on average, in such numbers, to these systems;
    its own noise is part of what a method is worth. Where differences of systems near zero are
    about equally frequent, the pull grows as the standard deviation of the noise, so
    ``settled`` is :math:`\hat\tau + (\hat\tau - \bar\tau^*) / (\sqrt 2 - 1)`.
    """
    names = list(methods)
    if baseline not in names:
        raise UsageError(
            f'There is no method "{baseline}" to compare with.', todo=f"Take: {', '.join(names)}."
        )
    systems = len(truth)
    if systems < LEAST:
        raise UsageError("Agreement needs four systems.", found=f"There are {systems}.")
    values = np.array([[e.value for e in own] for own in methods.values()])
    right = np.array([e.value for e in truth])
    observed = kendall_tau(np.tile(right, (len(names), 1)), values)
    again = np.array(
        [kendall_tau(_resamples(truth, draws), _resamples(x, draws)) for x in methods.values()]
    )
    base = names.index(baseline)
    between = kendall_tau(values[base], values)
    z = normal_quantile(0.5 + level / 2)
    se, pull = _spread(again), observed - _mean(again)
    settled = np.clip(observed + pull / (np.sqrt(2) - 1), -1, 1)
    apart, apart_se = observed - observed[base], _spread(again - again[base])
    tested = [
        dependent_correlations(tau, float(observed[base]), other, systems)
        for tau, other in zip(observed.tolist(), between.tolist(), strict=True)
    ]
    return [
        Agreement(
            measure=measure,
            estimator=method,
            kendall=float(observed[m]),
            low=float(max(observed[m] - z * se[m], -1)),
            high=float(min(observed[m] + z * se[m], 1)),
            se=float(se[m]),
            settled=float(settled[m]),
            baseline=baseline,
            difference=float(apart[m]),
            difference_low=float(max(apart[m] - z * apart_se[m], -2)),
            difference_high=float(min(apart[m] + z * apart_se[m], 2)),
            p=_p(float(apart[m]), float(apart_se[m]), draws),
            t=tested[m].t,
            t_one_sided=tested[m].p_one_sided,
            t_two_sided=tested[m].p_two_sided,
            systems=systems,
            draws=draws,
        )
        for m, method in enumerate(names)
    ]


@dataclass(frozen=True)
class MethodPair:
    """Two methods' taus with the open loop compared by the published test (Williams' t)."""

    measure: str
    estimator: str
    other: str
    difference: float
    t: float
    t_one_sided: float
    t_two_sided: float


def method_pairs(
    measure: str, truth: Sequence[Estimate], methods: Mapping[str, Sequence[Estimate]]
) -> list[MethodPair]:
    """Every method against every one before it."""
    right = np.array([e.value for e in truth])
    values = {name: np.array([e.value for e in own]) for name, own in methods.items()}
    taus = {name: float(kendall_tau(right, x)) for name, x in values.items()}
    found = []
    for b, a in combinations(values, 2):
        between = float(kendall_tau(values[a], values[b]))
        x = dependent_correlations(taus[a], taus[b], between, len(right))
        found.append(MethodPair(measure, a, b, x.difference, x.t, x.p_one_sided, x.p_two_sided))
    return found


def _resamples(estimates: Sequence[Estimate], draws: int) -> Floats:
    """The values of all systems in each resample."""
    return np.stack([np.asarray(e.resamples)[:draws] for e in estimates], axis=1)


def _mean(again: Floats) -> Floats:
    """Mean of each row's known values."""
    known = np.isfinite(again)
    return divide(np.where(known, again, 0).sum(axis=1), known.sum(axis=1))


def _spread(again: Floats) -> Floats:
    """Standard deviation of each row's known values."""
    known = np.isfinite(again)
    centred = np.where(known, again - _mean(again)[:, None], 0)
    return np.sqrt(divide((centred**2).sum(axis=1), np.maximum(known.sum(axis=1) - 1, 0)))


def _p(difference: float, se: float, draws: int) -> float:
    """Two-sided p by the normal distribution; no smaller than so many draws can show."""
    if difference == 0 or not se > 0:
        return 1.0 if difference == 0 else float("nan")
    from scipy.special import ndtr

    return max(float(2 * ndtr(-abs(difference) / se)), 1 / (draws + 1))
