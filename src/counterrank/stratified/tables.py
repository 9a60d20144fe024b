"""The doors for tables of propensities and of feedback."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import polars as pl

from counterrank.checks import identifiers, no_missing, shares
from counterrank.schema import QRELS, Door, Roles, Table, label
from counterrank.tables import opened


def propensities_door(table: object, columns: Mapping[str, str] | None) -> Door:
    """A table of propensities: item, propensity, perhaps user."""
    return _door(table, ("item", "propensity"), "the propensities", columns)


def feedback_door(table: object, columns: Mapping[str, str] | None) -> Door:
    """A table with a row for each piece of feedback: item, perhaps user."""
    return _door(table, ("item",), "the feedback", columns)


def has_users(door: Door) -> bool:
    """Whether a table says whose rows its rows are, so that it can be cut by user."""
    there = door.source.columns()
    return door.roles.column("user", there) in there


def _door(
    table: object, required: tuple[str, ...], name: str, columns: Mapping[str, str] | None
) -> Door:
    source = opened(table, trec=QRELS, name=label(table, name))
    roles = Roles(source.name, required, ("user",), columns)
    return Door(source, roles, partial(_checked, source.name), partial(Table, source))


def _checked(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    for column in frame.columns:
        no_missing(frame, column, name)
    frame = identifiers(frame, [key for key in ("user", "item") if key in frame.columns], name)
    return shares(frame, "propensity", name) if "propensity" in frame.columns else frame
