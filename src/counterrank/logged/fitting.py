"""The reward model of a whole log: sums of all buckets, then means or a regressor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add

import numpy as np

from counterrank.arrays import Floats, mapped, workers
from counterrank.errors import one_of
from counterrank.logged.basis import Basis
from counterrank.logged.join import Shown, shown
from counterrank.logged.model import Model, Sums, learnt, sums
from counterrank.logged.regress import Regressor, regressed
from counterrank.logged.sessions import FOLDS, Sessions

LARGEST_MODEL = 1 << 25  # cells of the reward model; beyond, contexts are left out of it


def models(
    sessions: Sessions, basis: Basis, rewards: Sequence[str], kind: str | Regressor = "means"
) -> dict[str, Model]:
    """A cross-fitted reward model for each reward: shrunken means, or a regressor's."""

    def of(reward: str, side: Shown) -> Floats:
        c: Floats = sessions.column(reward, side.begin, side.end)
        return c

    return {reward: fitted(sessions, basis, partial(of, reward), kind) for reward in rewards}


def fitted(
    sessions: Sessions, basis: Basis, outcome: Callable[[Shown], Floats], kind: str | Regressor
) -> Model:
    """A cross-fitted model of an outcome of every logged row, bucket by bucket."""
    if isinstance(kind, str):
        one_of("model", kind, ("means",))
    ranks = sessions.ranks if basis.by_rank else 1
    contexts = max(sessions.contexts.height, 1)
    items = sessions.items.size
    fits = FOLDS * contexts * ranks * items <= LARGEST_MODEL
    shape = (FOLDS, (contexts if fits else 1) * ranks, items)
    situation = sessions.fold * shape[1] + (sessions.context * ranks if fits else 0)

    def of(cuts: list[tuple[int, int]]) -> Sums:
        """One thread's share: cells are found bucket by bucket and counted once."""
        n = sessions.rows(cuts[0][0], cuts[-1][1])
        size = n.stop - n.start
        cell, c, seen = np.empty(size, np.int64), np.empty(size), np.empty(size)
        for cut in cuts:
            side = shown(sessions, basis, *cut)
            rows = sessions.rows(*cut)
            here = slice(rows.start - n.start, rows.stop - n.start)
            place = situation[slice(*cut)][side.session]
            if basis.by_rank:
                place += side.rank - 1
            place *= items
            place += side.item
            cell[here], c[here], seen[here] = place, outcome(side), side.seen
        return sums(cell, c, seen, shape)

    cuts = sessions.cuts()
    share = -(-len(cuts) // workers())
    shares = [cuts[i : i + share] for i in range(0, len(cuts), share)]
    total = reduce(add, mapped(of, shares, workers()))
    model = learnt(total, ranks) if isinstance(kind, str) else regressed(total, ranks, kind)
    return replace(model, contextual=fits)
