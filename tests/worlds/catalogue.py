r"""What a feed has: items, pages with pools of items, and what users of a kind think of them.

A session lies in a cell: kind of user a, hidden trait t of the user, page p, device d, hidden
intent h of the session. All tables have these five axes, then the slots of the page's pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from worlds.feed import Feed

KINDS, TRAITS, DEVICES, INTENTS, ITEM_KINDS = 4, 2, 2, 2, 5
SHARES = np.array([0.4, 0.3, 0.2, 0.1])  # of the kinds of users
MOBILE = 0.4  # share of sessions on the second device
REWARDS = ("click", "purchase", "dwell", "profit")


@dataclass(frozen=True)
class Catalogue:
    r"""Tables of one feed.

    .. math:: \eta = \eta_0 + A_{a,k(i)} + e_i + \omega g_i
              + g_i \left[\alpha_t (t - 1/2) + \alpha_d (d - 1/2) + \alpha_h (h - 1/2)\right]

    is the logit of relevance of item i, with k its kind, e its own effect, and g = 1 for the hidden
    kind, which the log never names, of ``hidden_worth`` omega. Relevance is half the logistic
    function of it, see `readers`.
    """

    pool: np.ndarray  # [p, slot]: item
    kind: np.ndarray  # [p, slot]: kind of the item
    hidden: np.ndarray  # [p, slot]: 1 for the hidden kind
    logit: np.ndarray  # [a, t, p, d, h, slot]
    appeal: (
        np.ndarray
    )  # [a, p, slot]: the part of the logit that every ranker may know, standardised
    gains: np.ndarray  # [a, item, reward]: expected reward of a click
    weight: np.ndarray  # [a, t, p, d, h]: share of sessions

    @classmethod
    def of(cls, feed: Feed) -> Catalogue:
        rng = np.random.default_rng([feed.seed, 1])
        kind = rng.integers(0, ITEM_KINDS, feed.items)
        hidden = (rng.random(feed.items) < 0.35).astype(float)
        effect = rng.normal(0, 0.5, feed.items)
        taste = rng.normal(0, 0.7, (KINDS, ITEM_KINDS))
        pool = np.stack([rng.permutation(feed.items)[: feed.pool] for _ in range(feed.pages)])
        known = feed.base + taste[:, kind] + effect + feed.hidden_worth * hidden
        known = known[:, pool]
        spread = known.std(axis=-1, keepdims=True) + 1e-12
        t, d, h = (np.array([-0.5, 0.5]).reshape(s) for s in ((2, 1, 1, 1, 1), (2, 1, 1), (2, 1)))
        liking = feed.trait_taste * t + feed.device_taste * d + feed.intent_taste * h
        logit = known[:, None, :, None, None, :] + liking * hidden[pool][:, None, None, :]
        bought = 0.05 + 0.4 * rng.random((KINDS, feed.items))
        dwell = np.broadcast_to(np.exp(rng.normal(3, 0.4, feed.items)), bought.shape)
        margin = rng.normal(feed.margin, 3.0, feed.items)
        gains = np.stack(
            [np.ones_like(bought), bought, dwell, bought * margin - feed.cost], axis=-1
        )
        weight = (
            SHARES.reshape(-1, 1, 1, 1, 1)
            * np.full((TRAITS, feed.pages, 1, INTENTS), 1 / (TRAITS * feed.pages * INTENTS))
            * np.array([1 - MOBILE, MOBILE]).reshape(2, 1)
        )
        return cls(
            pool=pool,
            kind=kind[pool],
            hidden=hidden[pool],
            logit=logit,
            appeal=(known - known.mean(axis=-1, keepdims=True)) / spread,
            gains=gains,
            weight=weight,
        )

    def gains_of(self, orders: np.ndarray) -> np.ndarray:
        """Expected rewards of clicks on the slots of lists [a, t, p, d, h, m, rank]."""
        a = np.arange(KINDS).reshape(-1, 1, 1, 1, 1, 1, 1)
        p = np.arange(len(self.pool)).reshape(-1, 1, 1, 1, 1)
        return self.gains[a, self.pool[p, orders]]
