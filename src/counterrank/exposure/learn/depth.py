"""Session depth: how far down users scroll, from the deepest row they viewed."""

from __future__ import annotations

import numpy as np

from counterrank.arrays import Ints, ranges, renumbered, summed
from counterrank.exposure.learn.clustered import covariance
from counterrank.exposure.learn.curve import Curve, Steps
from counterrank.exposure.learn.rows import Rows


def depth(data: Rows, *, length: int | None = None) -> Curve:
    r"""The survival function of depth, :math:`\hat c(r) = \prod_{s<r} \hat h_s` (Kaplan and Meier).

    :math:`\hat h_s` is the share of sessions that go on from rank s among those that got there and
    whose list went on. Lists are as long as the log shows where it has unviewed rows; otherwise
    ``length`` items, or without end. In a log of viewed rows only, rank 1 counts as always seen.
    """
    deepest, end, cluster = deepest_views(data, length)
    first = 0 if data.viewed is not None else 1
    reach = int(deepest.max())
    # a session is watched at steps first, ..., deepest unless its list ends there
    last = np.minimum(deepest, end - 1)
    watched = np.maximum(last - first + 1, 0)
    step = ranges(np.full(len(watched), first), watched)
    who = np.repeat(np.arange(len(watched)), watched)
    on = (deepest[who] > step).astype(float)
    keep = step < reach  # beyond the deepest view nobody went on: the table ends there
    step, who, on = step[keep] - first, who[keep], on[keep]
    steps = reach - first
    risk = summed(step, np.ones(len(step)), steps)
    h = summed(step, on, steps) / risk
    spread = covariance(cluster[who], step, (on - h[step]) / risk[step], steps)
    c = np.cumprod(np.append(1.0, h))[1 - first :]
    # log c(r) adds up log h; its covariance follows
    adds = np.tril(np.ones((steps, steps))) / h
    logs = adds @ spread @ adds.T
    whole = np.zeros((reach, reach))
    whole[first:, first:] = logs
    seen = np.array([(deepest >= r).sum() for r in range(1, reach + 1)], float)
    shown = np.append(np.full(first, float(len(deepest))), risk)[:reach]
    return Curve(
        c, whole * np.outer(c, c), shown, seen, False, data.clusters,
        Steps(first, h, spread, risk),
    )  # fmt: skip


def deepest_views(data: Rows, length: int | None) -> tuple[Ints, Ints, Ints]:
    """Per session: deepest viewed rank (0 if none), list length, cluster."""
    ids, code = renumbered(data.session)
    deepest, end = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
    cluster = np.zeros(len(ids), np.int64)
    cluster[code] = data.cluster
    seen = np.ones(len(code), bool) if data.viewed is None else data.viewed > 0
    np.maximum.at(deepest, code[seen], data.rank[seen])
    if data.viewed is not None:
        np.maximum.at(end, code, data.rank)
    else:
        end[:] = np.iinfo(np.int64).max if length is None else length
    return deepest, end, cluster


def gaps(data: Rows) -> float:
    """Share of sessions that skip a rank above their deepest view: 0 where users scroll."""
    code = renumbered(data.session)[1]
    deepest, _, _ = deepest_views(data, None)
    seen = np.ones(len(code)) if data.viewed is None else data.viewed
    return float(np.mean(summed(code, seen, len(deepest)) < deepest))


def going_on(data: Rows, length: int | None) -> float:
    """How often users look further after a click, relative to after no click; nan without clicks.

    Each viewed row that something follows is compared with the share that looks further at its
    rank. Near 1 where only rank decides, 0 where the first click ends the session.
    """
    deepest, end, _ = deepest_views(data, length)
    code = renumbered(data.session)[1]
    seen = np.ones(len(code), bool) if data.viewed is None else data.viewed > 0
    seen &= data.rank < np.minimum(end, int(deepest.max()))[code]
    rank, code, clicked = data.rank[seen], code[seen], data.reward[seen] > 0
    if clicked.all() or not clicked.any():
        return float("nan")
    on = (deepest[code] > rank).astype(float)
    size = int(rank.max()) + 1
    usual = (summed(rank, on, size) / np.maximum(summed(rank, np.ones(len(rank)), size), 1))[rank]
    after, without = (float(on[x].sum() / max(usual[x].sum(), 1e-300)) for x in (clicked, ~clicked))
    return after / without if without > 0 else float("nan")
