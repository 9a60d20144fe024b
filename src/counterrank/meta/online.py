r"""Past offline figures against past online ones (Jeunen et al. 2024, section 6).

A case is one system in one experiment (or on one day). Over the cases, offline and online values
correlate (Pearson's :math:`r` with Student's test, Kendall's :math:`\tau`). Against the control of
the experiment, both have an effect. An effect is called where its two-sided normal p is at most
:math:`\alpha`; what is true is what the experiment calls, or all effects where they are known to
be real. Then

* sensitivity: share of true effects that the offline measure calls, in the right direction;
* type II: share it does not call; type III: share it calls in the wrong direction;
* type I: share it calls of the effects that the experiment does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Bools, Floats
from counterrank.inference.intervals import normal_quantile
from counterrank.stats.correlation import kendall_tau


@dataclass(frozen=True, eq=False)
class Cases:
    """One offline measure beside one online metric; NaN where something is not known.

    ``offline`` and ``online`` are values, ``effect`` and ``online_effect`` differences from the
    control with their standard errors ``se`` and ``online_se``.
    """

    measure: str
    reward: str
    experiment: tuple[str, ...]
    system: tuple[str, ...]
    offline: Floats
    online: Floats
    effect: Floats
    se: Floats
    online_effect: Floats
    online_se: Floats

    @property
    def p(self) -> Floats:
        """Two-sided p of each offline effect."""
        return two_sided(self.effect, self.se)

    def true(self, alpha: float, truth: str) -> Bools:
        """Effects taken as real: those the experiment calls, or all that are known."""
        known: Bools = ~np.isnan(self.effect) & ~np.isnan(self.online_effect)
        sure: Bools = (
            self.online_effect != 0
            if truth == "all"
            else two_sided(self.online_effect, self.online_se) <= alpha
        )
        return known & sure

    def right(self, alpha: float) -> Bools:
        """Effects the offline measure calls, in the direction the experiment found."""
        right: Bools = (self.p <= alpha) & (np.sign(self.effect) == np.sign(self.online_effect))
        return right


@dataclass(frozen=True)
class Figures:
    """What one measure is worth against one metric; NaN where the cases cannot say."""

    pearson: float
    low: float
    high: float
    p: float
    kendall: float
    cases: int
    sign_agreement: float
    sensitivity: float
    type_1: float
    type_2: float
    type_3: float
    mean_p: float
    effects: int
    nulls: int


def figures(cases: Cases, *, level: float, truth: str) -> Figures:
    """All figures of one measure."""
    alpha = 1 - level + 1e-12
    r, n = correlation(cases.offline, cases.online), len(cases.offline)
    low, high = fisher(r, n, level)
    known = ~np.isnan(cases.effect) & ~np.isnan(cases.online_effect)
    true = cases.true(alpha, truth)
    null = known & ~true
    tested = not np.isnan(cases.se[known]).any()
    called, right = cases.p <= alpha, cases.right(alpha)
    same = np.sign(cases.effect) == np.sign(cases.online_effect)
    return Figures(
        pearson=r,
        low=low,
        high=high,
        p=student(r, n),
        kendall=float(kendall_tau(cases.offline, cases.online)) if np.isfinite(r) else float("nan"),
        cases=n,
        sign_agreement=_share(same, true),
        sensitivity=_share(right, true) if tested else float("nan"),
        type_1=_share(called, null) if tested else float("nan"),
        type_2=_share(~called, true) if tested else float("nan"),
        type_3=_share(called & ~right, true) if tested else float("nan"),
        mean_p=float(cases.p[true].mean()) if tested and true.any() else float("nan"),
        effects=int(true.sum()),
        nulls=int(null.sum()),
    )


def two_sided(difference: Floats, se: Floats) -> Floats:
    r""":math:`2 \Phi(-|d| / se)`; a difference of 0 has p 1, another without spread p 0."""
    from scipy.special import ndtr

    flat = (se == 0) & ~np.isnan(difference)
    z = np.abs(difference) / np.where(flat, 1.0, se)
    p: Floats = np.where(flat, (difference == 0).astype(float), 2 * ndtr(-z))
    return p


def correlation(x: Floats, y: Floats) -> float:
    """Pearson's correlation; not a number below three cases or where one side does not vary."""
    if len(x) < 3 or np.isnan(x + y).any():
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    size = np.sqrt(np.sum(x**2) * np.sum(y**2))
    return float(np.clip(np.sum(x * y) / size, -1, 1)) if size > 0 else float("nan")


def student(r: float, n: int) -> float:
    r"""Two-sided p of :math:`t = r \sqrt{(n - 2) / (1 - r^2)}` with :math:`n - 2` freedoms."""
    from scipy.special import stdtr

    if np.isnan(r):
        return float("nan")
    if abs(r) == 1:
        return 0.0
    return float(2 * stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / (1 - r**2))))


def fisher(r: float, n: int, level: float) -> tuple[float, float]:
    r"""Interval of a correlation: :math:`\tanh(\mathrm{artanh}\, r \pm z / \sqrt{n - 3})`."""
    if np.isnan(r) or n < 4:
        return float("nan"), float("nan")
    centre = np.arctanh(np.clip(r, -1 + 1e-15, 1 - 1e-15))
    half = normal_quantile(0.5 + level / 2) / np.sqrt(n - 3)
    return float(np.tanh(centre - half)), float(np.tanh(centre + half))


def _share(part: Bools, whole: Bools) -> float:
    return float(part[whole].mean()) if whole.any() else float("nan")
