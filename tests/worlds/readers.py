r"""What readers do with a list: which ranks they see, what they click, what comes of clicks.

Arrays end with the axis of ranks; all axes before it are free, so that the same lines serve the
sessions of a log and the cells of an enumeration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from worlds.feed import Feed


def curve(feed: Feed) -> np.ndarray:
    r"""The chance that a rank is seen, [device, rank].

    .. math:: c_d(k) = c(k)^{1 \pm \delta}, \quad c(k) = k^{-\eta} \text{ or } \eta^{k-1},

    with the plus on desktop and delta = ``device_curve``.
    """
    k = np.arange(1, feed.ranks + 1)
    c = k**-feed.steepness if feed.curve == "power" else feed.steepness ** (k - 1.0)
    return np.stack([c ** (1 + feed.device_curve), c ** (1 - feed.device_curve)])


def similar_above(kinds: np.ndarray) -> np.ndarray:
    """How many of the two items right above are of the same kind."""
    n = np.zeros(kinds.shape)
    for gap in (1, 2):
        n[..., gap:] += kinds[..., gap:] == kinds[..., :-gap]
    return n


def click_chance(
    feed: Feed, logit: np.ndarray, similar: np.ndarray | float = 0, carry: np.ndarray | float = 0
) -> np.ndarray:
    r"""The chance of a click once seen.

    .. math:: \rho = \left[ r k^{-\tau} + \frac{\tau}{10 k} (1 - r) \right]
              (1 - \iota)^n (1 + \gamma q)

    with relevance :math:`r = \frac12 \operatorname{logistic}(\eta)`, ``trust`` tau, ``interaction``
    iota and n similar items above, ``carry_over`` gamma and q in [-1, 1] the quality of the list
    that this user had in the session before (0 in the first).
    """
    r = 0.5 / (1 + np.exp(-logit))
    k = np.arange(1, feed.ranks + 1)
    if feed.trust:
        r = r * k**-feed.trust + 0.1 * feed.trust / k * (1 - r)
    if feed.interaction:
        r = r * (1 - feed.interaction) ** similar
    return r * (1 + feed.carry_over * carry) if feed.carry_over else r


def seen_chance(feed: Feed, c: np.ndarray, rho: np.ndarray) -> np.ndarray:
    r"""The chance that a rank is seen when a click stops reading with chance s = ``examination``.

    .. math:: c_k \prod_{j<k} (1 - s\, c_j \rho_j)

    where ranks are seen independently; where reading goes ``down``, rank k is seen only by those
    who saw all above, and :math:`c_j` leaves the product.
    """
    if not feed.examination:
        return c
    stop = feed.examination * rho * (1 if feed.reading == "down" else c)
    alive = np.cumprod(1 - stop, axis=-1)
    return c * np.concatenate([np.ones_like(alive[..., :1]), alive[..., :-1]], axis=-1)


def read(
    feed: Feed, c: np.ndarray, rho: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Which ranks of each session were seen and clicked, drawn rank by rank."""
    depth = rng.random((len(rho), 1 if feed.reading == "down" else feed.ranks))
    seen, clicked = depth < c, rng.random(rho.shape) < rho
    reads = np.ones(len(rho), bool)
    stops = rng.random(rho.shape) < feed.examination
    for k in range(feed.ranks):
        seen[:, k] &= reads
        clicked[:, k] &= seen[:, k]
        reads &= ~(clicked[:, k] & stops[:, k])
    return seen, clicked


def rewards(
    feed: Feed, clicked: np.ndarray, gains: np.ndarray, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    r"""Rewards of clicks whose expectations are the ``gains`` [..., reward].

    A purchase is a coin; dwell is log-normal, :math:`m e^{\sigma z - \sigma^2/2}`, of mean m
    whatever sigma; profit is the margin of a purchase less the cost of every click.
    """
    bought = clicked & (rng.random(clicked.shape) < gains[..., 1])
    noise = np.exp(feed.dwell_sigma * rng.normal(size=clicked.shape) - feed.dwell_sigma**2 / 2)
    margin = (gains[..., 3] + feed.cost) / gains[..., 1]
    return {
        "click": clicked.astype(float),
        "purchase": bought.astype(float),
        "dwell": clicked * gains[..., 2] * noise,
        "profit": bought * margin - clicked * feed.cost,
    }
