"""Tables of a feed: the log with all that goes wrong in writing it, runs, lists of loggers."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl

from worlds.rankers import mixed_chances
from worlds.readers import curve, read, rewards
from worlds.visits import Visits

START = datetime(2024, 1, 1)


def log_frame(
    visits: Visits, rng: np.random.Generator
) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """The log, which sessions are in it, and the clicks of all by slot of the pool.

    Lists are drawn, read and rewarded; then purchases come late, views get lost, and sessions
    without a click or with one that led away are left out, as the feed says.
    """
    feed, depth = visits.feed, np.arange(visits.feed.ranks) / max(visits.feed.ranks - 1, 1)
    slots = visits.slots("logged", rng)
    seen, clicked = read(feed, curve(feed)[visits.device], visits.chances(slots), rng)
    came = rewards(feed, clicked, visits.gains(slots), rng)
    hidden = visits.pool(feed.catalogue.hidden, slots) > 0
    slow = np.where(hidden, feed.late_hidden, 1.0)
    wait = rng.exponential(size=clicked.shape) * feed.late * slow
    absent = visits.time[:, None] + wait >= feed.days
    came["profit"] = np.where(absent, -feed.cost * clicked, came["profit"])
    came["purchase"] = np.where(absent, 0.0, came["purchase"])
    lost = rng.random(seen.shape) < feed.lost_views + feed.lost_below * depth
    seen &= clicked | ~lost
    kept = clicked.any(axis=1) | (rng.random(len(seen)) >= feed.selection)
    kept &= ~(clicked & hidden).any(axis=1) | (rng.random(len(seen)) >= feed.leave)
    kept[0] = True  # a log has rows
    columns = {**_sessions(visits), **came, **_chances(visits, slots)}
    if feed.views:
        columns["viewed"] = seen.astype(int)
    by_slot = np.zeros((len(slots), feed.pool), bool)
    np.put_along_axis(by_slot, slots, clicked, axis=1)
    return _frame(visits, slots, columns, kept), kept, by_slot


def _sessions(visits: Visits) -> dict[str, np.ndarray]:
    """What the log says of a session, without what it hides."""
    stamps = np.datetime64(START, "us") + (visits.time * 86_400e6).astype("timedelta64[us]")
    columns = {
        "user": visits.user,
        "user_kind": visits.kind,
        "page": visits.page,
        "device": visits.device,
        "day": visits.day,
        "timestamp": stamps,
    }
    if visits.feed.loggers > 1:
        columns["policy"] = visits.policy
    return {name: v[:, None] for name, v in columns.items() if name not in visits.feed.hide}


def _chances(visits: Visits, slots: np.ndarray) -> dict[str, np.ndarray]:
    r"""The propensities of a stochastic logger, to someone who does not know the intent.

    ``propensity`` is marginal, the chance of the item at this rank over all lists above it;
    ``conditional_propensity`` is given the items above; ``exposure`` :math:`= \sum_k p_{ik} c_k`,
    times 1 -/+ ``exposure_error`` for the hidden and other kinds.
    """
    feed = visits.feed
    if feed.logger != "stochastic":
        return {}
    marginal, conditional = np.empty(slots.shape), np.empty(slots.shape)
    exposure = np.empty(slots.shape)
    for number, (each, table) in enumerate(
        zip(feed.every_logger, feed.logger_chances, strict=True)
    ):
        mine = visits.policy == number
        chances = np.take_along_axis(visits.at(table)[mine], slots[mine][..., None], axis=1)
        marginal[mine] = np.diagonal(chances, axis1=1, axis2=2)
        exposure[mine] = chances @ feed.average_curve
        by_intent = np.stack(
            [visits.at(each.weights[:, :, :, :, h : h + 1]) for h in range(each.weights.shape[4])]
        )
        conditional[mine] = mixed_chances(by_intent[:, mine], slots[mine])
    wrong = feed.exposure_error * (1 - 2 * visits.pool(feed.catalogue.hidden, slots))
    return {
        "propensity": marginal,
        "conditional_propensity": conditional,
        "exposure": np.minimum(exposure * (1 + wrong), 1),
    }


def _frame(
    visits: Visits, slots: np.ndarray, columns: dict[str, np.ndarray], kept: np.ndarray
) -> pl.DataFrame:
    """Rows of lists: session, item, rank and more columns, each [session, rank or 1]."""
    n, k = slots.shape
    every = {
        "session": np.arange(n)[:, None],
        "item": visits.pool(visits.feed.catalogue.pool, slots),
        "rank": np.arange(1, k + 1)[None],
        **columns,
    }
    return pl.DataFrame(
        {name: np.broadcast_to(v, (n, k))[kept].ravel() for name, v in every.items()}
    )


def learned(visits: Visits, kept: np.ndarray, clicked: np.ndarray) -> np.ndarray:
    """Clicks of the log on each slot by kind of user and page, [a, p, slot], standardised."""
    found = np.zeros(visits.feed.catalogue.appeal.shape)
    np.add.at(found, (visits.kind[kept], visits.page[kept]), clicked[kept])
    centred = found - found.mean(axis=-1, keepdims=True)
    return centred / (found.std(axis=-1, keepdims=True) + 1e-12)


def run_frame(
    visits: Visits,
    system: str,
    kept: np.ndarray,
    clicked: np.ndarray,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """The lists of a candidate in the sessions of the log.

    In a share ``peek`` of them what was clicked stands first: the replay had the outcome among its
    features.
    """
    slots = visits.slots(system, rng)
    if visits.feed.peek:
        known = clicked & (rng.random((len(slots), 1)) < visits.feed.peek)
        first = np.take_along_axis(known, slots, axis=1)
        slots = np.take_along_axis(slots, np.argsort(~first, axis=1, kind="stable"), axis=1)
    return _frame(visits, slots, {}, kept)


def logger_frames(visits: Visits, kept: np.ndarray) -> dict[str, pl.DataFrame]:
    """What each of several loggers would show in every session: lists, or exposures of a pool."""
    feed, found = visits.feed, {}
    everything = np.broadcast_to(np.arange(feed.pool), (len(kept), feed.pool))
    for number, each in enumerate(feed.every_logger):
        if feed.logger == "deterministic":
            slots = visits.logger_slots(each, np.random.default_rng(0))
            found[str(number)] = _frame(visits, slots, {}, kept)
        else:
            exposure = visits.at(feed.logger_chances[number]) @ feed.average_curve
            found[str(number)] = _frame(visits, everything, {"exposure": exposure}, kept).drop(
                "rank"
            )
    return found
