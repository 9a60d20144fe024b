"""The propensity of each judgment: from popularity, from a column, or from a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints
from counterrank.blocks import places
from counterrank.checks import identifiers, no_missing, shares, some_rows
from counterrank.errors import InputError
from counterrank.hits import Pool
from counterrank.propensity import popularity
from counterrank.schema import Input, Roles, label
from counterrank.tables import opened

RULES = {"popularity": "paper", "published": "published"}


@dataclass(frozen=True, eq=False)
class Propensities:
    """``value`` of each judgment, NaN where unknown; ``item`` numbers the judgments' items.

    ``source`` says where they come from; ``alpha`` and ``xmin`` belong to a power law.
    """

    value: Floats | None
    item: Ints
    source: str
    alpha: float | None = None
    xmin: int | None = None
    missing: str = ""


def item_numbers(pool: Pool) -> tuple[pl.Series, Ints]:
    """The judged items, each once, and the number of each judgment's item among them."""
    names = pool.items.unique().sort()
    return names, places(pool.items, names)


def from_popularity(pool: Pool, word: str, counts: pl.DataFrame | None) -> Propensities:
    """By how much feedback each item got: in the judgments, or in ``counts`` (item, count)."""
    names, item = item_numbers(pool)
    known, count = names, np.bincount(item)
    if counts is not None:
        known, wanted = one_kind(counts["item"], names)
        at = places(wanted, known)
        unseen = wanted.filter(pl.Series(at < 0))
        known = pl.concat([known, unseen])
        count = np.append(counts["count"].to_numpy().astype(np.int64), np.zeros(len(unseen), int))
        names = wanted
    fitted = popularity(count, rule=RULES[word])
    value = fitted.value[places(names, known)][item]
    return Propensities(value, item, word, fitted.alpha, int(fitted.xmin))


def from_column(pool: Pool, column: str, table: str) -> Propensities:
    """A column of the judgments: a probability per row."""
    frame = shares(pool.more.select(column), column, table)
    return Propensities(frame[column].to_numpy(), item_numbers(pool)[1], f"column {column}")


def from_table(pool: Pool, given: pl.DataFrame, table: str) -> Propensities:
    """A table of item, propensity and perhaps user; what it does not have is unknown."""
    keys = [key for key in ("user", "item") if key in given.columns]
    if given.select(keys).is_duplicated().any():
        raise InputError(
            f'"{table}" gives more than one propensity for the same {" and ".join(keys)}.',
            todo="Keep one row for each.",
        )
    ids = {"user": pool.units.gather(pool.unit), "item": pool.items}
    own = {key: one_kind(ids[key], given[key]) for key in keys}
    left = pl.DataFrame({key: pair[0] for key, pair in own.items()})
    right = given.with_columns(pair[1].alias(key) for key, pair in own.items())
    found = left.join(right, on=keys, how="left", maintain_order="left")["propensity"]
    if found.null_count() == len(found):
        raise InputError(
            f'"{table}" has a propensity for none of the judgments.',
            todo=f"Check that both use the same ids ({', '.join(keys)}).",
        )
    value = found.fill_null(np.nan).to_numpy()
    return Propensities(value, item_numbers(pool)[1], f"table {table}")


def read_propensities(
    table: object, columns: Mapping[str, str] | None
) -> tuple[Input, pl.DataFrame]:
    """A table of propensities: item, propensity, perhaps user."""
    read, frame = _read(table, ("item", "propensity"), "the propensities", columns)
    return read, shares(frame, "propensity", read.name)


def read_feedback(table: object, columns: Mapping[str, str] | None) -> tuple[Input, pl.DataFrame]:
    """How much feedback each item got in a table with a row for each."""
    read, frame = _read(table, ("item",), "the feedback", columns)
    return read, frame.group_by("item").len("count").sort("item")


def _read(
    table: object, required: tuple[str, ...], name: str, columns: Mapping[str, str] | None
) -> tuple[Input, pl.DataFrame]:
    source = opened(table, trec=("user", "iteration", "item", "rating"), name=label(table, name))
    roles = Roles(source.name, required, ("user",), columns)
    frame = roles.renamed(source.read(roles.choose))
    some_rows(frame, source.name)
    ids = [key for key in ("user", "item") if key in frame.columns]
    for column in frame.columns:
        no_missing(frame, column, source.name)
    frame = identifiers(frame, ids, source.name)
    return Input(source.name, frame.height, source.sha256()), frame


def one_kind(a: pl.Series, b: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Ids of one type: integers where both are, otherwise text."""
    if a.dtype == b.dtype:
        return a, b
    kind = pl.Int64 if a.dtype.is_integer() and b.dtype.is_integer() else pl.String
    return a.cast(kind), b.cast(kind)
