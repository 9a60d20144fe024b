"""Features as rows of numbers, one row for every user or item that counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats
from counterrank.core.errors import InputError, brief
from counterrank.data.ids import positions
from counterrank.data.schema import Table

VALUES = 100  # a text column may have; each becomes a column of its own


@dataclass(frozen=True)
class Encoded:
    """``numbers``: a row per id, ``names``: its columns; a text column has one per value.

    ``constant``: columns of the table that were left out, as they say the same of everyone.
    """

    numbers: Floats
    names: tuple[str, ...]
    constant: tuple[str, ...]


def encoded(table: Table, of: str, ids: pl.Series) -> Encoded:
    """The features of these ids, in their order; ``of`` is user or item."""
    frame = table.frame[_rows(table, of, ids)]
    names: list[str] = []
    columns: list[Floats] = []
    constant: list[str] = []
    for feature in frame.drop(of):
        if feature.n_unique() < 2:
            constant.append(feature.name)
        elif feature.dtype == pl.String:
            values = _values(feature, of, table.name)
            names += [f"{feature.name}={value}" for value in values]
            columns += [(feature == value).cast(pl.Float64).to_numpy() for value in values]
        else:
            names.append(feature.name)
            columns.append(feature.to_numpy())
    if not columns:
        raise InputError(
            f'"{table.name}" tells no {of} from another.',
            found=f"Every column is constant: {', '.join(constant[:12])}.",
            todo=f"Give a column in which {of}s differ, or leave the table out.",
        )
    return Encoded(np.column_stack(columns), tuple(names), tuple(constant))


def _rows(table: Table, of: str, ids: pl.Series) -> pl.Series:
    """The row of each id, or a message about those that have none."""
    plain = ids.cast(pl.String) if isinstance(ids.dtype, pl.Categorical) else ids
    place = positions(plain, table.frame[of])
    lost = np.flatnonzero(place < 0)
    if len(lost):
        raise InputError(
            f'"{table.name}" has no row for {len(lost):,} of {len(ids):,} {of}s that count.',
            found=f"The first is {brief(plain[int(lost[0])])}; the table begins with"
            f" {brief(table.frame[of][0])}.",
            todo=f"Give every {of} of the funnel and of the lists a row, or use rates.",
        )
    return pl.Series(place)


def _values(feature: pl.Series, of: str, table: str) -> list[str]:
    values = feature.unique().sort().to_list()
    if len(values) > VALUES:
        raise InputError(
            f'Column "{feature.name}" of "{table}" has too many values for a feature.',
            found=f"Found {len(values):,} for {len(feature):,} {of}s; at most {VALUES} are taken"
            f" (first: {brief(values[0])}).",
            todo="Put rare values together, or leave the column out.",
        )
    return values
