"""Ids of users, items and sessions: their order, their hashes, whole numbers.

Ids are text or whole numbers. A table read from CSV has text where Parquet has numbers, so whatever
depends on an id (an order, a hash, a number) is the same for 5 and for "5".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.core.arrays import AnyInts, Ints, codes, renumber
from counterrank.core.counting import number_hashes, slices
from counterrank.core.parallel import map_threads, workers

Hashes = npt.NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15  # the step of splitmix64: odd, with well-mixed bits
NEAR = 1 << 25  # ids that span less than this, and not far more than their count, have a table


# order


def sort_key(ids: pl.Series) -> pl.Series:
    """What to sort ids by: text that is nothing but whole numbers sorts as those numbers would."""
    if ids.dtype != pl.String or not _is_whole(ids.head(1)):
        return ids
    return ids.cast(pl.Int128) if _is_whole(ids) else ids


def _is_whole(ids: pl.Series) -> bool:
    """Whether text is nothing but whole numbers."""
    numbers = ids.cast(pl.Int128, strict=False)
    return bool((numbers.cast(pl.String) == ids).fill_null(False).all())


def argsort_ids(ids: pl.Series) -> Ints:
    """The places of the ids in their order."""
    return sort_key(ids).arg_sort().to_numpy().astype(np.int64)


def sort_ids(ids: pl.Series) -> pl.Series:
    """The ids in their order."""
    return ids.gather(sort_key(ids).arg_sort())


# hashes


def hash_ids(ids: pl.Series) -> Hashes:
    """A fixed, evenly spread number for each id: what folds, samples and draws depend on.

    Neither the other ids nor the engine matter. Whole numbers are mixed by splitmix64, other text
    by its hash.
    """
    if ids.dtype == pl.String:
        whole = ids.cast(pl.Int64, strict=False)
        is_whole = (whole.cast(pl.String) == ids).fill_null(False).to_numpy()
        number = np.where(is_whole, whole.fill_null(0).to_numpy(), 0)
        mixed = mix64(number.astype(np.uint64) + np.uint64(GOLDEN))
        return np.where(is_whole, mixed, ids.hash(0).to_numpy())
    return mix64(
        ids.to_physical().to_numpy().astype(np.int64).astype(np.uint64) + np.uint64(GOLDEN)
    )


def mix64(x: Hashes) -> Hashes:
    """SplitMix64's finaliser, in place: 64 well-mixed bits of each number."""
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def partition_ids(ids: pl.Series, count: int) -> npt.NDArray[np.unsignedinteger]:
    """The partition of each id, below ``count``: equal ids share one, and partitions fill evenly.

    Cheaper than `hash_ids`, and unlike it, so that a sample of ids by their hash is spread over all
    partitions. Ids of several tables must be of one type.
    """
    if ids.dtype == pl.String:
        mixed = ids.hash(0).to_numpy()
    else:
        mixed = ids.to_physical().to_numpy().astype(np.uint64)
        mixed *= np.uint64(GOLDEN)
    mixed = mixed >> np.uint64(32)
    mixed *= np.uint64(count)
    mixed >>= np.uint64(32)
    small: type[np.unsignedinteger] = np.uint8 if count <= 1 << 8 else np.uint16
    return mixed.astype(small)


# types


def unify_ids(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Ids of several tables as one type: whole numbers where all are and 64 bits do, else text."""
    if len({ids.dtype for ids in columns}) == 1:
        return list(columns)
    whole = all(ids.dtype.is_integer() for ids in columns)
    wide = any(ids.dtype == pl.UInt64 and (ids >= 1 << 63).any() for ids in columns)
    kind: type[pl.DataType] = pl.Int64 if whole and not wide else pl.String
    return [ids.cast(kind) for ids in columns]


def unify_id_columns(frames: Sequence[pl.DataFrame], column: str) -> list[pl.DataFrame]:
    """Several tables whose column ``column`` has ids of one type."""
    columns = unify_ids([frame[column] for frame in frames])
    return [frame.with_columns(ids) for frame, ids in zip(frames, columns, strict=True)]


def as_categories(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with items of text as categories: `as_integers` then costs nothing."""
    text = frame.schema["item"] == pl.String
    return frame.with_columns(_categories(frame["item"])) if text else frame


def _categories(ids: pl.Series) -> pl.Series:
    """Text as categories; each distinct one is looked up once."""
    if len(ids) < NEAR >> 9:
        return ids.cast(pl.Categorical)
    code, names = number_text(ids)
    return names.cast(pl.Categorical).gather(code)


def as_plain(ids: pl.Series) -> pl.Series:
    """Ids as whole numbers or text, not as categories."""
    return ids.cast(pl.String) if isinstance(ids.dtype, pl.Categorical) else ids


# whole numbers


def as_integers(ids: pl.Series) -> AnyInts:
    """Ids as integers, equal where the ids are: themselves, or the codes of their categories.

    The codes hold in this process and this pass only: another may number the same text otherwise.
    """
    return as_codes(ids)[0].to_numpy()


def as_codes(ids: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Ids as integers, and ids among which all of them are; while these live, so do the codes."""
    if ids.dtype.is_integer():
        return ids, ids
    if ids.dtype == pl.String and len(ids) >= NEAR >> 9:
        code, few = number_text(ids)
        names = few.cast(pl.Categorical)
        return pl.Series(ids.name, names.to_physical().to_numpy()[code]), names
    names = ids.cast(pl.Categorical)
    return names.to_physical(), names


def number_text(ids: pl.Series) -> tuple[npt.NDArray[np.int32], pl.Series]:
    """The number of each id, in no order, and the distinct ids.

    One hash numbers them; another says of every row that this was no other id's.
    """
    code, row = number_hashes(ids.hash(0).to_numpy())
    names = ids.gather(row)
    known = names.hash(1).to_numpy()

    def same(rows: slice) -> bool:
        check = ids.slice(rows.start, rows.stop - rows.start).hash(1).to_numpy()
        return np.array_equal(known.take(code[rows]), check)

    if all(map_threads(same, slices(len(ids)), workers())):
        return code, names
    names = ids.unique()  # two ids have one hash
    return positions(ids, names).astype(np.int32), names


def positions(ids: pl.Series, known: pl.Series) -> Ints:
    """The position of each id among the known ones, which are distinct; -1: it is not there."""
    if ids.equals(known):
        return np.arange(len(ids))
    return row_positions(ids.alias("id").to_frame(), known.alias("id").to_frame())


def row_positions(rows: pl.DataFrame, known: pl.DataFrame) -> Ints:
    """The position of each row among the known ones, which are distinct; -1: it is not there."""
    place = rows.join(
        known.with_row_index(" place"),
        on=rows.columns,
        how="left",
        maintain_order="left",
        nulls_equal=True,
    )[" place"]
    return place.cast(pl.Int64).fill_null(-1).to_numpy()


def distinct_ids(columns: Sequence[pl.Series]) -> pl.Series:
    """Each id of these columns once, in no order: text, or integers of 64 bits."""
    first = columns[0]
    if not first.dtype.is_integer() or first.dtype == pl.UInt64:
        return as_plain(pl.concat([ids.unique() for ids in columns]).unique())
    stored = [ids.to_numpy() for ids in columns if len(ids)]
    if not stored:
        return first.clear().cast(pl.Int64)
    low, high = min(int(x.min()) for x in stored), max(int(x.max()) for x in stored)
    if not near(high - low, sum(map(len, stored))):
        return pl.concat([ids.unique().cast(pl.Int64) for ids in columns]).unique()
    there = np.zeros(high - low + 1, bool)  # a flag for each is quicker than a hash of each row
    for x in stored:
        there[x.astype(np.int64) - low] = True
    return pl.Series(first.name, np.flatnonzero(there) + low)


@dataclass(frozen=True)
class IdCodes:
    """Whole numbers from 0 for ids, the same in several tables.

    ``names`` are the ids by their number; all others share the number ``size``. ``number`` is a
    table of the numbers of ids from ``low``, with one entry for all others at either end. Where ids
    are too far apart for that, ``known`` are the ids in order, and ``number`` their numbers.
    """

    names: pl.Series
    low: int
    number: Ints
    known: AnyInts

    @classmethod
    def of(cls, columns: Sequence[pl.Series]) -> IdCodes:
        """Numbers for the ids of these columns, in their order."""
        return cls.among(sort_ids(distinct_ids(columns)))

    @classmethod
    def among(cls, names: pl.Series) -> IdCodes:
        """Numbers for ids that are distinct: their places."""
        size, none = len(names), np.empty(0, np.int64)
        if size == 0:
            return cls(names, 0, np.zeros(2, np.int64), none)
        ids = as_integers(names)
        low, high = int(ids.min()), int(ids.max())
        if not near(high - low, size) or low < -(1 << 62) or high >= 1 << 62:
            by = np.argsort(ids)
            return cls(names, 0, by, ids[by])
        number = np.full(high - low + 3, size)
        number[ids.astype(np.int64) - (low - 1)] = np.arange(size)
        return cls(names, low, number, none)

    @property
    def size(self) -> int:
        """How many ids have a number of their own."""
        return len(self.names)

    def codes(self, ids: pl.Series) -> Ints:
        """The number of each id."""
        return self.lookup(as_integers(ids))

    def lookup(self, ids: AnyInts) -> Ints:
        """The number of each id, given as `as_integers` has it."""
        if len(self.known):
            place = np.minimum(np.searchsorted(self.known, ids), self.size - 1)
            return np.where(self.known[place] == ids, self.number[place], self.size)
        place = ids.astype(np.int64)
        place -= self.low - 1
        return self.number.take(place, mode="clip")


@dataclass(frozen=True)
class TextRanks:
    """The places of ids in the descending order of their text."""

    codes: IdCodes
    rank: npt.NDArray[np.int32]

    @classmethod
    def of(cls, ids: pl.Series) -> TextRanks:
        """Those of the distinct ones."""
        codes = IdCodes.among(distinct_ids([ids]))
        by = codes.names.cast(pl.String).arg_sort(descending=True).to_numpy()
        rank = np.empty(len(by), np.int32)
        rank[by] = np.arange(len(by))
        return cls(codes, rank)

    def __call__(self, ids: pl.Series) -> AnyInts:
        """The place of each id."""
        return self.ranks(as_integers(ids))

    def ranks(self, ids: AnyInts) -> AnyInts:
        """The place of each id, given as `as_integers` has it."""
        place: AnyInts = self.rank[self.codes.lookup(ids)]
        return place


def near(span: int, count: int) -> bool:
    """Whether a table with an entry for each number of a span is worth its memory."""
    return span < min(NEAR, max(1 << 20, 64 * count))


def number_rows(rows: pl.DataFrame) -> tuple[Ints, pl.DataFrame]:
    """The number of each row among the distinct ones in their order, and these.

    So the order of rows changes nothing.
    """
    rows = pl.DataFrame([_narrow(sort_key(rows[name])).alias(name) for name in rows.columns])
    if rows.height and rows.width == 1 and rows.dtypes[0].is_integer():
        ids = rows.to_series().to_numpy()
        ids = ids if ids.dtype == np.uint64 else ids.astype(np.int64)
        low = ids.min()
        if int(ids.max()) - int(low) < 4 * rows.height + 1024:
            there, place = renumber((ids - low).astype(np.int64))
            return place, pl.DataFrame({rows.columns[0]: there.astype(ids.dtype) + low})
    known = rows.unique().sort(rows.columns)
    return row_positions(rows, known), known


def _narrow(ids: pl.Series) -> pl.Series:
    """Integers of 128 bits as 64-bit ones where they fit, else as text."""
    if ids.dtype != pl.Int128:
        return ids
    short = ids.cast(pl.Int64, strict=False)
    return ids.cast(pl.String) if short.null_count() else short


def code_rows(rows: pl.DataFrame) -> Ints:
    """Codes from 0 of the distinct rows; quicker than `number_rows`, but in no order."""
    code = np.zeros(rows.height, np.int64)
    for ids in rows if rows.height else ():
        numbers = as_integers(ids if ids.dtype.is_integer() else ids.cast(pl.String))
        each, width = codes(numbers, room=4 * rows.height + 1024)
        code = renumber(code * width + each)[1]
    return code
