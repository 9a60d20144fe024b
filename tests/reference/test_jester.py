"""Jokes that 1,473 people rated to the last: what a ranking pleases is known exactly.

A joke is liked (a conversion) if it is rated above 3. People look at jokes with a known probability
that rises with the rating, so what they looked at flatters every ranking.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from plain_funnels import some_users

TIMES, TOP = 200, 10


@pytest.fixture(scope="module")
def jokes(data):
    """Ratings of the people who rated all jokes, people x jokes."""
    table = pl.read_parquet(data / "jester-5k" / "ratings.parquet")
    whole = table.filter(pl.len().over("user") == 100).sort("user", "item")
    return whole["rating"].to_numpy().reshape(-1, 100)


def test_intervals_cover_what_people_like_and_naive_counting_does_not(jokes):
    assert jokes.shape == (1473, 100)
    like = (jokes > 3).astype(float)
    ctr = 0.05 + 0.5 / (1 + np.exp(1 - jokes / 3))
    rng = np.random.default_rng(0)
    n = len(jokes)
    person = rng.integers(n, size=(TIMES, n)).ravel()  # people are a sample, too
    ranking = {
        "popular": np.argsort(-jokes.mean(axis=0))[:TOP],
        "random": rng.permutation(100)[:TOP],
    }
    guess = like.mean(axis=0)
    c = 1 / np.log2(np.arange(TOP) + 2)
    seen = sorted({*ranking["popular"].tolist(), *ranking["random"].tolist()})
    click = rng.random((len(person), len(seen))) < ctr[np.ix_(person, seen)]
    user, place = np.nonzero(click)
    item = np.array(seen)[place]
    funnel = pl.DataFrame(
        {
            "user": user, "item": item, "click": 1, "conversion": like[person[user], item],
            "ctr": ctr[person[user], item],
        }
    )  # fmt: skip
    runs = {
        name: pl.DataFrame(
            {
                "user": np.repeat(np.arange(len(person)), TOP), "item": np.tile(best, len(person)),
                "rank": np.tile(np.arange(1, TOP + 1), len(person)),
                "cvr": np.tile(guess[best], len(person)),
            }
        )
        for name, best in ranking.items()
    }  # fmt: skip
    labels = ("Naive", "IPS", "SNIPS", "DR")
    result = cr.funnel(funnel, runs, estimator=labels, measure=f"DCG@{TOP}", test="none")
    for name, best in ranking.items():
        truth = float((like[:, best] @ c).mean())
        for label in labels:
            key = result.key(name, label)
            parts = [some_users(result, k * n, (k + 1) * n, key)[0] for k in range(TIMES)]
            ends = np.array([e.interval(0.95) for e in parts])
            covered = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
            if label == "Naive":
                assert covered == 0
            else:  # three standard errors of 200 coin flips
                assert abs(covered - 0.95) <= 3 * np.sqrt(0.05 * 0.95 / TIMES), (name, label)
        told = next(d for d in result.diagnostics if (d.name, d.subject) == ("doubly robust", name))
        ratio = (result.estimate(name, "DR").se / result.estimate(name, "IPS").se) ** 2
        assert told.value == pytest.approx(ratio, rel=0.02)
        # an average opinion is far from what one person thinks, and DR pays for it
        assert told.value > 1
        assert "read IPS" in told.meaning
