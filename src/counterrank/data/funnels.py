"""Schemas of funnels: what was shown, who clicked what, and what came of the click."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from counterrank.core.errors import InputError
from counterrank.data.checks import (
    identifiers,
    not_negative,
    real,
    refuse_rows,
    whole_ranks,
    zero_or_one,
)
from counterrank.data.events import events_schema, is_event_table
from counterrank.data.schema import Roles, Schema, Table, label, refuse_certain, refuse_played
from counterrank.data.sources import open_source

CONVERSION = "conversion"


@dataclass(frozen=True)
class Funnel(Table):
    """Clicks and conversions, through their schema; ``rewards`` are what a click may bring."""

    rewards: tuple[str, ...] = ()


def prediction(reward: str, rewards: Sequence[str]) -> str:
    """The column that predicts a reward: ``cvr`` for the first, ``cvr_NAME`` for another."""
    return "cvr" if reward == rewards[0] else f"cvr_{reward}"


def funnel_schema(
    table: object, *, rewards: Sequence[str] = (), columns: Mapping[str, str] | None = None
) -> Schema:
    """The schema of funnels: user, item, click, conversion; optionally predicted ctr and cvr.

    ``rewards`` are columns that take the place of conversion, such as spend. They say something
    only where there was a click; without one they may be missing and must not be above 0.
    ``shown`` (0 or 1) says what users saw, ``exposure`` how likely that was, ``rank`` where it
    stood. A table of events (user, item, event, time) is a funnel as well.
    """
    source = open_source(table, trec=(), name=label(table, "the funnel"))
    rewards = tuple(dict.fromkeys(rewards)) or (CONVERSION,)
    if is_event_table(source.columns(), columns):
        return events_schema(source, rewards, columns, partial(Funnel, source, rewards=rewards))
    roles = ("user", "item", "click", *(r for r in rewards if r == CONVERSION))
    own = tuple(r for r in rewards if r != CONVERSION)
    own += tuple(c for r in rewards[1:] if (c := prediction(r, rewards)) in source.columns())
    optional = ("ctr", "cvr", "shown", "exposure", "rank")
    asked = Roles(source.name, roles, optional, columns, own)
    refuse_played(rewards, asked, source.columns(), also=(CONVERSION,))
    return Schema(
        source,
        asked,
        partial(_clicked, source.name, rewards),
        partial(Funnel, source, rewards=rewards),
        partial(refuse_certain, "ctr"),
    )


def _clicked(name: str, rewards: Sequence[str], frame: pl.DataFrame) -> pl.DataFrame:
    frame = identifiers(frame, ("user", "item"), name)
    frame = zero_or_one(frame, "click", name)
    if "shown" in frame.columns:
        frame = zero_or_one(frame, "shown", name)
        odd = (frame["click"] == 1) & (frame["shown"] == 0)
        refuse_rows(frame, "shown", odd, name, "click unseen", {"user": "user", "item": "item"})
    elif "exposure" in frame.columns:
        raise InputError(
            f'"{name}" has a column "exposure" and none that says what was shown.',
            todo="Give a column shown of 0 and 1 (--columns shown=NAME), or leave exposure out.",
        )
    if "rank" in frame.columns:
        if frame.schema["rank"].is_numeric():  # of what was not shown
            frame = frame.with_columns(pl.col("rank").fill_null(1))
        frame = whole_ranks(frame, name)
    for reward in rewards:
        frame = real(_nothing_without_click(frame, reward), reward, name)
        odd = (frame["click"] == 0) & (frame[reward] != 0)
        facts = {"user": "user", "item": "item", "value": reward}
        refuse_rows(frame, reward, odd, name, "reward without click", facts)
    return _predicted(frame, rewards, name)


def predictions_schema(
    table: object, *, rewards: Sequence[str], columns: Mapping[str, str] | None = None
) -> Schema:
    """The schema of predicted ctr, cvr, exposure or some of them, for pairs of user and item."""
    source = open_source(table, trec=(), name=label(table, "the predictions"))
    there = source.columns()
    own = tuple(c for r in rewards[1:] if (c := prediction(r, rewards)) in there)
    asked = Roles(source.name, ("user", "item"), ("ctr", "cvr", "exposure"), columns, own)
    return Schema(
        source,
        asked,
        partial(_foretold, source.name, tuple(rewards), tuple(there), own),
        partial(Table, source),
        partial(refuse_certain, "ctr"),
    )


def _foretold(
    name: str, rewards: Sequence[str], there: Sequence[str], own: Sequence[str], frame: pl.DataFrame
) -> pl.DataFrame:
    if not {"ctr", "cvr", "exposure", *own} & set(frame.columns):
        raise InputError(
            f'"{name}" predicts nothing.',
            found=f"Its columns are: {', '.join(there[:12])}.",
            todo="Give a column ctr, cvr, or both (--columns ctr=NAME).",
        )
    return _predicted(identifiers(frame, ("user", "item"), name), rewards, name)


def _nothing_without_click(frame: pl.DataFrame, reward: str) -> pl.DataFrame:
    """A conversion that is missing where there was no click is none."""
    kind = frame.schema[reward]
    if not (kind.is_numeric() or kind in (pl.String, pl.Boolean, pl.Null)):  # as will be said
        return frame
    lost = pl.col(reward).is_null()
    if kind.is_float():
        lost |= pl.col(reward).is_nan()
    none = pl.lit("0" if kind == pl.String else 0).cast(kind if kind != pl.Null else pl.Float64)
    return frame.with_columns(
        pl.when((pl.col("click") == 0) & lost).then(none).otherwise(pl.col(reward)).alias(reward)
    )


def _predicted(frame: pl.DataFrame, rewards: Sequence[str], table: str) -> pl.DataFrame:
    """Predictions are numbers; what was clicked or shown had some chance of it."""
    for column in [c for r in rewards if (c := prediction(r, rewards)) in frame.columns]:
        frame = real(frame, column, table)
    for column, event in (("ctr", "click"), ("exposure", "shown")):
        if column not in frame.columns:
            continue
        frame = not_negative(frame, column, table)
        if event in frame.columns:
            odd = (frame[event] == 1) & (frame[column] == 0)
            refuse_rows(frame, column, odd, table, f"{event} without chance", {})
    return frame
