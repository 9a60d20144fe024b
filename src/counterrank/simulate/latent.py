"""What nobody on the platform can see: the quality of items, the traffic, the candidate sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from counterrank.core.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from counterrank.simulate.world import World

REWARDS = ("click", "like", "dwell", "conversion", "revenue")
CATEGORIES = 4
LONGER = 20  # times as long as a short one is a long video watched, at most
HIGHEST = 0.35  # times the largest user factor (2) and drift (1.4) it stays a probability


@dataclass(frozen=True)
class Latent:
    r"""The platform's hidden arrays. Axes: day d, context x, item a, candidate set s, place k.

    ``click[d, x, a]`` and ``like[d, x, a]``: probability for a seen item and an average user.
    ``convert[x, a]``: probability of a conversion after a click. ``dwell[x, a]``: mean seconds
    after a click. ``price[a]``: mean revenue of a conversion. ``category[a]``: kind of item.
    ``shares[d, x]``: traffic of the contexts; ``busy[d]``: share of the day in all sessions.
    ``sets[x, s, k]``: items of each candidate set; ``chance[x, s]``: the platform's candidate
    generator; ``other_chance[x, s]``: that of the ranker ``two_stage``.
    ``luck[x, a]``: uniform numbers that decide which items a missing support concerns.
    ``noise[n, x, a]``: what the rankers get wrong. ``long[x]``: contexts of long videos, a quarter
    of all; ``blind[n, x, a]``: what rankers of one length take for quality where they know none.
    """

    click: Floats
    like: Floats
    convert: Floats
    dwell: Floats
    price: Floats
    category: Ints
    shares: Floats
    busy: Floats
    sets: Ints
    chance: Floats
    other_chance: Floats
    luck: Floats
    noise: Floats
    long: Bools
    blind: Floats

    @property
    def quality(self) -> Floats:
        """Click probability on the first day, contexts x items: what rankers try to know."""
        first: Floats = self.click[0]
        return first

    def means(self, reward: str) -> Floats:
        r"""Expected reward of a seen item for an average user, days x contexts x items.

        Dwell and conversions follow a click, revenue follows a conversion.
        """
        return {
            "click": self.click,
            "like": self.like,
            "dwell": self.click * self.dwell,
            "conversion": self.click * self.convert,
            "revenue": self.click * self.convert * self.price,
        }[reward]


def draw_latent(world: World) -> Latent:
    """Draw a world. On the first day there is no drift yet."""
    seed, contexts, items, days = world.seed, world.contexts, world.items, world.days
    sets, candidates, traffic = world.sets, world.candidates, world.traffic
    rng = np.random.default_rng([seed, 0])
    by_cell = (contexts, items)
    level = 0.5 * rng.normal(size=(contexts, 1))
    appeal = rng.normal(size=by_cell) + rng.normal(size=items) + level
    liking = 0.6 * appeal + 0.8 * rng.normal(size=by_cell)
    pool = np.argsort(rng.random(by_cell), axis=1)[:, : min(items, 2 * candidates)]
    place = np.argsort(rng.random((contexts, sets, pool.shape[1])), axis=2)[:, :, :candidates]
    walk = np.random.default_rng([seed, 1])
    change = 1 + 0.2 * world.drift * (_walk(walk, days, 1, 1) + _walk(walk, days, contexts, items))
    apart = np.random.default_rng([seed, 3])
    long = apart.permutation(contexts) < max(1, contexts // 4)
    return Latent(
        click=change * HIGHEST / (1 + np.exp(2.2 - 1.5 * appeal)),
        like=change * 0.5 * HIGHEST / (1 + np.exp(2.2 - 1.5 * liking)),
        convert=0.4 / (1 + np.exp(0.5 + rng.normal(size=by_cell))),
        dwell=30
        * np.exp(0.5 * rng.normal(size=by_cell))
        * LONGER ** (world.length_spread * long[:, None]),
        price=10 * np.exp(0.5 * rng.normal(size=items)),
        category=rng.integers(CATEGORIES, size=items),
        shares=_softmax(
            0.5 * rng.normal(size=contexts) + 2 * traffic * _walk(walk, days, contexts)
        ),
        busy=_softmax(traffic * _walk(walk, days)[None, :])[0],
        sets=np.take_along_axis(pool[:, None, :], place, axis=2),
        chance=_softmax(rng.normal(size=(contexts, sets))),
        other_chance=_softmax(rng.normal(size=(contexts, sets))),
        luck=rng.random(by_cell),
        noise=rng.normal(size=(4, *by_cell)),
        long=long,
        blind=apart.normal(size=(2, *by_cell)),
    )


def _walk(rng: np.random.Generator, days: int, *shape: int) -> Floats:
    """A random walk by day within (-1, 1), zero on the first day."""
    steps = np.stack([rng.normal(size=shape) for _ in range(days)])
    steps[0] = 0
    return np.tanh(0.5 * np.cumsum(steps, axis=0))


def _softmax(x: Floats) -> Floats:
    weight = np.exp(x - x.max(axis=-1, keepdims=True))
    share: Floats = weight / weight.sum(axis=-1, keepdims=True)
    return share
