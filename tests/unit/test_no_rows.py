"""A bucket may have no rows of some table: no list, no judgment, or neither."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from counterrank.data import schema
from counterrank.matching.hits import find_hits, map_lists
from counterrank.matching.pool import make_pool, repeated_pairs
from counterrank.metrics import measure, values
from making import judgments, run, scored

LABELS = ("nDCG@3", "AP", "ERR", "P(over=listed)@3", "ARP@3", "Judged", "Bpref", "InfAP", "F1@3")
TRUTH = {
    "text": judgments({"u": {"a": 3, "b": 1}, "v": {"a": 4}}),
    "numbers": judgments({1: {10: 3, 11: 1}, 2: {10: 4}}),
}
LISTS = {
    "text": {"rank": run({"u": ["b", "c", "a"]}), "score": scored({"u": [("b", 1), ("a", 1)]})},
    "numbers": {"rank": run({1: [11, 12, 10]}), "score": scored({1: [(11, 1.0), (10, 1.0)]})},
}


def parts(kind, order, *, judged, listed):
    truth, lists = TRUTH[kind], LISTS[kind][order]
    first = schema.judgments_schema(truth).part(truth if judged else truth.clear())
    second = schema.run_schema(lists).part(lists if listed else lists.clear())
    return first, second


@pytest.mark.parametrize("kind", ["text", "numbers"])
@pytest.mark.parametrize("order", ["rank", "score"])
@pytest.mark.parametrize("judged", [True, False])
@pytest.mark.parametrize("listed", [True, False])
def test_hits_of_nothing(kind, order, judged, listed):
    truth, lists = parts(kind, order, judged=judged, listed=listed)
    pool = make_pool(truth)
    assert repeated_pairs(truth, "pair twice").count == 0
    assert pool.n == (2 if judged else 0)
    assert pool.units.dtype == truth.frame.schema["user"]
    assert pool.top == (4 if judged else -np.inf)
    for ties in ("id", "expected", "file"):
        hits, seen = find_hits(lists, pool, ties=ties, limit=2)
        _, again = map_lists(lists, pool, lambda part: len(part.judgment), ties=ties)
        assert seen == again
        assert (seen.judged_users, seen.rows) == (pool.n, lists.frame.height)
        assert seen.covered_users == (judged and listed)
        assert seen.unjudged_users == (listed and not judged)
        assert len(hits.rank) == (0 if not (judged and listed) else 1 if order == "rank" else 2)
        measures = [measure(label) for label in LABELS if ties != "expected"]
        got = values(measures, hits, pool)
        assert got.shape == (len(measures), pool.n)
        assert not np.isnan(got).any()
        assert all(m.defined(pool).shape == (pool.n,) for m in measures)


def test_further_columns_of_no_judgments():
    truth = TRUTH["text"].with_columns(day=pl.Series([1, 2, 3]))
    judged = schema.judgments_schema(truth, own=["day"])
    pool = make_pool(judged.part(truth.clear()))
    assert pool.more.schema == {"day": pl.Int64}
    assert pool.only(np.zeros(0, bool)).n == 0
