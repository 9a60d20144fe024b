"""``evaluate`` and what builds on it by way of the disk: the same as in memory."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.engine import Local
from cutting import tied, uneven

FEW = ["nDCG@5", "pnDCG@3", "ERR@5", "AP(mean=geometric)@5"]


@pytest.mark.parametrize("partitions", [1, 5])
@pytest.mark.parametrize("ties", ["id", "file"])
def test_evaluate(partitions, ties, tmp_path):
    truth, runs = uneven(1)
    runs = tied(runs)
    truth.write_parquet(tmp_path / "truth.parquet")
    for name, table in runs.items():
        table.write_csv(tmp_path / f"{name}.csv")
    tables = tmp_path / "truth.parquet", [tmp_path / f"{name}.csv" for name in runs]
    options = {"measure": FEW, "ties": ties, "missing": "skip", "draws": 200}
    whole = cr.evaluate(*tables, **options)
    parts = cr.evaluate(*tables, **options, engine=Local(partitions=partitions))
    told, expected = parts.to_dict(), whole.to_dict()
    assert told["protocol"].pop("partitions") == partitions
    assert expected["protocol"].pop("partitions") == 1
    assert told["provenance"]["options"].pop("engine") == "local"
    assert str(told) == str(expected)
    assert parts.by_unit().equals(whole.by_unit())


def test_a_table_of_systems_and_a_column_by_another_name():
    truth, runs = uneven(2)
    table = pl.concat(t.with_columns(system=pl.lit(n)) for n, t in runs.items())
    table = table.rename({"user": "who"})
    options = {"measure": FEW, "columns": {"user": "who"}, "draws": 200}
    whole = cr.evaluate(truth, table, **options)
    parts = cr.evaluate(truth, table, **options, engine=Local(partitions=4))
    assert parts.by_unit().equals(whole.by_unit())
    assert str(parts.comparisons) == str(whole.comparisons)
    with pytest.raises(cr.InputError, match="No table has"):
        cr.evaluate(truth, runs, columns={"user": "whom"}, engine=Local(partitions=2))


def test_repeated_items_are_counted_over_all_buckets():
    truth, runs = uneven(3)
    twice = pl.concat([runs["a"], runs["a"].with_columns(rank=pl.col("rank") + 12)])
    with pytest.raises(cr.InputError) as whole:
        cr.evaluate(truth, {"a": twice})
    with pytest.raises(cr.InputError) as parts:
        cr.evaluate(truth, {"a": twice}, engine=Local(partitions=6))
    assert parts.value.wrong == whole.value.wrong
    assert parts.value.found.split(" such")[0] == whole.value.found.split(" such")[0]


def test_moments_where_values_do_not_fit():
    truth, runs = uneven(4)
    engine = Local(partitions=3, inference="moments")
    sums = cr.evaluate(truth, runs, measure=FEW, engine=engine, draws=500)
    whole = cr.evaluate(truth, runs, measure=FEW)
    for a, b in zip(sums.estimates, whole.estimates, strict=True):
        assert (a.value, a.se) == pytest.approx((b.value, b.se), abs=1e-12)
    assert sums.comparisons[0].draws == 512  # the next power of two
    assert sums.to_dict()["protocol"]["inference"]["inference"] == "moments"


@pytest.mark.parametrize("kind", ["power", "agreement", "robustness"])
def test_assess(kind):
    truth, runs = uneven(5)
    ask = {"power": cr.assess_power, "agreement": cr.assess_agreement,
           "robustness": cr.assess_robustness}[kind]  # fmt: skip
    few = {"samples": 3} if kind == "robustness" else {"draws": 200, "resamples": 20}
    whole = ask(truth, runs, measure=["nDCG@5", "RR@5", "pnDCG@3"][: 2 + (kind == "power")], **few)
    for engine in (Local(partitions=4), Local(partitions=4, inference="moments")):
        parts = ask(truth, runs, measure=["nDCG@5", "RR@5", "pnDCG@3"][: 2 + (kind == "power")],
                    engine=engine, **few)  # fmt: skip
        assert str(parts.estimates) == str(whole.estimates)
        assert str(parts.tables) == str(whole.tables)
        assert str(parts.diagnostics) == str(whole.diagnostics)
        assert parts.by_unit().equals(whole.by_unit())


def test_one_table_of_runs_may_be_a_frame():
    truth, runs = uneven(6)
    table = pl.concat(t.with_columns(system=pl.lit(n)) for n, t in runs.items())
    few = {"measure": ["nDCG@5"], "draws": 100, "resamples": 20}
    assert str(cr.assess_power(truth, table, **few).estimates) == str(
        cr.assess_power(truth, runs, **few).estimates
    )
    assert np.isfinite(cr.assess_agreement(truth, table, **few).estimates[0].value)
