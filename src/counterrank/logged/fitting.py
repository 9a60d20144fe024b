"""The reward model of a whole log: sums of all buckets, then means or a regressor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Shape:
    """How large the tables of a model are: contexts (1 if they would not fit), ranks, items."""

    contexts: int
    ranks: int
    items: int
    contextual: bool

    @classmethod
    def of(cls, sessions: Sessions, basis: Basis) -> Shape:
        """As the log asks for. Contexts are left out of tables that would not fit."""
        ranks = sessions.ranks if basis.by_rank else 1
        contexts, items = max(sessions.contexts.height, 1), sessions.items.size
        fits = FOLDS * contexts * ranks * items <= LARGEST_MODEL
        return cls(contexts if fits else 1, ranks, items, fits)


def reward_sums(sessions: Sessions, basis: Basis, rewards: Sequence[str]) -> dict[str, Sums]:
    """For each reward, what its model is learnt from."""

    def of(reward: str, side: Shown) -> Floats:
        c: Floats = sessions.column(reward, side.begin, side.end)
        return c

    return {reward: outcome_sums(sessions, basis, partial(of, reward)) for reward in rewards}


def outcome_sums(sessions: Sessions, basis: Basis, outcome: Callable[[Shown], Floats]) -> Sums:
    """Sums of an outcome of every logged row, by fold, situation and item."""
    shape = Shape.of(sessions, basis)
    ranks, items = shape.ranks, shape.items
    table = (FOLDS, shape.contexts * ranks, items)
    situation = sessions.fold * table[1] + (sessions.context * ranks if shape.contextual else 0)

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
        return sums(cell, c, seen, table)

    cuts = sessions.cuts()
    share = -(-len(cuts) // workers())
    shares = [cuts[i : i + share] for i in range(0, len(cuts), share)]
    return reduce(add, mapped(of, shares, workers()))


def fitted(total: Sums, shape: Shape, kind: str | Regressor) -> Model:
    """A cross-fitted model from the sums of the whole log: shrunken means, or a regressor's."""
    if isinstance(kind, str):
        one_of("model", kind, ("means",))
        return replace(learnt(total, shape.ranks), contextual=shape.contextual)
    return replace(regressed(total, shape.ranks, kind), contextual=shape.contextual)
