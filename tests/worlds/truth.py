r"""What a ranker earns per session if it serves everyone: by enumeration of cells and users.

The expectation over cells, days and lists is a sum; that over users' own effects
:math:`b \sim N(0, \sigma^2)` is a Gauss-Hermite sum. `population` draws sessions instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from worlds.catalogue import REWARDS
from worlds.rankers import Logger, plackett_luce
from worlds.readers import click_chance, curve, seen_chance, similar_above

if TYPE_CHECKING:
    from worlds.feed import Feed

NODES, DRAWS = 11, 300


@dataclass(frozen=True)
class Truth:
    """A true value, and the standard error of its Monte Carlo (0: it was enumerated)."""

    value: float
    error: float = 0.0


@dataclass(frozen=True)
class Earnings:
    """Expected rewards [a, t, reward] and list quality [a, t] of a ranker, by kind and trait."""

    value: np.ndarray
    quality: np.ndarray
    error: np.ndarray | float = 0.0

    def mixed(self, other: Earnings, share: np.ndarray | float) -> Earnings:
        """The ranker that is this one in a share (may depend on the trait) of all sessions."""
        rewards = np.asarray(share)[..., None]
        return Earnings(
            rewards * self.value + (1 - rewards) * other.value,
            share * self.quality + (1 - share) * other.quality,
            np.hypot(rewards * self.error, (1 - rewards) * other.error),
        )

    def truths(self, feed: Feed, first: float) -> np.ndarray:
        r"""Value and error by reward, [reward, 2].

        .. math:: \sum_{a,t} w_{at} v_{at} \left(1 + (1 - f) \gamma q_{at}\right)

        f is the share of sessions that are a user's first. The list before was made by the same
        ranker on another page, independent of this one given the user.
        """
        w = feed.catalogue.weight.sum(axis=(2, 3, 4))[..., None]
        carried = 1 + (1 - first) * feed.carry_over * self.quality[..., None]
        error = np.sqrt(((w * self.error) ** 2).sum(axis=(0, 1)))
        value = (w * self.value * carried).sum(axis=(0, 1))
        return np.stack([value, np.broadcast_to(error, value.shape)], axis=-1)


def quality(feed: Feed, appeal: np.ndarray) -> np.ndarray:
    """How good a list is, in [-1, 1]: half the appeal, cut, averaged by the position curve."""
    c = feed.average_curve
    return (np.clip(appeal / 2, -1, 1) * c).sum(axis=-1) / c.sum()


def _by_user(feed: Feed, table: np.ndarray) -> np.ndarray:
    """The mean over pages, devices and intents of a table that begins with the five axes."""
    w = feed.catalogue.weight
    w = w / w.sum(axis=(2, 3, 4), keepdims=True)
    return np.einsum("atpdh,atpdh...->at...", w, np.broadcast_to(table, w.shape + table.shape[5:]))


def _effects(feed: Feed, days: Sequence[int]) -> list[tuple[float, float, float]]:
    """User's effect, drift so far, and weight of both."""
    x, w = np.polynomial.hermite_e.hermegauss(NODES)
    fades = [feed.drift * day / feed.days for day in days] if feed.drift else [0.0]
    return [
        (feed.user_sigma * b, fade, share / w.sum() / len(fades))
        for b, share in zip(x, w, strict=True)
        for fade in fades
    ]


def of_orders(feed: Feed, orders: np.ndarray, days: Sequence[int]) -> Earnings:
    """What lists [a, t, p, d, h, m, rank] earn, each of the m equally likely."""
    cat = feed.catalogue
    page = np.arange(feed.pages).reshape(-1, 1, 1, 1, 1)
    logit = np.take_along_axis(cat.logit[..., None, :], orders, axis=-1)
    hidden, similar = cat.hidden[page, orders], similar_above(cat.kind[page, orders])
    appeal = cat.appeal[np.arange(len(orders)).reshape(-1, 1, 1, 1, 1, 1, 1), page, orders]
    gains = cat.gains_of(orders)
    c = curve(feed)[:, None, None, :]
    clicks: np.ndarray | float = 0.0
    for effect, fade, share in _effects(feed, days):
        rho = click_chance(feed, logit + effect - fade * hidden, similar)
        clicks = clicks + share * seen_chance(feed, c, rho) * rho
    value = np.einsum("...k,...kr->...r", clicks, gains)
    draws = value.shape[5]
    by_draw = _by_user(feed, value)
    spread = by_draw.std(axis=2, ddof=1) / np.sqrt(draws) if draws > 1 else 0.0
    return Earnings(by_draw.mean(axis=2), _by_user(feed, quality(feed, appeal).mean(-1)), spread)


def of_chances(feed: Feed, chances: np.ndarray, days: Sequence[int]) -> Earnings:
    """What a ranker earns by its chances [a, t, p, d, h, slot, rank], where lists do not matter."""
    cat = feed.catalogue
    gains = cat.gains[np.arange(len(cat.logit)).reshape(-1, 1, 1), cat.pool]
    gains = gains[:, None, :, None, None]
    seen = chances * curve(feed)[:, None, None, :]
    clicks: np.ndarray | float = 0.0
    for effect, fade, share in _effects(feed, days):
        logit = cat.logit + effect - fade * cat.hidden[:, None, None, :]
        clicks = clicks + share * (seen * click_chance(feed, logit[..., None])).sum(axis=-1)
    value = np.einsum("...i,...ir->...r", clicks, gains)
    part = np.clip(cat.appeal / 2, -1, 1)[:, None, :, None, None, :, None]
    good = (chances * part * feed.average_curve).sum(axis=(-1, -2)) / feed.average_curve.sum()
    return Earnings(_by_user(feed, value), _by_user(feed, good))


def of_logger(feed: Feed, logger: Logger, days: Sequence[int]) -> Earnings:
    """What one logger earns; Plackett-Luce lists are drawn where rewards depend on whole lists."""
    if feed.logger == "deterministic":
        found = of_orders(feed, logger.orders, days)
        return Earnings(found.value, found.quality)  # all variants were enumerated
    if not (feed.interaction or feed.examination):
        return of_chances(feed, logger.chances, days)
    rng = np.random.default_rng([feed.seed, 4])
    w = logger.weights[..., None, :]
    w = np.broadcast_to(w, (*w.shape[:5], DRAWS, w.shape[-1]))
    return of_orders(feed, plackett_luce(w, feed.ranks, rng), days)


def population(
    feed: Feed, system: str, days: Sequence[int], sessions: int = 100_000, seed: int = 0
) -> dict[str, Truth]:
    """The same from a sample of sessions of the world that the ranker serves, without outcomes.

    The same sessions for every ranker, so that differences are paired. Expectations are taken
    given user, page, list and the list before; the error is clustered by user.
    """
    rng = np.random.default_rng([feed.seed, 5, seed])
    visits = feed.visits(sessions, rng, days)
    slots = visits.slots(system, np.random.default_rng([feed.seed, 6, seed]))
    rho, gains = visits.chances(slots), visits.gains(slots)
    c = curve(feed)[visits.device]
    earned = np.einsum("nk,nkr->nr", seen_chance(feed, c, rho) * rho, gains)
    centred = np.zeros((visits.user.max() + 1, earned.shape[1]))
    np.add.at(centred, visits.user, earned - earned.mean(axis=0))
    errors = np.sqrt((centred**2).sum(axis=0)) / sessions
    return {
        reward: Truth(float(earned[:, r].mean()), float(errors[r]))
        for r, reward in enumerate(REWARDS)
    }
