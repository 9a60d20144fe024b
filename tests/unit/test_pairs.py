"""Pairs of list and item: found and repeated as a plain dictionary says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterrank.core.errors import InputError
from counterrank.matching import hashjoin
from counterrank.matching.hashjoin import pair_keys, repeated_rows, sparse_join
from making import judgments, run, value

FEW = st.integers(-3, 3)
WIDE = st.integers(-(2**63), 2**63 - 1)
HUGE = st.integers(0, 2**64 - 1)


def rows(ids):
    """(list, id) rows of a few lists, in order of lists."""
    return st.lists(st.tuples(st.integers(0, 5), ids), min_size=1, max_size=60).map(
        lambda got: sorted(got, key=lambda pair: pair[0])
    )


def column(pairs_, kind):
    """The rows as arrays: how many each list has, and their ids."""
    return np.bincount([p[0] for p in pairs_], minlength=6), np.array([p[1] for p in pairs_], kind)


KINDS = [(FEW, np.int8), (FEW, np.int64), (WIDE, np.int64), (HUGE, np.uint64)]


@pytest.mark.parametrize(("ids", "kind"), KINDS)
def test_found_and_repeated_as_a_dictionary_says(ids, kind):
    @settings(max_examples=80, deadline=None)
    @given(rows(ids), rows(ids))
    def check(listed, judged):
        judged = list(dict.fromkeys(judged))
        key, known = pair_keys(column(listed, kind), column(judged, kind))
        both = [*listed, *judged]
        numbers = [*key.tolist(), *known.tolist()]
        assert len(set(both)) == len(set(numbers)) == len(set(zip(both, numbers, strict=True)))
        place = {pair: at for at, pair in enumerate(judged)}
        row, judgment = sparse_join(key, known)
        wanted = [(at, place[pair]) for at, pair in enumerate(listed) if pair in place]
        assert list(zip(row.tolist(), judgment.tolist(), strict=True)) == wanted
        length, _ = column(listed, kind)
        again = [at for at, pair in enumerate(listed) if pair in listed[:at]]
        assert sorted(repeated_rows(key, length).tolist()) == again

    check()


def test_repeats_of_lists_of_one_length():
    key = np.array([4, 1, 4, 9, 8, 7, 13, 12, 13], np.uint32)
    assert sorted(repeated_rows(key, np.array([3, 3, 3])).tolist()) == [2, 8]
    assert repeated_rows(key[3:6], np.array([3])).tolist() == []
    assert sorted(repeated_rows(key, np.array([4, 5])).tolist()) == [2, 8]


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
@pytest.mark.parametrize("lost", [0, 1, 2, 3])
def test_keys_that_share_a_slot_are_told_apart(monkeypatch, kind, lost):
    """With a factor of 0 every key falls into slot 0 of that table."""
    factors = tuple(0 if at < lost else f for at, f in enumerate(hashjoin.FACTORS))
    monkeypatch.setattr(hashjoin, "FACTORS", factors)
    rng = np.random.default_rng(1)
    judged = rng.permutation(4000)[:500].astype(kind)
    key = rng.integers(0, 4000, 3000).astype(kind)
    row, judgment = sparse_join(key, judged)
    assert np.array_equal(row, np.flatnonzero(np.isin(key, judged)))
    assert np.array_equal(judged[judgment], key[row])


def test_keys_take_32_bits_where_they_fit():
    length, ids = np.ones(4, int), np.array([0, 2**30 - 1, 5, 7])
    assert pair_keys((length, ids))[0].dtype == np.uint32
    assert pair_keys((length, ids * 2))[0].dtype == np.uint64
    assert pair_keys((length, ids * 2**33))[0].dtype == np.uint32  # renumbered


def test_nothing_judged_is_nothing_found():
    key, judged = pair_keys(
        (np.array([2]), np.array([3, 4])), (np.array([0]), np.array([], np.int64))
    )
    assert [len(x) for x in sparse_join(key, judged)] == [0, 0]


@pytest.mark.parametrize("ids", [["a", "b", "c"], [-5, 0, 2**62], [-(2**63), 0, 2**63 - 1]])
def test_whole_lists_of_such_ids(ids):
    truth = judgments({"u": {ids[2]: 1}, "v": {ids[0]: 1}})
    table = run({"u": ids, "v": ids[:2]})
    assert value(truth, table, "RR") == pytest.approx((1 / 3 + 1) / 2)
    with pytest.raises(InputError, match="more than once"):
        value(truth, run({"u": [*ids, ids[1]], "v": ids[:2]}), "RR")
    twice = pl.concat([truth, truth.tail(1)])
    with pytest.raises(InputError, match="judges an item more than once"):
        value(twice, table, "RR")


def test_factors_are_odd_and_differ():
    for width in (32, 64):
        used = [f >> (64 - width) | 1 for f in hashjoin.FACTORS]
        assert all(a != b for a, b in pairwise(used))
