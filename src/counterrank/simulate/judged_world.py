"""Users with tastes, items they have judged, and recommenders of known quality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints


@dataclass(frozen=True)
class JudgedWorld:
    """Judgments (ratings 1 to 5) and runs by name, ready to be evaluated."""

    judgments: pl.DataFrame
    runs: dict[str, pl.DataFrame]


def judged_world(
    *, users: int = 2000, items: int = 400, top: int = 50, seed: int = 0
) -> JudgedWorld:
    """Recommenders that differ in whom they serve.

    Utility of item i for user u is taste plus popularity. Some users judge few items, some many.
    ``deep`` sees the taste of users with many judgments clearly, ``broad`` that of users with few;
    ``blurred`` sees everyone's dimly; ``popular`` sees only popularity. So DCG, which adds up, and
    nDCG, which gives each user one vote, disagree about ``deep`` and ``broad``.
    """
    rng = np.random.default_rng(seed)
    popularity = rng.gumbel(size=items)
    taste = rng.normal(size=(users, 8)) @ rng.normal(size=(8, items)) / np.sqrt(8)
    utility = 1.5 * taste + 0.3 * popularity
    heavy = rng.random(users) < 0.3
    judged = _judged(rng, utility, np.where(heavy, 80, 5))
    grade = np.digitize(utility, np.quantile(utility, [0.2, 0.5, 0.75, 0.92])) + 1
    noise = {
        "deep": np.where(heavy, 0.6, 2.5),
        "broad": np.where(heavy, 2.0, 0.6),
        "blurred": np.full(users, 1.8),
    }
    runs = {"popular": ranked(rng, np.tile(popularity, (users, 1)), top)}
    for name, spread in noise.items():
        runs[name] = ranked(rng, utility + spread[:, None] * rng.normal(size=utility.shape), top)
    user, item = np.nonzero(judged)
    return JudgedWorld(
        pl.DataFrame({"user": user, "item": item, "rating": grade[user, item].astype(np.int8)}),
        runs,
    )


def _judged(rng: np.random.Generator, utility: Floats, count: Ints) -> Bools:
    """Which items each user has judged: random, the liked ones more often."""
    chance = utility + rng.gumbel(size=utility.shape)
    place = (-chance).argsort(axis=1).argsort(axis=1)
    return place < count[:, None]


def ranked(rng: np.random.Generator, score: Floats, top: int) -> pl.DataFrame:
    """The ``top`` items of each user by score; equal scores in random order."""
    users = len(score)
    score = score + 1e-9 * rng.random(score.shape)
    best = (-score).argsort(axis=1)[:, :top]
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(users), top),
            "item": best.ravel(),
            "score": np.take_along_axis(score, best, axis=1).ravel(),
        }
    )
