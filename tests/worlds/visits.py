"""Sessions of users: who comes, when, in which cell, and what each ranker shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from worlds.catalogue import KINDS, MOBILE, SHARES
from worlds.rankers import Logger, plackett_luce
from worlds.readers import click_chance, similar_above
from worlds.truth import quality

if TYPE_CHECKING:
    from worlds.feed import Feed


def session_counts(feed: Feed, sessions: int, rng: np.random.Generator) -> np.ndarray:
    r"""Sessions of each user, ``sessions`` in all.

    fixed: all the same (the last one has the rest); poisson: 1 + Poisson; zipf: a multinomial
    draw with :math:`P(u) \propto u^{-\text{exponent}}`. Who is busy is independent of all else.
    """
    users = max(1, round(sessions / feed.per_user))
    share = np.full(users, 1 / users)
    if feed.activity == "zipf":
        share = np.arange(1.0, users + 1) ** -feed.exponent
        return rng.multinomial(sessions, share / share.sum())
    if feed.activity == "poisson":  # Poisson counts given their sum
        return 1 + rng.multinomial(sessions - users, share)
    ends = np.linspace(0, sessions, users + 1).round().astype(int)
    return np.diff(ends)


@dataclass(frozen=True)
class Visits:
    """Sessions in order of user and time; all arrays have one entry per session."""

    feed: Feed
    user: np.ndarray
    kind: np.ndarray
    trait: np.ndarray
    effect: np.ndarray
    time: np.ndarray  # in days
    page: np.ndarray
    device: np.ndarray
    intent: np.ndarray
    policy: np.ndarray  # which logger serves
    variant: np.ndarray  # which of its lists a deterministic logger shows
    coin: np.ndarray  # [session, candidate]: which of its lists a candidate shows

    @classmethod
    def draw(
        cls, feed: Feed, counts: np.ndarray, rng: np.random.Generator, days: Sequence[int]
    ) -> Visits:
        user = np.repeat(np.arange(len(counts)), counts)
        n = len(user)
        time = days[0] + rng.random(n) * len(days)
        trait = rng.integers(0, 2, len(counts))[user]
        kind = rng.choice(KINDS, len(counts), p=SHARES)[user]
        shares = feed.logger_shares().cumsum(axis=0)[:, kind, trait]
        return cls(
            feed=feed,
            user=user,
            kind=kind,
            trait=trait,
            effect=rng.normal(0, feed.user_sigma, len(counts))[user],
            time=time[np.lexsort((time, user))],
            page=rng.integers(0, feed.pages, n),
            device=(rng.random(n) < MOBILE).astype(int),
            intent=rng.integers(0, 2, n),
            policy=np.minimum((rng.random(n) > shares).sum(axis=0), feed.loggers - 1),
            variant=rng.integers(0, feed.variants, n),
            coin=rng.random((n, len(feed.orders))),
        )

    @property
    def day(self) -> np.ndarray:
        return self.time.astype(int)

    @cached_property
    def is_first(self) -> np.ndarray:
        """Whether the session is its user's first in the log."""
        return np.concatenate([[True], self.user[1:] != self.user[:-1]])

    def at(self, table: np.ndarray) -> np.ndarray:
        """The rows of a table [a, t, p, d, h, ...] for the sessions' cells."""
        axes = (self.kind, self.trait, self.page, self.device, self.intent)
        return table[
            tuple(0 if size == 1 else axis for axis, size in zip(axes, table.shape, strict=False))
        ]

    def pool(self, table: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """The entries of a table [p, slot] for lists."""
        return table[self.page[:, None], slots]

    def logger_slots(self, logger: Logger, rng: np.random.Generator) -> np.ndarray:
        """What one logger shows in every session."""
        if self.feed.logger == "stochastic":
            return plackett_luce(self.at(logger.weights), self.feed.ranks, rng)
        return self.at(logger.orders)[np.arange(len(self.user)), self.variant]

    def slots(self, system: str, rng: np.random.Generator) -> np.ndarray:
        """The list of a system in every session, as slots of the page's pool."""
        if system == "logged":
            every = [self.logger_slots(each, rng) for each in self.feed.every_logger]
            return np.stack(every)[self.policy, np.arange(len(self.user))]
        one, *two = (self.at(orders)[:, 0] for orders in self.feed.orders[system])
        number = list(self.feed.orders).index(system)
        heads = self.coin[:, number, None] < self.feed.coin(system)
        return np.where(heads, one, two[0]) if two else one

    def quality_before(self, slots: np.ndarray) -> np.ndarray:
        """The quality of the user's list before this one; 0 in the first session."""
        appeal = self.feed.catalogue.appeal[self.kind[:, None], self.page[:, None], slots]
        q = quality(self.feed, appeal)
        return np.where(self.is_first, 0, np.concatenate([[0], q[:-1]]))

    def chances(self, slots: np.ndarray) -> np.ndarray:
        """The chance of a click on each item once seen, if these were the lists of all sessions."""
        cat, feed = self.feed.catalogue, self.feed
        logit = np.take_along_axis(self.at(cat.logit), slots, axis=-1) + self.effect[:, None]
        logit -= (feed.drift * self.day / feed.days)[:, None] * self.pool(cat.hidden, slots)
        carry = self.quality_before(slots)[:, None]
        return click_chance(feed, logit, similar_above(self.pool(cat.kind, slots)), carry)

    def gains(self, slots: np.ndarray) -> np.ndarray:
        """Expected rewards of clicks, [session, rank, reward]."""
        cat = self.feed.catalogue
        return cat.gains[self.kind[:, None], self.pool(cat.pool, slots)]
