r"""The power law of popularity: how fast the number of items falls as their feedback grows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterrank.core.arguments import one_of
from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import InputError

METHODS = ("approximate", "exact")
COARSE = 32  # points of a first look at a candidate's distance
TAIL = 50  # counts that a tail needs: with fewer almost anything looks like a power law
FIT = 0.1  # below this goodness of fit a power law is given up (Clauset, Shalizi and Newman)
RESAMPLES, ENOUGH = 100, 10  # samples of a law at most, and distances as large that end them
TABLE = 4096  # counts whose chance is looked up; beyond, whole numbers are as good as a continuum


@dataclass(frozen=True)
class PowerLaw:
    r""":math:`P(X = x) = x^{-\alpha} / \zeta(\alpha, x_{min})` from ``xmin`` upwards.

    ``distance`` is the Kolmogorov-Smirnov distance of the ``tail`` counts that are fitted.
    """

    alpha: float
    xmin: int
    distance: float
    tail: int
    method: str


def power_law(counts: npt.ArrayLike, *, method: str = "approximate") -> PowerLaw:
    r"""Fit a discrete power law to counts (Clauset, Shalizi and Newman 2009).

    Each distinct count but the largest may be :math:`x_{min}`; with the :math:`n` counts from it
    upwards

    .. math:: \alpha = 1 + n \Big/ \sum_i \ln \frac{x_i}{x_{min} - 1/2}

    and the :math:`x_{min}` is kept whose largest distance between the share of counts below
    :math:`x` and :math:`1 - \zeta(\alpha, x) / \zeta(\alpha, x_{min})` is least. ``approximate`` is
    this formula, as in the published experiments; ``exact`` maximises the likelihood
    :math:`-\alpha \sum_i \ln x_i - n \ln \zeta(\alpha, x_{min})` itself. A tail so narrow that its
    zeta function is no number of double precision is no candidate. Counts of 0 are left out.
    """
    one_of("power-law method", method, METHODS)
    x, many = np.unique(positive(counts), return_counts=True)
    if len(x) < 2:
        raise InputError(
            "A power law needs counts that differ.",
            found=f"Found {int(many.sum())} positive counts, all {x[0]}."
            if len(x)
            else "No count.",
            todo="Give a propensity column, or cut strata by items.",
        )
    tail: Ints = np.cumsum(many[::-1])[::-1]
    logs = np.cumsum((many * np.log(x.astype(float)))[::-1])[::-1]
    lows = x[:-1].astype(float)
    alpha = 1 + tail[:-1] / (logs[:-1] - tail[:-1] * np.log(lows - 0.5))
    if method == "exact":
        alpha = _maximised(logs[:-1] / tail[:-1], lows, alpha)
    best, distance = _nearest(x.astype(float), tail, alpha)
    if not np.isfinite(distance):
        raise InputError(
            "No power law fits these counts.",
            found=f"They are all between {x[0]} and {x[-1]}, too narrow for a tail.",
            todo="Give a propensity column, or cut strata by items.",
        )
    return PowerLaw(float(alpha[best]), int(x[best]), distance, int(tail[best]), method)


def goodness_of_fit(counts: npt.ArrayLike, law: PowerLaw) -> float:
    r"""How often samples of the law are as far from their own fit as ``counts`` are from theirs.

    A sample has as many counts: each is one of the law, :math:`P(X \ge x) = \zeta(\alpha, x) /
    \zeta(\alpha, x_{min})`, with the chance of the tail, otherwise one of the counts below
    :math:`x_{min}`; and both parameters are fitted to it again (Clauset, Shalizi and Newman 2009,
    section 4.1). Drawing ends with the tenth distance :math:`d^* \ge d`, at draw l, and
    :math:`p = 10 / l`; or after n = 100 with g of them, and :math:`p = (g + 1) / (n + 1)` (Besag
    and Clifford 1991).
    """
    x, rng, beyond = positive(counts), np.random.default_rng(0), 0
    below = x[x < law.xmin]
    for draw in range(1, RESAMPLES + 1):
        tail = rng.binomial(len(x), law.tail / len(x))
        rest = rng.choice(below, len(x) - tail) if len(below) else below
        again = np.append(_draw(law, tail, rng), rest)
        if np.any(again != again[0]):
            beyond += power_law(again, method=law.method).distance >= law.distance
        if beyond == ENOUGH:
            return ENOUGH / draw
    return (beyond + 1) / (RESAMPLES + 1)


def _draw(law: PowerLaw, size: int, rng: np.random.Generator) -> Ints:
    """Counts of the law, from its distribution upside down."""
    from scipy.special import zeta

    u = 1 - rng.random(size)
    x = law.xmin + np.arange(1, TABLE + 1)
    above = zeta(law.alpha, x) / zeta(law.alpha, law.xmin)
    near = law.xmin + np.searchsorted(-above, -u, side="left")
    far = (law.xmin - 0.5) * u ** (-1 / (law.alpha - 1)) + 0.5
    return np.where(near < x[-1], near, np.minimum(far, 2.0**62)).astype(np.int64)


def positive(counts: npt.ArrayLike) -> Ints:
    """The counts above 0, as integers; refused if they are not counts."""
    given = np.asarray(counts).ravel()
    bad = np.flatnonzero(~(np.isfinite(given) & (given >= 0) & (given == np.floor(given))))
    if len(bad):
        raise InputError(
            "Counts must be whole numbers from 0.",
            found=f"Found {given[bad[0]]} at place {bad[0]}.",
        )
    return given[given > 0].astype(np.int64)


def _nearest(x: Floats, tail: Ints, alpha: Floats) -> tuple[int, float]:
    """The candidate of least distance, the smaller one of equals.

    A look at a few points bounds each distance from below, and candidates are looked at closely
    in the order of these bounds, until no bound is below the best distance.
    """
    everywhere = range(len(alpha))
    few = [np.linspace(i, len(x) - 1, min(COARSE, len(x) - i)).astype(int) for i in everywhere]
    bound = np.array([_distance(x, tail, i, alpha[i], few[i]) for i in everywhere])
    best, least = 0, np.inf
    for i in np.argsort(bound, kind="stable"):
        if bound[i] > least:
            break
        distance = _distance(x, tail, i, alpha[i], np.arange(i, len(x)))
        if (distance, i) < (least, best):
            best, least = int(i), distance
    return best, least


def _distance(x: Floats, tail: Ints, low: int, alpha: float, at: Ints) -> float:
    """Largest gap between the share of counts below ``x[at]`` and that of the law from ``low``."""
    from scipy.special import zeta

    whole = zeta(alpha, x[low])
    if not whole > 0:
        return float("inf")
    return float(np.abs(tail[at] / tail[low] - zeta(alpha, x[at]) / whole).max())


def _maximised(mean_log: Floats, low: Floats, near: Floats) -> Floats:
    """The maximum of the likelihood for each candidate, by halving: its slope falls in alpha."""
    from scipy.special import zeta

    step = 1e-6
    left, right = np.full(len(low), 1 + 2 * step), 50 * near
    for _ in range(60):
        alpha = (left + right) / 2
        up, down = zeta(alpha + step, low), zeta(alpha - step, low)
        known = up > 0  # otherwise alpha is beyond double precision, so too large
        fall = np.log(np.where(known, down, 1) / np.where(known, up, 1))
        rising = known & (fall > 2 * step * mean_log)
        left, right = np.where(rising, alpha, left), np.where(rising, right, alpha)
    return (left + right) / 2
