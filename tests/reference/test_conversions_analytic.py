"""Conversions with known answers: exact means and variances over all outcomes of a small funnel."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.conversions import conversion_measure, dr_variance, ips_variance, variance_gain

MEASURES = {
    "reciprocal_rank": "power",
    "average_relevance_position": "RankSum",
    "top_2": "CG@2",
}
WORLDS = {
    # entry: estimator, ctr that is used, cvr that is used
    "naive": ("Naive", "ctr", "fair"),
    "ips_true_ctr": ("IPS", "ctr", "fair"),
    "ips_wrong_ctr": ("IPS", "wrong", "fair"),
    "dr_true_ctr_fair_cvr": ("DR", "ctr", "fair"),
    "dr_true_ctr_poor_cvr": ("DR", "ctr", "poor"),
    "dr_true_ctr_perfect_cvr": ("DR", "ctr", "cvr"),
    "dr_wrong_ctr_perfect_cvr": ("DR", "wrong", "cvr"),
    "dr_wrong_ctr_fair_cvr": ("DR", "wrong", "fair"),
}


@pytest.fixture(scope="module")
def worked(golden):
    return json.loads((golden / "analytic.json").read_text())


def tables(setting: dict) -> dict[str, np.ndarray]:
    """What the setting says of the nine pairs, as arrays."""
    grid = {
        name: np.array([[float(Fraction(x)) for x in row] for row in setting[key]])
        for name, key in (("ctr", "ctr"), ("cvr", "cvr"), ("fair", "cvr_hat_fair"))
    }
    return grid | {
        "poor": np.full((3, 3), 0.9),
        "wrong": np.full((3, 3), 0.3),
        "rank": np.array(setting["rank_of_item"]),
    }


@pytest.fixture(scope="module")
def every_outcome(worked):
    """Nine pairs with three outcomes each: 19,683 funnels of three users side by side."""
    at = tables(worked["doubly_robust_3x3"]["setting"])
    outcome = np.array(list(product(range(3), repeat=9))).reshape(-1, 3, 3)
    p, q = at["ctr"], at["cvr"]
    chance = np.prod(np.choose(outcome, [1 - p, p * (1 - q), p * q]), axis=(1, 2))
    assert len(chance) == 19_683
    assert chance.sum() == pytest.approx(1, abs=1e-12)
    n = len(outcome)
    user = np.repeat(np.arange(3 * n), 3)
    item = np.tile(np.arange(3), 3 * n)
    funnel = {"user": user, "item": item}
    funnel |= {"click": (outcome > 0).ravel().astype(int), "conversion": (outcome == 2).ravel()}
    run = pl.DataFrame({"user": user, "item": item, "rank": np.tile(at["rank"].ravel(), n)})

    def values(ctr: str, h: str) -> dict[tuple[str, str], np.ndarray]:
        """The estimates of each outcome, by estimator and measure."""
        given = {"ctr": np.tile(at[ctr].ravel(), n), "cvr": np.tile(at[h].ravel(), n)}
        result = cr.funnel(
            pl.DataFrame(funnel | given), {"new": run}, measure=[*MEASURES.values(), "DCG"],
            estimator=["Naive", "IPS", "DR"], test="none",
        )  # fmt: skip
        frame = result.by_unit()
        return {
            key: part["value"].to_numpy().reshape(n, 3).mean(axis=1)
            for key, part in frame.partition_by("estimator", "measure", as_dict=True).items()
        }

    settled = sorted({(ctr, h) for _, ctr, h in WORLDS.values()})
    return chance, {key: values(*key) for key in settled}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("entry", WORLDS)
def test_all_outcomes_of_three_users_and_three_items(worked, every_outcome, measure, entry):
    chance, found = every_outcome
    label, ctr, h = WORLDS[entry]
    value = found[ctr, h][label, MEASURES[measure]]
    results = worked["doubly_robust_3x3"]["results"][measure]
    expected = results["estimators"][entry]
    mean = chance @ value
    assert mean == pytest.approx(expected["mean"]["value"], abs=1e-11)
    assert chance @ (value - mean) ** 2 == pytest.approx(expected["variance"]["value"], abs=1e-10)
    bias = mean - results["ground_truth"]["value"]
    assert bias == pytest.approx(expected["bias"]["value"], abs=1e-11)
    assert (abs(bias) < 1e-11) == expected["unbiased"]


@pytest.mark.parametrize("measure", MEASURES)
def test_closed_forms_of_the_variance(worked, measure):
    at = tables(worked["doubly_robust_3x3"]["setting"])
    expected = worked["doubly_robust_3x3"]["results"][measure]["estimators"]
    c = conversion_measure(MEASURES[measure]).at(at["rank"].ravel()).reshape(3, 3)
    ips = ips_variance(at["ctr"], at["cvr"], c, users=3)
    assert ips == pytest.approx(expected["ips_true_ctr"]["variance"]["value"], abs=1e-12)
    for h, entry in (("fair", "fair"), ("poor", "poor"), ("cvr", "perfect")):
        dr = dr_variance(at["ctr"], at["cvr"], at[h], c, users=3)
        known = expected[f"dr_true_ctr_{entry}_cvr"]["variance"]["value"]
        assert dr == pytest.approx(known, abs=1e-12)
        gain = variance_gain(at["ctr"], at["cvr"], at[h], c, users=3)
        assert gain == pytest.approx(ips - dr, abs=1e-12)


@pytest.mark.parametrize("entry", WORLDS)
def test_all_outcomes_weighted_as_dcg(worked, every_outcome, entry):
    """The golden values are doubles from closed forms; here all 19,683 outcomes are laid out."""
    chance, found = every_outcome
    label, ctr, h = WORLDS[entry]
    results = worked["doubly_robust_3x3"]["results_dcg"]
    assert set(results["estimators"]) == set(WORLDS)
    expected, value = results["estimators"][entry], found[ctr, h][label, "DCG"]
    mean = chance @ value
    assert mean == pytest.approx(expected["mean"], abs=1e-11)
    assert mean - results["ground_truth"] == pytest.approx(expected["bias"], abs=1e-11)
    assert chance @ (value - mean) ** 2 == pytest.approx(expected["variance"], abs=1e-10)


def test_closed_forms_hold_for_dcg_over_all_outcomes(worked, every_outcome):
    at = tables(worked["doubly_robust_3x3"]["setting"])
    chance, found = every_outcome
    c = 1 / np.log2(at["rank"] + 1)
    truth = float(np.sum(at["cvr"] * c)) / 3
    for h in ("fair", "poor", "cvr"):
        for label, model in (("IPS", np.zeros((3, 3))), ("DR", at[h])):
            value = found["ctr", h][label, "DCG"]
            mean = chance @ value
            assert mean == pytest.approx(truth, abs=1e-11)
            known = dr_variance(at["ctr"], at["cvr"], model, c, users=3)
            assert chance @ (value - mean) ** 2 == pytest.approx(known, abs=1e-10)


@pytest.mark.parametrize("k", [2, 5, 6])
def test_the_published_form(worked, k):
    given = worked["saito_code_metrics"]["input"]
    number = lambda xs: [float(Fraction(x)) for x in xs]  # noqa: E731
    funnel = pl.DataFrame(
        {
            "user": [0] * 6, "item": list(range(6)), "click": given["click"],
            "conversion": given["conversion"], "ctr": number(given["ctr"]),
            "cvr": number(given["cvr_hat"]),
        }
    )  # fmt: skip
    run = pl.DataFrame({"user": [0] * 6, "item": list(range(6)), "rank": given["rank"]})
    result = cr.funnel(
        funnel,
        {"new": run},
        measure=[f"PublishedDCG@{k}", f"PublishedRecall@{k}"],
        estimator=["Naive", "IPS", "DR"],
    )
    intended = worked["saito_code_metrics"]["intended"][f"k={k}"]
    for row in result.estimates:
        entry = intended[row.estimator.lower()]
        dcg = row.measure.startswith("PublishedDCG")
        expected = entry["dcg"] if dcg else entry["recall"]["value"]
        assert row.value == pytest.approx(expected, abs=1e-12)
