"""Ranks from scores, tie rules, and the extremes of bucket shapes."""

from __future__ import annotations

from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterrank as cr
from counterrank.core import arrays
from counterrank.core.arrays import products_before, ranges, sort_order
from making import grid, judgments, run, scored, value, values


def order_of(pairs, **policies):
    """The order in which items are ranked, read off the reciprocal rank of each alone."""
    table = scored({"u": pairs})
    ranks = {
        item: round(1 / value(judgments({"u": {item: 1}}), table, "RR", **policies))
        for item, _ in pairs
    }
    return sorted(ranks, key=ranks.get)


def test_ties_go_by_id_descending_in_bytes():
    items = ["a", "B", "10", "9", "é", "z", "日本", "aa"]
    got = order_of([(i, 1) for i in items])
    assert got == sorted(items, key=lambda i: i.encode(), reverse=True)


def test_integer_ids_tie_as_their_digits():
    items = [10, 9, 100, -5, 5]
    got = order_of([(i, 1) for i in items])
    assert got == sorted(items, key=lambda i: str(i).encode(), reverse=True)


def test_scores_in_64_or_32_bits():
    near = [("a", 0.1 + 0.2), ("b", 0.3)]
    assert order_of(near) == ["a", "b"]
    assert order_of(near, ties="id32") == ["b", "a"]


def test_file_order():
    pairs = [("m", 1), ("z", 1), ("a", 1), ("x", 2)]
    assert order_of(pairs, ties="file") == ["x", "m", "z", "a"]
    assert order_of(pairs) == ["x", "z", "m", "a"]


def test_minus_zero_is_zero():
    assert order_of([("a", 0.0), ("b", -0.0)]) == ["b", "a"]
    assert order_of([("a", -0.0), ("b", 0.0), ("c", -1)]) == ["b", "a", "c"]


def test_ranks_with_gaps_stand_as_given():
    truth = judgments({"u": {"a": 1, "b": 1}})
    table = pl.DataFrame({"user": ["u", "u"], "item": ["b", "a"], "rank": [7, 3]})
    assert value(truth, table, "RR") == pytest.approx(1 / 3)
    assert value(truth, table, "Recall@5") == 0.5
    assert value(truth, table, "DCG") == pytest.approx(1 / 2 + 1 / 3)


def test_duplicates_keep_the_best_place():
    truth = judgments({"u": {"a": 1, "b": 1}})
    by_score = scored({"u": [("a", 1), ("x", 5), ("a", 4), ("x", 2), ("b", 3)]})
    assert value(truth, by_score, "AP", duplicates="first") == pytest.approx((1 / 2 + 2 / 3) / 2)
    by_rank = pl.DataFrame({"user": ["u"] * 4, "item": ["x", "a", "x", "b"], "rank": [1, 2, 3, 4]})
    assert value(truth, by_rank, "AP", duplicates="first") == pytest.approx((1 / 2 + 2 / 4) / 2)
    same_rank = pl.DataFrame({"user": ["u"] * 2, "item": ["a", "a"], "rank": [1, 1]})
    assert value(truth, same_rank, "RR", duplicates="first") == 1.0


def test_one_long_list_and_many_short_ones():
    rng = np.random.default_rng(0)
    long = pl.DataFrame(
        {"user": 0, "item": rng.permutation(400_000), "score": np.arange(400_000.0)}
    )
    short = pl.DataFrame(
        {"user": np.arange(1, 150_001), "item": rng.integers(0, 9, 150_000), "score": 1.0}
    )
    table = pl.concat([short, long], how="vertical_relaxed").sample(
        fraction=1, shuffle=True, seed=1
    )
    truth = pl.DataFrame(
        {"user": [0, 7, 150_000], "item": [long["item"][399_998], 3, 5], "rating": 1}
    )
    got = values(truth, table, "RR")
    own = dict(zip(short["user"], short["item"], strict=True))
    assert got == {0: 0.5, 7: float(own[7] == 3), 150_000: float(own[150_000] == 5)}


@pytest.mark.parametrize("spread", [1, 2**20, 2**40, 2**52])
def test_sparse_ids_find_the_same_hits(spread):
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(500), 40)
    item = np.concatenate([rng.choice(2000, 40, replace=False) for _ in range(500)])
    table = pl.DataFrame(
        {"user": user, "item": item * spread - 3, "rank": np.tile(np.arange(1, 41), 500)}
    )
    truth = table.filter(pl.col("rank") % 7 == 0).select("user", "item", rating=pl.lit(1))
    assert set(values(truth, table, "RR").values()) == {1 / 7}
    assert set(values(truth, table, "Recall@40").values()) == {1.0}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), min_size=1))
def test_sort_order_is_lexicographic_and_stable(pairs):
    major, minor = (np.array(x, np.int64) for x in zip(*pairs, strict=True))
    assert sort_order(major, minor).tolist() == sorted(range(len(pairs)), key=lambda i: pairs[i])
    small = sort_order(major % 5, minor % 5).tolist()
    assert small == sorted(range(len(pairs)), key=lambda i: (pairs[i][0] % 5, pairs[i][1] % 5))


def test_ranges():
    assert ranges(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]


def test_users_split_over_files(tmp_path):
    table = run({"u": ["a", "b", "c", "d"], "v": ["c", "a"]})
    for n, part in enumerate((table[[0, 5]], table[[2, 4]], table[[3, 1]])):
        part.write_parquet(tmp_path / f"{n}.parquet")
    truth = judgments({"u": {"c": 1}, "v": {"a": 2}})
    result = cr.evaluate(truth, {"r": str(tmp_path)}, measure=["RR"], test="none")
    assert grid(result)[0, 0].tolist() == [1 / 3, 1 / 2]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=20), st.sampled_from([0, 3, 256]))
def test_products_before(length, long):
    """Turn by turn, or long groups by themselves: the product of a group's earlier entries."""
    x = np.linspace(0.1, 0.9, sum(length))
    with mock.patch.object(arrays, "LONG", long):
        got = products_before(np.array(length, np.int64), x)
    groups = np.split(x, np.cumsum(length)[:-1]) if length else []
    expected = [np.prod(group[:n]) for group in groups for n in range(len(group))]
    assert got == pytest.approx(np.array(expected, float))
