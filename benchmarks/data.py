"""The files that every tool is timed on, the same on every machine: all follow from one seed.

Run with the interpreter of counterrank's environment: ``data.py FOLDER NAME... [--quick]``.
``run.py`` itself stays free of NumPy, so that the memory it holds is not counted for the tools it
starts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from big import FILE, big

SEED = 20_011
SHARES = (0.06, 0.17, 0.43, 0.78)  # of ratings up to 1, 2, 3 and 4, as in MovieLens
DEPTH = 100
SLATE_ITEMS, SLATE_RANKS = 10, 5
LOGS = {f"log{millions}": millions * 100_000 for millions in (1, 5, 10, 20)}  # sessions
LOGS["logviews"] = LOGS["log10"]
BIG = {f"big{millions}": millions * 100_000 for millions in (1, 5, 10, 20, 100)}
PLACES = 20  # items that a user of a crowd may be shown

Ints = np.typing.NDArray[np.integer]
Floats = np.typing.NDArray[np.floating]


@dataclass(frozen=True)
class Size:
    """How much to generate."""

    systems: int
    users: int
    items: int


@dataclass(frozen=True)
class Crowd:
    """Many systems or users with short lists, of which a share ``apart`` is a system's own."""

    systems: int
    users: int
    depth: int = 10
    apart: float = 1.0


CROWDS = {
    "pair": Crowd(2, 100_000),
    "systems": Crowd(100, 1_000),
    "alike": Crowd(21, 6_040, apart=0.001),
    "wide": Crowd(100, 1_000_000, depth=2),
    "assessed": Crowd(100, 20_000),
}
FULL = {
    "many": Size(21, 6_040, 3_706),
    "large": Size(1, 200_000, 20_011),
    "strata": Size(104, 943, 1_682),
    "funnel": Size(1, 100_000, 10_007),
}
QUICK = {
    "many": Size(5, 600, 1_009),
    "large": Size(1, 5_000, 20_011),
    "strata": Size(6, 300, 1_009),
    "funnel": Size(1, 2_000, 1_009),
}


def many(folder: Path, size: Size) -> None:
    """Several systems that see one utility through noise, from little to much."""
    rng = np.random.default_rng(SEED)
    utility = _utility(rng, size)
    _write(folder / "judgments.parquet", *_judged(rng, utility))
    for system in range(size.systems):
        noise = 0.3 + 1.7 * system / size.systems
        seen = utility + noise * rng.standard_normal(utility.shape, dtype=np.float32)
        item = np.argpartition(-seen, DEPTH, axis=1)[:, :DEPTH]
        score = np.take_along_axis(seen, item, axis=1)
        order = np.argsort(-score, axis=1, kind="stable")
        item = np.take_along_axis(item, order, axis=1)
        score = _apart(np.take_along_axis(score, order, axis=1))
        width = len(str(size.systems - 1))
        _lists(folder, f"run{system:0{max(width, 2)}}.parquet", [(0, item, score)])


def large(folder: Path, size: Size) -> None:
    """One system for many users, without a table of users x items.

    The number of items is prime: user u's j-th best item is (a j + b) mod items, and no two
    agree. The list is the first 100; the judged are drawn from the first 200.
    """
    judged: list[tuple[Ints, Ints, Ints]] = []

    def parts() -> Iterator[tuple[int, Ints, Floats]]:
        for start in range(0, size.users, 20_000):
            rng = np.random.default_rng((SEED, start))
            n = min(20_000, size.users - start)
            step = rng.integers(1, size.items, (n, 1))
            shift = rng.integers(0, size.items, (n, 1))
            place, count = _places(rng, n)
            keep = np.arange(place.shape[1]) < count
            rating = _rated(rng.standard_normal(place.shape) - place / 100)
            user = np.broadcast_to(np.arange(start, start + n)[:, None], place.shape)
            judged.append((user[keep], ((step * place + shift) % size.items)[keep], rating[keep]))
            score = np.sort(rng.standard_normal((n, DEPTH)), axis=1)[:, ::-1]
            yield start, (step * np.arange(DEPTH) + shift) % size.items, _apart(score)

    _lists(folder, "run.parquet", parts())
    _write(folder / "judgments.parquet", *(np.concatenate(x) for x in zip(*judged, strict=True)))


def funnel(folder: Path, size: Size) -> None:
    """Lists with the cvr a shop predicts, its clicks with their ctr, and the same as judgments.

    User u's list is (a j + b) mod items, j = 0 to 99, and items are prime, so no two agree. Every
    user clicks 20 of the 200 items j = 0 to 199 on average; conversions rate 1, other clicks 0.
    """
    rng = np.random.default_rng(SEED)
    step, shift = rng.integers(1, size.items, (2, size.users, 1))
    place = np.arange(2 * DEPTH)
    item = (step * place + shift) % size.items
    ctr = np.clip(0.1 * rng.lognormal(-0.3, 0.8, item.shape), 0.005, 0.9)
    cvr = 0.25 * rng.random(item.shape) ** 2 + 0.01
    user, at = np.nonzero(rng.random(item.shape) < ctr)
    sold = (rng.random(len(user)) < cvr[user, at]).astype(np.int8)
    columns = {"user": user.astype(np.int32), "item": item[user, at].astype(np.int32)}
    folder.mkdir(parents=True, exist_ok=True)
    clicks = {**columns, "click": np.ones(len(user), np.int8), "conversion": sold}
    pl.DataFrame({**clicks, "ctr": ctr[user, at]}).write_parquet(folder / "funnel.parquet")
    _write(folder / "judgments.parquet", *columns.values(), sold)
    listed = {
        "user": np.repeat(np.arange(size.users, dtype=np.int32), DEPTH),
        "item": item[:, :DEPTH].ravel().astype(np.int32),
        "rank": np.tile(np.arange(1, DEPTH + 1, dtype=np.int32), size.users),
        "cvr": cvr[:, :DEPTH].ravel(),
    }
    pl.DataFrame(listed).write_parquet(folder / "run.parquet")


def crowd(folder: Path, size: Crowd) -> None:
    """Users who have judged three of twenty items, and systems that show some in a turn.

    The later a system, the more it turns away from the items that are judged most often.
    """
    rng, user = np.random.default_rng(SEED), np.arange(size.users)[:, None]
    rated = (PLACES * rng.random(user.shape) ** 2).astype(int) + np.array([0, 5, 11])
    rating = rng.integers(1, 6, rated.shape)
    everyone, item = np.broadcast_to(user, rated.shape), user * 7 + rated % PLACES
    _write(folder / "judgments.parquet", everyone.ravel(), item.ravel(), rating.ravel())
    shown = np.broadcast_to(np.arange(size.depth), (size.users, size.depth))
    users = np.repeat(np.arange(size.users, dtype=np.int32), size.depth)
    common = rng.integers(0, PLACES, user.shape)
    for system in range(size.systems):
        skew = 2 - system / size.systems
        own = (PLACES * rng.random(user.shape) ** skew).astype(int)
        turn = np.where(rng.random(user.shape) < size.apart, own, common)
        item = (user * 7 + (turn + shown) % PLACES).astype(np.int32)
        lists = {"user": users, "item": item.ravel(), "score": (-shown).ravel().astype(float)}
        pl.DataFrame(lists).write_parquet(folder / f"run{system:03}.parquet")


def shown(folder: Path, users: int, items: int) -> None:
    """Every pair shown once, clicked by taste; half of the clicks convert. One run lists ten."""
    rng = np.random.default_rng(SEED)
    user, item = np.divmod(np.arange(users * items), items)
    taste = np.sum(rng.standard_normal((users, 3))[user] * rng.standard_normal((items, 3))[item], 1)
    click = rng.random(len(user)) < 1 / (1 + np.exp(1 - taste))
    sold = click & (rng.random(len(user)) < 0.5)
    ids = {"user": user.astype(np.int32), "item": item.astype(np.int32)}
    folder.mkdir(parents=True, exist_ok=True)
    table = pl.DataFrame({**ids, "click": click.astype(int), "conversion": sold.astype(int)})
    table.write_parquet(folder / "funnel.parquet")
    run = pl.DataFrame(
        {**ids, "rank": np.argsort(np.argsort(rng.random((users, items)))).ravel() + 1}
    )
    run.filter(pl.col("rank") <= 10).write_parquet(folder / "run.parquet")


def slates(folder: Path, sessions: int) -> None:
    """A log of slates whose ranks are drawn independently, and a target's whole distribution."""
    rng = np.random.default_rng(SEED)
    chance = [rng.dirichlet(np.full(SLATE_ITEMS, 3.0), (sessions, SLATE_RANKS)) for _ in "ab"]
    logger, target = (0.8 * p + 0.2 / SLATE_ITEMS for p in chance)
    below = rng.random((sessions, SLATE_RANKS, 1)) > logger.cumsum(axis=2)[:, :, :-1]
    item = below.sum(axis=2)
    session, rank = np.indices(item.shape)
    columns = {
        "session": session, "item": item, "rank": rank + 1,
        "click": (rng.random(item.shape) < 0.3 / (1 + item)).astype(float),
        "propensity": logger[session, rank, item],
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    log = pl.DataFrame({k: v.ravel() for k, v in columns.items()})
    log.write_parquet(folder / "log.parquet")
    session, rank, item = np.indices(target.shape)
    columns = {"session": session, "item": item, "rank": rank + 1, "propensity": target}
    run = pl.DataFrame({k: v.ravel() for k, v in columns.items()})
    run.write_parquet(folder / "new.parquet")


def log(folder: Path, sessions: int, *, views: bool = False) -> None:
    """A log of lists of ten by a ranker without chance, and a target that re-ranks each.

    With ``views``, a fifth of what was viewed was clicked, and the log says what was viewed.
    """
    rng = np.random.default_rng(SEED)
    folder.mkdir(parents=True, exist_ok=True)
    ranks = 10
    shown = np.argsort(rng.random((sessions, 2 * ranks), np.float32), axis=1)[:, :ranks] * 37
    shown = (shown + 1000 * rng.integers(0, 500, (sessions, 1))).astype(np.int32)
    moved = np.argsort(rng.random((sessions, ranks), np.float32) + 0.05 * np.arange(ranks), axis=1)
    session = np.repeat(np.arange(sessions), ranks)
    rank = np.tile(np.arange(1, ranks + 1, dtype=np.int16), sessions)
    drawn, seen = rng.random(len(rank), np.float32), 1 / np.log2(rank + 1)
    click = drawn < 0.2 * seen
    user = np.repeat(rng.integers(0, max(sessions // 4, 1), sessions), ranks)
    columns = {"session": session, "user": user, "item": shown.ravel(), "rank": rank}
    if views:
        columns["viewed"] = (drawn < seen).astype(np.int8)
    pl.DataFrame({**columns, "click": click.astype(np.int8)}).write_parquet(folder / "log.parquet")
    again = np.take_along_axis(shown, moved, axis=1).ravel()
    run = pl.DataFrame({"session": session, "item": again, "rank": rank})
    run.write_parquet(folder / "new.parquet")


def list_orders(folder: Path, size: Size) -> None:
    """The lists of ``large`` with a score, their rows in other orders and under other ids."""
    rng = np.random.default_rng(SEED)
    large(folder / "sorted", size)
    judgments = pl.read_parquet(folder / "sorted" / "judgments.parquet")
    run = pl.read_parquet(folder / "sorted" / "run.parquet")
    users = run["user"].to_numpy()
    ranked = pl.read_parquet(folder / "sorted" / "ranked" / "run.parquet")
    by = rng.permutation(run.height)
    mixed, few = run[by], judgments[rng.permutation(judgments.height)]
    depth = rng.integers(1, 1_001, size.users // 5)
    long = pl.DataFrame({"user": np.repeat(np.arange(len(depth), dtype=np.int32), depth)})
    step = pl.Series(np.arange(long.height, dtype=np.int32) * 7 % size.items)
    long = long.with_columns(item=step, score=pl.Series(rng.random(long.height)))
    ragged = long[rng.permutation(long.height)], few.filter(pl.col("user") < len(depth))
    text = [pl.format("user-{}", "user"), pl.format("item-{}", "item")]
    tables = {
        "within": (run[np.lexsort((rng.random(run.height), users))], judgments),
        "shuffled": (mixed, few),
        "ties": (mixed.with_columns((4 * pl.col("score")).round() / 4), few),
        "text": tuple(table.with_columns(text) for table in (mixed, few)),
        "ragged": ragged,
        "ranks": (ranked[by], few),
    }
    for name, (rows, judged) in tables.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        rows.write_parquet(folder / name / "run.parquet")
        judged.write_parquet(folder / name / "judgments.parquet")


def log_orders(folder: Path, sessions: int) -> None:
    """The log and the target of ``log``, their rows in other orders and under other ids."""
    rng = np.random.default_rng(SEED)
    log(folder / "plain", sessions)
    rows, new = (pl.read_parquet(folder / "plain" / f"{name}.parquet") for name in ("log", "new"))
    by = np.lexsort((rng.random(new.height), new["session"].to_numpy()))
    mixed = [table[rng.permutation(table.height)] for table in (rows, new)]
    name = pl.col("session").cast(pl.String).str.zfill(8)
    text = pl.format("{}-aaaa-bbbb-cccc-0123456789abcd", name).alias("session")
    tables = {
        "sorted": (rows, new),
        "reordered": (rows, new[by]),
        "shuffled": mixed,
        "text": [table.with_columns(text) for table in mixed],
    }
    for order, both in tables.items():
        for table, frame in zip(("log", "new"), both, strict=True):
            (folder / order / table).mkdir(parents=True, exist_ok=True)
            frame.write_parquet(folder / order / table / "part.parquet")


def small(folder: Path) -> None:
    """Three users, to time how long a tool takes to get going."""
    user, item = np.divmod(np.arange(9), 3)
    _write(folder / "judgments.parquet", user, item, np.array([5, 1, 3, 4, 2, 5, 1, 4, 4]))
    _lists(folder, "run.parquet", [(0, item.reshape(3, 3), np.tile([3.0, 2.0, 1.0], (3, 1)))])


def _utility(rng: np.random.Generator, size: Size) -> Floats:
    """Popularity plus taste."""
    popular = 0.8 * rng.standard_normal(size.items, dtype=np.float32)
    left = rng.standard_normal((size.users, 8), dtype=np.float32)
    right = rng.standard_normal((8, size.items), dtype=np.float32)
    return popular + left @ right / np.float32(np.sqrt(8))


def _judged(rng: np.random.Generator, utility: Floats) -> tuple[Ints, Ints, Ints]:
    """About 33 judged items per user, liked ones more often; ratings follow utility loosely."""
    users = len(utility)
    count = np.clip(rng.lognormal(3.2, 0.75, users), 5, 200).astype(int)[:, None]
    keys = 1.6 * utility + rng.gumbel(size=utility.shape).astype(np.float32)
    item = np.argsort(-keys, axis=1)[:, :200]
    rating = _rated(np.take_along_axis(utility, item, axis=1) + rng.standard_normal(item.shape))
    user = np.broadcast_to(np.arange(users)[:, None], item.shape)
    keep = np.arange(200) < count
    return user[keep], item[keep], rating[keep]


def _places(rng: np.random.Generator, n: int) -> tuple[Ints, Ints]:
    """10 to 30 distinct places among the first 200, for each of n users."""
    keys = rng.random((n, 200), dtype=np.float32)
    return np.argpartition(keys, 30, axis=1)[:, :30], rng.integers(10, 31, (n, 1))


def _rated(x: Floats) -> Ints:
    return np.searchsorted(np.quantile(x, SHARES), x) + 1


def _apart(score: Floats) -> Floats:
    """Scores that stay distinct in single precision, which is what trec_eval keeps."""
    return score.astype(np.float64) + 0.001 * np.arange(score.shape[1], 0, -1)


def _lists(folder: Path, name: str, parts: Iterator[tuple[int, Ints, Floats]] | list) -> None:
    """The same lists twice: with a score, and in ``ranked/`` with a rank instead."""
    frames = []
    for start, item, score in parts:
        n, depth = item.shape
        frames.append(
            pl.DataFrame(
                {
                    "user": np.repeat(np.arange(start, start + n, dtype=np.int32), depth),
                    "item": item.ravel().astype(np.int32),
                    "score": score.ravel(),
                    "rank": np.tile(np.arange(1, depth + 1, dtype=np.int32), n),
                }
            )
        )
    whole = pl.concat(frames)
    (folder / "ranked").mkdir(parents=True, exist_ok=True)
    whole.select("user", "item", "score").write_parquet(folder / name)
    whole.select("user", "item", "rank").write_parquet(folder / "ranked" / name)


def _write(path: Path, user: Ints, item: Ints, rating: Ints) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"user": user, "item": item, "rating": rating}
    pl.DataFrame({k: v.astype(np.int32) for k, v in columns.items()}).write_parquet(path)


def make(folder: Path, name: str, *, quick: bool) -> None:
    """The files of one name, in a folder of that name."""
    size = (QUICK if quick else FULL).get(name)
    less = 100 if quick else 1
    if name in LOGS:
        log(folder / name, LOGS[name] // less, views=name == "logviews")
    elif name in BIG:
        big(folder / name, BIG[name] // less, FILE // less)
    elif name in CROWDS:
        crowd(folder / name, replace(CROWDS[name], users=CROWDS[name].users // less))
    elif name == "shown":
        shown(folder / name, 1_500 // (10 if quick else 1), 40)
    elif name == "slates":
        slates(folder / name, 1_000 if quick else 20_000)
    elif name == "small":
        small(folder / name)
    elif name == "listorders":
        list_orders(folder / name, (QUICK if quick else FULL)["large"])
    elif name == "logorders":
        log_orders(folder / name, 1_000_000 // less)
    elif size is not None:
        {"large": large, "funnel": funnel}.get(name, many)(folder / name, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    names = [*FULL, *LOGS, *BIG, *CROWDS, "slates", "small", "shown", "listorders", "logorders"]
    parser.add_argument("names", nargs="+", choices=names)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    for name in given.names:
        make(given.folder, name, quick=given.quick)


if __name__ == "__main__":
    main()
