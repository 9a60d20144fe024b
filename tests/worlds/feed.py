"""A feed or search page with lists, readers and rewards, and the logs it leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from scipy.optimize import brentq

from worlds.catalogue import KINDS, MOBILE, REWARDS, Catalogue
from worlds.logs import learned, log_frame, logger_frames, run_frame
from worlds.rankers import Logger, candidate_orders, logger
from worlds.readers import curve
from worlds.truth import Earnings, Truth, of_logger, of_orders, population
from worlds.visits import Visits, session_counts


@dataclass(frozen=True)
class Feed:
    """A world. Every violation is 0 when the assumption it breaks holds.

    *Users*: ``activity`` says how many sessions they have, ``per_user`` on average: all the same,
    1 + Poisson, or falling with a user's rank as its power ``-exponent`` (zipf). ``user_sigma`` is
    the spread of users' own effects on the logit of relevance.

    *Catalogue*: ``items``, ``pages`` with a ``pool`` of items each, of which ``ranks`` are shown;
    ``base`` logit; ``hidden_worth`` is what a hidden kind of item has more, and a trait of the
    user, the device and a session's intent have tastes for it. Profit is ``margin`` (mean over
    items, which differ by 3) for a purchase less ``cost`` for a click; dwell has a log-normal tail
    of ``dwell_sigma``.

    *Logger*: ``deterministic`` by noisy score, with ``variants`` lists for a page and a kind of
    user among which sessions alternate; or ``stochastic``, Plackett-Luce with its propensities.
    ``skill`` and ``noise`` weigh appeal and noise in its score, ``sharpness`` multiplies it.
    ``personal`` is what it knows of the user's hidden trait. ``loggers`` serve at random.

    *Readers*: chance of seeing rank k is k^-steepness (power) or steepness^(k-1) (geometric);
    ``reading`` is independent by rank, or down from the top, as in a cascade.

    *The log*: ``views`` logged or not, ``hide`` names contexts that are not logged (user_kind,
    page, device; trait and intent never are). ``days`` it lasts.

    *Violations*: ``trust``, ``interaction``, ``examination``, ``carry_over`` change clicks (see
    `readers`), ``device_curve`` the curve by device, ``drift`` makes the hidden kind lose so much
    logit over the log, and as much again in the same time after it. ``late`` is the mean delay in
    days of purchases, their profit included, and ``late_hidden`` times as long for the hidden kind:
    what came after the log's end is 0 in it. ``selection`` is the chance that a session without a
    click is missing, ``leave`` that one with a click on the hidden kind is, because it led away.
    ``confounding`` is the log odds factor by which the logger follows the hidden intent, over which
    logged propensities are averaged; it biases the more the larger ``intent_taste`` and ``pool``.
    ``exposure_error`` is the share by which logged exposures are too small for the hidden kind and
    too large for others; ``lost_views`` the chance that a view without a click is not logged, and
    ``lost_below`` what is added to it at the last rank, in between in proportion; ``assignment``
    the log odds by which the trait decides about the logger, ``assignment_kind`` those by which the
    kind of user does, from first to last. ``leak`` is the weight in candidates' scores of the very
    clicks they are evaluated on, ``peek`` the share of sessions in which a candidate's list was
    made with the session's own clicks, which no one knows when it serves.

    *Candidates*: the six of `rankers.CANDIDATES`, and ``more`` that are equal as well, with other
    lists: equal_2 and so on. ``equal`` and ``slightly_worse`` (3 %) are so in the reward ``by``.
    """

    seed: int = 0
    activity: Literal["fixed", "poisson", "zipf"] = "fixed"
    per_user: float = 5
    exponent: float = 1.2
    user_sigma: float = 0.5
    items: int = 120
    pages: int = 15
    pool: int = 10
    ranks: int = 10
    base: float = -1.0
    hidden_worth: float = 0.3
    trait_taste: float = 0.8
    device_taste: float = 0.8
    intent_taste: float = 0.8
    margin: float = 3.0
    cost: float = 0.3
    dwell_sigma: float = 1.0
    logger: Literal["deterministic", "stochastic"] = "deterministic"
    variants: int = 8
    skill: float = 0.5
    noise: float = 0.8
    sharpness: float = 1.0
    personal: float = 0.0
    loggers: int = 1
    curve: Literal["power", "geometric"] = "power"
    steepness: float = 0.7
    reading: Literal["independent", "down"] = "independent"
    views: bool = True
    hide: tuple[str, ...] = ()
    days: int = 14
    trust: float = 0.0
    interaction: float = 0.0
    examination: float = 0.0
    carry_over: float = 0.0
    device_curve: float = 0.0
    drift: float = 0.0
    late: float = 0.0
    late_hidden: float = 1.0
    selection: float = 0.0
    leave: float = 0.0
    confounding: float = 0.0
    exposure_error: float = 0.0
    lost_views: float = 0.0
    lost_below: float = 0.0
    assignment: float = 0.0
    assignment_kind: float = 0.0
    leak: float = 0.0
    peek: float = 0.0
    more: int = 0
    by: str = "click"

    def __post_init__(self):
        if self.logger == "stochastic":  # its lists vary by themselves
            object.__setattr__(self, "variants", 1)
        elif self.pool != self.ranks:
            raise ValueError("A deterministic logger shows its whole pool: give pool=ranks.")

    @cached_property
    def catalogue(self) -> Catalogue:
        return Catalogue.of(self)

    @cached_property
    def every_logger(self) -> list[Logger]:
        return [logger(self, number) for number in range(self.loggers)]

    @cached_property
    def logger_chances(self) -> list[np.ndarray]:
        """Marginal propensities that stochastic loggers log, [a, t, p, d, 1, slot, rank]."""
        return [each.chances.mean(axis=4, keepdims=True) for each in self.every_logger]

    @cached_property
    def orders(self) -> dict[str, list[np.ndarray]]:
        return candidate_orders(self)

    @cached_property
    def average_curve(self) -> np.ndarray:
        """The chance that a rank is seen, over devices: what one curve can know."""
        return np.array([1 - MOBILE, MOBILE]) @ curve(self)

    @cached_property
    def _cache(self) -> dict:
        return {}

    @cached_property
    def _coins(self) -> dict[str, float]:
        return {}

    @property
    def position_bias(self) -> str:
        """The same as a position model."""
        return f"table({','.join(repr(float(c)) for c in self.average_curve)})"

    def logger_shares(self) -> np.ndarray:
        """The chance that each logger serves a user of kind a and trait t, [logger, a, t]."""
        kinds, traits = np.linspace(-0.5, 0.5, KINDS)[:, None], np.array([-0.5, 0.5])
        pull = self.assignment * traits + self.assignment_kind * kinds
        lean = np.exp(np.multiply.outer(np.arange(self.loggers), pull))
        return lean / lean.sum(axis=0)

    def earnings(self, days: Sequence[int]) -> dict[str, Earnings]:
        """What the logged ranker, every candidate, and every part of one earns on these days."""
        key = tuple(days) if self.drift else ()
        if key not in self._cache:
            if days != range(self.days):
                self.earnings(range(self.days))  # which settles what is equal
            self._cache[key] = self._earnings(days)
        return self._cache[key]

    def _earnings(self, days: Sequence[int]) -> dict[str, Earnings]:
        parts = [of_logger(self, each, days) for each in self.every_logger]
        shares = self.logger_shares()
        logged = parts[0]
        for number in range(1, self.loggers):
            rest = shares[: number + 1].sum(axis=0)
            logged = parts[number].mixed(logged, shares[number] / rest)
        found = {"logged": logged}
        for name, orders in self.orders.items():
            one, *two = (of_orders(self, order, days) for order in orders)
            found[name] = one.mixed(two[0], self._coin(name, one, two[0], logged)) if two else one
        return found

    def _coin(self, name: str, one: Earnings, two: Earnings, logged: Earnings) -> float:
        """The share of the first list at which a candidate of two is worth what its name says."""
        coins = self._coins
        if name not in coins:
            first, r = 1 / self.per_user, REWARDS.index(self.by)
            due = logged.truths(self, first)[r, 0]
            due -= 0.03 * abs(due) * (name == "slightly_worse")
            coins[name] = brentq(
                lambda share: one.mixed(two, share).truths(self, first)[r, 0] - due, -1, 2
            )
            if not 0 <= coins[name] <= 1:
                raise ValueError(f"Seed {self.seed}: no mixture of lists is {name}; take another.")
        return coins[name]

    def coin(self, name: str) -> float:
        """How often a candidate shows the first of its two lists (always, if it has one)."""
        self.earnings(range(self.days))
        return self._coins.get(name, 1.0)

    def truth(
        self, days: Sequence[int] | None = None, first: float | None = None
    ) -> dict[str, dict[str, Truth]]:
        """The value of each system in each reward: those of the log's days, or of others.

        ``first`` is the share of sessions that are a user's first, which matters to carry-over
        only. Enumerated, but with carry-over and examination together, which is drawn.
        """
        days = range(self.days) if days is None else days
        if self.carry_over and self.examination:
            key = ("drawn", *days)
            if key not in self._cache:
                names = ("logged", *self.orders)
                self._cache[key] = {name: population(self, name, days) for name in names}
            return self._cache[key]
        earnings = self.earnings(days)
        first = 1 / self.per_user if first is None else first
        return {
            name: {
                reward: Truth(float(value), float(error))
                for reward, (value, error) in zip(REWARDS, e.truths(self, first), strict=True)
            }
            for name, e in earnings.items()
        }

    def taught(self, learned: np.ndarray) -> Feed:
        """The same world with candidates that added what they learned to their scores."""
        other = replace(self)
        kept = {name: getattr(self, name) for name in ("catalogue", "every_logger", "_coins")}
        other.__dict__.update(kept, orders=candidate_orders(self, self.leak * learned))
        return other

    def visits(
        self, sessions: int, rng: np.random.Generator, days: Sequence[int] | None = None
    ) -> Visits:
        """Who comes when: so many sessions, by user and in time, on the log's days or others."""
        counts = session_counts(self, sessions, rng)
        return Visits.draw(self, counts, rng, range(self.days) if days is None else days)

    def log(self, sessions: int, seed: int = 0, horizon: int = 7) -> FeedLog:
        """A log of so many sessions (before selection), runs of the candidates, and the truth.

        ``horizon`` is how many days after the log the later truth is for.
        """
        rng = np.random.default_rng([self.seed, 7, seed])
        visits = self.visits(sessions, rng)
        log, kept, clicked = log_frame(visits, rng)
        first = float(visits.is_first.mean())
        truth, world = self.truth(first=first), self
        if self.leak:
            world = self.taught(learned(visits, kept, clicked))
            visits, truth = replace(visits, feed=world), world.truth(first=first)
        runs = {name: run_frame(visits, name, kept, clicked, rng) for name in self.orders}
        later = range(self.days, self.days + horizon)
        return FeedLog(
            feed=self,
            log=log,
            runs=runs,
            loggers=logger_frames(visits, kept) if self.loggers > 1 else {},
            truth=truth,
            later=world.truth(later, first) if self.drift else truth,
        )


@dataclass(frozen=True)
class FeedLog:
    """One log of a feed.

    ``truth[system][reward]`` is for the days of the log, ``later`` for those after it.
    """

    feed: Feed
    log: pl.DataFrame
    runs: dict[str, pl.DataFrame]
    loggers: dict[str, pl.DataFrame]
    truth: dict[str, dict[str, Truth]]
    later: dict[str, dict[str, Truth]]

    def lift(self, system: str, reward: str = "click", later: bool = False) -> float:
        """The true lift over the logged ranker, on the days of the log or after it."""
        truth = self.later if later else self.truth
        base = truth["logged"][reward].value
        return (truth[system][reward].value - base) / abs(base)
