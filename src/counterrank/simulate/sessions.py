"""Who comes when, in which context, and which list is shown: the sessions of a sample.

There is one stream of random numbers for each purpose, so that one choice never shifts another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import AnyInts, Floats, Ints
from counterrank.simulate.behaviour import FACTOR_CHANCE
from counterrank.simulate.rankers import choose
from counterrank.simulate.world import World

HEAVY_TAIL = 1.5
BLOCK = 1 << 15

# fmt: off
PURPOSES = (
    "day", "context", "user", "factor", "arm", "policy", "set", "list", "earlier set",
    "earlier list", "patience", "click", "like", "leave", "dwell", "conversion", "revenue", "draws",
)
# fmt: on


def stream(seed: int, purpose: str, part: int = 0) -> np.random.Generator:
    """The random numbers of a sample for one purpose; ``part`` counts blocks of sessions."""
    return np.random.Generator(np.random.SFC64([seed, PURPOSES.index(purpose), part]))


@dataclass(frozen=True)
class SimulatedSessions:
    """A row per session, in order of time.

    ``arm`` counts the world's arms, -1 for the control; ``policy`` counts its rankers.
    ``set`` is the candidate set, ``places`` the list as places in it (sessions x slots).
    ``factor`` is the user's readiness to react, ``appetite`` what the last list left of it.
    """

    day: Ints
    context: Ints
    user: Ints
    arm: Ints
    policy: Ints
    set: Ints
    places: AnyInts
    factor: Floats
    appetite: Floats

    def block(self, part: int) -> slice:
        """The sessions of block ``part``."""
        return slice(part * BLOCK, min((part + 1) * BLOCK, len(self.day)))

    @property
    def blocks(self) -> range:
        """Numbers of the blocks."""
        return range(-(-len(self.day) // BLOCK))


def sessions(world: World, count: int, seed: int) -> SimulatedSessions:
    """Draw sessions.

    A user belongs to one context, or comes in all of them. Activity has a heavy tail: user j of n
    comes as often as (j / n)^(-1/3). Arms are drawn by user, loggers by session.
    """
    day = np.repeat(
        np.arange(world.days), stream(seed, "day").multinomial(count, world.latent.busy)
    )
    x = choose(stream(seed, "context").random(count), world.latent.shares, day)
    crowd = max(1, round(count / world.sessions_per_user / world.contexts))
    everyone = world.contexts * crowd
    place = stream(seed, "user").random(count) ** HEAVY_TAIL
    if world.user_contexts == "one":
        user = x * crowd + (crowd * place).astype(np.int64)
    else:
        user = (everyone * place).astype(np.int64)
    factor = stream(seed, "factor").choice(world.users.factors, everyone, p=FACTOR_CHANCE)
    control = 1 - sum(world.arms.values())
    arm = _among(stream(seed, "arm"), [control, *world.arms.values()], everyone)[user] - 1
    policy = _policy(world, seed, arm)
    s, places = _lists(world, seed, x, policy, set="set", list="list")
    appetite = np.ones(count)
    if world.carry_over:
        shown = world.users.richness(x, world.items_at(x, s, places))
        # nobody is new: the list before a user's first session is drawn, but not logged
        s0, places0 = _lists(world, seed, x, policy, set="earlier set", list="earlier list")
        unlogged = world.users.richness(x, world.items_at(x, s0, places0))
        appetite = world.users.appetite(_last(user, shown, unlogged))
    return SimulatedSessions(day, x, user, arm, policy, s, places, factor[user], appetite)


def _among(rng: np.random.Generator, shares: list[float], count: int) -> Ints:
    """One of several, by their shares."""
    return np.searchsorted(np.cumsum(shares)[:-1], rng.random(count), side="right")


def _policy(world: World, seed: int, arm: Ints) -> Ints:
    """The ranker that serves each session: the arm's, or one of the loggers."""
    number = {name: place for place, name in enumerate(world.rankers)}
    logger = _among(stream(seed, "policy"), list(world.loggers.values()), len(arm))
    policy = np.array([number[name] for name in world.loggers])[logger]
    for place, name in enumerate(world.arms):
        policy[arm == place] = number[name]
    return policy


def _lists(
    world: World, seed: int, x: Ints, policy: Ints, *, set: str, list: str
) -> tuple[Ints, AnyInts]:
    """Candidate set and list of each session, by the policy that serves it."""
    u = stream(seed, set).random(len(x))
    s = np.empty(len(x), np.int64)
    places = np.empty((len(x), world.slots), np.min_scalar_type(world.candidates))
    for number, ranker in enumerate(world.rankers.values()):
        own = np.flatnonzero(policy == number)
        if len(own):
            s[own] = choose(u[own], ranker.chance, x[own])
            places[own] = ranker.lists(stream(seed, list, number), x[own], s[own])
    return s, places


def _last(user: Ints, value: Floats, first: Floats) -> Floats:
    """Each session's value of the same user's session before it; ``first`` where there is none."""
    order = np.argsort(user, kind="stable")
    again = np.append(False, user[order][1:] == user[order][:-1])
    out = first.copy()
    out[order[again]] = value[order[np.flatnonzero(again) - 1]]
    return out
