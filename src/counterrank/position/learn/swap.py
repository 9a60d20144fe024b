"""Randomised ranks: click rates compared with rank 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Bools, Floats, Ints
from counterrank.position.learn.curve import Curve, Influence, InfluenceSpread
from counterrank.position.learn.impressions import (
    DEEPEST,
    Impressions,
    ItemRows,
    RankStatistics,
    counts,
)


def count_rates(data: Impressions) -> dict[str, Floats]:
    """Rows and rewards at each rank that can be compared, and at rank 1 for each coin."""
    lower, top = _sides(data, DEEPEST)
    coin = data.rank if data.swapped is None else data.swapped
    return {
        "rewarded": counts(data.rank, (data.reward > 0).astype(float)),
        "lower": counts(data.rank[lower]),
        "lower, clicks": counts(data.rank[lower], data.reward[lower]),
        "top": counts(coin[top]),
        "top, clicks": counts(coin[top], data.reward[top]),
    }


def _sides(data: Impressions, depth: int) -> tuple[Bools, Bools]:
    """Rows that are compared, and rows of rank 1 that they are compared with, by their coin."""
    if data.swapped is None:
        return np.ones(len(data.rank), bool), np.zeros(len(data.rank), bool)
    use = (data.swapped > 1) & (data.swapped <= depth)
    return use & (data.rank == data.swapped), use & (data.rank == 1)


@dataclass(frozen=True)
class Swap:
    r""":math:`\hat c(k) = m_k / m_1`: click rate at rank k over click rate at rank 1.

    Where lists are shuffled, every rank shows the same mix of items. Where the items of ranks 1 and
    k are swapped by a coin (Joachims et al. 2017), these two ranks do, within the sessions of that
    coin: rates are taken within each k. ``shown`` and ``clicks`` have a column for each rank, and
    with ``coins`` one for rank 1 of each coin.
    """

    depth: int
    shown: Floats
    clicks: Floats
    scale: float
    coins: bool

    @classmethod
    def of(cls, statistics: RankStatistics, *, coins: bool) -> Swap:
        """From counts of all rows."""
        depth, scale = len(statistics.shown), statistics.scale
        sides = ("lower", "top") if coins else ("lower",)

        def columns(what: str) -> Floats:
            sums = [statistics.sums[side + what] for side in sides]
            wide = [np.append(x, np.zeros(depth + 1))[1 : depth + 1] for x in sums]
            return np.concatenate(wide)

        return cls(depth, columns(""), columns(", clicks") / scale, scale, coins)

    @property
    def rate(self) -> Floats:
        """Clicks per row; where nothing was shown, rank 1 is compared with itself."""
        rate = self.clicks / np.maximum(self.shown, 1)
        rate[self.shown == 0] = 1.0
        return rate

    @property
    def bottom(self) -> Ints:
        """The column that each rank is compared with."""
        bottom = np.zeros(self.depth, np.int64)
        if self.coins:
            bottom[1:] = np.arange(self.depth + 1, 2 * self.depth)
        return bottom

    @property
    def c(self) -> Floats:
        """The shares of rank 1."""
        rate = self.rate
        return rate[: self.depth] / rate[self.bottom]

    def influence(self, data: Impressions, items: ItemRows | None) -> Influence:
        """The influences of some clusters on the logs of the rates."""
        column = data.rank - 1
        if data.swapped is not None:
            lower, top = _sides(data, self.depth)
            column = np.where(top, self.depth + data.swapped - 1, column)[lower | top]
            data = data.only(lower | top)
        rate = self.rate
        influence = (data.reward / self.scale - rate[column]) / (self.shown * rate)[column]
        return Influence.of(data.cluster, column, influence, len(self.shown))

    def curve(self, spread: InfluenceSpread) -> Curve:
        """The table: the covariance of differences of logs."""
        c, top = self.c, np.arange(self.depth)
        turn = np.zeros((self.depth, len(self.shown)))
        turn[top, top] += 1
        turn[top, self.bottom] -= 1
        slopes = c[:, None] * turn
        cov = slopes @ spread.covariance @ slopes.T
        shown, clicks = (x[: self.depth].copy() for x in (self.shown, self.clicks))
        shown[0] += self.shown[self.depth :].sum()  # those of all coins together
        clicks[0] += self.clicks[self.depth :].sum()
        return Curve(c, slopes, cov, shown, clicks, relative=True, clusters=spread.groups)
