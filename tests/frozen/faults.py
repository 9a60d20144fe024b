"""Tables and options that are refused; the message of each is frozen, word for word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

import counterrank as cr
from frozen.cases import CURVE, ENGINES, FEATURES

Refusal = Callable[..., object]
BAD = 25  # the row that is made wrong, and every fortieth after it


def read(name: str) -> pl.DataFrame:
    return pl.read_parquet(f"{name}.parquet")


def spoilt(name: str, column: str, value: object, kind: Any = None) -> pl.DataFrame:
    """A table whose column holds the value in some rows."""
    frame = read(name)
    here = pl.int_range(0, pl.len()) % 40 == BAD
    own = pl.col(column) if kind is None else pl.col(column).cast(kind)
    return frame.with_columns(pl.when(here).then(pl.lit(value)).otherwise(own).alias(column))


def bad_judgments() -> Iterator[tuple[str, Refusal]]:
    """Judgments and runs that ``evaluate`` and ``strata`` refuse."""

    def judged(table: object) -> Refusal:
        return lambda **e: cr.evaluate(table, {"good": "good.parquet"}, measure=["nDCG@5"], **e)

    def listed(table: object, **options: Any) -> Refusal:
        asked = {"measure": ["nDCG@5"], **options}
        return lambda **e: cr.evaluate("judgments.parquet", {"bad": table}, **asked, **e)

    def cut(**options: Any) -> Refusal:
        asked = {"measure": ["nDCG@5"], **options}
        return lambda **e: cr.strata("judgments.parquet", ["good.parquet"], **asked, **e)

    yield "no rows", judged(read("judgments").clear())
    yield "missing rating", judged(spoilt("judgments", "rating", None))
    yield "missing user", judged(spoilt("judgments", "user", None))
    yield "empty item", judged(spoilt("judgments", "item", ""))
    yield "float ids", judged(read("judgments_int").with_columns(pl.col("user").cast(pl.Float64)))
    yield "lists of items", judged(read("judgments").with_columns(pl.concat_list("item")))
    yield "text ratings", judged(spoilt("judgments", "rating", "four", pl.String))
    yield "dates as ratings", judged(read("judgments").with_columns(rating=pl.date(2020, 1, 1)))
    yield "not finite", judged(spoilt("judgments", "rating", float("nan"), pl.Float64))
    yield "infinite score", listed(spoilt("weak", "score", float("inf")))
    yield "rank 0", listed(read("good").with_columns(pl.col("rank") - 1))
    yield "negative rank", listed(spoilt("good", "rank", -3))
    yield "half ranks", listed(read("good").with_columns(pl.col("rank") / 2))
    yield "text ranks", listed(spoilt("good", "rank", "top", pl.String))
    yield "huge ranks", listed(spoilt("good", "rank", 1 << 40))
    yield "same rank twice", listed(spoilt("good", "rank", 1))
    yield "item twice", listed("again.parquet")
    yield "judged twice", judged(pl.concat([read("judgments"), read("judgments").head(3)]))
    yield "draws", listed(read("good").with_columns(draw=pl.lit(1)))
    yield "no rank or score", listed(read("good").drop("rank"))
    yield "no rating", judged(read("judgments").rename({"rating": "ratings"}))
    yield "a run first", judged("good.parquet")
    yield "judgments as a run", listed("judgments.parquet")
    yield "other ids", listed("weak_int.parquet")
    yield "nobody in common", listed(read("weak").with_columns(pl.col("user") + "z"))
    yield "unjudged", listed("good.parquet", unjudged="error")
    yield "missing lists", listed("tied.parquet", missing="error")
    yield "nothing to find", listed("good.parquet", no_relevant="error")
    yield "nobody left", listed("good.parquet", measure=["P(rel=9)@5"], no_relevant="skip")
    yield "ties of a bent measure", listed("tied.parquet", measure=["AP"], ties="expected")
    yield "no such column", listed("good.parquet", columns={"user": "uid"})
    yield "no such role", listed("good.parquet", columns={"usr": "user"})
    yield "two roles", listed("good.parquet", columns={"user": "item"})
    yield "no such baseline", listed("good.parquet", baseline="god")
    yield "no such measure", listed("good.parquet", measure=["nDGC@5"])
    yield "no such option", listed("good.parquet", measure=["AP(reel=4)"])
    yield "no measure", listed("good.parquet", measure=[])
    yield "no such test", listed("good.parquet", test="perm")
    yield "level in percent", listed("good.parquet", level=95)
    yield "max-T of t", listed("good.parquet", test="t", correct="maxt")
    yield "unbounded", listed("good.parquet", measure=["DCG@5"], interval="bernstein")
    yield "no such file", listed("gone.parquet")
    yield (
        "two of one name",
        lambda **e: cr.evaluate("judgments.parquet", ["weak.parquet", "weak.csv"], **e),
    )
    yield "no runs", lambda **e: cr.evaluate("judgments.parquet", [], **e)
    yield "no such cut", cut(cut="widht")
    yield "no such propensity", cut(propensity="popular")
    yield "feedback of nothing", cut(propensity="propensity", feedback="feedback.parquet")
    yield "strata of a column", cut(cut="country", strata=2)
    yield "too many values", cut(cut="item")
    yield "open runs alone", cut(open_run=["good.parquet"])
    yield (
        "propensity above 1",
        lambda **e: cr.strata(
            spoilt("judgments", "propensity", 1.5), ["good.parquet"], propensity="propensity", **e
        ),
    )
    yield "nothing to find, strata", cut(measure=["P(rel=9)@5"])


def bad_logs() -> Iterator[tuple[str, Refusal]]:
    """Logs and rankers that ``estimate`` and the others of logs refuse."""

    def logged(table: object, **options: Any) -> Refusal:
        asked = {"position_bias": CURVE, "reward": "click", **options}
        return lambda **e: cr.estimate(table, {"new": "new.parquet"}, **asked, **e)

    def aimed(table: object, **options: Any) -> Refusal:
        asked = {"position_bias": CURVE, "reward": "click", **options}
        return lambda **e: cr.estimate("log.parquet", {"bad": table}, **asked, **e)

    def sliced(label: str, table: object, **options: Any) -> Refusal:
        return lambda **e: cr.estimate(table, "slate_target.parquet", estimator=[label],
                                       **options, **e)  # fmt: skip

    first = pl.col("session") != "s000"
    yield "unviewed click", logged(spoilt("log", "viewed", 0).with_columns(click=pl.lit(1)))
    yield "viewed twice", logged(spoilt("log", "viewed", 2))
    yield "text reward", logged(spoilt("log", "click", "yes", pl.String))
    yield "missing context", logged(spoilt("log", "context", None), context="context")
    yield "no reward", logged(read("log").drop("click", "dwell"), reward=())
    yield "no such reward", logged("log.parquet", reward="clicks")
    yield "reward and context", logged("log.parquet", context="click")
    yield "exposure 0", logged(spoilt("exposed_log", "exposure", 0.0))
    yield (
        "certain",
        lambda **e: cr.estimate(
            read("slates").with_columns(propensity=pl.lit(1.0)), "slate_target.parquet", **e
        ),
    )
    yield "no position model", logged("log.parquet", position_bias=None)
    yield "no such model", logged("log.parquet", position_bias="logg2")
    yield "above 1", logged("log.parquet", position_bias="log2(scale=2)")
    yield "nobody sees", logged("log.parquet", position_bias="log2@2")
    yield "context unknown", logged("log.parquet", position_bias="by(context,home=log2,shop=log2)")
    yield "no column to go by", logged("log.parquet", position_bias="by(place,home=log2)")
    yield "a gap", logged(read("log").filter(pl.int_range(0, pl.len()) % 40 != BAD + 2))
    yield "item twice", logged(spoilt("log", "item", "i00"))
    yield "two users", logged(spoilt("log", "user", "u99"))
    yield "no logged propensity", logged("log.parquet", logged="propensity")
    yield "no views", logged("latent.parquet", views="observed")
    yield "no such estimator", logged("log.parquet", estimator=["ISP"])
    yield "not a slate", logged("log.parquet", estimator=["SIPS"])
    yield "no such baseline", logged("log.parquet", baseline="odl")
    yield "no loggers' lists", logged("served_log.parquet", logger={"a": "logger_a.parquet"})
    yield (
        "loggers contradicted",
        logged("served_log.parquet", logger={"a": "logger_b.parquet", "b": "logger_a.parquet"}),
    )
    yield (
        "no policy",
        logged("log.parquet", logger={"a": "logger_a.parquet", "b": "logger_b.parquet"}),
    )
    yield "no sessions in common", aimed(read("new").with_columns(pl.col("session") + "z"))
    yield "absent sessions", aimed("partial.parquet")
    yield "nothing logged", aimed("away.parquet")
    yield "nothing logged at all", aimed(read("new").with_columns(pl.col("item") + "z"))
    yield "listed twice", aimed(spoilt("new", "item", "i00"))
    yield "rank twice", aimed(spoilt("new", "rank", 1))
    yield "one session short", aimed(read("new").filter(first))
    yield "negative exposure", aimed(spoilt("exposing", "exposure", -0.5))
    yield "samples have no DCG", aimed("sampled.parquet", estimator=["DCG"])
    yield "no scores", aimed("new.parquet", scores="plackett_luce")
    yield "predicted and logged", aimed("foretold.parquet", missing="logged")
    yield "gaps in slates", sliced("SIPS", "gappy.parquet", views="rows")
    yield (
        "short lists",
        lambda **e: cr.estimate(
            "slates.parquet",
            read("slate_list").filter(pl.col("rank") < 3),
            estimator=["SIPS"],
            **e,
        ),
    )
    yield (
        "no arm",
        lambda **e: cr.assess_online(
            "dated.parquet", {"newer": "new.parquet"}, position_bias=CURVE, reward="click", **e
        ),
    )
    yield (
        "no day",
        lambda **e: cr.assess_online(
            "log.parquet", {"new": "new.parquet"}, position_bias=CURVE, reward="click", **e
        ),
    )


def bad_positions() -> Iterator[tuple[str, Refusal]]:
    """Logs from which ``exposure`` cannot learn."""

    def learnt(table: object, **options: Any) -> Refusal:
        return lambda **e: cr.exposure(table, **options, **e)

    still = read("seen").with_columns(item=pl.col("rank"))
    yield "nothing moves", learnt(still, method="harvest")
    yield "no views", learnt("shuffled.parquet", method="views")
    yield "no clicks", learnt(read("seen").with_columns(click=pl.lit(0)), method="em")
    yield "no such method", learnt("seen.parquet", method="harvset")
    yield "length", learnt("seen.parquet", method="views", length=3)
    yield "no such family", learnt("seen.parquet", model="powr")


def bad_funnels() -> Iterator[tuple[str, Refusal]]:
    """Funnels, lists and predictions that ``funnel`` refuses."""

    def clicked(table: object, **options: Any) -> Refusal:
        return lambda **e: cr.funnel(table, {"a": "sale_a.parquet"}, **options, **e)

    def listed(table: object, **options: Any) -> Refusal:
        return lambda **e: cr.funnel("funnel.parquet", {"bad": table}, **options, **e)

    fitted = {"ctr": "logistic", "cvr": "rates", **FEATURES}
    yield "clicked twice", clicked(spoilt("funnel", "click", 2))
    yield (
        "sold without a click",
        clicked(spoilt("funnel", "click", 0).with_columns(conversion=pl.lit(1))),
    )
    yield "no conversion", clicked(read("funnel").drop("conversion"))
    yield "a run as a funnel", clicked("sale_a.parquet")
    yield "ctr above 1", clicked(spoilt("funnel", "ctr", 1.5))
    yield "negative ctr", clicked(spoilt("funnel", "ctr", -0.5))
    yield "no chance, yet clicked", clicked(read("funnel").with_columns(ctr=pl.lit(0.0)))
    yield "certain clicks", clicked(read("funnel").with_columns(ctr=pl.lit(1.0)))
    yield "pair twice", clicked(pl.concat([read("funnel"), read("funnel").head(4)]))
    yield "no ctr", clicked("bare_funnel.parquet")
    yield "no cvr", clicked(read("funnel").drop("cvr"), estimator=["DM"])
    yield "click as a reward", clicked("funnel.parquet", reward="click")
    yield "no such measure", clicked("funnel.parquet", measure="DGC@5")
    yield "no such estimator", clicked("funnel.parquet", estimator=["SIPS"])
    yield "floor", clicked("funnel.parquet", floor=1.0)
    yield (
        "some predicted",
        clicked("bare_funnel.parquet", predictions=read("predicted").filter(pl.col("user") < 50)),
    )
    yield (
        "nothing predicted",
        clicked("bare_funnel.parquet", predictions=read("predicted").drop("ctr", "cvr")),
    )
    yield "both predict", clicked("funnel.parquet", predictions="predicted.parquet")
    yield "no features", clicked("bare_funnel.parquet", ctr="logistic", cvr="rates")
    for of, name in (("user", "user_features"), ("item", "item_features")):
        table = read(name)
        yield (
            f"{of} features twice",
            clicked("bare_funnel.parquet", **{**fitted, name: pl.concat([table, table.head(2)])}),
        )
        yield (
            f"{of} features missing",
            clicked("bare_funnel.parquet", **{**fitted, name: table.head(9)}),
        )
    yield (
        "only ids",
        clicked(
            "bare_funnel.parquet",
            **{**fitted, "user_features": read("user_features").select("user")},
        ),
    )
    yield (
        "empty feature",
        clicked(
            "bare_funnel.parquet",
            **{**fitted, "user_features": spoilt("user_features", "city", " ")},
        ),
    )
    yield "short rankings", listed("sale_a.parquet", measure="ARP")
    yield "no list", listed("sale_b.parquet", missing="error")
    yield "item twice", listed("sale_twice.parquet")
    yield "nobody in common", listed(read("sale_a").with_columns(pl.col("user") + 1000))
    yield "text ids", listed(read("sale_a").with_columns(pl.col("user").cast(pl.String) + "z"))


def bad_assessments() -> Iterator[tuple[str, Refusal]]:
    """What the verbs about measures refuse; those of tables have one engine."""
    yield "power of one", lambda **e: cr.assess_power("judgments.parquet", "good.parquet", **e)
    yield (
        "few resamples",
        lambda **e: cr.assess_power(
            "judgments.parquet", ["good.parquet", "weak.csv"], resamples=5, **e
        ),
    )
    yield "judgments alone", lambda **e: cr.assess_power("judgments.parquet", **e)
    yield (
        "one measure",
        lambda **e: cr.assess_agreement(
            pl.read_parquet("units.parquet").filter(pl.col("measure") == "RR"), mean="given", **e
        ),
    )
    yield (
        "values twice",
        lambda **e: cr.assess_agreement(pl.concat([read("units"), read("units").head(2)]), **e),
    )
    yield (
        "sizes",
        lambda **e: cr.assess_robustness(
            "judgments.parquet", ["good.parquet", "weak.csv"], sizes=[2], **e
        ),
    )
    yield (
        "items of values",
        lambda **e: cr.assess_robustness("units.parquet", reduction=["items"], **e),
    )
    yield (
        "no such loss",
        lambda **e: cr.assess_robustness(
            "judgments.parquet", ["good.parquet", "weak.csv"], reduction=["itmes"], **e
        ),
    )
    yield (
        "experiment twice",
        lambda **e: cr.assess_online(pl.concat([read("past"), read("past").head(2)]), **e),
    )
    yield "no baseline", lambda **e: cr.assess_online("past.parquet", baseline="odl", **e)
    yield "truth 0", lambda **e: cr.assess_accuracy(read("trials").with_columns(truth=pl.lit(0.0)))
    yield "cells missing", lambda **e: cr.assess_accuracy(read("trials").head(20))
    yield "two logs", lambda **e: cr.check(["log.parquet", "latent.parquet"], **e)


GROUPS = {
    "judgments": bad_judgments, "logs": bad_logs, "positions": bad_positions,
    "funnels": bad_funnels, "assessments": bad_assessments,
}  # fmt: skip


def refused(group: str) -> dict[str, dict[str, list[str]]]:
    """Class and message of every fault of a group, in memory and in parts."""
    return {
        name: {engine: _message(call, ENGINES[engine]) for engine in ("memory", "parts")}
        for name, call in GROUPS[group]()
    }


def _message(call: Refusal, engine: dict[str, Any]) -> list[str]:
    try:
        done = call(**engine)
        done.to_dict()  # type: ignore[attr-defined]
    except cr.CounterrankError as error:
        return [_class(error), str(error).replace(str(Path.cwd()), "FOLDER")]
    return ["accepted", ""]


def _class(error: cr.CounterrankError) -> str:
    """The public class of a message, which may have kinds of its own inside."""
    public = (cr.InputError, cr.UsageError)
    return next((kind.__name__ for kind in public if isinstance(error, kind)), type(error).__name__)
