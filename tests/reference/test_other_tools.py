"""Values other tools published for public inputs: LensKit, ir_measures (cwl-eval), RecPack."""

from __future__ import annotations

import csv

import numpy as np
import polars as pl
import pytest

import counterrank as cr


def test_lenskit_java(data):
    """Its nDCG does not discount rank 2; its reciprocal rank is the usual one."""
    folder = data / "lenskit-topn-reference"
    runs = pl.read_parquet(folder / "recs.parquet").rename({"algorithm": "system"})
    expected = pl.read_parquet(folder / "metrics.parquet")
    result = cr.evaluate(
        str(folder / "truth.parquet"), runs, test="none",
        measure=["nDCG(discount=jarvelin,ideal=all)", "RR(rel=0.5)"],
    )  # fmt: skip
    wide = result.by_unit().with_columns(pl.col("system", "measure").cast(pl.String))
    both = expected.rename({"algorithm": "system", "user": "unit"}).with_columns(
        pl.col("system").cast(pl.String), pl.col("unit").cast(wide.schema["unit"])
    )
    for column, label in (
        ("ndcg", "nDCG(discount=jarvelin,ideal=all)"),
        ("recip_rank", "RR(rel=0.5)"),
    ):
        ours = wide.filter(pl.col("measure") == label)
        joined = both.join(ours, on=["unit", "system"], how="inner")
        assert joined.height == expected.height == 100
        assert np.abs(joined["value"] - joined[column]).max() < 1e-12


def test_cwl_eval_rbp_and_friends(data):
    folder = data / "ir-measures-reference"
    rows = list(csv.DictReader((folder / "expected_cwl.csv").read_text().splitlines()))
    names = {}
    for row in rows:
        text = row["measure"]
        if text.startswith(("P@", "RR", "AP", "RBP(", "P(", "NDCG", "nDCG", "DCG")):
            names[text] = text
    assert any(name.startswith("RBP") for name in names)
    checked = 0
    for name in names:
        try:
            measure = cr.measure(name)
        except cr.UsageError:
            continue
        result = cr.evaluate(
            str(folder / "cwl.qrels"), {"run": str(folder / "cwl.run")}, measure=[measure],
            test="none",
        )  # fmt: skip
        ours = dict(zip(result.by_unit()["unit"], result.by_unit()["value"], strict=True))
        for row in rows:
            if row["measure"] == name:
                assert ours[row["query"]] == pytest.approx(float(row["value"]), abs=5.1e-5), row
                checked += 1
    assert checked >= 9
