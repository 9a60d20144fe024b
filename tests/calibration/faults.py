"""What goes wrong in writing any log: functions of log, runs, a strength and random numbers.

A kind of item that no column names is that of even numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

Tables = tuple[pl.DataFrame, dict[str, pl.DataFrame]]
KIND = pl.col("item") % 2 == 0


def _drawn(log: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    return log.with_columns(chance=pl.Series(rng.random(log.height)))


def _without(log: pl.DataFrame, runs: dict[str, pl.DataFrame], gone: pl.DataFrame) -> Tables:
    """Log and runs without these sessions."""
    kept = {name: run.join(gone, on="session", how="anti") for name, run in runs.items()}
    return log.join(gone, on="session", how="anti", maintain_order="left"), kept


def late(log, runs, strength, rng) -> Tables:
    """Conversions come after ``strength`` days on average, three times that for the kind."""
    wait = pl.Series("wait", rng.exponential(size=log.height) * strength)
    time = pl.col("day") + pl.col("chance") + wait * pl.when(KIND).then(3).otherwise(1)
    there = time < pl.col("day").max() + 1
    log = _drawn(log, rng).with_columns(pl.col("conversion", "revenue") * there)
    return log.drop("chance"), runs


def _clicked(log: pl.DataFrame, where: pl.Expr) -> pl.DataFrame:
    """Sessions with a click where it says."""
    return log.filter((pl.col("click") > 0) & where).select("session").unique(maintain_order=True)


def selection(log, runs, strength, rng) -> Tables:
    """A session without a click is missing with this chance."""
    every = log.select("session").unique(maintain_order=True)
    empty = every.join(_clicked(log, pl.lit(True)), on="session", how="anti", maintain_order="left")
    return _without(log, runs, empty.filter(pl.Series(rng.random(empty.height) < strength)))


def leave(log, runs, strength, rng) -> Tables:
    """A session with a click on the kind is missing with this chance."""
    led = _clicked(log, KIND)
    return _without(log, runs, led.filter(pl.Series(rng.random(led.height) < strength)))


def _views_lost(log: pl.DataFrame, chance: pl.Expr, rng: np.random.Generator) -> pl.DataFrame:
    kept = (pl.col("click") > 0) | (pl.col("chance") >= chance)
    log = _drawn(log, rng).with_columns((pl.col("viewed") * kept).cast(log["viewed"].dtype))
    return log.drop("chance")


def lost_views(log, runs, strength, rng) -> Tables:
    """A view without a click is not logged, with this chance."""
    return _views_lost(log, pl.lit(strength), rng), runs


def lost_below(log, runs, strength, rng) -> Tables:
    """The same, from never at the first rank to this chance at the last."""
    depth = (pl.col("rank") - 1) / (pl.col("rank").max() - 1)
    return _views_lost(log, strength * depth, rng), runs


def exposure_error(log, runs, strength, rng) -> Tables:
    """Exposures are this share too small for the kind and too large for others."""
    wrong = 1 + strength * pl.when(KIND).then(-1).otherwise(1)
    return log.with_columns((pl.col("exposure") * wrong).clip(0, 1)), runs


def peek(log, runs, strength, rng) -> Tables:
    """In this share of sessions the run lists first what was clicked in them."""
    sessions = log.select("session").unique(maintain_order=True)
    known = sessions.filter(pl.Series(rng.random(sessions.height) < strength))
    clicks = log.filter(pl.col("click") > 0).join(known, on="session", how="semi")
    clicks = clicks.select("session", "item", first=pl.lit(0))

    def looked(run: pl.DataFrame) -> pl.DataFrame:
        marked = run.join(clicks, on=["session", "item"], how="left").sort(
            "session", pl.col("first").fill_null(1), "rank"
        )
        rank = pl.int_range(1, pl.len() + 1).over("session").cast(run["rank"].dtype)
        return marked.with_columns(rank=rank).drop("first")

    return log, {name: looked(run) for name, run in runs.items()}


FAULTS: dict[str, Callable[..., Tables]] = {
    f.__name__: f for f in (late, selection, leave, lost_views, lost_below, exposure_error, peek)
}
