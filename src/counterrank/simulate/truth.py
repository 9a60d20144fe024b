r"""What each ranker is worth: exact sums where there is a closed form, Monte Carlo otherwise.

With :math:`w_d` the day's share of the sessions, :math:`P_d(x)` the traffic,
:math:`G(s \mid x)` the candidate generator, :math:`P(a, r \mid x, s)` the ranker, :math:`c`
patience, :math:`\tau` trust and :math:`\bar m` the mean appetite, a session's expected reward is

.. math::

    V = \sum_d w_d \sum_x P_d(x)\, \bar m(x) \sum_s G(s \mid x) \sum_{a, r}
        P(a, r \mid x, s)\, c(x, r)\, \tau(r)\, q_d(x, a)

as long as users do not leave after clicks and items do not interact. Otherwise it is the mean over
candidate sets of what a list earns: exact for a deterministic ranker, whose lists are few, and a
mean over drawn lists for a Plackett-Luce one, with the standard error that this leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from counterrank.core.arrays import Floats, Ints
from counterrank.simulate.latent import REWARDS
from counterrank.simulate.rankers import Ranker, choose

if TYPE_CHECKING:
    from counterrank.simulate.world import World

LISTS = 400  # drawn per context and candidate set where there is no closed form


@dataclass(frozen=True)
class Known:
    """A true value: expected reward per session, per seen item and per shown item.

    ``se`` is the Monte Carlo error of ``value``, 0 if it is exact.
    """

    value: float
    se: float
    exact: bool
    per_view: float
    per_impression: float


@dataclass(frozen=True)
class Worth:
    """Expected outcomes of one ranker: by day, views by context and rank, and rewards.

    ``views[d, x, r]``; ``rewards[d, reward]`` and its Monte Carlo error ``se[d, reward]``, where
    the last d stands for all days together.
    """

    views: Floats
    rewards: Floats
    se: Floats
    exact: bool


def worth(world: World, name: str) -> Worth:
    """Everything that is expected if this ranker serves all sessions."""
    ranker = world.rankers[name]
    linear = not world.reading.leaves and not world.interaction
    return _closed_form(world, ranker) if linear else _mean_over_lists(world, ranker)


def true_values(world: World, found: Worth, day: int | None) -> dict[str, Known]:
    """The true values of one ranker, over all days or on one."""
    latent = world.latent
    busy = latent.busy if day is None else np.eye(world.days)[day]
    seen = float(np.einsum("d,dx,dxr->", busy, latent.shares, found.views))
    place = world.days if day is None else day
    return {
        reward: Known(float(v), float(se), found.exact, float(v) / seen, float(v) / world.slots)
        for reward, v, se in zip(REWARDS, found.rewards[place], found.se[place], strict=True)
    }


def true_position_bias(world: World, found: dict[str, Worth]) -> Floats:
    r""":math:`P(V = 1 \mid R = r)`, contexts x slots: what a position-based model would learn.

    That is patience, unless users leave after clicks. Then it is the share of views at each rank
    under the loggers, over all contexts if their readers have the same patience.
    """
    if not world.reading.leaves:
        return world.reading.patience
    traffic = world.latent.busy[:, None] * world.latent.shares
    mixed = sum(share * found[name].views for name, share in world.loggers.items())
    seen = np.einsum("dx,dxr->xr", traffic, mixed)
    if world.reading.by_context:
        by_context: Floats = seen / traffic.sum(axis=0)[:, None]
        return by_context
    return np.tile(seen.sum(axis=0), (world.contexts, 1))


def _closed_form(world: World, ranker: Ranker) -> Worth:
    """The closed form above."""
    latent, users = world.latent, world.users
    patience = world.reading.patience
    appetite = users.appetite(users.mean_richness(ranker))
    effect = np.einsum("xs,xskr,xr,r->xsk", ranker.chance, ranker.placed, patience, users.trust)
    at = np.arange(world.contexts)[:, None, None], latent.sets
    rewards = np.stack(
        [
            np.einsum("dx,x,xsk,dxsk->d", latent.shares, appetite, effect, means[:, *at])
            for means in map(latent.means, REWARDS)
        ],
        axis=1,
    )
    rewards = np.vstack([rewards, latent.busy @ rewards])
    views = np.broadcast_to(patience, (world.days, *patience.shape))
    return Worth(views, rewards, np.zeros(rewards.shape), True)


def _mean_over_lists(world: World, ranker: Ranker) -> Worth:
    """The mean over lists, weighted by context, candidate set and what the user saw before."""
    latent = world.latent
    lists = _draw_lists if ranker.stochastic else _every_list
    x, items, appetite, weight = lists(world, ranker)
    views = np.zeros((world.days, world.contexts, world.slots))
    earned = np.zeros((world.days + 1, len(x), len(REWARDS)))
    for day, busy in enumerate(latent.busy):
        seen, earned[day] = world.users.expected(day, x, items, appetite)
        np.add.at(views[day], x, weight[:, None] * seen)
        earned[day] *= (weight * latent.shares[day, x])[:, None]
        earned[-1] += busy * earned[day]
    se = np.zeros((world.days + 1, len(REWARDS)))
    if ranker.stochastic:  # lists are independent within each context and candidate set
        strata = earned.reshape(world.days + 1, -1, LISTS, len(REWARDS))
        se = np.sqrt(LISTS * strata.var(axis=2, ddof=1).sum(axis=1))
    return Worth(views, earned.sum(axis=1), se, not ranker.stochastic)


def _every_list(world: World, ranker: Ranker) -> tuple[Ints, Ints, Floats, Floats]:
    """Every list of a deterministic ranker, after every list the user may have seen before."""
    before = world.sets if world.carry_over else 1
    x, s, last = (a.ravel() for a in np.indices((world.contexts, world.sets, before)))
    items = world.items_at(x, s, ranker.best[x, s])
    weight = ranker.chance[x, s]
    appetite = np.ones(len(x))
    if world.carry_over:
        earlier = world.items_at(x, last, ranker.best[x, last])
        appetite = world.users.appetite(world.users.richness(x, earlier))
        weight = weight * ranker.chance[x, last]
    return x, items, appetite, weight


def _draw_lists(world: World, ranker: Ranker) -> tuple[Ints, Ints, Floats, Floats]:
    """``LISTS`` lists for every context and candidate set, each after a random earlier one."""
    rng = np.random.default_rng([world.seed, 2])
    x, s, _ = (a.ravel() for a in np.indices((world.contexts, world.sets, LISTS)))
    users = world.users
    items = world.items_at(x, s, ranker.lists(rng, x, s))
    appetite = np.ones(len(x))
    if world.carry_over:
        last = choose(rng.random(len(x)), ranker.chance, x)
        earlier = world.items_at(x, last, ranker.lists(rng, x, last))
        appetite = users.appetite(users.richness(x, earlier))
    return x, items, appetite, ranker.chance[x, s] / LISTS
