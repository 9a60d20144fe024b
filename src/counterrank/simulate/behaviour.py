r"""What a user does with a list: the factors that multiply quality, and the expected outcome.

The click probability of item :math:`a` at rank :math:`r`, seen by a user with factor :math:`f`, is

.. math:: p_r = f \cdot m \cdot \tau(r) \cdot \nu(r) \cdot q(x, a)

with appetite :math:`m` (``carry_over``), trust :math:`\tau` and novelty :math:`\nu`
(``interaction``), all 1 while the assumptions hold. Likes have the same factors. The rank is seen
with probability :math:`c(r) \prod_{j<r} (1 - \ell(j)\, p_j)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from counterrank.core.arrays import Floats, Ints
from counterrank.simulate.latent import REWARDS, Latent
from counterrank.simulate.rankers import Ranker

if TYPE_CHECKING:
    from counterrank.simulate.world import World

FACTOR_CHANCE = (0.25, 0.5, 0.25)


@dataclass(frozen=True)
class Behaviour:
    """The users of a world."""

    world: World

    @property
    def latent(self) -> Latent:
        """The world's hidden arrays."""
        return self.world.latent

    @cached_property
    def factors(self) -> Floats:
        """The values a user's factor can take, with mean 1 under ``FACTOR_CHANCE``."""
        return 1 + self.world.user_spread * np.array([-1.0, 0.0, 1.0])

    @cached_property
    def trust(self) -> Floats:
        r""":math:`\tau(r) = 1 - t + t / \sqrt{r}`, with degree :math:`t`."""
        rank = np.arange(1, self.world.slots + 1)
        return 1 - self.world.trust * (1 - 1 / np.sqrt(rank))

    def novelty(self, items: Ints) -> Floats:
        r""":math:`\nu(r)`: 1 less the degree right below an item of the same category."""
        kind = self.latent.category[items]
        out = np.ones(items.shape)
        out[:, 1:] -= self.world.interaction * (kind[:, 1:] == kind[:, :-1])
        return out

    def lift(self, items: Ints) -> Floats:
        """What multiplies quality whoever the user is: sessions x slots."""
        return self.trust * self.novelty(items) if self.world.interaction else self.trust

    def richness(self, x: Ints, items: Ints) -> Floats:
        """How good a list is, from 0 to 1: mean quality by patience, over the context's best."""
        patience = self.world.reading.patience[x]
        quality = self.latent.quality
        good: Floats = np.sum(patience * quality[x[:, None], items], axis=1)
        best: Floats = patience.sum(axis=1) * quality.max(axis=1)[x]
        return good / best

    def mean_richness(self, ranker: Ranker) -> Floats:
        """Expected richness of a ranker's lists in each context."""
        quality, sets = self.latent.quality, self.latent.sets
        patience = self.world.reading.patience
        own = quality[np.arange(len(sets))[:, None, None], sets]
        good = np.einsum("xs,xskr,xr,xsk->x", ranker.chance, ranker.placed, patience, own)
        out: Floats = good / (patience.sum(axis=1) * quality.max(axis=1))
        return out

    def appetite(self, richness: Floats) -> Floats:
        """What is left of a user's readiness after a list of that richness."""
        return 1 - self.world.carry_over * richness

    def expected(self, day: int, x: Ints, items: Ints, appetite: Floats) -> tuple[Floats, Floats]:
        """Views by rank, lists x slots, and rewards, lists x rewards, of given lists. Exact."""
        at = x[:, None], items
        lift = self.lift(items) * appetite[:, None]
        patience = self.world.reading.patience[x]
        leaving = self.world.reading.leaving
        click = self.latent.click[day][at] * lift
        views, weighted = np.zeros(items.shape), np.zeros(items.shape)
        for factor, chance in zip(self.factors, FACTOR_CHANCE, strict=True):
            stays = np.cumprod(1 - leaving * factor * click, axis=1)
            seen = patience.copy()
            seen[:, 1:] *= stays[:, :-1]
            views += chance * seen
            weighted += chance * factor * seen
        worth = weighted * lift
        rewards = [np.sum(worth * self.latent.means(r)[day][at], axis=1) for r in REWARDS]
        return views, np.stack(rewards, axis=1)
