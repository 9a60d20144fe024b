"""Stratified values that were computed by hand or printed: kidney stones, the paper's tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.stratified.propensity_strata import equal_width
from making import ratios, stratified


@pytest.fixture(scope="module")
def analytic(golden: Path) -> dict:
    return json.loads((golden / "analytic.json").read_text())


def blended(means: list[list[float]], ratings: list[float]) -> list[float]:
    """Strata (rows) with given means of each system and numbers of ratings, one user each."""
    users, shape = np.eye(len(means)), (len(means), len(means[0]), len(means))
    values = np.broadcast_to(np.array(means)[:, :, None], shape) * users[:, None]
    return [e.value for e in stratified(values, users, np.diag(np.asarray(ratings, float)))]


def test_kidney_stones_by_patient(analytic) -> None:
    case = analytic["kidney_stones"]
    for treatment, counts in case["counts"].items():
        other = {"A": "B", "B": "A"}[treatment]
        treated, stone, cured = [], [], []
        for size in ("small", "large"):
            good, all_ = counts[size]
            more = case["counts"][other][size][1]
            treated += [1] * all_ + [0] * more
            cured += [1] * good + [0] * (all_ - good + more)
            stone += [size] * (all_ + more)
        treated, cured, stone = np.array(treated, float), np.array(cured, float), np.array(stone)
        parts = np.stack([stone == size for size in ("small", "large")]).astype(float)
        (value,) = stratified(cured * parts[:, None], treated * parts, parts)
        (pooled,) = ratios(cured[None], treated)
        assert pooled.value == pytest.approx(case["pooled"][treatment]["value"], abs=1e-12)
        expected = case["adjusted_exact"][treatment]["value"]
        assert value.value == pytest.approx(expected, abs=1e-12)
        weights = [case["weights"][size]["value"] for size in ("small", "large")]
        assert parts.mean(axis=1) == pytest.approx(weights, abs=1e-15)


def test_kidney_stones_through_the_verb(analytic) -> None:
    """Rates over common denominators: a patient's item is listed first by who cures it."""
    case = analytic["kidney_stones"]
    users, ranks = {"small": 29 * 15, "large": 263 * 16}, {"A": [], "B": []}
    rated, name = [], 0
    for size, rows in (("small", 5100), ("large", 4900)):
        for n in range(users[size]):
            name += 1
            rated.append((name, 1, 1, size))
            for treatment in ("A", "B"):
                good, all_ = case["counts"][treatment][size]
                cured = n < users[size] * good / all_
                ranks[treatment] += [(name, 1 if cured else 2, 1), (name, 2 if cured else 1, 2)]
        for extra in range(rows - users[size]):  # feedback on other items sets the shares
            rated.append((1 + extra % users["small"], 10_000 + len(rated), 0, size))
    judged = pl.DataFrame(rated, schema=["user", "item", "rating", "stone"], orient="row")
    runs = {t: pl.DataFrame(x, schema=["user", "item", "rank"], orient="row")
            for t, x in ranks.items()}  # fmt: skip
    result = cr.strata(judged, runs, measure=["Success@1"], cut="stone")
    rows = {(r.system, r.method): r.value for r in result.estimates}
    for treatment in ("A", "B"):
        expected = case["adjusted_exact"][treatment]["value"]
        assert rows[treatment, "stratified"] == pytest.approx(expected, abs=1e-12)
        good, all_ = case["counts"][treatment]["small"]
        assert rows[treatment, "stone=small"] == pytest.approx(good / all_, abs=1e-12)
    assert [s.share for s in result.strata] == [0.49, 0.51]


def test_table_1b(analytic) -> None:
    case = analytic["simpson_table_1b"]
    means = [[case[model][q] for model in ("A", "B")] for q in ("Q1", "Q2")]
    got = blended(means, [case["weights"][q] for q in ("Q1", "Q2")])
    expected = [case["expected"][model]["value"] for model in ("A", "B")]
    assert got == pytest.approx(expected, abs=1e-12)
    assert got == pytest.approx([case["printed"][m] for m in ("A", "B")], abs=5e-4)


def test_tables_2_to_5(analytic) -> None:
    for row in analytic["stratified_tables_2_to_5"]["rows"]:
        got = blended([row["Q1"], row["Q2"]], row["ratings"])
        assert got == pytest.approx(row["expected"], abs=1e-12)
        assert got == pytest.approx(row["printed"], abs=1.001e-3)


def test_notebook_rows(analytic) -> None:
    for row in analytic["stratified_notebook_rows"]:
        got = blended([[x] for x in row["ndcg_full"]], row["ratings"])
        assert got == pytest.approx([row["expected"]], abs=1e-12)
        assert got == pytest.approx([row["printed"]], abs=1.5e-4)


@pytest.mark.parametrize("name", ["strata_cut", "strata_cut_3"])
def test_cut(analytic, name: str) -> None:
    case = analytic[name]
    x, bins = np.array(case["x"], float), len(case["edges"]) - 1
    code, edges = equal_width(x, bins)
    assert edges == pytest.approx(case["edges"], abs=1e-12)
    assert [f"Q{c + 1}" for c in code] == case["expected"]
