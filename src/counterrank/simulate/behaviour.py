r"""What a user does with a list: how far it is read, and what comes of what is seen.

Every model of examination is patience and leaving. Patience: rank :math:`r` is reached with
probability :math:`c(r)`, by one draw per session, so a user who sees a rank has seen those above
it. Leaving: after a click at rank :math:`r` the user is gone with probability :math:`\ell(r)`.

=================  =====================  =======================================
model              :math:`c(r)`           :math:`\ell(r)`
=================  =====================  =======================================
position-based     any position model     0
cascade            1                      1
dependent clicks   1                      :math:`1 - \lambda_r`
=================  =====================  =======================================

The cascade is that of Craswell et al. (2008, doi:10.1145/1341531.1341545), dependent clicks those
of Guo et al. (2009, doi:10.1145/1498759.1498818). The switch ``cascading`` adds leaving to any
model; with ``geometric`` it is a cascade whose users also tire.

The click probability of item :math:`a` at rank :math:`r`, seen by a user with factor :math:`f`, is

.. math:: p_r = f \cdot m \cdot \tau(r) \cdot \nu(r) \cdot q(x, a)

with appetite :math:`m` (``carry_over``), trust :math:`\tau` and novelty :math:`\nu`
(``interaction``), all 1 while the assumptions hold. Likes have the same factors. The rank is seen
with probability :math:`c(r) \prod_{j<r} (1 - \ell(j)\, p_j)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import UsageError
from counterrank.core.labels import Registry, Value
from counterrank.position import Flat, PositionModel
from counterrank.position.models import KINDS
from counterrank.simulate.latent import REWARDS, Latent
from counterrank.simulate.rankers import Ranker

if TYPE_CHECKING:
    from counterrank.simulate.world import World


@dataclass(frozen=True)
class Cascade(Value):
    """The user reads from the top and leaves with the first click."""

    name: ClassVar[str] = "cascade"


@dataclass(frozen=True)
class DependentClicks(Value):
    r"""The user goes on after a click at rank :math:`r` with probability :math:`\lambda_r`.

    ``stay`` is :math:`\lambda_1, \lambda_2, \dots`; the last one holds for all further ranks.
    """

    stay: tuple[float, ...] = (0.8, 0.7, 0.6, 0.5)
    name: ClassVar[str] = "dependent_clicks"

    def __post_init__(self) -> None:
        object.__setattr__(self, "stay", tuple(self.stay))
        if not self.stay or not all(0 <= p <= 1 for p in self.stay):
            raise UsageError(
                "dependent_clicks(...) needs probabilities of going on after a click.",
                found=f"Got {self.stay}.",
                todo="Write it like dependent_clicks(0.8,0.6,0.5).",
            )


Examination = PositionModel | Cascade | DependentClicks

examination_model: Registry[Examination] = Registry(
    "a model of examination",
    (PositionModel, Cascade, DependentClicks),
    (*KINDS, Cascade, DependentClicks),
)


@dataclass(frozen=True)
class Reading:
    """Patience, contexts x slots, and leaving, slots."""

    patience: Floats
    leaving: Floats

    @property
    def leaves(self) -> bool:
        """Whether clicks end sessions: then examination is not position-based."""
        return bool(self.leaving.any())

    @property
    def by_context(self) -> bool:
        """Whether patience differs between contexts."""
        return bool((self.patience != self.patience[0]).any())


def reading_of(world: World) -> Reading:
    """One model for all contexts, or several dealt out to the contexts in turn."""
    labels, contexts, slots = world.examination, world.contexts, world.slots
    given = [labels] if isinstance(labels, (str, Value)) else list(labels)
    models = [examination_model(label) for label in given]
    if not models:
        raise UsageError("No model of examination was given.", todo="For example log2.")
    leaving = {_leaving(model, slots) for model in models}
    if len(leaving) > 1:
        raise UsageError("Contexts may differ in patience, not in what a click does.")
    patience = np.stack([_patience(m, slots) for m in models])[np.arange(contexts) % len(models)]
    left = 1 - (1 - np.array(leaving.pop())) * (1 - world.cascading)
    if left.any() and (np.diff(patience, axis=1) > 0).any():
        raise UsageError(
            "Leaving after a click needs a position model that falls from rank to rank.",
            found=f"Got {', '.join(map(str, models))}.",
        )
    return Reading(patience, left)


def _patience(model: Examination, slots: int) -> Floats:
    position = model if isinstance(model, PositionModel) else Flat()
    weight = position.at(np.arange(1, slots + 1))
    if (weight > 1).any() or not weight.any():
        raise UsageError(
            "Examination needs weights that are probabilities, not all of them 0.",
            found=f"{position} gives {', '.join(f'{w:g}' for w in weight[:5])}, ...",
        )
    return weight


def _leaving(model: Examination, slots: int) -> tuple[float, ...]:
    if isinstance(model, Cascade):
        return (1.0,) * slots
    if isinstance(model, DependentClicks):
        stay = model.stay[:slots]
        return tuple(1 - p for p in stay + (model.stay[-1],) * (slots - len(stay)))
    return (0.0,) * slots


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
