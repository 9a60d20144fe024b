r"""The reward of a view, learned from the log: shrunken means, or a model of the user's own.

For item :math:`a` and situation :math:`x` (context, and the rank where exposure is not modelled)

.. math:: \hat q(a) = \frac{C_a + \kappa \bar q}{V_a + \kappa}, \qquad
          \hat q(x, a) = \frac{C_{xa} + \kappa' \pi_{xa}}{V_{xa} + \kappa'}, \qquad
          \pi_{xa} = \hat q(a)\, \hat q(x) / \bar q

(:math:`\hat q(a) + \hat q(x) - \bar q` where some of them are not above 0)

where :math:`C` sums rewards and :math:`V` views. :math:`\kappa` is the number of views at which an
item's own mean and the overall mean deserve equal trust: noise of a view over the variance between
items (method of moments). Sessions are predicted by sums of the other folds' users only.

For `CascadeDR` the same model learns a target's future rewards. The return of a row, weighted from
the next rank down, is

.. math:: G_r = c_r + w_{r+1} G_{r+1}, \qquad G_{L+1} = 0

Given the items down to rank :math:`r`, its mean is what the target would earn from there on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated

import numpy as np

from counterrank.core.arrays import Floats, Ints, halves, sum_by
from counterrank.core.errors import InputError
from counterrank.core.merge import merge
from counterrank.core.parallel import map_threads, workers
from counterrank.engine.partitions import Partition, Partitions
from counterrank.ope.estimators.clipped_weight import Rows
from counterrank.ope.log import FOLDS, Sessions
from counterrank.ope.match import LoggedRows, Meeting, Target
from counterrank.ope.setting import Setting
from counterrank.stats.shrinkage import shrink_means

if TYPE_CHECKING:
    from counterrank.nuisance.own_model import Model, OwnModel

LARGEST_MODEL = 1 << 25  # cells of the reward model; beyond, contexts are left out of it
NEARLY = 0.01  # what rounded probabilities of a rank may miss of 1


def _add_tables(parts: list[list[Floats]]) -> list[Floats]:
    """Table by table; some parts have a second one, of what is left of whole numbers."""
    return [
        reduce(np.add, [table for table in tables if table is not None])
        for tables in zip_longest(*parts)
    ]


@dataclass(frozen=True)
class RewardSums:
    """Sums over rows by fold, situation and item: rewards, views, squared rewards.

    Each is a list of tables to be added up in the end: of whole numbers one, otherwise two, of
    coarse and of fine parts, whose sums do not depend on the order of rows or partitions.
    """

    reward: Annotated[list[Floats], _add_tables]
    views: Annotated[list[Floats], _add_tables]
    square: Annotated[list[Floats], _add_tables]


def sum_rewards(
    cell: Ints, reward: Floats, seen: Floats, shape: tuple[int, int, int]
) -> RewardSums:
    """The sums by cell, the number of a fold, situation and item in a table of this shape."""
    size = shape[0] * shape[1] * shape[2]

    def total(x: Floats) -> list[Floats]:
        parts = (x,) if np.array_equal(x, np.round(x)) else halves(x)
        return [sum_by(cell, part, size).reshape(shape) for part in parts]

    binary = bool(np.all((reward == 0) | (reward == 1)))
    paid = total(reward)
    return RewardSums(paid, total(seen), paid if binary else total(reward**2))


@dataclass(frozen=True)
class RewardModel:
    """Predicted reward of a view: folds x situations x items; the last item is any unknown one."""

    table: Floats
    ranks: int = 1

    def at(self, fold: Ints, context: Ints, item: Ints, rank: Ints) -> Floats:
        """The prediction for each cell."""
        _, situations, items = self.table.shape
        cell = fold * situations
        if situations > self.ranks:
            cell += context * self.ranks
        if self.ranks > 1:
            cell += np.minimum(rank, self.ranks) - 1
        cell *= items
        cell += item
        q: Floats = self.table.reshape(-1)[cell]
        return q


def fit_model(total: RewardSums, ranks: int, kind: str | OwnModel) -> RewardModel:
    """A cross-fitted model from the sums of the whole log: shrunken means, or the user's own."""
    folds = range(len(total.reward[0]))
    means = np.stack([_predict(*_other_folds(total, fold)) for fold in folds])
    if isinstance(kind, str):
        return RewardModel(means, ranks)
    return RewardModel(_regress(total, means, ranks, kind), ranks)


def _other_folds(total: RewardSums, fold: int) -> tuple[Floats, Floats, Floats]:
    """Rewards, views and squares of all folds but one."""
    rest = np.arange(len(total.reward[0])) != fold
    c, v, s = (
        np.sum([part[rest].sum(axis=0) for part in tables], axis=0)
        for tables in (total.reward, total.views, total.square)
    )
    return c, v, s


def _predict(c: Floats, v: Floats, s: Floats) -> Floats:
    """Predictions (situations x items, and one more item for unknown ones)."""
    overall = float(c.sum() / v.sum()) if v.sum() > 0 else 0.0
    item = _shrunken_means(
        c.sum(axis=0), v.sum(axis=0), s.sum(axis=0), np.full(c.shape[1], overall)
    )
    if len(c) == 1:
        return np.append(item, overall)[None, :]
    place = _shrunken_means(c.sum(axis=1), v.sum(axis=1), s.sum(axis=1), np.full(len(c), overall))
    if min(overall, place.min(), item.min()) > 0:
        prior = np.outer(place, item) / overall
    else:  # rewards of both signs: effects add up instead
        prior = place[:, None] + item[None, :] - overall
    cell = _shrunken_means(c.ravel(), v.ravel(), s.ravel(), prior.ravel()).reshape(c.shape)
    return np.column_stack([cell, place])


def _shrunken_means(c: Floats, v: Floats, s: Floats, prior: Floats) -> Floats:
    r"""Means :math:`c / v` pulled towards ``prior``; ``s`` sums the squares of the rewards.

    The noise of a view is what varies within groups: :math:`\sum (s - c^2 / v) / (V - k)`.
    """
    known = v > 0
    n, total = int(known.sum()), float(v.sum())
    if n == 0 or total <= 0:
        return prior.copy()
    within = float(s.sum() - np.sum(c[known] * (c[known] / v[known])))
    return shrink_means(c, v, max(within, 0.0) / max(total - n, 1.0), prior=prior)


# a model of the user's own instead of means


def as_learner(model: str | Model) -> str | OwnModel:
    """A model of the user's own with what makes it learn; a word stays a word."""
    if isinstance(model, str):
        return model
    from counterrank.nuisance.own_model import OwnModel

    return OwnModel(model, methods=("predict",))


def _regress(total: RewardSums, means: Floats, ranks: int, own: OwnModel) -> Floats:
    """Predictions for every fold, situation and item.

    A row of features is a cell: the shrunken mean of its item and of its situation, how often the
    item was viewed, the context's number and the rank. The target is the cell's mean reward of a
    view, weighted by views. Each fold is predicted from the other folds alone.
    """
    tables = []
    for fold in range(len(means)):
        c, v, _ = _other_folds(total, fold)
        features = _features(c, v, means[fold], ranks)
        known = np.append(v, np.zeros((len(v), 1)), axis=1).ravel() > 0
        y = (c[v > 0] / v[v > 0]).ravel()
        if not known.any():  # no other user has seen anything
            tables.append(means[fold])
            continue
        predict = own.learn(features[known], y, v[v > 0])
        tables.append(predict(features).reshape(means[fold].shape))
    return np.stack(tables)


def _features(c: Floats, v: Floats, means: Floats, ranks: int) -> Floats:
    """One row per situation and item, the unknown item last."""
    situations = len(means)
    viewed = np.append(v.sum(axis=0), 0.0)
    item_mean = np.append(c.sum(axis=0), 0.0) / np.maximum(viewed, 1)
    place = np.arange(situations)[:, None]
    columns = (means, means[:, -1:], item_mean, np.log1p(viewed), place // ranks, place % ranks)
    whole = [np.broadcast_to(x, means.shape).astype(float).ravel() for x in columns]
    return np.stack(whole, axis=1)


# passes over the log


@dataclass(frozen=True)
class Models:
    """Models of each reward, and of what each target earns from a rank on, where asked for."""

    rewards: dict[str, RewardModel] = field(default_factory=dict)
    futures: dict[str, dict[str, RewardModel]] = field(default_factory=dict)


def table_shape(setting: Setting) -> tuple[int, int, int]:
    """Contexts, ranks and items of a model's tables; contexts that would not fit are left out."""
    totals = setting.totals
    ranks = totals.ranks if setting.basis.by_rank else 1
    contexts, items = max(totals.combinations.height, 1), len(totals.items)
    fits = FOLDS * contexts * ranks * items <= LARGEST_MODEL
    return contexts if fits else 1, ranks, items


def fit_models(log: Partitions, setting: Setting, kind: str | OwnModel) -> Models:
    """The models that the estimators ask for, each a pass of its own over the log."""
    request, ranks = setting.request, table_shape(setting)[1]

    def fit(system: str | None, label: str) -> dict[str, RewardModel]:
        sums = log.reduce(partial(outcome_sums, setting, system), label)
        return {reward: fit_model(total, ranks, kind) for reward, total in sums.items()}

    needs = {need for e in request.computed for need in e.needs}
    rewards = fit(None, "learning what items earn") if "model" in needs else {}
    later = request.systems if "future" in needs else []
    return Models(rewards, {name: fit(name, f"learning what {name} earns") for name in later})


def outcome_sums(
    setting: Setting, system: str | None, part: Partition
) -> dict[str, RewardSums] | None:
    """For each reward, what its model is learned from: the reward, or a target's return of it."""
    sessions = setting.sessions(part)
    if sessions is None:
        return None
    target = None if system is None else setting.targets(sessions, part)[system]

    def outcome(reward: str, logged: LoggedRows) -> Floats:
        c: Floats = sessions.column(reward, logged.begin, logged.end)
        if target is None:
            return c
        missing = setting.request.missing
        met = Meeting.of(sessions, setting.basis, logged, target, missing=missing)
        _validate_chances(sessions, target, met, missing)
        return returns(met.with_reward(c, None))

    rewards = setting.request.rewards
    return {r: _sum_outcomes(setting, sessions, partial(outcome, r)) for r in rewards}


def _sum_outcomes(
    setting: Setting, sessions: Sessions, outcome: Callable[[LoggedRows], Floats]
) -> RewardSums:
    """Sums of an outcome of every logged row, by fold, situation and item."""
    basis, (contexts, ranks, items) = setting.basis, table_shape(setting)
    table = (FOLDS, contexts * ranks, items)
    situation = sessions.fold * table[1] + (sessions.context * ranks if contexts > 1 else 0)

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
