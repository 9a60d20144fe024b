"""Tables of events: views, clicks and purchases, one a row, read as a funnel of pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from counterrank.core.errors import InputError
from counterrank.data.checks import finite, identifiers, no_missing, real, texts, whole_ranks
from counterrank.data.schema import Roles, Schema, Table, refuse_played
from counterrank.data.sources import Source

VIEW, CLICK, PURCHASE = "view", "click", "purchase"
ROLES = ("user", "item", "event", "time")
FORMATS = (None, "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d")


def is_event_table(there: Sequence[str], columns: Mapping[str, str] | None) -> bool:
    """Whether a table has events in the place of clicks."""
    named = columns or {}
    return named.get("event", "event") in there and named.get("click", "click") not in there


def events_schema(
    source: Source,
    rewards: Sequence[str],
    columns: Mapping[str, str] | None,
    made: Callable[[pl.DataFrame], Table],
) -> Schema:
    """The schema of events: user, item, event, time; optionally rank, and what purchases brought.

    ``rewards`` that are not the conversion itself are columns of numbers, read at purchases.
    """
    own = tuple(reward for reward in rewards if reward != "conversion")
    asked = Roles(source.name, ROLES, ("rank",), columns, own)
    refuse_played(rewards, asked, source.columns())
    check = partial(_events, source.name, own)
    return Schema(source, asked, check, made)


def _events(name: str, rewards: Sequence[str], frame: pl.DataFrame) -> pl.DataFrame:
    frame = identifiers(frame, ("user", "item"), name)
    frame = texts(frame, ["event"], name)
    frame = frame.with_columns(pl.col("event").str.strip_chars().str.to_lowercase())
    frame = _times(frame, name)
    if "rank" in frame.columns:
        frame = whole_ranks(frame.with_columns(pl.col("rank").fill_null(1)), name)
    for reward in rewards:
        frame = real(frame.with_columns(pl.col(reward).fill_null(0)), reward, name)
    return frame


def _times(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Times as numbers, whose order is all that counts."""
    no_missing(frame, "time", name)
    if frame.schema["time"] == pl.String:
        found = _read_times(frame["time"].str.strip_chars())
        if found.null_count():
            row = int(found.is_null().arg_true()[0])
            raise InputError(
                f'Column "time" of "{name}" must hold times.',
                found=f"{found.null_count():,} of {frame.height:,} are neither numbers nor dates"
                f" (first: row {row + 1}, {frame['time'][row]!r}).",
                todo="Write them as numbers, or like 2024-05-01T12:30:00.",
            )
        frame = frame.with_columns(found.alias("time"))
    if frame.schema["time"] in (pl.Date, pl.Datetime):
        frame = frame.with_columns(pl.col("time").cast(pl.Datetime("us")).dt.timestamp("us"))
    return finite(frame, "time", name).with_columns(pl.col("time").cast(pl.Float64))


def _read_times(text: pl.Series) -> pl.Series:
    """Numbers as they are, dates as microseconds; what is neither is missing."""
    found = text.cast(pl.Float64, strict=False)
    for form in FORMATS if found.null_count() else ():
        try:
            read = text.str.to_datetime(form, strict=False, time_unit="us")
        except pl.exceptions.ComputeError:  # none of them is a date that Polars knows
            continue
        micro = read.dt.timestamp("us").cast(pl.Float64)
        found = found.zip_with(found.is_not_null(), micro)
    return found


@dataclass(frozen=True)
class EventCounts:
    """What became of the events: ``views``, ``clicks`` and ``purchases``, all of them.

    Of these were not used: ``views_again`` and ``clicks_again`` of a pair; ``clicks_unseen``, with
    no view of the pair before; ``purchases_unclicked``, with no such click before. ``others`` are
    events of other kinds. ``purchases_again`` of a pair are one conversion; a reward adds them up.
    """

    views: int = 0
    clicks: int = 0
    purchases: int = 0
    views_again: int = 0
    clicks_again: int = 0
    clicks_unseen: int = 0
    purchases_again: int = 0
    purchases_unclicked: int = 0
    others: int = 0

    def refuse(self, table: str) -> None:
        """Refuse events without views, or without clicks."""
        for kind, count in ((VIEW, self.views), (CLICK, self.clicks)):
            if not count:
                raise InputError(
                    f'"{table}" has no event "{kind}".',
                    found=f"It has {self.views:,} views, {self.clicks:,} clicks,"
                    f" {self.purchases:,} purchases and {self.others:,} events of other names.",
                    todo='A funnel of events needs "view" (the item was seen), "click" and'
                    ' "purchase": rename them where the table is made.',
                )


def funnel_of_events(
    events: pl.DataFrame, rewards: Sequence[str]
) -> tuple[pl.DataFrame, EventCounts]:
    """A row per pair that was viewed, and what became of the events; users must be whole.

    ``shown`` is 1. ``click``: the pair was clicked at or after its first view. ``conversion``: it
    was bought at or after the first such click; other rewards are summed over such purchases.
    ``rank`` is that of the first view.
    """
    pair, kind, time = ["user", "item"], pl.col("event"), pl.col("time")
    viewed = time.filter(kind == VIEW).min().over(pair)
    frame = events.with_columns(viewed=viewed)
    clicked = time.filter((kind == CLICK) & (time >= pl.col("viewed"))).min().over(pair)
    frame = frame.with_columns(clicked=clicked)
    bought = (kind == PURCHASE) & (time >= pl.col("clicked"))
    own = [reward for reward in rewards if reward != "conversion"]
    first = (kind == VIEW) & (time == pl.col("viewed"))
    ranks = [pl.col("rank").filter(first).min()] if "rank" in frame.columns else []
    funnel = (
        frame.filter(pl.col("viewed").is_not_null())
        .group_by(pair, maintain_order=True)
        .agg(
            *(pl.col(r).filter(bought).sum().cast(pl.Float64) for r in own),
            *ranks,
            click=pl.col("clicked").is_not_null().any().cast(pl.Float64),
            conversion=bought.fill_null(value=False).any().cast(pl.Float64),
        )
        .with_columns(shown=pl.lit(1.0))
    )
    total = {name: int((events["event"] == name).sum()) for name in (VIEW, CLICK, PURCHASE)}
    seen = int(frame.select(((kind == CLICK) & (time >= pl.col("viewed"))).sum()).item())
    counted = int(frame.select(bought.sum()).item())
    return funnel, EventCounts(
        views=total[VIEW],
        clicks=total[CLICK],
        purchases=total[PURCHASE],
        views_again=total[VIEW] - funnel.height,
        clicks_again=seen - int(funnel["click"].sum()),
        clicks_unseen=total[CLICK] - seen,
        purchases_again=counted - int(funnel["conversion"].sum()),
        purchases_unclicked=total[PURCHASE] - counted,
        others=events.height - sum(total.values()),
    )
