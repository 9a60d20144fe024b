r"""How offline and online figures go together over cases that are not independent.

Arms of one experiment share its control and its users, and what is so on one day is so the day
after. So the experiment, not the case, is the unit, and days are a series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats, Ints, sum_by
from counterrank.stats.correlation import least_p, pearson, student
from counterrank.stats.estimates import normal_quantile

FEWEST = 3  # cases that correlate


@dataclass(frozen=True)
class Correlation:
    r"""Pearson's ``r``, its two-sided ``p``, and ``se``, that of :math:`\mathrm{artanh}\, r`.

    ``groups`` is the number of experiments or days behind the ``cases``.
    """

    r: float
    p: float
    se: float
    cases: int
    groups: int

    @property
    def independent(self) -> int:
        r"""As many independent cases would be as sure: :math:`3 + 1 / se^2`."""
        return int(3 + 1 / self.se**2) if self.se > 0 else 0

    def ends(self, level: float) -> tuple[float, float]:
        r""":math:`\tanh(\mathrm{artanh}\, r \pm z\, se)`: Fisher's interval, if cases are alone.

        Cases on one line have none: their spread about it is not known.
        """
        if not abs(self.r) < 1 - 1e-12:
            return float("nan"), float("nan")
        centre = np.arctanh(self.r)
        half = normal_quantile(0.5 + level / 2) * self.se
        return float(np.tanh(centre - half)), float(np.tanh(centre + half))


def correlate(
    x: Floats, y: Floats, group: Sequence[str], member: Sequence[str], *, series: bool
) -> Correlation:
    r"""The correlation of cases in groups: experiments or, as a ``series``, days.

    Single cases of independent experiments: Student's test, :math:`se = 1 / \sqrt{n - 3}`. Several
    of each: with standardised :math:`x, y` the scores :math:`s_g = \sum_{i \in g} x_i y_i` are
    tested by Student's t against 0, and :math:`se = \sqrt{\frac{G}{G-1} \sum_g \psi_g^2} / (n (1 -
    r^2))` with :math:`\psi_g = \sum_{i \in g} x_i y_i - r (x_i^2 + y_i^2) / 2`.

    Days: ``y`` is moved by k days against ``x``, round and round, the arms (``member``) of a day
    together: :math:`r_k` for :math:`k = 1, \dots, D - 1` keeps what days and arms have in common.

    .. math:: p = \frac{1 + \#\{k: |r_k| \ge |r|\}}{D}, \qquad
              se^2 = \frac{1}{D - 1} \sum_k \mathrm{artanh}^2 r_k

    Nothing is surer than independent cases are: :math:`se \ge 1 / \sqrt{n - 3}`.
    """
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    names = [(g, m) for g, m, there in zip(group, member, known.tolist(), strict=True) if there]
    n, groups = len(x), len({g for g, _ in names})
    nan = float("nan")
    r = pearson(x, y) if n >= FEWEST else nan
    if np.isnan(r):
        return Correlation(nan, nan, nan, n, groups)
    alone = 1 / np.sqrt(n - 3) if n > 3 else nan
    if series:
        p, se = _shifted(x, y, names, r)
    elif groups == n:
        p, se = student(r, n), alone
    else:
        p, se = _clustered(x, y, _place([g for g, _ in names]), r)
    return Correlation(r, p, max(se, alone) if np.isfinite(se) else nan, n, groups)


def _clustered(x: Floats, y: Floats, place: Ints, r: float) -> tuple[float, float]:
    """p and standard error where the cases of an experiment are one cluster."""
    from scipy.special import stdtr

    groups, n = int(place.max()) + 1, len(x)
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    score = sum_by(place, x * y, groups)
    psi = sum_by(place, x * y - r * (x**2 + y**2) / 2, groups)
    if groups < FEWEST or abs(r) >= 1:
        return least_p(groups), float("nan")
    t = score.mean() / (score.std(ddof=1) / np.sqrt(groups))
    se = np.sqrt(groups / (groups - 1) * np.sum(psi**2)) / n / (1 - r**2)
    return max(float(2 * stdtr(groups - 1, -abs(t))), least_p(groups)), float(se)


def _shifted(
    x: Floats, y: Floats, names: Sequence[tuple[str, str]], r: float
) -> tuple[float, float]:
    """p and standard error of days, by moving one side against the other."""
    day, arm = _place([d for d, _ in names]), _place([m for _, m in names])
    shape = (int(day.max()) + 1, int(arm.max()) + 1)
    if shape[0] < FEWEST:
        return 1.0, float("nan")
    left, right = np.full(shape, np.nan), np.full(shape, np.nan)
    left[day, arm], right[day, arm] = x, y
    moved = []
    for k in range(1, shape[0]):
        other = np.roll(right, k, axis=0)
        both = np.isfinite(left) & np.isfinite(other)
        moved.append(pearson(left[both], other[both]) if both.sum() >= FEWEST else float("nan"))
    rs = np.array(moved)
    rs = rs[np.isfinite(rs)]
    if not len(rs):
        return 1.0, float("nan")
    p = (1 + np.count_nonzero(np.abs(rs) >= abs(r) * (1 - 1e-9))) / (1 + len(rs))
    return float(p), float(np.sqrt(np.mean(np.arctanh(np.clip(rs, -1 + 1e-9, 1 - 1e-9)) ** 2)))


def _place(labels: Sequence[str]) -> Ints:
    """The place of each label in order: of numbers by size, otherwise as dates are written."""
    numbers = all(label.lstrip("-").isdigit() for label in labels)
    order = sorted(set(labels), key=int) if numbers else sorted(set(labels))
    at = {label: k for k, label in enumerate(order)}
    return np.array([at[label] for label in labels], np.int64)
