"""Rows brought together by counting passes, text numbered by hashes, lists sorted in place."""

import numpy as np
import polars as pl
import pytest

from counterrank.core import arrays, counting
from counterrank.core.arrays import falling_bits, order_lists, order_ranks, product_by_rows
from counterrank.core.counting import cut_groups, number_hashes
from counterrank.data import ids
from counterrank.data.blocks import Blocks
from counterrank.data.ids import TextRanks, number_text
from counterrank.matching import hashjoin
from counterrank.matching.hashjoin import dense_join

rng = np.random.default_rng(19)


@pytest.mark.parametrize(
    ("rows", "groups"), [(1, 1), (1_000, 70_000), (700_000, 3), (700_000, 9_000)]
)
def test_groups_are_stable_sorts(rows: int, groups: int) -> None:
    group = rng.integers(0, groups, rows).astype(np.int32)
    score = rng.random(rows)
    cut = cut_groups(
        groups, rows, lambda some: (group[some], [np.arange(some.start, some.stop), score[some]])
    )
    place, moved = cut.whole()
    by = np.argsort(group, kind="stable")
    assert np.array_equal(place, by)
    assert np.array_equal(moved, score[by])
    assert np.array_equal(cut.length, np.bincount(group, minlength=groups))


def test_rows_of_groups_go_where_their_ranks_say() -> None:
    group = np.repeat(np.arange(9_000, dtype=np.int32), rng.integers(1, 12, 9_000))
    rank = np.concatenate([rng.permutation(n) + 1 for n in np.bincount(group)]).astype(np.int8)
    mixed = rng.permutation(len(group))
    group, rank = group[mixed], rank[mixed]
    wanted = np.lexsort((rank, group))

    def gathered() -> np.ndarray:
        read = lambda some: (group[some], [np.arange(some.start, some.stop), rank[some]])  # noqa: E731
        return cut_groups(9_000, len(group), read, 1).whole()[0]

    assert np.array_equal(gathered(), wanted)
    rank[0] += 1  # now some block has a gap or a tie, and keeps the order it had
    place = gathered()
    assert np.array_equal(group[place], group[wanted])
    assert sorted(place) == list(range(len(group)))


def test_ranks_order_lists_only_where_they_are_all_of_them() -> None:
    lists = rng.integers(1, 6, 200)
    begin = np.repeat(np.cumsum(lists) - lists, lists)
    rank = np.concatenate([rng.permutation(n) + 1 for n in lists]).astype(np.uint64)
    assert np.array_equal(order_ranks(rank, begin), np.lexsort((rank, begin)))
    for begins, others in (
        ([0, 0, 2, 2], [1, 3, 1, 2]),  # the second list's place
        ([0, 0, 2, 2], [1, 1, 1, 2]),
        ([0, 0, 2, 2], [0, 1, 1, 2]),
        ([0, 0, 2, 2], [1, 2, 1, 3]),
        ([], []),
    ):
        assert order_ranks(np.array(others, np.int16), np.array(begins, np.int64)) is None


@pytest.mark.parametrize(("long", "other", "things"), [(1, 1, 4), (10, 7, 30), (3, 8, 1 << 40)])
def test_sessions_of_one_length_are_joined_in_a_grid(
    long: int, other: int, things: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = [rng.choice(min(things, 40), long + other, replace=True) for _ in range(300)]
    known = [np.unique(one) for one in lists]
    row = [rng.choice(k, min(long, len(k)), replace=False) for k in known]
    cell = [rng.choice(k, min(other, len(k)), replace=False) for k in known]
    full = [len(r) == long and len(c) == other for r, c in zip(row, cell, strict=True)]
    some = [place for place, there in enumerate(full) if there]
    assert some

    def side(rows: list[np.ndarray], width: int) -> tuple[np.ndarray, np.ndarray]:
        thing = np.concatenate([rows[place] for place in some]) * (things // 40 or 1)
        return np.repeat(np.arange(len(some)), width), thing

    both = side(row, long), side(cell, other)
    found = hashjoin._cells_in_grid(*both, things * 2)
    again = [(session.copy(), thing.copy()) for session, thing in both]
    again[0][1][-1] = again[0][1][0]
    if long > 1:
        again[0][0][-1] += 1  # not as long: no grid
        assert hashjoin._cells_in_grid(*again, things * 2) is None
        twice = both[0][0], np.where(np.arange(len(both[0][1])) == 1, both[0][1][0], both[0][1])
        assert hashjoin._cells_in_grid(twice, both[1], things * 2) is None
    monkeypatch.setattr(hashjoin, "_cells_in_grid", lambda *_: None)
    assert np.array_equal(found, dense_join(*both, things * 2).cell)
    assert (found >= 0).any()


@pytest.mark.parametrize(("rows", "distinct"), [(10, 3), (300_000, 200), (300_000, 150_000)])
def test_hashes_are_numbered(rows: int, distinct: int) -> None:
    hashes = rng.integers(0, 1 << 63, distinct, dtype=np.uint64)[rng.integers(0, distinct, rows)]
    hashes *= np.uint64(2)
    number, first = number_hashes(hashes)
    assert np.array_equal(hashes[first][number], hashes)
    assert len(first) == len(np.unique(hashes))


def test_hashes_that_share_slots_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "SLOTS", 2)
    hashes = rng.integers(0, 1 << 63, 50, dtype=np.uint64)[rng.integers(0, 50, 400)]
    number, first = number_hashes(hashes)
    assert np.array_equal(hashes[first][number], hashes)
    assert len(first) == len(np.unique(hashes))


def test_two_ids_of_one_hash_stay_two(monkeypatch: pytest.MonkeyPatch) -> None:
    text = pl.Series("id", ["a", "b", "a", "c"])

    def all_alike(hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(len(hashes), np.int32), np.zeros(1, np.int64)

    monkeypatch.setattr(ids, "number_hashes", all_alike)
    number, names = number_text(text)
    assert names.gather(number).to_list() == text.to_list()


@pytest.mark.parametrize("kind", [pl.Int32, pl.Int64, pl.UInt64, pl.String])
@pytest.mark.parametrize("ascending", [True, False])
def test_blocks_of_any_order(kind: type[pl.DataType], ascending: bool) -> None:
    wide = 1 if kind == pl.Int32 else 10**12  # too far apart for a table
    user = pl.Series("user", rng.integers(0, 40, 3_000) * wide).cast(kind)
    frame = pl.DataFrame(
        {
            "user": user,
            "item": pl.Series(np.arange(3_000)).cast(pl.String),
            "score": rng.random(3_000),
        }
    ).with_columns(empty=pl.lit(None), gaps=pl.Series([None, 1, 2] * 1_000))
    blocks = Blocks.of(frame, ascending=ascending)
    numbers = user.cast(pl.Int64)
    assert blocks.names.dtype == kind
    assert sorted(blocks.names.cast(pl.Int64)) == sorted(set(numbers))
    if ascending:
        assert blocks.names.cast(pl.Int64).is_sorted()
    assert blocks.frame.columns == ["row", *frame.columns]
    assert blocks.frame.drop("row").equals(frame[blocks.frame["row"].to_numpy()])
    whole = np.repeat(np.arange(len(blocks.start)), blocks.length)
    assert blocks.names.gather(whole).equals(blocks.frame["user"])
    assert np.all((np.diff(blocks.frame["row"].to_numpy().astype(int)) > 0) | (np.diff(whole) > 0))


@pytest.mark.parametrize("kind", [pl.Int32, pl.Int64, pl.UInt64, pl.String])
@pytest.mark.parametrize("ascending", [True, False])
def test_blocks_one_at_a_time_are_those_of_the_whole(
    kind: type[pl.DataType], ascending: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "BLOCK", 256)
    number = rng.integers(0, 40, 3_000)
    number += 100 * (number > 20)  # whole blocks of a table by number have no unit
    user = pl.Series("user", number * (10**12 if kind == pl.Int64 else 1)).cast(kind)
    item = pl.Series("item", np.arange(3_000))
    frame = pl.DataFrame([user, item, pl.Series("gaps", [None, 1.5, 2] * 1_000)])
    for table in (frame, frame.drop("gaps")):
        whole = Blocks.of(table, ascending=ascending)
        some = Blocks.of(table, ascending=ascending, whole=False)
        assert some.names.equals(whole.names)
        assert np.array_equal(some.start, whole.start)
        assert np.array_equal(some.length, whole.length)
        cuts = list(some.cuts())
        assert len(cuts) > 2
        parts = [some.rows(*cut) for cut in cuts]
        assert pl.concat(parts).equals(whole.frame.drop("row", "user"))
        for place in (0, 1_234, 2_999):
            assert some.caller_row(place) == whole.caller_row(place)


@pytest.mark.parametrize("length", [[7] * 40, [0, 1, 300, 5, 5, 2, 0, 299], [1]])
@pytest.mark.parametrize("width", [1, 3, 40, 64])
def test_lists_are_ordered_stably(length: list[int], width: int) -> None:
    lists = np.array(length)
    key = rng.integers(0, 1 << (width - 1), lists.sum(), dtype=np.uint64, endpoint=True)
    by = np.lexsort((key, np.repeat(np.arange(len(lists)), lists)))
    assert np.array_equal(order_lists(key, lists), by)


def test_bits_that_do_not_fit_are_not_forgotten() -> None:
    key = np.array([1 << 63, 3, 2, 1, 0], np.uint64)
    assert order_lists(key, np.array([5])).tolist() == [4, 3, 2, 1, 0]


def test_bits_fall_as_numbers_rise() -> None:
    score = np.array([-np.finfo(float).max, -2.5, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1e300])
    bits = falling_bits(score)
    assert np.all((bits[1:] < bits[:-1]) == (score[1:] > score[:-1]))
    assert bits[3] == bits[4]
    whole = np.array([-(1 << 63), -1, 0, 5, (1 << 63) - 1])
    assert np.all(np.diff(falling_bits(whole).astype(object)) < 0)


def test_text_ranks_fall_with_the_text() -> None:
    items = pl.Series("item", [9, 10, 100, 2, 10])
    rank = TextRanks.of(items)(items)
    assert [x for _, x in sorted(zip(rank.tolist(), items.to_list(), strict=True))] == [
        9,
        2,
        100,
        10,
        10,
    ]


@pytest.mark.parametrize("alone", [1, 21 * 16, 1 << 18])
def test_products_in_small_steps(alone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "ALONE", alone)
    x, y = rng.random((300, 7)), rng.random((300, 3))
    assert product_by_rows(x, y) == pytest.approx(x.T @ y, rel=1e-13)
