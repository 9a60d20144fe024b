"""Judged worlds: recommenders of known quality, of which one pair may be a Simpson's paradox."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints
from counterrank.core.errors import UsageError


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
    judged = _race(rng, utility, np.where(heavy, 80, 5)[:, None])
    grade = np.digitize(utility, np.quantile(utility, [0.2, 0.5, 0.75, 0.92])) + 1
    noise = {
        "deep": np.where(heavy, 0.6, 2.5),
        "broad": np.where(heavy, 2.0, 0.6),
        "blurred": np.full(users, 1.8),
    }
    runs = {"popular": rank_items(rng, np.tile(popularity, (users, 1)), top)}
    for name, spread in noise.items():
        runs[name] = rank_items(
            rng, utility + spread[:, None] * rng.normal(size=utility.shape), top
        )
    user, item = np.nonzero(judged)
    return JudgedWorld(
        pl.DataFrame({"user": user, "item": item, "rating": grade[user, item].astype(np.int8)}),
        runs,
    )


def rank_items(rng: np.random.Generator, score: Floats, top: int) -> pl.DataFrame:
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


HEAD = 8
# How well each recommender sees taste in head and tail (0 to 1), and how far it lifts head items.
SIGHT = {
    "mainstream": (0.95, 0.30, 1.0),
    "explorer": (0.30, 0.70, 0.0),
    "strong": (1.0, 0.97, 1.0),
    "weak": (0.0, 0.0, 0.0),
}


@dataclass(frozen=True)
class ParadoxWorld:
    """What was collected in the closed loop, in an open loop, and what is true.

    ``judgments`` are what users gave to items they came across, ``open_loop`` what the same users
    gave to items drawn at random; rating 1 is liked, 0 is not, ``stratum`` is head or tail.
    ``truth`` holds, for each recommender and stratum, the share of all liked items, judged or not,
    that are among the first ten. ``planted`` is the overall winner and the one that is better in
    the tail.
    """

    judgments: pl.DataFrame
    open_loop: pl.DataFrame
    runs: dict[str, pl.DataFrame]
    truth: dict[str, dict[str, float]]
    planted: tuple[str, str]


def paradox_world(
    *, users: int = 1000, items: int = 200, top: int = 50, seed: int = 0
) -> ParadoxWorld:
    """Recommenders of which one pair is a Simpson's paradox, and the others are not.

    Eight head items are shown to everyone. Most users judge three items, mostly of the head; the
    others judge forty, mostly of the tail. So users are mostly served by the head, and feedback is
    mostly about the tail. ``mainstream`` sees taste clearly in the head only, ``explorer`` in the
    tail only: the mean over users prefers ``mainstream``, most of the feedback ``explorer``.
    ``strong`` is better than both everywhere, ``weak`` sees nothing.

    >>> from counterrank.simulate import paradox_world
    >>> world = paradox_world(users=200)
    >>> world.planted
    ('mainstream', 'explorer')
    >>> world.truth["explorer"]["tail"] > world.truth["mainstream"]["tail"]
    True
    """
    for name, value, least in (("users", users, 10), ("items", items, 100), ("top", top, 10)):
        if value < least:
            raise UsageError(f"{name} must be at least {least}.", found=f"Got {value}.")
    rng = np.random.default_rng(seed)
    taste: Floats = rng.normal(size=(users, items))
    liked: Bools = taste > 0.8
    head = np.arange(items) < HEAD
    heavy = np.arange(users) % 10 >= 7
    came_across = 0.7 * taste + np.where(head, np.where(heavy, 1.0, 4.5)[:, None], 0.0)
    judged = _race(rng, came_across, np.where(heavy, 40, 3)[:, None])
    asked = _race(rng, np.zeros((users, items)), np.full((users, 1), 16))
    runs, truth = {}, {}
    for name, (near, far, lift) in SIGHT.items():
        sight = np.where(head, near, far)
        score = sight * taste + np.sqrt(1 - sight**2) * rng.normal(size=taste.shape) + lift * head
        runs[name] = rank_items(rng, score, min(top, items))
        first = (-score).argsort(axis=1).argsort(axis=1) < 10
        truth[name] = {
            stratum: float((first & liked)[:, there].sum() / liked[:, there].sum())
            for stratum, there in (("head", head), ("tail", ~head))
        }
    return ParadoxWorld(
        _table(judged, liked, head),
        _table(asked, liked, head),
        runs,
        truth,
        ("mainstream", "explorer"),
    )


def _race(rng: np.random.Generator, chance: Floats, count: Ints) -> Bools:
    """The ``count`` items of each user that win a race: random, likely ones more often."""
    drawn = chance + rng.gumbel(size=chance.shape)
    return (-drawn).argsort(axis=1).argsort(axis=1) < count


def _table(judged: Bools, liked: Bools, head: Bools) -> pl.DataFrame:
    user, item = np.nonzero(judged)
    return pl.DataFrame(
        {
            "user": user,
            "item": item,
            "rating": liked[user, item].astype(np.int8),
            "stratum": np.where(head[item], "head", "tail"),
        }
    )
