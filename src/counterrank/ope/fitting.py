r"""Passes that learn models from a log: of the reward of a view, and of a target's future rewards.

The latter are for `CascadeDR`. The return of a row, weighted from the next rank down, is

.. math:: G_r = c_r + w_{r+1} G_{r+1}, \qquad G_{L+1} = 0

Given the items down to rank :math:`r`, its mean is what the target would earn from there on. Both
models are those of `counterrank.ope.reward_model`: means by item, rank and context.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.core.errors import InputError
from counterrank.core.merge import merge
from counterrank.core.parallel import map_threads, workers
from counterrank.engine.partitions import Partition, Partitions
from counterrank.ope.importance_weights import Rows
from counterrank.ope.log import FOLDS, Sessions
from counterrank.ope.match import LoggedRows, Meeting
from counterrank.ope.request import validate_rows
from counterrank.ope.reward_model import Regressor, RewardModel, RewardSums, fit_model, sum_rewards
from counterrank.ope.setting import Setting
from counterrank.ope.targets import Target

LARGEST_MODEL = 1 << 25  # cells of the reward model; beyond, contexts are left out of it
NEARLY = 0.01  # what rounded probabilities of a rank may miss of 1


@dataclass(frozen=True)
class Models:
    """Models of each reward, and of what each target earns from a rank on, where asked for."""

    rewards: dict[str, RewardModel] = field(default_factory=dict)
    futures: dict[str, dict[str, RewardModel]] = field(default_factory=dict)


@dataclass(frozen=True)
class Shape:
    """How large the tables of a model are: contexts (1 if they would not fit), ranks, items."""

    contexts: int
    ranks: int
    items: int
    contextual: bool

    @classmethod
    def of(cls, setting: Setting) -> Shape:
        """As the log asks for. Contexts are left out of tables that would not fit."""
        totals = setting.totals
        ranks = totals.ranks if setting.basis.by_rank else 1
        contexts, items = max(totals.combinations.height, 1), len(totals.items)
        fits = FOLDS * contexts * ranks * items <= LARGEST_MODEL
        return cls(contexts if fits else 1, ranks, items, fits)


def fit_models(log: Partitions, setting: Setting, kind: str | Regressor) -> Models:
    """The models that the estimators ask for, each a pass of its own over the log."""
    request, shape = setting.request, Shape.of(setting)
    fit = partial(fit_model, ranks=shape.ranks, contextual=shape.contextual, kind=kind)
    rewards: dict[str, RewardModel] = {}
    futures: dict[str, dict[str, RewardModel]] = {}
    if any("model" in e.needs for e in request.computed):
        sums = log.reduce(partial(reward_sums, setting), "learning what items earn")
        rewards = {reward: fit(total) for reward, total in sums.items()}
    if any("future" in e.needs for e in request.computed):
        for name in request.systems:
            sums = log.reduce(partial(future_sums, setting, name), f"learning what {name} earns")
            futures[name] = {reward: fit(total) for reward, total in sums.items()}
    return Models(rewards, futures)


def reward_sums(setting: Setting, part: Partition) -> dict[str, RewardSums] | None:
    """For each reward, what its model is learned from."""
    sessions = setting.sessions(part)
    if sessions is None:
        return None

    def paid(reward: str, logged: LoggedRows) -> Floats:
        c: Floats = sessions.column(reward, logged.begin, logged.end)
        return c

    rewards = setting.request.rewards
    return {reward: _sum_outcomes(setting, sessions, partial(paid, reward)) for reward in rewards}


def future_sums(setting: Setting, name: str, part: Partition) -> dict[str, RewardSums] | None:
    """For each reward, what a model of one target's returns is learned from."""
    sessions = setting.sessions(part)
    if sessions is None:
        return None
    request, targets = setting.request, setting.targets(sessions, part)
    validate_rows(request.estimators, setting.basis, sessions, list(targets.values()))
    target = targets[name]

    def earned(reward: str, logged: LoggedRows) -> Floats:
        met = Meeting.of(sessions, setting.basis, logged, target, missing=request.missing)
        _validate_chances(sessions, target, met, request.missing)
        return returns(met.rewarded(sessions.column(reward, logged.begin, logged.end), None))

    rewards = request.rewards
    return {reward: _sum_outcomes(setting, sessions, partial(earned, reward)) for reward in rewards}


def _sum_outcomes(
    setting: Setting, sessions: Sessions, outcome: Callable[[LoggedRows], Floats]
) -> RewardSums:
    """Sums of an outcome of every logged row, by fold, situation and item."""
    shape, basis = Shape.of(setting), setting.basis
    ranks, items = shape.ranks, shape.items
    table = (FOLDS, shape.contexts * ranks, items)
    situation = sessions.fold * table[1] + (sessions.context * ranks if shape.contextual else 0)

    def add(cuts: list[tuple[int, int]]) -> RewardSums:
        """One thread's share: cells are found block by block and counted once."""
        n = sessions.rows(cuts[0][0], cuts[-1][1])
        size = n.stop - n.start
        cell, c, seen = np.empty(size, np.int64), np.empty(size), np.empty(size)
        for cut in cuts:
            logged = LoggedRows.of(sessions, basis, *cut)
            rows = sessions.rows(*cut)
            here = slice(rows.start - n.start, rows.stop - n.start)
            place = situation[slice(*cut)][logged.session]
            if basis.by_rank:
                place += logged.rank - 1
            place *= items
            place += logged.item
            cell[here], c[here], seen[here] = place, outcome(logged), logged.seen
        return sum_rewards(cell, c, seen, table)

    cuts = sessions.cuts()
    share = -(-len(cuts) // workers())
    shares = [cuts[i : i + share] for i in range(0, len(cuts), share)]
    return merge(map_threads(add, shares, workers()))


def returns(rows: Rows) -> Floats:
    r""":math:`G_r` of each row, from the last rank up."""
    w, G = rows.weight(float("inf")), rows.reward.copy()
    for r in range(int(rows.length.max()) - 1, 0, -1):
        here = rows.start[rows.length > r] + r - 1
        G[here] += w[here + 1] * G[here + 1]
    return G


def _validate_chances(sessions: Sessions, target: Target, met: Meeting, missing: str) -> None:
    """An expectation over the target's items needs all of them."""
    total, logged = met.at_ranks(met.cells.e), met.logged
    off = np.abs(total - 1) > NEARLY
    if missing == "skip":
        off &= ~np.isin(logged.session, met.absent)
    if off.any():
        first = int(np.argmax(off))
        unit = sessions.units[int(logged.session[first]) + logged.begin]
        sum_ = f"they add up to {total[first]:.4g}"
        raise InputError(
            f'The probabilities of "{target.table.name}" do not add up to 1 at every logged rank.',
            found=f"Session {unit!r}, rank {logged.rank[first]}: {sum_}.",
            todo="CascadeDR needs every item the target may show at a rank, with its probability.",
        )
