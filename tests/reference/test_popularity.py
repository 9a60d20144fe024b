"""Power laws and popularity propensities against published fits and the formula written out."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from scipy.special import zeta

from counterrank.core.errors import CounterrankError, InputError
from counterrank.propensity.popularity import frequency, law_support, popularity
from counterrank.propensity.power_law import goodness_of_fit, power_law


def plain_fit(counts):
    """The rule of the analytic file, written out."""
    best = None
    for xmin in sorted(set(counts))[:-1]:
        tail = [x for x in counts if x >= xmin]
        alpha = 1 + len(tail) / sum(math.log(x / (xmin - 0.5)) for x in tail)
        distance = max(
            abs(sum(y < x for y in tail) / len(tail) - 1 + zeta(alpha, x) / zeta(alpha, xmin))
            for x in set(tail)
        )
        if best is None or distance < best[2]:
            best = (alpha, xmin, distance)
    return best


def counted(path):
    return pl.read_parquet(path).group_by("item").len().sort("item")["len"].to_numpy()


def zipf(rng, n, alpha):
    return np.floor((1 - rng.random(n)) ** (-1 / (alpha - 1)) * 0.5 + 0.5).astype(int)


def test_analytic(golden):
    cases = json.loads((golden / "analytic.json").read_text())["power_law_fit"]["cases"]
    assert cases
    for case in cases:
        law = power_law(case["counts"])
        assert law.alpha == pytest.approx(case["alpha"], abs=1e-9)
        assert law.xmin == case["xmin"]
        assert law.distance == pytest.approx(case["ks_distance"], abs=1e-9)


def test_coat(data):
    law = power_law(counted(data / "coat" / "train.parquet"))
    assert law.alpha == pytest.approx(4.014793, abs=1e-6)
    assert law.xmin == 28


def test_movielens_1m(data):
    law = power_law(counted(data / "movielens-1m" / "interactions.parquet"))
    assert law.alpha == pytest.approx(3.749694, abs=1e-6)
    assert law.xmin == 925


def head(value):
    """Number of items in the upper half of the propensity scale, cut as published."""
    low, high = value.min(), value.max()
    return int(np.sum(value > (low + high) / 2))


def test_head_items(data):
    coat = counted(data / "coat" / "train.parquet")
    movies = counted(data / "movielens-1m" / "interactions.parquet")
    assert head(popularity(coat, rule="published").value) == 5
    assert head(popularity(movies, rule="published").value) == 4
    assert head(popularity(coat, rule="paper").value) == 8
    assert head(popularity(movies, rule="paper").value) == 10


@pytest.mark.parametrize("seed", range(12))
def test_the_rule_written_out(seed):
    rng = np.random.default_rng(seed)
    counts = zipf(rng, 80, rng.uniform(1.6, 3.5)).tolist()
    law = power_law(counts)
    alpha, xmin, distance = plain_fit(counts)
    assert (law.xmin, law.tail) == (xmin, sum(x >= xmin for x in counts))
    assert law.alpha == pytest.approx(alpha, abs=1e-12)
    assert law.distance == pytest.approx(distance, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_exact_likelihood_is_at_its_maximum(seed):
    rng = np.random.default_rng(seed)
    counts = rng.zipf(2.2, 400)
    law = power_law(counts, method="exact")
    tail = counts[counts >= law.xmin]

    def likelihood(alpha):
        return -alpha * np.log(tail).sum() - len(tail) * math.log(zeta(alpha, law.xmin))

    top = likelihood(law.alpha)
    assert top >= max(likelihood(law.alpha * (1 + e)) for e in (-1e-3, -1e-4, 1e-4, 1e-3))
    assert law.method == "exact"


def test_exact_finds_the_exponent():
    counts = np.random.default_rng(5).zipf(2.5, 20_000)
    law = power_law(counts, method="exact")
    # the standard error of the maximum likelihood is about (alpha - 1) / sqrt(tail)
    assert law.alpha == pytest.approx(2.5, abs=4 * 1.5 / math.sqrt(law.tail))


def test_rules_written_out():
    counts = np.array([1, 2, 2, 3, 5, 8, 13, 40, 0])
    law = power_law(counts)
    paper = popularity(counts)
    published = popularity(counts, rule="published")
    for n, p, q in zip(counts, paper.value, published.value, strict=True):
        n = max(n, 1)
        assert p == pytest.approx((n / 40) ** ((law.alpha + 1) / 2), rel=1e-12)
        assert q == pytest.approx(n**law.alpha if n > law.xmin else n, rel=1e-12)
    assert (paper.alpha, paper.xmin) == (law.alpha, law.xmin)
    assert paper.value.max() == 1
    assert np.isnan(popularity(counts, unseen="missing").value[-1])


@pytest.mark.parametrize("counts", [[7], [7, 7, 7], [7, 0, 7]])
def test_equal_counts_need_no_law(counts):
    paper, published = (
        popularity(counts, rule=r, unseen="missing") for r in ("paper", "published")
    )
    seen = np.array(counts) > 0
    assert np.all(paper.value[seen] == 1)
    assert np.all(published.value[seen] == 7)
    assert np.isnan(paper.alpha)


@pytest.mark.parametrize("counts", [[7], [7, 7, 7], [], [0, 0], [10**6, 10**6 + 1]])
def test_no_law_without_a_tail(counts):
    with pytest.raises(InputError, match="power law"):
        power_law(counts)


@pytest.mark.parametrize("counts", [[1, -2], [1.5, 2], [1, float("nan")], [1, float("inf")]])
def test_counts_are_counts(counts):
    for refused in (power_law, popularity):
        with pytest.raises(InputError, match="whole numbers"):
            refused(counts)


def test_unknown_words_are_refused():
    for option in ({"rule": "papers"}, {"unseen": "zero"}, {"method": "mle"}):
        with pytest.raises(CounterrankError, match="cannot be"):
            popularity([1, 2, 3], **option)
    with pytest.raises(InputError, match="needs feedback"):
        popularity([0, 0])


def test_a_frequency_written_out():
    counts = np.array([0, 3, 1, 9, 30, 2, 5])
    mean, variance = counts.mean(), counts.var(ddof=1)
    shrunken = mean + (1 - mean / variance) * (counts - mean)
    value = frequency(counts, 0.1)
    assert value == pytest.approx(0.1 * shrunken / mean, rel=1e-12)
    assert value.mean() == pytest.approx(0.1)
    assert (value > 0).all()
    assert frequency(counts, 0.9).max() == 1
    assert frequency([7, 8, 7, 6], 0.2) == pytest.approx([0.2] * 4)  # less than chance varies
    with pytest.raises(InputError, match="needs feedback"):
        frequency([0, 0], 0.1)


def test_equal_exposure_is_no_power_law():
    """Poisson counts of items shown equally often: exponents of 10 to 60 before, now none."""
    exponents = []
    for seed in range(20):
        counts = np.random.default_rng(seed).poisson(30, 300)
        exponents.append(power_law(counts).alpha)
        assert law_support(counts).reason
    assert min(exponents) > 8


def test_a_law_is_kept_where_it_holds_and_given_up_where_it_does_not():
    kept = [not law_support(np.random.default_rng(s).zipf(2.2, 2000)).reason for s in range(20)]
    # at most one in ten of true laws may be given up for not fitting; three standard errors
    assert np.mean(kept) >= 0.9 - 3 * math.sqrt(0.09 / len(kept))
    few = law_support(np.random.default_rng(0).zipf(2.2, 30))
    assert "50 are needed" in few.reason
    flat = np.random.default_rng(1).integers(1, 200, 3000)
    assert law_support(flat).reason


def test_goodness_of_fit_is_a_p_value(data):
    """Of samples of a law, one in ten has p at most 0.1 or so; MovieLens-1M has none."""
    rng = np.random.default_rng(3)
    p = []
    for _ in range(30):
        counts = np.floor(19.5 * rng.random(300) ** (-1 / 1.5) + 0.5).astype(int)
        p.append(goodness_of_fit(counts, power_law(counts)))
    assert np.mean(np.array(p) < 0.1) <= 0.1 + 3 * math.sqrt(0.09 / len(p))
    assert np.mean(np.array(p) > 0.5) >= 0.2
    movies = counted(data / "movielens-1m" / "interactions.parquet")
    assert goodness_of_fit(movies, power_law(movies)) < 0.05
