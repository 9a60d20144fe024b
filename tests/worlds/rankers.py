r"""Who orders the items: deterministic and Plackett-Luce loggers, and the candidates.

A ranker scores the slots of a page's pool by a z + b noise + g hidden, with z what is known of
their appeal and the noise drawn once for the world; it shows the slots in order of the score.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from worlds.catalogue import KINDS

if TYPE_CHECKING:
    from worlds.feed import Feed

HALVES = np.array([-0.5, 0.5])
# a, b, g of candidates; two lists are mixed by a coin where the value has to be met
CANDIDATES = {
    "better": [(1.0, 0.3, 0.0)],
    "worse": [(-0.4, 0.6, 0.0)],
    "equal": [(1.0, 0.4, 0.0), (-0.2, 0.8, 0.0)],
    "slightly_worse": [(1.0, 0.6, 0.0), (-0.5, 0.8, 0.0)],
    "hidden_up": [(0.7, 0.5, 1.5)],
    "hidden_down": [(0.7, 0.5, -1.5)],
}


@dataclass(frozen=True)
class Logger:
    """Scores of a logger, [a, t, p, d, h, variant, slot]; axes it does not know have length 1."""

    scores: np.ndarray
    ranks: int

    @property
    def orders(self) -> np.ndarray:
        """The lists of the deterministic logger, by slot."""
        return ordered(self.scores, self.ranks)

    @property
    def weights(self) -> np.ndarray:
        """The weights of the Plackett-Luce logger, [a, t, p, d, h, slot], of mean 1."""
        w = np.exp(self.scores[..., 0, :])
        return w / w.mean(axis=-1, keepdims=True)

    @cached_property
    def chances(self) -> np.ndarray:
        """The chance of each slot at each rank, [a, t, p, d, h, slot, rank], drawn by weight."""
        return marginal_chances(self.weights, self.ranks)


def ordered(scores: np.ndarray, ranks: int) -> np.ndarray:
    """The best slots, best first."""
    return np.argsort(-scores, axis=-1, kind="stable")[..., :ranks]


def logger(feed: Feed, number: int) -> Logger:
    r"""One of the loggers: skill z + noise, and what it knows of hidden things.

    The second logger has half the skill and adds 1 to scores of the hidden kind, a third one 2.
    ``personal`` (t - 1/2) is added to scores of the hidden kind for users of trait t, and
    ``confounding`` (h - 1/2) in sessions of intent h: the odds of showing one then differ by the
    factor :math:`\Gamma = e^{\text{confounding}}` between intents.
    """
    rng = np.random.default_rng([feed.seed, 2, number])
    shape = (KINDS, 1, feed.pages, 1, 1, feed.variants, feed.pool)
    skill = feed.skill * (1 if number == 0 else 0.5)
    z = feed.catalogue.appeal[:, None, :, None, None, None, :]
    hidden = feed.catalogue.hidden[:, None, None, None, :]
    scores = feed.sharpness * (skill * z + number * hidden + feed.noise * rng.normal(size=shape))
    if feed.personal:
        scores = scores + feed.personal * HALVES.reshape(2, 1, 1, 1, 1, 1) * hidden
    if feed.confounding:
        scores = scores + feed.confounding * HALVES.reshape(2, 1, 1) * hidden
    return Logger(scores, feed.ranks)


def candidate_orders(feed: Feed, learned: np.ndarray | float = 0.0) -> dict[str, list[np.ndarray]]:
    """The lists of each candidate, [a, 1, p, 1, 1, 1, rank]: one set, or two to be mixed.

    ``learned`` [a, p, slot] is added to every score: what candidates took from a log.
    """
    more = {f"equal_{n}": CANDIDATES["equal"] for n in range(2, feed.more + 2)}
    z, hidden = feed.catalogue.appeal, feed.catalogue.hidden
    found = {}
    for number, (name, parts) in enumerate({**CANDIDATES, **more}.items()):
        rng = np.random.default_rng([feed.seed, 3, number])
        own = (a * z + b * rng.normal(size=z.shape) + g * hidden for a, b, g in parts)
        scores = (s + learned for s in own)
        found[name] = [ordered(s, feed.ranks)[:, None, :, None, None, None, :] for s in scores]
    return found


def plackett_luce(weights: np.ndarray, ranks: int, rng: np.random.Generator) -> np.ndarray:
    """Lists drawn one item after the other, by weight among those left (Gumbel's trick)."""
    return ordered(np.log(weights) + rng.gumbel(size=weights.shape), ranks)


def conditional_chances(weights: np.ndarray, order: np.ndarray) -> np.ndarray:
    r"""The chance of each item at its rank given the items above it.

    .. math:: w_{i_k} / \left( \textstyle\sum_i w_i - \sum_{j<k} w_{i_j} \right)
    """
    w = np.take_along_axis(weights, order, axis=-1)
    above = np.cumsum(w, axis=-1) - w
    return w / (weights.sum(axis=-1, keepdims=True) - above)


def mixed_chances(weights: np.ndarray, order: np.ndarray) -> np.ndarray:
    r"""Conditional chances to someone who does not know the intent, axis 0 of the weights.

    .. math:: \frac{\sum_h \prod_{j \le k} p_h(i_j \mid i_{<j})}
                   {\sum_h \prod_{j < k} p_h(i_j \mid i_{<j})}
    """
    prefix = np.cumprod(conditional_chances(weights, order[None]), axis=-1).mean(axis=0)
    return prefix / np.concatenate([np.ones_like(prefix[..., :1]), prefix[..., :-1]], axis=-1)


def marginal_chances(weights: np.ndarray, ranks: int) -> np.ndarray:
    r"""The chance of each slot at each rank, [..., slot, rank], over all lists.

    With an exponential clock of rate :math:`w_i` on each slot the order of ringing is
    Plackett-Luce, and i comes k-th if k - 1 others rang before it:

    .. math:: \int_0^\infty w_i e^{-w_i s}
              P\big(\textstyle\sum_{j \ne i} [T_j < s] = k - 1\big)\, ds

    by the trapezoidal rule in log s, whose error falls exponentially with the number of nodes.
    """
    flat = weights.reshape(-1, weights.shape[-1])
    slots = flat.shape[1]
    step = 0.3
    s = np.exp(np.arange(-28, 12 + step, step))[:, None]
    found = np.empty((len(flat), slots, ranks))
    for cell, w in enumerate(flat):
        rang = -np.expm1(-s * w)  # [node, slot]
        before = np.zeros((slots, len(s), ranks))  # [left out, node, how many rang]
        before[..., 0] = 1
        for j in range(slots):
            p = np.where(np.arange(slots)[:, None] == j, 0, rang[:, j])[..., None]
            later = before * (1 - p)
            later[..., 1:] += before[..., :-1] * p
            before = later
        density = step * s * w * np.exp(-s * w)
        found[cell] = np.einsum("ni,ink->ik", density, before)
    return found.reshape(*weights.shape, ranks)
