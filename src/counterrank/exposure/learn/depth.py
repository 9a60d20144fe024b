"""Session depth: how far down users scroll, from the deepest row they viewed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, Ints, ranges, renumbered, summed
from counterrank.exposure.learn.clustered import Spread, covariance
from counterrank.exposure.learn.curve import Curve, Steps
from counterrank.exposure.learn.facts import Facts, counted
from counterrank.exposure.learn.rows import Rows


def depth(data: Rows, *, length: int | None = None) -> Curve:
    r"""The survival function of depth, :math:`\hat c(r) = \prod_{s<r} \hat h_s` (Kaplan and Meier).

    :math:`\hat h_s` is the share of sessions that go on from rank s among those that got there and
    whose list went on. Lists are as long as the log shows where it has unviewed rows; otherwise
    ``length`` items, or without end. In a log of viewed rows only, rank 1 counts as always seen.
    """
    solved = Depth.of(Facts.of(data, depths(data, deepest_views(data, length))), length)
    return solved.curve(solved.spread(data))


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


def deepest_views(data: Rows, length: int | None) -> Deepest:
    """How far each session went."""
    ids, code = renumbered(data.session)
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


def depths(data: Rows, deepest: Deepest) -> dict[str, Floats]:
    """Sessions by their depth, by their last step, and how many skip a rank above their depth."""
    seen = np.ones(len(data.rank)) if data.viewed is None else data.viewed
    skips = summed(deepest.of, seen, len(deepest.rank)) < deepest.rank
    return {
        "depth": counted(deepest.rank),
        "last": counted(np.maximum(deepest.last, 0)),
        "skips": np.array([float(skips.sum())]),
    }


def gaps(facts: Facts) -> float:
    """Share of sessions that skip a rank above their deepest view: 0 where users scroll."""
    return float(facts.sums["skips"][0] / facts.sessions)


@dataclass(frozen=True)
class Depth:
    """``risk`` are sessions that got to step ``first``, ``first`` + 1, ... and could go on there.

    ``seen`` are sessions that viewed rank 1, 2, ... or a deeper one.
    """

    first: int
    risk: Floats
    seen: Floats
    sessions: int
    clusters: int
    length: int | None

    @classmethod
    def of(cls, facts: Facts, length: int | None) -> Depth:
        """From counts of all sessions."""
        first = 0 if facts.viewed else 1
        at_least, last = (np.cumsum(facts.sums[x][::-1])[::-1] for x in ("depth", "last"))
        reach = int(np.flatnonzero(facts.sums["depth"])[-1])
        # beyond the deepest view nobody went on: the table ends there
        risk = np.append(last, np.zeros(reach))[first:reach]
        return cls(first, risk, at_least[1 : reach + 1], facts.sessions, facts.clusters, length)

    @property
    def on(self) -> Floats:
        """The share that goes on from each step."""
        return self.seen[self.first :] / self.risk

    def spread(self, data: Rows) -> Spread:
        """The influences of some clusters: a session's at each step where it is watched."""
        own = deepest_views(data, self.length)
        watched = np.maximum(np.minimum(own.last, len(self.seen) - 1) - self.first + 1, 0)
        step = ranges(np.zeros(len(watched), np.int64), watched)
        who = np.repeat(np.arange(len(watched)), watched)
        went = (own.rank[who] > step + self.first).astype(float)
        influence = (went - self.on[step]) / self.risk[step]
        return covariance(own.cluster[who], step, influence, len(self.risk))

    def curve(self, spread: Spread) -> Curve:
        """The table: log c(r) adds up log h, and its covariance follows."""
        h, first, steps, reach = self.on, self.first, len(self.risk), len(self.seen)
        c = np.cumprod(np.append(1.0, h))[1 - first :]
        adds = np.tril(np.ones((steps, steps))) / h
        whole = np.zeros((reach, reach))
        whole[first:, first:] = adds @ spread.covariance @ adds.T
        shown = np.append(np.full(first, float(self.sessions)), self.risk)[:reach]
        return Curve(
            c, whole * np.outer(c, c), shown, self.seen, False, self.clusters,
            Steps(first, h, spread.covariance, self.risk),
        )  # fmt: skip
