"""The learned table: what each rank is worth, how sure that is, and what it was learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from counterrank.core.arrays import Floats, Ints, renumber, sum_by
from counterrank.position.models import (
    BetaGeometric,
    Geometric,
    Log2,
    PositionModel,
    Power,
    WeightTable,
)

STEP = 1e-3
SETTLE = 50
FULL = 4  # entries per influence value up to which a table of all takes less than a sparse one


@dataclass(frozen=True, eq=False)
class Steps:
    """Share of sessions that go on from rank ``first``, ``first`` + 1, ..., of those that could."""

    first: int
    value: Floats
    covariance: Floats
    risk: Floats


@dataclass(frozen=True, eq=False)
class Curve:
    """Value per rank from 1, their covariance, rows and clicks (or views) at each rank.

    ``relative`` says that values are shares of rank 1; otherwise they are chances of being seen.
    ``slopes`` (ranks x columns) turn a cluster's influence on what the method counts into its
    influence on the values.
    """

    value: Floats
    slopes: Floats
    covariance: Floats
    shown: Floats
    clicks: Floats
    relative: bool
    clusters: int
    steps: Steps | None = None

    @property
    def se(self) -> Floats:
        """Standard error of each value."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    def interval(self, level: float) -> tuple[Floats, Floats]:
        r"""Low and high end of each value.

        Of ratios on the log scale. Of shares by Wilson's score interval with the number of
        independent rows that the clustered standard error amounts to; where all or no rows were
        viewed, the number of clusters.
        """
        z = NormalDist().inv_cdf(0.5 + level / 2)
        if self.relative:
            factor = np.exp(z * self.se / np.maximum(self.value, 1e-300))
            return self.value / factor, self.value * factor
        p, spread = self.value, self.value * (1 - self.value)
        known = self.se > 0
        n = np.full(len(p), float(self.clusters))
        n[known] = np.maximum(spread[known] / self.se[known] ** 2, 1e-9)
        middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(spread / n + z**2 / (4 * n**2))
        low, high = np.maximum(middle - half, 0), np.minimum(middle + half, 1)
        if self.steps is not None:  # seen by definition where only views were logged
            low[: self.steps.first] = high[: self.steps.first] = 1.0
        return low, high


@dataclass(frozen=True)
class Influence:
    r"""Influence values :math:`\psi_g` of some clusters: a row for each, sparse if they are few."""

    psi: Any
    clusters: Ints

    @classmethod
    def of(
        cls, cluster: Ints, column: Ints, x: Floats, columns: int, direction: Floats | None = None
    ) -> Influence:
        """Each entry of ``x`` is an influence of one cluster on one column of the estimate.

        With ``direction``, it is a residual of one cell, and the influence is that times the
        direction of the cell, column by column.
        """
        known, code = renumber(cluster)
        n = len(known)
        if direction is not None:
            psi = np.empty((direction.shape[1], n))
            for of, d in zip(psi, np.ascontiguousarray(direction.T), strict=True):
                of[:] = sum_by(code, x * d[column], n)
            return cls(psi.T, known)
        if n * columns <= FULL * len(x):
            return cls(sum_by(code * columns + column, x, n * columns).reshape(n, columns), known)
        from scipy.sparse import csr_array

        return cls(csr_array((x, (code, column)), shape=(n, columns)), known)

    def spread(self, after: Floats | None = None) -> InfluenceSpread:
        """Their products; ``after`` goes along."""
        outer = self.psi.T @ self.psi
        outer = outer if isinstance(outer, np.ndarray) else outer.toarray()
        return InfluenceSpread(outer, len(self.clusters), np.zeros(4) if after is None else after)


@dataclass(frozen=True)
class InfluenceSpread:
    r"""Sum over whole clusters of :math:`\psi_g \psi_g^\top`, and how many there were.

    ``after`` is what `misfit` adds up in the same pass.
    """

    outer: Floats
    groups: int
    after: Floats = field(default_factory=lambda: np.zeros(4))

    @property
    def covariance(self) -> Floats:
        r""":math:`\frac{G}{G-1} \sum_g \psi_g \psi_g^\top`: for few clusters a little larger."""
        return self.outer * (self.groups / max(self.groups - 1, 1))


@dataclass(frozen=True)
class Parameter:
    """A parameter's value with its interval."""

    name: str
    value: float
    se: float
    low: float
    high: float


@dataclass(frozen=True)
class _Scale:
    """A parameter on a scale without bounds: there, the way back, and the slope of the way back."""

    there: Callable[[float], float]
    back: Callable[[float], float]
    slope: Callable[[float], float]


_LOG = _Scale(lambda x: float(np.log(x)), lambda t: float(np.exp(min(t, 30.0))), lambda x: x)
_LOGIT = _Scale(
    lambda x: float(np.log(x / (1 - x))),
    lambda t: float(np.clip(1 / (1 + np.exp(-t)), 1e-12, 1 - 1e-12)),
    lambda x: x * (1 - x),
)
_KINDS: dict[str, tuple[Callable[..., PositionModel], dict[str, tuple[_Scale, float]]]] = {
    "power": (Power, {"eta": (_LOG, 0.7)}),
    "geometric": (Geometric, {"p": (_LOGIT, 0.8)}),
    "beta_geometric": (BetaGeometric, {"a": (_LOG, 3.0), "b": (_LOG, 1.0)}),
    "log2": (Log2, {}),
}


def fit(
    curve: Curve, family: str, *, level: float = 0.95
) -> tuple[PositionModel, list[Parameter], Floats]:
    r"""The model of a family nearest to the table, its parameters, and how influences move them.

    Views and depths: maximum likelihood of the counts behind the table, :math:`n_r` rows of which
    the share :math:`\hat c_r` was viewed (depth: of which the share :math:`\hat h_r` went on).
    Shares of rank 1 (harvest, swap, em): weighted least squares, :math:`w_r = 1/se_r^2`.
    The parameters :math:`\theta` have covariance :math:`A J^\top W V W J A`,
    :math:`A = (J^\top W J)^{-1}`, with :math:`J = \partial f / \partial \theta`, :math:`V` the
    clustered covariance of the table and :math:`W` the weights of the fit. A cluster's influence
    :math:`\psi` on the table moves :math:`\theta` by :math:`A J^\top W \psi`; returned is this
    matrix times ``curve.slopes``, for the parameters as the model has them. Those of a table are
    its weights.
    """
    if family == "table":
        return WeightTable(tuple(map(float, curve.value))), [], curve.slopes
    from scipy.optimize import least_squares

    kind, parts = _KINDS[family]
    parts = dict(parts)
    ranks = np.arange(1, len(curve.value) + 1)
    if not curve.relative and curve.value[0] < 1:
        parts["scale"] = (_LOGIT, float(np.clip(curve.value[0], 0.01, 0.99)))
    names = list(parts)

    def model(theta: Floats) -> PositionModel:
        given = {n: parts[n][0].back(float(t)) for n, t in zip(names, theta, strict=True)}
        return kind(**given)

    def predicted(theta: Floats) -> Floats:
        c: Floats = np.append(1.0, model(theta).at(ranks))
        if curve.steps is not None:
            on: Floats = c[1:] / c[:-1]
            return on[curve.steps.first :]
        return c[2:] if curve.relative else c[1:]

    y, cov, n, slopes = _points(curve)
    if not names:
        return model(np.zeros(0)), [], slopes[:0]
    start = np.array([scale.there(first) for scale, first in parts.values()])

    def residual(theta: Floats) -> Floats:
        f = predicted(theta)
        return (y - f) / np.sqrt(_floor(np.diag(cov))) if curve.relative else _deviance(f, y, n)

    def local(theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Prediction, weights, slopes and the inverse information."""
        f = predicted(theta)
        sure = f * (1 - f) < 1e-12  # certain whatever the parameters: it tells nothing of them
        w = (
            1 / _floor(np.diag(cov))
            if curve.relative
            else np.where(sure, 0, n / _floor(f * (1 - f)))
        )
        j = np.stack([_slope(predicted, theta, e) for e in np.eye(len(theta))], axis=1)
        a = np.linalg.pinv(j.T @ (w[:, None] * j), hermitian=True)
        return f, w, j, a.astype(float)

    theta: Floats = least_squares(residual, start, xtol=1e-12, ftol=1e-12).x
    last = 1e-3
    for _ in range(SETTLE):  # to the last digits, whatever order the sums behind came in
        f, w, j, a = local(theta)
        move = a @ (j.T @ (w * (y - f)))
        if not np.abs(move).max() < last:
            break
        theta, last = theta + move, float(np.abs(move).max())
    _, w, j, a = local(theta)
    moves = a @ (j.T * w)
    spread = moves @ cov @ moves.T
    z = NormalDist().inv_cdf(0.5 + level / 2)
    out, steep = [], np.ones(len(names))
    for place, (name, t, s) in enumerate(zip(names, theta, np.sqrt(np.diag(spread)), strict=True)):
        scale = parts[name][0]
        x, ends = scale.back(t), (scale.back(t - z * s), scale.back(t + z * s))
        steep[place] = scale.slope(x)
        out.append(Parameter(name, x, float(s * steep[place]), *ends))
    return model(theta), out, steep[:, None] * (moves @ slopes)


def _slope(f: Callable[[Floats], Floats], at: Floats, e: Floats) -> Floats:
    """Derivative of ``f`` along ``e``, by four points: exact to a dozen digits."""
    near, far = (f(at + h * e) - f(at - h * e) for h in (STEP, 2 * STEP))
    return (8 * near - far) / (12 * STEP)


def _points(curve: Curve) -> tuple[Floats, Floats, Floats, Floats]:
    """What is fitted, its covariance, the rows behind it, and how influences move it."""
    if curve.steps is not None:
        steps = curve.steps
        return steps.value, steps.covariance, steps.risk, np.eye(len(steps.value))
    if curve.relative:
        return curve.value[1:], curve.covariance[1:, 1:], curve.shown[1:], curve.slopes[1:]
    return curve.value, curve.covariance, curve.shown, curve.slopes


def _deviance(f: Floats, y: Floats, n: Floats) -> Floats:
    """Signed roots of the deviance: their sum of squares is least where likelihood is most."""
    from scipy.special import xlogy

    f = np.clip(f, 1e-12, 1 - 1e-12)
    deviance = 2 * n * (xlogy(y, y / f) + xlogy(1 - y, (1 - y) / (1 - f)))
    return np.sign(y - f) * np.sqrt(np.maximum(deviance, 0))


def _floor(x: Floats) -> Floats:
    return np.maximum(x, 1e-18)
