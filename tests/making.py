"""Small tables for tests."""

from __future__ import annotations

import numpy as np
import polars as pl

import counterrank as cr
from counterrank.stats import functions_of_means as f
from counterrank.stats.draws import MANY, Draws
from counterrank.stats.units import Estimate, Key, Units
from counterrank.stratified.stratified_value import Stratified


def judgments(rated: dict[object, dict[object, float]]) -> pl.DataFrame:
    """user -> item -> rating, as a table."""
    rows = [(u, i, r) for u, items in rated.items() for i, r in items.items()]
    return pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")


def run(lists: dict[object, list[object]]) -> pl.DataFrame:
    """user -> items best first, as a table with ranks."""
    rows = [(u, i, r) for u, items in lists.items() for r, i in enumerate(items, 1)]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


def scored(lists: dict[object, list[tuple[object, float]]]) -> pl.DataFrame:
    """user -> (item, score) pairs, as a table with scores."""
    rows = [(u, i, float(s)) for u, items in lists.items() for i, s in items]
    return pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")


def values(truth, table, label, /, **policies) -> dict[object, float]:
    """Per-user values of one measure of one run."""
    result = cr.evaluate(truth, {"run": table}, measure=[label], test="none", **policies)
    frame = result.by_unit()
    return dict(zip(frame["unit"], frame["value"], strict=True))


def grid(result):
    """Values per user of an evaluation: systems x measures x users, NaN where one is left out."""
    systems, measures = list(result.systems), list(result.protocol["measures"])
    x = np.full((len(systems), len(measures), len(result.units.ids)), np.nan)
    for key in result.functions:
        own = x[systems.index(key.system), measures.index(key.measure)]
        own[result.units.mask(key)] = result.per_unit(result.units.over(key), key)
    return x


def value(truth, table, label, /, **policies) -> float:
    """The aggregate of one measure of one run."""
    result = cr.evaluate(truth, {"run": table}, measure=[label], test="none", **policies)
    return result.estimates[0].value


def world(users: int = 40, items: int = 30, top: int = 12, seed: int = 0):
    """Random judgments (ratings 0 to 4) and three runs of different quality, with ranks."""
    rng = np.random.default_rng(seed)
    rated = {
        f"u{u}": {
            f"i{i}": int(rng.integers(0, 5))
            for i in rng.choice(items, rng.integers(2, 12), replace=False)
        }
        for u in range(users)
    }
    runs = {}
    for name, skill in (("a", 0.5), ("b", 1.0), ("c", 2.0)):
        lists = {}
        for user, own in rated.items():
            score = {f"i{i}": skill * own.get(f"i{i}", 0) + 2 * rng.normal() for i in range(items)}
            lists[user] = sorted(score, key=score.get, reverse=True)[:top]
        runs[name] = run(lists)
    return judgments(rated), runs


def shown(
    *,
    seen,
    sessions: int,
    seed: int,
    queries: int = 6,
    jitter: float = 0.15,
    relevance: tuple[float, float] = (0.05, 0.5),
    per_user: int = 1,
    cascade: bool = False,
) -> pl.DataFrame:
    """A log under the position-based model: every query has its documents, sorted with jitter.

    ``seen`` is the chance that each rank is seen. Users of several sessions differ in how much
    they like. With ``cascade`` a user looks at every rank until the first click.
    """
    rng = np.random.default_rng(seed)
    seen = np.asarray(seen, float)
    depth = len(seen)
    query = rng.integers(0, queries, sessions)
    liking = rng.uniform(*relevance, (queries, depth))[query]
    order = np.argsort(-liking - jitter * rng.standard_normal((sessions, depth)), axis=1)
    user = np.arange(sessions) // per_user
    keen = rng.uniform(0.3, 1.7, user.max() + 1) if per_user > 1 else np.ones(user.max() + 1)
    liked = rng.random((sessions, depth)) < np.take_along_axis(liking, order, 1) * keen[user, None]
    viewed = rng.random((sessions, depth)) < seen
    if cascade:
        viewed = np.cumsum(liked, axis=1) - liked == 0
    return pl.DataFrame(
        {
            "session": np.repeat(np.arange(sessions), depth),
            "user": np.repeat(user, depth),
            "query": np.repeat(query, depth),
            "item": order.ravel(),
            "rank": np.tile(np.arange(1, depth + 1), sessions),
            "viewed": viewed.ravel().astype(int),
            "click": (viewed & liked).ravel().astype(int),
        }
    )


def scrolled(*, length: int, sessions: int, seed: int, a: float, b: float) -> pl.DataFrame:
    """A log of viewed rows only: users go on with a probability of their own, Beta(a, b)."""
    rng = np.random.default_rng(seed)
    on = rng.random((sessions, length - 1)) < rng.beta(a, b, (sessions, 1))
    depth = 1 + np.cumprod(on, axis=1).sum(axis=1)
    session = np.repeat(np.arange(sessions), depth)
    rank = np.arange(len(session)) - np.repeat(np.cumsum(depth) - depth, depth) + 1
    return pl.DataFrame({"session": session, "item": rank, "rank": rank, "click": 0 * rank})


def weighed(seed: int = 0) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Judgments with a propensity per row and a group, and three runs."""
    table, runs = world(seed=seed)
    rng = np.random.default_rng(seed)
    group = pl.Series("country", np.array(["NL", "UK", "US"])[rng.integers(0, 3, table.height)])
    return table.with_columns(group, propensity=pl.Series(rng.uniform(0.05, 1, table.height))), runs


def ratios(x, base=None, *, draws: int = 0, seed: int = 0, ids=None) -> list[Estimate]:
    """One estimate for each row of ``x``: sum over sum of ``base``, over users where that is."""
    base = np.ones(x.shape[1]) if base is None else np.asarray(base, float)
    keys = [Key(f"s{s}", "m") for s in range(len(x))]
    columns = {key: (row * (base > 0), base) for key, row in zip(keys, x, strict=True)}
    return _estimates(columns, base > 0, f.ratio, draws, seed, ids)


def stratified(x, bases, feedback, *, draws: int = 0, seed: int = 0, ids=None) -> list[Estimate]:
    """Stratified estimates of values (strata x systems x users) over ``bases``."""
    bases, feedback = np.asarray(bases, float), np.asarray(feedback, float)
    keys = [Key(f"s{s}", "m", "stratified") for s in range(x.shape[1])]
    columns = {
        key: (*(c for q in range(len(x)) for c in (x[q, s] * (bases[q] > 0), bases[q])), *feedback)
        for s, key in enumerate(keys)
    }
    there = feedback[bases.any(axis=1)].any(axis=0)
    return _estimates(columns, there, Stratified(len(x)), draws, seed, ids)


def _estimates(columns, mask, function, draws, seed, ids) -> list[Estimate]:
    ids = pl.Series(np.arange(len(mask)) if ids is None else ids)
    table = Units(ids, columns, dict.fromkeys(columns, mask), draws=Draws(draws, 0, seed))
    return [table.estimate(key, function) for key in columns]


def estimates(*columns, function=f.mean, ids=None, clusters=None, resamples=0, seed=0, many=MANY):
    """The function of the means of each set of columns, or of one column, all of the same units."""
    sets = [x if isinstance(x, tuple) else (x,) for x in columns]
    keys = [Key(str(number), "x") for number in range(len(sets))]
    units = Units(
        pl.Series(np.arange(len(sets[0][0])) if ids is None else ids),
        dict(zip(keys, sets, strict=True)),
        clusters=None if clusters is None else pl.Series(clusters),
        draws=Draws(resamples, seed=seed, many=many),
    )
    return [units.estimate(key, function) for key in keys]
