"""Every result says in a sentence what it estimates, and the sentence follows the options."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.documents.estimand_sentences import SENTENCES, estimand


@pytest.fixture(scope="module")
def judged():
    judgments = pl.DataFrame({"user": [1, 1, 2, 3], "item": [1, 2, 1, 1], "rating": [1, 0, 1, 1]})
    run = pl.DataFrame({"user": [1, 2], "item": [1, 1], "rank": [1, 1]})
    return judgments, {"a": run, "b": run.with_columns(item=pl.lit(2))}


@pytest.fixture(scope="module")
def log():
    rng = np.random.default_rng(0)
    sessions, ranks = 400, 4
    item = np.argsort(rng.random((sessions, ranks)), axis=1)
    session = np.repeat(np.arange(sessions), ranks)
    table = pl.DataFrame(
        {
            "session": session, "item": item.ravel(), "rank": np.tile(np.arange(1, 5), sessions),
            "click": (rng.random(sessions * ranks) < 0.3).astype(int),
        }
    )  # fmt: skip
    run = table.select("session", "item", rank=pl.lit(ranks + 1) - pl.col("rank"))
    return table, {"new": run}


def told(result) -> str:
    """The sentence, which the page and the terminal repeat."""
    sentence = result.to_dict()["estimand"]
    assert sentence in result.report().replace("&#x27;", "'").replace("&amp;", "&")
    assert sentence in " ".join(str(result).split())
    return sentence


def test_evaluate_says_who_counts_and_which_mean(judged):
    plain = told(cr.evaluate(*judged, measure="P@1"))
    assert plain == SENTENCES["evaluate"].format(unit="user")
    skip = told(cr.evaluate(*judged, measure="P@1", missing="skip", no_relevant="skip"))
    assert "without a list are left out" in skip
    assert "with nothing to find are left out" in skip
    both = told(cr.evaluate(*judged, measure=["AP(mean=geometric)@5", "pnDCG@5"]))
    assert "geometric mean in the place of the mean" in both
    assert "pnDCG is the ratio of two means" in both


def test_estimate_says_per_what_of_which_sessions_and_what_is_no_earning(log):
    table, runs = log
    options = {"reward": "click", "position_bias": "log2"}
    assert "earned per session of each reward" in told(cr.estimate(table, runs, **options))
    assert "earned per view of" in told(cr.estimate(table, runs, per="impression", **options))
    few = {"new": runs["new"].filter(pl.col("session") > 9)}
    assert "left out" in told(cr.estimate(table, few, missing="skip", **options))
    assert "keep the logged one" in told(cr.estimate(table, few, missing="logged", **options))
    labels = ["IPS(clip=4)", "nDCG"]
    text = told(cr.estimate(table, runs, estimator=labels, **options))
    assert "nDCG: not earnings" in text
    assert "With clip=" in text


def test_shares_and_discounted_sums_are_not_divided_by_views(log):
    """0.0701 was printed for an nDCG of 0.2258."""
    table, runs = log
    labels = ["DCG", "nDCG", "pnDCG", "IPS"]
    options = {"reward": "click", "position_bias": "log2", "estimator": labels, "test": "none"}
    session, view = (
        {r.estimator: r.value for r in cr.estimate(table, runs, per=per, **options).estimates
         if r.system == "new"}
        for per in ("session", "impression")
    )  # fmt: skip
    for label in labels[:3]:
        assert view[label] == session[label]
    assert 0 < view["nDCG"] <= 1
    seen = float((1 / np.log2(np.arange(2, 6))).sum())
    assert view["IPS"] == pytest.approx(session["IPS"] / seen)


def test_every_verb_has_a_sentence():
    for kind in SENTENCES:
        text = estimand(kind, {})
        assert text.endswith(".")
        assert "{" not in text
    assert estimand("funnel", {"estimand": "if-clicked"}).startswith("Not sales")
