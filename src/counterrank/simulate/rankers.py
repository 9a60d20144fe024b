r"""The platform's rankers: what they show for a candidate set, and how likely each place is.

An honest platform writes beside each shown item its exposure and its propensity under the ranker.
``given`` says what they are conditional on.

* ``candidates``: the candidate set that the session drew. Exposure is
  :math:`\sum_r P(a, r \mid x, s)\, c(r)`; for a deterministic ranker that is :math:`c` of the rank.
  It goes with runs that rank the candidates of the same session (Jeunen et al., 2024, Eq. 9).
* ``context``: the context alone. Candidate sets are summed over as well (Eq. 6). It goes with runs
  that give their exposure per context, such as those of a ranker with its own candidates.

The two do not mix: a ratio of one and the other estimates nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from counterrank.core.arrays import AnyInts, Floats, Ints
from counterrank.position import rank_probabilities
from counterrank.simulate.latent import Latent

if TYPE_CHECKING:
    from counterrank.simulate.world import World

RANKERS = {
    "logged": "production: knows the items' quality, with errors",
    "near": "logged, with some of its errors mended",
    "far": "knows quality with errors of its own",
    "random": "a fixed order that knows nothing",
    "ideal": "by true click quality",
    "stochastic": "Plackett-Luce around near",
    "two_stage": "far, with a candidate generator of its own",
}
SPECIALISTS = {  # only where contexts differ in length
    "short_form": "knows what is watched among short videos, and nothing of long ones",
    "long_form": "knows what is watched among long videos, and nothing of short ones",
}
BLOCK = 1 << 15


@dataclass(frozen=True)
class Ranker:
    """A candidate generator and a ranker (Jeunen et al., 2024, Eq. 1).

    ``score[x, s, k]`` is the score of each candidate, minus infinity for one that is never shown;
    ``chance[x, s]`` the generator. At ``temperature`` 0 the best score comes first, otherwise the
    order is Plackett-Luce with scores divided by the temperature.
    """

    name: str
    score: Floats
    chance: Floats
    slots: int
    temperature: float
    own_generator: bool

    @property
    def stochastic(self) -> bool:
        """Whether the same candidates may come in different orders."""
        return self.temperature > 0

    @cached_property
    def best(self) -> Ints:
        """Places in the candidate set, best score first: contexts x sets x slots."""
        return np.argsort(-self.score, axis=2, kind="stable")[:, :, : self.slots]

    @cached_property
    def placed(self) -> Floats:
        """P(candidate k at rank r | x, s): contexts x sets x candidates x slots. Exact."""
        if not self.stochastic:
            at = np.zeros((*self.score.shape, self.slots))
            np.put_along_axis(at, self.best[:, :, None, :], 1.0, axis=2)
            return at
        flat = self.score.reshape(-1, self.score.shape[2]) / self.temperature
        return rank_probabilities(flat, self.slots).reshape(*self.score.shape, self.slots)

    def given_above(self, x: Ints, s: Ints, places: AnyInts) -> Floats:
        """Chance of each shown place given those above: its rate over the rates of all left."""
        if not self.stochastic:
            return np.ones(places.shape)
        rate = np.exp((self.score - self.score.max(axis=2, keepdims=True)) / self.temperature)
        own = rate[x[:, None], s[:, None], places]
        below = np.cumsum(own[:, ::-1], axis=1)[:, ::-1]
        never = rate.sum(axis=2)[x, s] - own.sum(axis=1)
        chance: Floats = own / (below + np.maximum(never, 0.0)[:, None])
        return chance

    def lists(self, rng: np.random.Generator, x: Ints, s: Ints) -> AnyInts:
        """One list per session, as places in its candidate set: sessions x slots."""
        small = np.min_scalar_type(self.score.shape[2])
        if not self.stochastic:
            return self.best.astype(small)[x, s]
        rate = np.exp(self.score / self.temperature)
        out = np.empty((len(x), self.slots), small)
        for start in range(0, len(x), BLOCK):
            part = slice(start, start + BLOCK)
            with np.errstate(divide="ignore"):
                arrival = rng.standard_exponential((len(x[part]), rate.shape[2]))
                arrival /= rate[x[part], s[part]]
            out[part] = np.argsort(arrival, axis=1)[:, : self.slots]
        return out


def rankers_of(world: World) -> dict[str, Ranker]:
    """All rankers; those of one length are among them where videos differ in length.

    A deterministic logger never shows the candidates below its last slot. So that the logs support
    every target, all rankers order the same ``slots`` candidates of a set, those that ``logged``
    likes best; of the others, targets may show the share ``missing_support``. Where all loggers are
    Plackett-Luce, every candidate can be shown, and loggers withhold that share of the others.
    """
    latent, slots = world.latent, world.slots
    utility = np.log(latent.quality)
    utility = (utility - utility.mean()) / utility.std()
    noise = latent.noise
    logged = utility + noise[0]
    near = 0.6 * logged + 0.4 * utility + 0.2 * noise[1]
    far = utility + 0.7 * noise[2]
    scores = {
        "logged": logged, "near": near, "far": far, "random": noise[3], "ideal": utility,
        "stochastic": 2 * near, "two_stage": far,
    }  # fmt: skip
    if world.length_spread:
        informed = 0.5 * logged + _watched(latent)
        for name, known, blind in zip(
            SPECIALISTS, (~latent.long, latent.long), latent.blind, strict=True
        ):
            scores[name] = np.where(known[:, None], informed, blind)
    x = np.arange(len(logged))[:, None, None]
    behind = np.argsort(np.argsort(-logged[x, latent.sets], axis=2), axis=2) >= slots
    concerned = latent.luck[x, latent.sets] < world.missing_support
    temperature = {"stochastic": 1.0}
    if world.ranker == "plackett_luce":
        temperature["logged"] = world.temperature
    open = all(temperature.get(name, 0.0) > 0 for name in world.loggers)
    out = {}
    for name, score in scores.items():
        logs, own = name in world.loggers, name == "two_stage"
        barred = behind & (concerned & logs if open else logs | ~concerned)  # never shown
        out[name] = Ranker(
            name=name,
            score=np.where(barred, -np.inf, score[x, latent.sets]),
            chance=latent.other_chance if own else latent.chance,
            slots=slots,
            temperature=temperature.get(name, 0.0),
            own_generator=own,
        )
    return out


def _watched(latent: Latent) -> Floats:
    """How long an item is watched once seen, on the scale of its context: mean 0, spread 1."""
    time = np.log(latent.means("dwell")[0])
    time = time - time.mean(axis=1, keepdims=True)
    scaled: Floats = time / time.std()
    return scaled


@dataclass(frozen=True)
class Exposures:
    """Exposure and propensity of every item under one ranker, with ``bias[x, r]`` as c(r)."""

    latent: Latent
    ranker: Ranker
    bias: Floats

    @cached_property
    def by_candidates(self) -> Floats:
        """Exposure given the candidates: contexts x sets x candidates."""
        out: Floats = np.einsum("xskr,xr->xsk", self.ranker.placed, self.bias)
        return out

    @cached_property
    def placed(self) -> Floats:
        """P(a at rank r | x): contexts x items x slots."""
        weighted = self.ranker.chance[:, :, None, None] * self.ranker.placed
        contexts, items = self.latent.quality.shape
        out = np.zeros((contexts, items, weighted.shape[3]))
        np.add.at(out, (np.arange(contexts)[:, None, None], self.latent.sets), weighted)
        return out

    @cached_property
    def by_context(self) -> Floats:
        """Exposure given the context alone: contexts x items."""
        out: Floats = np.einsum("xar,xr->xa", self.placed, self.bias)
        return out


def choose(u: Floats, chance: Floats, row: Ints) -> Ints:
    """One choice for each uniform number, by the probabilities in its row of ``chance``."""
    upto = np.cumsum(chance, axis=1)[:, :-1]
    choice = np.zeros(len(u), np.int64)
    for limit in upto.T:
        choice += u >= limit[row]
    return choice
