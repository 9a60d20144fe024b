r"""Do predictions come true, on average and at every height?

Pairs are binned by their prediction :math:`\hat y`. Bin :math:`d` has residual
:math:`R_d = \sum \omega (y - \hat y)`, ratio of observed to predicted
:math:`1 + R_d / T_d` with :math:`T_d = \sum \omega |\hat y|`, and the bins are tested together by
:math:`\chi^2 = R^\top V^{-1} R` (Hosmer and Lemeshow's idea). A user's pairs go together, and so do
an item's, whose rate is predicted too high or too low for all of them; hence
:math:`V = V_{user} + (V_{item} - V_{pair})_+`, each a sum of squares of residuals summed within;
by item and pair, of residuals less what the ratio explains, :math:`\omega |\hat y| R_d / T_d`:
otherwise a common error would count as scatter between items, and few items could never show it.
:math:`G` items (or users, if fewer) leave :math:`G - 1` degrees of freedom (Hotelling).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats, Ints, divide, sum_by
from counterrank.nuisance.cross_fit import Nuisance, Pairs

BINS = 10
LEAST = 5.0  # outcomes a bin must lead one to expect
MOST_PAIRS = 1 << 21  # pairs that are looked at; of more, those of some users
LEVELS = (0.01, 0.1, 0.5)


@dataclass(frozen=True)
class Calibration:
    """``ratio`` of observed to predicted with its ``se``; ``by_bin`` from low to high.

    ``p_ratio`` is that of the overall ratio. ``excess``: root mean square of the bins' relative
    errors beyond chance; ``p`` of the test of all bins.
    """

    ratio: float
    se: float
    p_ratio: float
    by_bin: Floats
    excess: float
    p: float
    users: int


@dataclass(frozen=True)
class Overlap:
    """Of all pairs: the ``smallest`` ctr, its quantiles, the share ``below`` a floor.

    ``effective``: clicks that would say as much if all pairs were clicked equally often.
    """

    smallest: float
    quantiles: dict[float, float]
    floor: float
    below: float
    effective: float


def calibration(
    user: Ints,
    item: Ints,
    y: Floats,
    predicted: Floats,
    weight: Floats | None = None,
    height: Floats | None = None,
) -> Calibration:
    """Of predictions for pairs whose outcomes are known, in bins of their ``height``.

    That is the prediction itself if nothing else is given.
    """
    w = np.ones(len(y)) if weight is None else weight
    groups = [x for x in (len(np.unique(user)), len(np.unique(item))) if x > 1]
    freedom = min(groups, default=1) - 1
    binary = bool(np.all((y == 0) | (y == 1)))
    height = predicted if height is None else height
    bin_ = _bins(height, predicted, binary=binary, most=max(freedom // 4, 1))
    bins = int(bin_.max(initial=0)) + 1
    residual, size = w * (y - predicted), w * np.abs(predicted)
    one = np.zeros_like(bin_)
    (R, total, V), (r, t, v) = (
        _scatter(user, item, code, residual, size, count)
        for code, count in ((bin_, bins), (one, 1))
    )
    se, off = divide(np.sqrt(np.diag(V)), total), divide(R, total)
    overall, error = float(divide(r, t)[0]), float(divide(np.sqrt(v[0]), t)[0])
    excess = float(np.sqrt(np.maximum(np.mean(off**2 - se**2), 0.0)))
    p_ratio, p = _tail(float(divide(r**2, v[0])[0]), 1, freedom), _tail(*_quadratic(R, V), freedom)
    return Calibration(1 + overall, error, p_ratio, 1 + off, excess, p, len(np.unique(user)))


def calibrations(
    user: Ints, item: Ints, y: Floats, predicted: Floats
) -> dict[str, Calibration | None]:
    """By ``pair``, by ``user`` and by ``item``; None where a side is too thin to tell."""
    out: dict[str, Calibration | None] = {"pair": calibration(user, item, y, predicted)}
    out["user"] = _by_group(user, item, y, predicted, user, item)
    out["item"] = _by_group(user, item, y, predicted, item, user)
    return out


def _by_group(
    user: Ints, item: Ints, y: Floats, predicted: Floats, group: Ints, other: Ints
) -> Calibration | None:
    r"""Whether users (or items) with more events than others have more than predicted.

    The other side is dealt into two halves. Groups are binned by what they did in the one, as a
    ratio to what the other side's rates :math:`\bar y` lead one to expect,
    :math:`\sum y / \sum \bar y`, and predictions are tested in the other half: a model that knows
    the group well errs there neither up nor down.
    """
    first = np.random.default_rng(41).permutation(int(other.max(initial=0)) + 1)[other] % 2 == 0
    rate = divide(sum_by(other, y, int(other.max()) + 1), np.bincount(other).astype(float))
    size = int(group.max(initial=0)) + 1
    did = sum_by(group[first], y[first], size)
    due = sum_by(group[first], np.nan_to_num(rate[other[first]]), size)
    height = np.round(divide(did, due), 9)[group]  # whatever the order in which rows add up
    rest = ~first & np.isfinite(height)
    if not rest.any() or predicted[rest].sum() < 2 * LEAST:
        return None
    of = height[rest]
    found = calibration(user[rest], item[rest], y[rest], predicted[rest], height=of)
    return None if len(found.by_bin) == 1 and np.ptp(of) > 0 else found


def click_calibrations(nuisance: Nuisance) -> dict[str, Calibration | None]:
    """Predicted against observed clicks, over all pairs, and by user and by item."""
    user, item, click = every_pair(nuisance.pairs, nuisance.seed)
    return calibrations(user, item, click, nuisance.ctr(user, item))


def overlap(nuisance: Nuisance, *, floor: float = 0.001) -> Overlap:
    """How small predicted ctrs are."""
    user, item, _ = every_pair(nuisance.pairs, nuisance.seed)
    p = nuisance.ctr(user, item)
    levels = np.quantile(p, LEVELS)
    effective = nuisance.pairs.count / float(np.mean(1 / p))
    quantiles = {level: float(x) for level, x in zip(LEVELS, levels, strict=True)}
    return Overlap(float(p.min()), quantiles, floor, float(np.mean(p < floor)), effective)


def every_pair(pairs: Pairs, seed: int) -> tuple[Ints, Ints, Floats]:
    """User, item and click of every pair; of too many, all pairs of a draw of users."""
    if pairs.kind == "rows":
        return pairs.user, pairs.item, pairs.click.astype(np.float64)
    chosen = np.arange(pairs.users)
    if pairs.count > MOST_PAIRS:
        random = np.random.default_rng([seed, 31])
        chosen = np.sort(random.permutation(pairs.users)[: max(MOST_PAIRS // pairs.items, 2)])
    place = np.full(pairs.users, -1)
    place[chosen] = np.arange(len(chosen))
    click = np.zeros((len(chosen), pairs.items))
    here = pairs.click & (place[pairs.user] >= 0)
    click[place[pairs.user[here]], pairs.item[here]] = 1
    user = np.repeat(chosen, pairs.items)
    return user, np.tile(np.arange(pairs.items), len(chosen)), click.ravel()


def _bins(height: Floats, predicted: Floats, *, binary: bool, most: int) -> Ints:
    """Tenths (or ``most``) of the pairs from low to high, joined until each has enough to tell."""
    parts = min(BINS, most)
    edges = np.unique(np.quantile(height, np.arange(1, parts) / parts))
    bin_ = np.searchsorted(edges, height, side="left")
    size = len(edges) + 1
    expected = sum_by(bin_, predicted if binary else np.full(len(predicted), LEAST / 30), size)
    new, held = np.zeros(size, np.int64), 0.0
    for d in range(size):  # from low to high, so that the last may be thin
        new[d] = new[d - 1] + (held >= LEAST) if d else 0
        held = expected[d] + (0.0 if held >= LEAST else held)
    if held < LEAST and new[-1] > 0:
        new[new == new[-1]] -= 1
    return new[bin_]


def _scatter(
    user: Ints, item: Ints, bin_: Ints, residual: Floats, size: Floats, bins: int
) -> tuple[Floats, Floats, Floats]:
    """Residual and size of each bin, and the covariance of the residuals: by user and by item."""
    R, total = sum_by(bin_, residual, bins), sum_by(bin_, size, bins)
    left = residual - np.nan_to_num(divide(R, total))[bin_] * size

    def cluster_products(code: Ints, x: Floats) -> Floats:
        known, place = np.unique(code, return_inverse=True)
        sums = sum_by(place * bins + bin_, x, len(known) * bins).reshape(-1, bins)
        return sums.T @ sums * len(known) / max(len(known) - 1, 1)

    more = cluster_products(item, left) - np.diag(sum_by(bin_, left**2, bins))
    values, vectors = np.linalg.eigh(more)
    V: Floats = cluster_products(user, residual) + (vectors * np.maximum(values, 0)) @ vectors.T
    return R, total, V


def _quadratic(r: Floats, v: Floats) -> tuple[float, int]:
    """The statistic, over the directions in which residuals vary at all."""
    scale = np.sqrt(np.maximum(np.diag(v), 1e-300))
    values, vectors = np.linalg.eigh(v / np.outer(scale, scale))
    varies = values > 1e-3
    along = (r / scale) @ vectors[:, varies]
    return float(np.sum(along**2 / values[varies])), int(varies.sum())


def _tail(chi2: float, degrees: int, freedom: int) -> float:
    r"""P of Hotelling's statistic, :math:`\chi^2 (f - d + 1) / (f d) \sim F(d, f - d + 1)`."""
    from scipy.special import fdtrc

    rest = freedom - degrees + 1
    if not degrees or rest < 1 or not np.isfinite(chi2):
        return 1.0
    return float(fdtrc(degrees, rest, chi2 * rest / (freedom * degrees)))
