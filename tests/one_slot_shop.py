"""A one-slot shop whose truth is known by construction: users, items, a logger that draws.

It shares no code with counterrank's own simulator. User g is shown item a with probability
``LOGGER[a]``, and is rewarded with chance ``rate[g, a]``, by an amount if rewards have a size; a
target shows item a with probability ``TARGET[a]``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import polars as pl

import counterrank as cr

FULL = os.environ.get("COUNTERRANK_FULL") == "1"
LOGGER = np.array([0.4, 0.3, 0.2, 0.1])
TARGET = np.array([0.1, 0.2, 0.3, 0.4])
WORTH = np.array([0.8, 1.0, 1.1, 1.3])  # of an item, times a user's rate


@dataclass(frozen=True)
class Shop:
    """What a world is made of; ``rate`` is the mean chance of a reward."""

    sessions: int = 1000
    users: int = 300
    zipf: float | None = None  # exponent of sessions per user; None: a session each
    rate: float = 0.2
    users_differ: float = 0.5  # sd of the logarithm of a user's rate, and half of it of tastes
    sigma: float | None = None  # sd of the logarithm of a reward's size; None: size 1
    logger: tuple[float, ...] = tuple(LOGGER)
    target: tuple[float, ...] = tuple(TARGET)
    worth: tuple[float, ...] = tuple(WORTH)

    @property
    def owner(self) -> np.ndarray:
        """The user of each session."""
        if self.zipf is None:
            return np.arange(self.sessions)
        share = np.arange(1, self.users + 1) ** -self.zipf
        size = np.maximum(np.round(share / share.sum() * self.sessions), 1).astype(int)
        return np.repeat(np.arange(self.users), size)

    def rates(self, rng: np.random.Generator, users: int) -> np.ndarray:
        """Users x items: the chance of a reward."""
        sd = self.users_differ
        level = np.exp(sd * rng.normal(size=(users, 1)) - sd**2 / 2)
        taste = np.exp(sd / 2 * rng.normal(size=(users, len(self.worth))) - sd**2 / 8)
        return np.minimum(self.rate * level * taste * np.array(self.worth), 0.95)

    def truth(self) -> tuple[float, float]:
        """What target and logger earn per session, over all users there could be."""
        rates = self.rates(np.random.default_rng(0), 400_000).mean(axis=0)
        size = 1.0 if self.sigma is None else float(np.exp(self.sigma**2 / 2))
        return size * float(rates @ self.target), size * float(rates @ self.logger)

    def sample(self, rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
        """A log, and the target's chances in its sessions."""
        owner = self.owner
        rates = self.rates(rng, int(owner.max()) + 1)
        n, items = len(owner), len(self.logger)
        item = rng.choice(items, n, p=self.logger)
        paid = (rng.random(n) < rates[owner, item]).astype(float)
        if self.sigma is not None:
            paid *= rng.lognormal(0.0, self.sigma, n)
        log = pl.DataFrame(
            {"session": np.arange(n), "user": owner, "item": item, "rank": np.ones(n, int),
             "propensity": np.array(self.logger)[item], "reward": paid}
        )  # fmt: skip
        run = pl.DataFrame(
            {"session": np.repeat(np.arange(n), items), "item": np.tile(np.arange(items), n),
             "rank": np.ones(n * items, int), "propensity": np.tile(self.target, n)}
        )  # fmt: skip
        return log, run


@dataclass
class Tally:
    """How often intervals held the truth and something was said, condition by condition."""

    condition: str
    estimator: str
    nominal: float = 0.95
    value: int = 0
    lift: int = 0
    said: int = 0
    replications: int = 0

    def add(self, value: bool, lift: bool, said: bool) -> None:
        """One log more."""
        self.value, self.lift = self.value + value, self.lift + lift
        self.said, self.replications = self.said + said, self.replications + 1

    def row(self) -> dict[str, object]:
        """As a row of the table of coverage."""
        n = self.replications
        return {
            "condition": self.condition, "estimator": self.estimator, "nominal": self.nominal,
            "coverage_value": self.value / n, "coverage_lift": self.lift / n, "replications": n,
            "diagnosed": self.said / n,
        }  # fmt: skip


def tolerance(share: float, replications: int) -> float:
    """Three Monte Carlo standard errors of a share."""
    return 3 * float(np.sqrt(share * (1 - share) / replications))


def holds(row: dict, *, low: float = 0.93, high: float = 0.97) -> bool:
    """Whether value and lift are covered as the goal says, or this was said in time."""
    n = row["replications"]
    covered = all(
        low - tolerance(low, n) <= row[name] <= high + tolerance(high, n)
        for name in ("coverage_value", "coverage_lift")
    )
    return covered or row["diagnosed"] >= 0.8 - tolerance(0.8, n)


def tally(
    shop: Shop, condition: str, replications: int, *, estimator=("IPS", "DR"), about=(), seed=0,
    **options,
) -> list[dict[str, object]]:  # fmt: skip
    """Estimates of many logs of a world against its truth.

    ``about`` are the diagnostics that count as said, where they concern the estimator.
    """
    rng, (target, logged) = np.random.default_rng(seed), shop.truth()
    tallies = {name: Tally(condition, name) for name in estimator}
    for _ in range(replications):
        log, run = shop.sample(rng)
        found = cr.estimate(
            log, {"new": run}, reward="reward", estimator=list(estimator), logged="propensity",
            **{"bounds": "none", **options},
        )  # fmt: skip
        for name, one in tallies.items():
            row = next(r for r in found.estimates if (r.system, r.estimator) == ("new", name))
            lift = next(c for c in found.comparisons if c.estimator == name)
            said = any(
                d.id in about and d.state != "pass" and (name in d.estimators or not d.estimators)
                for d in found.diagnostics
            )
            one.add(
                row.low <= target <= row.high,
                lift.lift_low <= target / logged - 1 <= lift.lift_high,
                said,
            )
    return [one.row() for one in tallies.values()]
