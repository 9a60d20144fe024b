"""Small tables of every kind, drawn with seeded NumPy alone and written into one folder.

Cases name them by file. Nothing here comes from the package, so no change of it changes them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

CURVE = (1.0, 0.7, 0.5, 0.4, 0.3)


def write(folder: Path) -> None:
    """All tables, as Parquet, CSV and TREC text."""
    tables = {**judged(), **logged(), **slates(), **sold(), **shown(), **past()}
    for name, table in tables.items():
        table.write_parquet(folder / f"{name}.parquet")
    for name in ("judgments", "weak", "log", "new", "user_features", "item_features", "funnel"):
        tables[name].write_csv(folder / f"{name}.csv")
    trec = tables["judgments"].select("user", pl.lit("0").alias("q0"), "item", "rating")
    trec.write_csv(folder / "judgments.qrels", include_header=False, separator=" ")
    run = tables["tied"].select(
        "user", pl.lit("Q0").alias("q0"), "item", pl.lit(1).alias("at"), "score",
        pl.lit("tied").alias("tag"),
    )  # fmt: skip
    run.write_csv(folder / "tied.run", include_header=False, separator=" ")


def judged() -> dict[str, pl.DataFrame]:
    """Judgments of 90 users, five systems, judgments of items shown at random."""
    rng = np.random.default_rng(11)
    users, items, depth = 90, 40, 12
    taste = rng.normal(size=(users, items))
    fame = np.exp(-np.arange(items) / 10)
    rows = []
    for u in range(users):
        picked = rng.choice(items, 4 + int(rng.integers(0, 14)), replace=False, p=fame / fame.sum())
        for i in picked:
            rating = int(np.clip(np.round(1.2 + 1.3 * taste[u, i]), 0, 4))
            rating = 0 if u % 17 == 3 else rating  # users with nothing to find
            rating = -1 if rng.random() < 0.04 else rating  # pooled, not judged
            rows.append((f"u{u:02}", f"i{i:02}", rating, round(0.1 + 0.85 * fame[i], 6)))
    judgments = pl.DataFrame(rows, schema=["user", "item", "rating", "propensity"], orient="row")
    country = np.array(["NL", "UK", "US"])[rng.integers(0, 3, judgments.height)]
    judgments = judgments.with_columns(pl.Series("country", country))

    def listed(skill: float, seed: int, skipped: int = 0) -> pl.DataFrame:
        own = np.random.default_rng(seed)
        score = skill * taste + 0.7 * fame + own.normal(size=taste.shape)
        kept = [u for u in range(users) if not skipped or u % skipped]
        top = np.argsort(-score, axis=1)[:, :depth]
        return pl.DataFrame(
            {
                "user": [f"u{u:02}" for u in kept for _ in range(depth)],
                "item": [f"i{i:02}" for u in kept for i in top[u]],
                "rank": list(range(1, depth + 1)) * len(kept),
                "score": [round(float(score[u, i]), 6) for u in kept for i in top[u]],
            }
        )

    good, tied, weak = listed(1.0, 1), listed(0.8, 2, skipped=13), listed(0.3, 3)
    x, y = listed(0.6, 4).with_columns(system=pl.lit("x")), listed(0.1, 5, skipped=29)
    strange = pl.DataFrame({"user": ["u98", "u99"], "item": ["i01", "i02"], "rank": [1, 1]})
    whole = pl.int_range(0, pl.len())
    number = pl.col("user").str.slice(1).cast(pl.Int64)
    item = pl.col("item").str.slice(1).cast(pl.Int64)
    runs = {
        "good": pl.concat([good.drop("score"), strange]),
        "tied": tied.select("user", "item", score=pl.col("score").round(0)),
        "weak": weak.drop("rank"),
        "both": pl.concat([x, y.with_columns(system=pl.lit("y"))]).drop("score"),
    }
    repeated = runs["weak"].filter(whole % 19 == 0).with_columns(score=pl.col("score") - 0.5)
    seen = rng.random((users, items)) < 0.2
    user, shown = np.nonzero(seen)
    truth = np.clip(np.round(1.2 + 1.3 * taste[user, shown]), 0, 4).astype(int)
    opened = {"user": [f"u{u:02}" for u in user], "item": [f"i{i:02}" for i in shown]}
    return {
        "judgments": judgments,
        **runs,
        "twice": pl.concat([runs["weak"], repeated]),
        "again": pl.concat([runs["weak"], runs["weak"].slice(30, 1)]),
        "judgments_int": judgments.with_columns(user=number * 7, item=item + 1000),
        "good_int": good.select(user=number * 7, item=item + 1000, rank="rank"),
        "weak_int": weak.select(user=number * 7, item=item + 1000, score="score"),
        "unsure": judgments.filter(pl.col("rating") >= 0),
        "named": judgments.select(uid="user", sku="item", stars="rating"),
        "good_named": good.select(uid="user", sku="item", place="rank"),
        "open": pl.DataFrame({**opened, "rating": truth}),
        "open_good": listed(0.9, 6).drop("score"),
        "open_weak": listed(0.2, 7).drop("score"),
        "feedback": judgments.select("user", "item"),
        "chances": pl.DataFrame(
            {
                "item": [f"i{i:02}" for i in range(items)],
                "propensity": np.round(0.1 + 0.8 * fame, 6),
            }
        ),
        "units": pl.DataFrame(
            [
                (f"u{u}", system, measure, round(float(rng.beta(2 + s, 3)), 6))
                for s, system in enumerate(("a", "b", "c", "d"))
                for measure in ("nDCG@10", "AP", "RR")
                for u in range(60)
            ],
            schema=["unit", "system", "measure", "value"],
            orient="row",
        ),
    }


def logged() -> dict[str, pl.DataFrame]:
    """A log of two loggers whose lists are known, and rankers of every kind for it."""
    rng = np.random.default_rng(12)
    sessions, depth, items = 240, 5, 12
    first = np.argsort(rng.random((sessions, items)), axis=1)[:, :depth]
    second = np.take_along_axis(first, np.argsort(rng.random(first.shape), axis=1), 1)
    by_first = rng.random(sessions) < 0.65
    item = np.where(by_first[:, None], first, second)
    rank = np.tile(np.arange(1, depth + 1), (sessions, 1))
    curve = np.array(CURVE)

    def seen_at(lists: np.ndarray) -> np.ndarray:
        """The weight of the place each shown item has in other lists."""
        return curve[np.argmax(lists[:, None, :] == item[:, :, None], axis=2)]

    exposure = 0.65 * seen_at(first) + 0.35 * seen_at(second)
    viewed = rng.random(item.shape) < curve
    click = viewed & (rng.random(item.shape) < 0.15 + 0.05 * item)
    dwell = np.where(click, np.round(rng.gamma(2.0, 3.0, item.shape), 3), 0)
    number = np.repeat(np.arange(sessions), depth)
    log = pl.DataFrame(
        {
            "session": [f"s{s:03}" for s in number],
            "user": [f"u{s // 3:02}" for s in number],
            "context": [("home", "shop", "trip")[s % 3] for s in number],
            "day": number // 80,
            "arm": [("control", "new", "old")[s // 3 % 3] for s in number],
            "item": [f"i{i:02}" for i in item.ravel()],
            "rank": rank.ravel(),
            "viewed": viewed.ravel().astype(int),
            "click": click.ravel().astype(int),
            "dwell": dwell.ravel(),
            "exposure": np.round(exposure, 9).ravel(),
            "policy": [("b", "a")[int(by_first[s])] for s in number],
        }
    )
    bare = log.drop("exposure", "policy", "day", "arm")
    moved = np.argsort(rng.random(item.shape), axis=1).ravel() + 1
    new = log.select("session", "item", rank=pl.Series(moved))
    score = pl.Series("score", np.round(rng.normal(size=new.height), 6))
    draws = pl.concat(
        new.select(
            "session", "item", draw=pl.lit(d),
            rank=pl.Series(np.argsort(rng.random(item.shape), axis=1).ravel() + 1),
        )
        for d in range(4)
    )  # fmt: skip
    own = pl.col("session").str.slice(1).cast(pl.Int64)
    away = pl.when(own % 16 == 5).then(pl.col("item") + "x").otherwise(pl.col("item"))

    def lists(of: np.ndarray) -> pl.DataFrame:
        named = pl.Series("item", [f"i{i:02}" for i in of.ravel()])
        return log.select("session", named, "rank")

    return {
        "log": bare,
        "latent": bare.drop("viewed"),
        "viewed_only": bare.filter(pl.col("viewed") == 1).drop("viewed"),
        "exposed_log": log.drop("policy", "day", "arm"),
        "served_log": log.drop("exposure", "day", "arm"),
        "dated": log.drop("exposure", "policy"),
        "logger_a": lists(first),
        "logger_b": lists(second),
        "new": new,
        "old": new.select("session", "item", score=-(pl.col("rank") // 2).cast(pl.Float64)),
        "scored": new.select("session", "item", score),
        "sampled": draws,
        "exposing": new.select(
            "session", "item",
            exposure=pl.Series(np.round(0.5 * curve[moved - 1] + 0.25, 9)),
        ),
        "foretold": new.with_columns(predicted=pl.Series(np.round(rng.random(new.height), 6))),
        "partial": new.filter(own % 9 != 4),
        "away": new.with_columns(item=away),
        "log_int": bare.with_columns(session=own, item=pl.col("item").str.slice(1).cast(pl.Int64)),
        "new_int": new.with_columns(session=own, item=pl.col("item").str.slice(1).cast(pl.Int64)),
    }  # fmt: skip


def slates() -> dict[str, pl.DataFrame]:
    """Slates with the propensity of every item at its rank, and a target's whole distribution."""
    rng = np.random.default_rng(13)
    sessions, ranks, items = 150, 3, 4
    logger, target = (
        0.7 * rng.dirichlet(np.full(items, 3.0), (sessions, ranks)) + 0.3 / items for _ in "ab"
    )
    logger, target = np.round(logger, 9), np.round(target, 9)
    item = (rng.random((sessions, ranks, 1)) > logger.cumsum(axis=2)[:, :, :-1]).sum(axis=2)
    session, rank = np.indices(item.shape)
    log = pl.DataFrame(
        {
            "session": session.ravel(), "user": session.ravel() // 2, "item": item.ravel(),
            "rank": rank.ravel() + 1,
            "click": (rng.random(item.shape) < 0.15 + 0.1 * item).ravel().astype(int),
            "propensity": logger[session, rank, item].ravel(),
        }
    )  # fmt: skip
    session, rank, item = np.indices(target.shape)
    whole = pl.DataFrame(
        {
            "session": session.ravel(), "item": item.ravel(), "rank": rank.ravel() + 1,
            "propensity": target.ravel(),
        }
    )  # fmt: skip
    best = log.select("session", item=(pl.col("item") + pl.col("session") % 2) % 4, rank="rank")
    return {
        "slates": log,
        "slate_target": whole,
        "slate_list": best,
        "gappy": log.filter((pl.col("session") % 10 != 3) | (pl.col("rank") != 2)),
    }


def sold() -> dict[str, pl.DataFrame]:
    """Clicks, conversions and spend with predictions, features, lists and whole rankings."""
    rng = np.random.default_rng(14)
    users, items = 60, 25
    age, price = np.round(rng.uniform(18, 70, users), 1), np.round(rng.uniform(1, 9, items), 2)
    ctr = 1 / (1 + np.exp(-(rng.normal(-0.6, 0.6, (users, items)) + 0.2 * (price - 5))))
    cvr = 1 / (1 + np.exp(-(rng.normal(-1.0, 0.5, (users, items)) + 0.02 * age[:, None])))
    click = rng.random(ctr.shape) < ctr
    bought = click & (rng.random(cvr.shape) < cvr)
    user, item = (x.ravel() for x in np.indices(ctr.shape))
    spend = np.where(bought, np.round(price * rng.uniform(0.5, 1.5, cvr.shape), 2), 0)
    table = pl.DataFrame(
        {
            "user": user, "item": item, "click": click.ravel().astype(int),
            "conversion": bought.ravel().astype(int), "spend": spend.ravel(),
            "ctr": np.round(ctr, 9).ravel(), "cvr": np.round(cvr, 9).ravel(),
            "cvr_spend": np.round(cvr * price, 9).ravel(),
        }
    )  # fmt: skip
    lists = {}
    for name, noise in (("a", 0.1), ("b", 0.6)):
        score = np.round(cvr + noise * rng.random(cvr.shape), 6).ravel()
        ranked = pl.DataFrame({"user": user, "item": item, "score": score})
        lists[f"whole_{name}"] = ranked
        lists[f"sale_{name}"] = ranked.filter(
            pl.col("score").rank("ordinal", descending=True).over("user") <= 8
        )
    lists["sale_b"] = lists["sale_b"].filter(pl.col("user") % 15 != 7)
    lists["sale_tied"] = lists["sale_a"].with_columns(pl.col("score").round(1))
    lists["sale_own"] = lists["sale_a"].with_columns(cvr=(pl.col("score") / 2).round(6))
    again = lists["sale_a"].filter(pl.int_range(0, pl.len()) % 31 == 0)
    lists["sale_twice"] = pl.concat([lists["sale_a"], again])
    some = rng.random(table.height) < 0.6
    city = np.array(["Delft", "Gouda", "Leiden"])[rng.integers(0, 3, users)]
    return {
        **lists,
        "funnel": table,
        "bare_funnel": table.drop("ctr", "cvr", "cvr_spend"),
        "clicks": table.filter(pl.col("click") == 1).drop("ctr", "cvr", "cvr_spend"),
        "some_rows": table.filter(pl.Series(some) | (pl.col("click") == 1)),
        "predicted": table.select("user", "item", "ctr", "cvr"),
        "user_features": pl.DataFrame({"user": np.arange(users), "age": age, "city": city}),
        "item_features": pl.DataFrame(
            {"item": np.arange(items), "price": price, "new": rng.random(items) < 0.3}
        ),
    }


def shown() -> dict[str, pl.DataFrame]:
    """Logs to learn positions from: with views, with depth only, shuffled, swapped by a coin."""
    rng = np.random.default_rng(15)
    sessions, depth, queries = 500, 5, 6
    query = rng.integers(0, queries, sessions)
    liking = rng.uniform(0.15, 0.7, (queries, depth))[query]
    noise = rng.standard_normal((3, sessions, depth))
    liked_by, curve = rng.random((sessions, depth)), np.array(CURVE)
    seen_by, device = rng.random((sessions, depth)), rng.integers(0, 2, sessions)
    coin = rng.integers(2, depth + 1, sessions)

    def table(order: np.ndarray, **more: np.ndarray) -> pl.DataFrame:
        liked = liked_by < np.take_along_axis(liking, order, 1)
        seen = seen_by < curve ** (1 + 0.5 * device[:, None])
        wide = {
            "session": np.arange(sessions), "user": np.arange(sessions) // 2, "query": query,
            "device": np.array(["desk", "phone"])[device], **more,
        }  # fmt: skip
        return pl.DataFrame(
            {
                **{name: np.repeat(x, depth) for name, x in wide.items()},
                "item": order.ravel(),
                "rank": np.tile(np.arange(1, depth + 1), sessions),
                "viewed": seen.ravel().astype(int),
                "click": (seen & liked).ravel().astype(int),
            }
        )

    order = np.argsort(-liking - 0.15 * noise[0], axis=1)
    swapped = np.argsort(-liking, axis=1)
    turned = rng.random(sessions) < 0.5
    at = np.flatnonzero(turned)
    swapped[at, 0], swapped[at, coin[at] - 1] = swapped[at, coin[at] - 1], swapped[at, 0]
    on = rng.random((sessions, 11)) < rng.beta(6.0, 2.0, (sessions, 1))
    reached = 1 + np.cumprod(on, axis=1).sum(axis=1)
    session = np.repeat(np.arange(sessions), reached)
    rank = np.arange(len(session)) - np.repeat(np.cumsum(reached) - reached, reached) + 1
    scrolled = {
        "session": session,
        "item": rank,
        "rank": rank,
        "click": (rank * 7 + session) % 5 == 0,
    }
    return {
        "seen": table(order),
        "shuffled": table(np.argsort(noise[1], axis=1)).drop("viewed"),
        "swapped": table(swapped, coin=coin).drop("viewed"),
        "scrolled": pl.DataFrame(scrolled).with_columns(pl.col("click").cast(pl.Int64)),
    }


def past() -> dict[str, pl.DataFrame]:
    """Past experiments, long and wide, and trials of estimators against a truth."""
    rng = np.random.default_rng(16)
    long, wide, trials = [], [], []
    for e in range(14):
        for s, system in enumerate(("old", "a", "b")):
            true = 0.2 + 0.02 * s * (e % 3 - 0.5)
            online = round(true + 0.004 * float(rng.normal()), 6)
            row = [round(true + w * float(rng.normal()), 6) for w in (0.01, 0.03)]
            wide.append((f"e{e:02}", system, online, *row))
            for measure, offline in zip(("nDCG@10", "RR"), row, strict=True):
                long.append((f"e{e:02}", system, measure, offline, 0.008, online, 0.005))
    for r in range(12):
        for s in range(4):
            for name, bias, noise in (
                ("IPS", 0.0, 0.05),
                ("SNIPS", 0.01, 0.03),
                ("DM", 0.05, 0.01),
            ):
                truth = 0.2 + 0.1 * s
                found = round(truth + bias + noise * float(rng.normal()), 6)
                ends = round(found - 2 * noise, 6), round(found + 2 * noise, 6)
                trials.append((f"s{s}", name, r, truth, found, *ends))
    names = ["experiment", "system", "measure", "offline", "offline_se", "online", "online_se"]
    figures = ["system", "estimator", "repetition", "truth", "estimate", "low", "high"]
    return {
        "past": pl.DataFrame(long, schema=names, orient="row"),
        "past_wide": pl.DataFrame(
            wide, schema=["experiment", "system", "online", "nDCG@10", "RR"], orient="row"
        ),
        "trials": pl.DataFrame(trials, schema=figures, orient="row"),
    }
