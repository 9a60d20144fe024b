"""Off-policy estimates with known answers: exact means and variances over all outcomes of a log."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import polars as pl
import pytest

import counterrank as cr


@pytest.fixture(scope="module")
def worked(golden):
    return json.loads((golden / "analytic.json").read_text())


def every_outcome(setting):
    """A session for each outcome of the three rewards, and the probability of each."""
    view = [float(Fraction(v)) for v in setting["view_probability_by_rank"]]
    quality = [float(Fraction(q)) for q in setting["quality"]]
    rows, lists, chance = [], [], []
    for session, rewards in enumerate(product((0, 1), repeat=3)):
        hit = [q * view[r - 1] for q, r in zip(quality, setting["logged_rank"], strict=True)]
        chance.append(prod(p if c else 1 - p for c, p in zip(rewards, hit, strict=True)))
        for item in range(3):
            rows.append((session, item, setting["logged_rank"][item], rewards[item]))
            lists.append((session, item, setting["target_rank"][item]))
    log = pl.DataFrame(rows, schema=["session", "item", "rank", "click"], orient="row")
    run = pl.DataFrame(lists, schema=["session", "item", "rank"], orient="row")
    return log, run, np.array(chance), f"table({','.join(map(str, view))})"


@pytest.mark.parametrize(
    ("label", "entry"),
    [
        ("IPS", "ips_dcg"),
        ("DCG(discount=learnt,label=debiased)", "ips_dcg"),
        ("DCG(discount=learnt)", "raw_labels"),
        ("IPS(clip=2)", "clipped_at_2"),
        ("IPS(clip=1)", "clipped_at_1_equals_raw"),
    ],
)
def test_unbiased_dcg_and_its_clipped_forms(worked, label, entry):
    log, run, chance, model = every_outcome(worked["pbm_dcg"]["setting"])
    result = cr.estimate(log, {"new": run}, position_bias=model, estimator=[label])
    value = result.by_unit().filter(pl.col("estimator") == label).sort("unit")["value"].to_numpy()
    mean = chance @ value
    expected = worked["pbm_dcg"][entry]
    assert mean == pytest.approx(expected["mean"]["value"], abs=1e-12)
    assert chance @ (value - mean) ** 2 == pytest.approx(expected["variance"]["value"], abs=1e-12)
    bias = mean - worked["pbm_dcg"]["true_value"]["value"]
    assert bias == pytest.approx(expected["bias"]["value"], abs=1e-12)


def test_normalising_inverts_the_order(worked):
    table = worked["jeunen_table_1"]
    items = ("a1", "a2")
    rows = [
        (x, item, rank, table["quality"][x][item], 1.0)
        for x in ("x1", "x2")
        for rank, item in enumerate(items, 1)
    ]
    columns = ["session", "item", "rank", "quality", "exposure"]
    log = pl.DataFrame(rows, schema=columns, orient="row")
    runs = {
        name: pl.DataFrame({"session": ["x1", "x2"], "item": [item] * 2, "rank": [1, 1]})
        for name, item in (("R", "a1"), ("R_prime", "a2"))
    }
    result = cr.estimate(
        log,
        runs,
        reward="quality",
        position_bias="table(1)",
        estimator=[f"{kind}(discount=learnt)" for kind in ("DCG", "nDCG", "pnDCG")],
    )
    expected = table["normaliser_ideal_top_1"]["expected"]
    unit = {(r["system"], r["estimator"][:4].strip("("), r["unit"]): r["value"]
            for r in result.by_unit().iter_rows(named=True)}  # fmt: skip
    for name in runs:
        for x in ("x1", "x2"):
            assert unit[name, "DCG", x] == expected[name][f"dcg_{x}"]["value"]
            assert unit[name, "nDCG", x] == pytest.approx(expected[name][f"ndcg_{x}"]["value"])
        dcg, ndcg, post = (
            result.estimate(name, f"{kind}(discount=learnt)").value
            for kind in ("DCG", "nDCG", "pnDCG")
        )
        assert dcg == expected[name]["dcg_mean"]["value"]
        assert ndcg == pytest.approx(expected[name]["ndcg_mean"]["value"], abs=1e-12)
        assert post == pytest.approx(table["post_normalised"][name]["value"], abs=1e-12)
