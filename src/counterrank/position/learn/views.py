"""Observed views: the share of rows that were viewed, rank by rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats, Ints, ranges, renumber, sum_by
from counterrank.position.learn.curve import Curve, Influence, InfluenceSpread, Steps
from counterrank.position.learn.impressions import Impressions, ItemRows, RankStatistics, counts


def count_views(data: Impressions) -> dict[str, Floats]:
    """Viewed rows at each rank, from 0."""
    return {"viewed": counts(data.rank, data.viewed)}


@dataclass(frozen=True)
class Views:
    r""":math:`\hat c(r) = V_r / n_r`, viewed rows over shown rows at rank r.

    A row's influence on it is :math:`(v - \hat c(r)) / n_r`; influences are summed by cluster.
    """

    shown: Floats
    viewed: Floats
    clusters: int

    @classmethod
    def of(cls, statistics: RankStatistics) -> Views:
        """From counts of all rows."""
        return cls(statistics.shown, statistics.sums["viewed"][1:], statistics.clusters)

    @property
    def c(self) -> Floats:
        """The share that was viewed."""
        return self.viewed / self.shown

    def influence(self, data: Impressions, items: ItemRows | None) -> Influence:
        """The influences of some clusters."""
        viewed = np.zeros(0) if data.viewed is None else data.viewed
        k = data.rank - 1
        return Influence.of(data.cluster, k, (viewed - self.c[k]) / self.shown[k], len(self.shown))

    def curve(self, spread: InfluenceSpread) -> Curve:
        """The table."""
        return Curve(
            self.c, np.eye(len(self.c)), spread.covariance, self.shown, self.viewed,
            relative=False, clusters=self.clusters,
        )  # fmt: skip


SIDES = ("after", "without")


@dataclass(frozen=True)
class Deepest:
    """Per session: deepest viewed rank (0 if none), list length, cluster; ``of`` by row."""

    rank: Ints
    end: Ints
    cluster: Ints
    of: Ints

    @property
    def last(self) -> Ints:
        """The last step at which a session is watched: its depth unless its list ends there."""
        return np.minimum(self.rank, self.end - 1)


def deepest_views(data: Impressions, length: int | None) -> Deepest:
    """How far each session went."""
    ids, code = renumber(data.session)
    deepest, end = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
    cluster = np.zeros(len(ids), np.int64)
    cluster[code] = data.cluster
    if data.viewed is None:
        np.maximum.at(deepest, code, data.rank)
        end[:] = np.iinfo(np.int64).max if length is None else length
    else:
        seen = data.viewed > 0
        np.maximum.at(deepest, code[seen], data.rank[seen])
        np.maximum.at(end, code, data.rank)
    return Deepest(deepest, end, cluster, code)


def count_depths(data: Impressions, deepest: Deepest) -> dict[str, Floats]:
    """Sessions by their depth, by their last step, and how many skip a rank above their depth."""
    seen = np.ones(len(data.rank)) if data.viewed is None else data.viewed
    skips = sum_by(deepest.of, seen, len(deepest.rank)) < deepest.rank
    return {
        "depth": counts(deepest.rank),
        "last": counts(np.maximum(deepest.last, 0)),
        "skips": np.array([float(skips.sum())]),
    }


def skip_share(statistics: RankStatistics) -> float:
    """Share of sessions that skip a rank above their deepest view: 0 where users scroll."""
    return float(statistics.sums["skips"][0] / statistics.sessions)


@dataclass(frozen=True)
class Depth:
    r"""The survival function of depth, :math:`\hat c(r) = \prod_{s<r} \hat h_s` (Kaplan and Meier).

    :math:`\hat h_s` is the share of sessions that go on from rank s among those that got there and
    whose list went on. Lists are as long as the log shows where it has unviewed rows; otherwise
    ``length`` items, or without end. In a log of viewed rows only, rank 1 counts as always seen.

    ``risk`` are sessions that got to step ``first``, ``first`` + 1, ... and could go on there,
    ``seen`` those that viewed rank 1, 2, ... or a deeper one.
    """

    first: int
    risk: Floats
    seen: Floats
    sessions: int
    clusters: int
    length: int | None

    @classmethod
    def of(cls, statistics: RankStatistics, length: int | None) -> Depth:
        """From counts of all sessions."""
        first = 0 if statistics.viewed else 1
        at_least, last = (np.cumsum(statistics.sums[x][::-1])[::-1] for x in ("depth", "last"))
        reach = int(np.flatnonzero(statistics.sums["depth"])[-1])
        # beyond the deepest view nobody went on: the table ends there
        risk = np.append(last, np.zeros(reach))[first:reach]
        sizes = statistics.sessions, statistics.clusters
        return cls(first, risk, at_least[1 : reach + 1], *sizes, length)

    @property
    def on(self) -> Floats:
        """The share that goes on from each step."""
        return self.seen[self.first :] / self.risk

    @property
    def c(self) -> Floats:
        """The survival function at rank 1, 2, ..."""
        return np.cumprod(np.append(1.0, self.on))[1 - self.first :]

    def influence(self, data: Impressions, items: ItemRows | None) -> Influence:
        """The influences of some clusters: a session's at each step where it is watched."""
        session = deepest_views(data, self.length)
        watched = np.maximum(np.minimum(session.last, len(self.seen) - 1) - self.first + 1, 0)
        step = ranges(np.zeros(len(watched), np.int64), watched)
        who = np.repeat(np.arange(len(watched)), watched)
        went = (session.rank[who] > step + self.first).astype(float)
        influence = (went - self.on[step]) / self.risk[step]
        return Influence.of(session.cluster[who], step, influence, len(self.risk))

    def curve(self, spread: InfluenceSpread) -> Curve:
        """The table: log c(r) adds up log h, and its covariance follows."""
        c, h, first = self.c, self.on, self.first
        steps, reach = len(self.risk), len(self.seen)
        slopes = np.zeros((reach, steps))
        slopes[first:] = c[first:, None] * np.tril(np.ones((steps, steps))) / h
        shown = np.append(np.full(first, float(self.sessions)), self.risk)[:reach]
        return Curve(
            c, slopes, slopes @ spread.covariance @ slopes.T, shown, self.seen, relative=False,
            clusters=self.clusters, steps=Steps(first, h, spread.covariance, self.risk),
        )  # fmt: skip


def count_looks(data: Impressions, deepest: Deepest) -> dict[str, Floats]:
    """Viewed rows that something follows, by rank and whether clicked, and how many looked on."""
    seen = data.rank < deepest.end[deepest.of]
    if data.viewed is not None:
        seen &= data.viewed > 0
    clicked = data.reward > 0
    on = deepest.rank[deepest.of] > data.rank
    out = {}
    for side, which in zip(SIDES, (seen & clicked, seen & ~clicked), strict=True):
        out[side] = counts(data.rank[which])
        out[f"{side}, on"] = counts(data.rank[which & on])
    out["reach"] = counts(deepest.rank)
    return out


def going_on(statistics: RankStatistics) -> float:
    """How often users look further after a click, relative to after no click; nan without clicks.

    Each viewed row that something follows is compared with the share that looks further at its
    rank. Near 1 where only rank decides, 0 where the first click ends the session.
    """
    sums = statistics.sums
    reach = int(np.flatnonzero(sums["reach"])[-1])  # nothing follows the deepest view
    rows = {side: np.append(sums[side], np.zeros(reach))[:reach] for side in sums}
    after, without = (rows[side] for side in SIDES)
    if not after.any() or not without.any():
        return float("nan")
    usual = (rows["after, on"] + rows["without, on"]) / np.maximum(after + without, 1)
    went = [
        float(rows[f"{side}, on"].sum() / max((usual * rows[side]).sum(), 1e-300)) for side in SIDES
    ]
    return went[0] / went[1] if went[1] > 0 else float("nan")
