"""A shop: what is shown may be clicked, what is clicked may be bought."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

KINDS, NODES = 6, 15


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@dataclass(frozen=True)
class Shop:
    r"""Users of six kinds, items, and a policy that shows each pair with chance theta.

    .. math:: \text{ctr} = 0.6 \operatorname{logistic}(A_{ai} + b_u \pm 1/2), \quad
              \text{cvr} = \operatorname{logistic}(S_{ai}), \quad
              \theta = \tfrac{1}{10} + \tfrac{4}{5} \operatorname{logistic}(P_i + A_{ai}/2)

    Attraction A and suitability S of item i for kind a are correlated by ``agreement``; b is the
    user's own effect of spread ``user_sigma``; the sign is a coin for each pair, its hidden liking.

    ``liking`` is the log odds by which the policy follows the hidden liking, over which logged
    exposures are averaged. ``exposure_error``, ``ctr_error`` and ``cvr_error`` multiply what the
    tables say of theta, ctr and cvr by 1 + error for attractive items and 1 - error for others.
    All four are 0 where the assumption holds. Without ``log_exposure`` theta is to be fitted.
    """

    seed: int = 0
    items: int = 30
    length: int = 10
    steepness: float = 0.7
    agreement: float = -0.5
    user_sigma: float = 0.5
    log_exposure: bool = True
    liking: float = 0.0
    exposure_error: float = 0.0
    ctr_error: float = 0.0
    cvr_error: float = 0.0

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Attraction and suitability, [kind, item], and popularity, [item]."""
        rng = np.random.default_rng([self.seed, 1])
        attraction = rng.normal(-1.0, 1.0, (KINDS, self.items))
        other = rng.normal(0, 1.0, (KINDS, self.items))
        r = self.agreement
        suits = -1.5 + r * (attraction + 1) + np.sqrt(1 - r**2) * other
        return attraction, suits, rng.normal(-1.0, 1.0, self.items)

    @cached_property
    def curve(self) -> np.ndarray:
        """The chance that a rank is seen."""
        return np.arange(1, self.length + 1) ** -self.steepness

    @property
    def position_bias(self) -> str:
        """The same as a position model."""
        return f"table({','.join(repr(float(c)) for c in self.curve)})"

    def ctr(self, effect: np.ndarray | float = 0.0, kind: np.ndarray | None = None) -> np.ndarray:
        """The chance of a click when seen, over the hidden liking, given users' own effects."""
        attraction = self.tables[0] if kind is None else self.tables[0][kind]
        return 0.6 * sum(logistic(attraction + effect + like) for like in (-0.5, 0.5)) / 2

    @cached_property
    def mean_ctr(self) -> np.ndarray:
        """The same over users, [kind, item], by a Gauss-Hermite sum."""
        x, w = np.polynomial.hermite_e.hermegauss(NODES)
        parts = [share * self.ctr(self.user_sigma * b) for b, share in zip(x, w, strict=True)]
        return np.sum(parts, axis=0) / w.sum()

    @cached_property
    def lists(self) -> dict[str, np.ndarray]:
        """Lists of systems by kind of user, [kind, rank]; those of ``random`` differ by user."""
        attraction, _, popularity = self.tables
        sells = self.mean_ctr * logistic(self.tables[1])
        score = {
            "popular": np.broadcast_to(popularity, attraction.shape),
            "clickbait": attraction,
            "seller": sells,
            "buyer": logistic(self.tables[1]),
        }
        return {name: np.argsort(-s, axis=1)[:, : self.length] for name, s in score.items()}

    def truth(self, estimand: str = "sales") -> dict[str, float]:
        r"""Per user: ``sales`` :math:`E \sum_i c(\text{rank}) \text{ctr} \cdot \text{cvr}`, or
        ``if-clicked`` :math:`E \sum_i c(\text{rank}) \text{cvr}`. Kinds are equally likely.
        """
        gain = logistic(self.tables[1]) * (self.mean_ctr if estimand == "sales" else 1)
        found = {
            name: float((np.take_along_axis(gain, lists, axis=1) @ self.curve).mean())
            for name, lists in self.lists.items()
        }
        return found | {"random": float(gain.mean() * self.curve.sum())}

    def sample(self, users: int, seed: int = 0) -> ShopSample:
        """A funnel of all pairs of so many users, and the systems' lists for them."""
        rng = np.random.default_rng([self.seed, 2, seed])
        attraction, suits, popularity = self.tables
        kind = rng.integers(0, KINDS, users)
        effect = rng.normal(0, self.user_sigma, (users, 1))
        likes = rng.integers(0, 2, (users, self.items)) - 0.5
        ctr = 0.6 * logistic(attraction[kind] + effect + likes)
        cvr = logistic(suits)[kind]
        lean = popularity + attraction[kind] / 2
        theta = 0.1 + 0.8 * logistic(lean + self.liking * likes)
        shown = rng.random(theta.shape) < theta
        clicked = shown & (rng.random(theta.shape) < ctr)
        bought = clicked & (rng.random(theta.shape) < cvr)
        said = 0.1 + 0.4 * sum(logistic(lean + self.liking * like) for like in (-0.5, 0.5))
        side = np.where(attraction[kind] > -1, 1, -1)
        who = np.arange(users)[:, None]
        columns = {
            "user": who,
            "item": np.arange(self.items)[None],
            "shown": shown.astype(int),
            "exposure": np.minimum(said * (1 + self.exposure_error * side), 1),
            "click": clicked.astype(int),
            "conversion": bought.astype(int),
            "ctr": np.minimum(self.ctr(effect, kind) * (1 + self.ctr_error * side), 1),
            "cvr": np.minimum(cvr * (1 + self.cvr_error * side), 1),
        }
        if not self.log_exposure:
            del columns["exposure"]
        lists = {name: by_kind[kind] for name, by_kind in self.lists.items()}
        lists["random"] = np.argsort(rng.random(theta.shape), axis=1)[:, : self.length]
        ranks = np.arange(1, self.length + 1)[None]
        return ShopSample(
            _frame(columns, theta.shape),
            {
                name: _frame({"user": who, "item": items, "rank": ranks}, items.shape)
                for name, items in lists.items()
            },
        )


@dataclass(frozen=True)
class ShopSample:
    """user, item, shown, exposure, click, conversion, ctr, cvr; and runs: user, item, rank."""

    funnel: pl.DataFrame
    runs: dict[str, pl.DataFrame]


def _frame(columns: dict[str, np.ndarray], shape: tuple[int, ...]) -> pl.DataFrame:
    return pl.DataFrame({name: np.broadcast_to(v, shape).ravel() for name, v in columns.items()})
