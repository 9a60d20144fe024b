"""A stratum or a sample masks the hits: nothing is joined twice, and nothing changes by it."""

import numpy as np
import polars as pl
import pytest

from counterrank.data import schema
from counterrank.matching.hits import Hits, find_hits
from counterrank.matching.pool import Pool, make_pool
from counterrank.metrics import measure, values
from counterrank.simulate import judged_world

LABELS = ("nDCG@10", "AP@10", "Bpref@10", "RR@10", "Recall@10", "ERR@10", "InfAP@10", "P@10")


@pytest.fixture(scope="module")
def both() -> tuple[schema.Table, Pool, Hits]:
    world = judged_world(users=300)
    pool = make_pool(schema.judgments_schema(world.judgments).whole())
    run = schema.run_schema(world.runs["popular"], name="popular").whole()
    return run, pool, find_hits(run, pool, rows=500)[0]


def test_a_hit_knows_its_judgment(both: tuple[schema.Table, Pool, Hits]) -> None:
    run, pool, hits = both
    assert np.array_equal(hits.unit, pool.unit[hits.judgment])
    assert np.array_equal(hits.rating, pool.rating[hits.judgment])
    place = pl.col("score").rank("ordinal", descending=True).over("user").alias("place")
    listed = run.frame.with_columns(place)
    found = pl.DataFrame(
        {"user": pool.units.gather(hits.unit), "item": pool.items.gather(hits.judgment)}
    ).join(listed, on=["user", "item"], how="left", maintain_order="left")
    assert found["place"].to_list() == hits.rank.tolist()


def test_masked_judgments_are_those_of_a_smaller_table(
    both: tuple[schema.Table, Pool, Hits],
) -> None:
    run, pool, hits = both
    kept = np.random.default_rng(0).random(len(pool.rating)) < 0.3
    measures = [measure(label) for label in LABELS]
    masked = values(measures, hits.only(kept), pool.only(kept))
    fewer = pl.DataFrame(
        {"user": pool.units.gather(pool.unit), "item": pool.items, "rating": pool.rating}
    ).filter(pl.Series(kept))
    small = make_pool(schema.judgments_schema(fewer).whole())
    there = np.searchsorted(pool.units.to_numpy(), small.units.to_numpy())
    again = values(measures, find_hits(run, small)[0], small)
    assert len(there) < pool.n, "some users must have lost all their judgments"
    assert np.array_equal(masked[:, there], again)
    assert np.all(np.delete(masked, there, axis=1) == 0)
