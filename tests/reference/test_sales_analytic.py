"""Sales with known answers: exact means and variances over all outcomes of a small shop.

Two users and three items; every pair is not shown, shown, clicked or bought: 4,096 outcomes, each
with its probability as a fraction.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.conversions import dr_variance, ips_variance

USERS, ITEMS = 2, 3


def fractions(*rows):
    return [[Fraction(x) for x in row.split()] for row in rows]


SEEN = fractions("1 3/5 3/10")[0]  # by rank
RANK = [[1, 2, 3], [3, 1, 2]]  # of each item in a user's list
THETA = fractions("1/2 1/4 3/4", "2/5 4/5 1/5")
CTR = fractions("1/2 1/5 2/5", "1/10 3/5 3/10")
CVR = fractions("1/5 1/2 3/10", "4/5 1/10 2/5")
PRICE = 3  # what a purchase brings, as spend
PAIRS = list(product(range(USERS), range(ITEMS)))


def doubled(x):
    return [[min(2 * y, Fraction(9, 10)) for y in row] for row in x]


MODELS = {  # theta, ctr and cvr that are used
    "right": (THETA, CTR, CVR),
    "wrong theta": (doubled(THETA), CTR, CVR),
    "wrong ctr": (THETA, doubled(CTR), CVR),
    "wrong cvr": (THETA, CTR, doubled(CVR)),
    "all wrong": (doubled(THETA), doubled(CTR), CVR),
}
LABELS = ("Naive", "IPS", "DM", "DR")


def _value(label, o, zy, t, g):
    """What a pair adds, by the formula."""
    if label == "DM":
        return g
    if label == "Naive":
        return o * zy
    return Fraction(o) / t * zy if label == "IPS" else Fraction(o) / t * (zy - g) + g


def by_hand(models, label):
    """Mean and variance: pairs are independent, so those of a pair's four outcomes add up."""
    theta, ctr, cvr = models
    mean = variance = Fraction(0)
    for u, i in PAIRS:
        c, t, g = SEEN[RANK[u][i] - 1], theta[u][i], ctr[u][i] * cvr[u][i]
        shown, clicked, bought = THETA[u][i], CTR[u][i], CVR[u][i]
        cases = [  # o, z y, and how likely
            (0, 0, 1 - shown),
            (1, 0, shown * (1 - clicked)),
            (1, 0, shown * clicked * (1 - bought)),
            (1, 1, shown * clicked * bought),
        ]
        own = [(c * _value(label, o, zy, t, g), p) for o, zy, p in cases]
        first = sum(x * p for x, p in own)
        mean += first
        variance += sum(x * x * p for x, p in own) - first**2
    return mean / USERS, variance / USERS**2


@pytest.fixture(scope="module")
def outcomes():
    """All outcomes as users of one funnel, side by side, and how likely each is."""
    states = np.array(list(product(range(4), repeat=len(PAIRS)))).reshape(-1, USERS, ITEMS)
    t, p, q = (np.array(x, float) for x in (THETA, CTR, CVR))
    chances = [1 - t, t * (1 - p), t * p * (1 - q), t * p * q]
    chance = np.prod(np.choose(states, chances), axis=(1, 2))
    assert len(chance) == 4096
    assert chance.sum() == pytest.approx(1, abs=1e-12)
    n = len(states)
    user, item = np.repeat(np.arange(USERS * n), ITEMS), np.tile(np.arange(ITEMS), USERS * n)
    state = states.ravel()
    funnel = pl.DataFrame(
        {
            "user": user, "item": item, "shown": (state > 0).astype(int),
            "click": (state > 1).astype(int), "conversion": (state > 2).astype(int),
            "spend": PRICE * (state > 2),
        }
    )  # fmt: skip
    run = pl.DataFrame({"user": user, "item": item, "rank": np.tile(np.ravel(RANK), n)})

    def values(models, **options) -> dict[tuple[str, str], np.ndarray]:
        names = ("exposure", "ctr", "cvr")
        given = {
            name: np.tile(np.ravel(np.array(x, float)), n)
            for name, x in zip(names, models, strict=True)
        }
        table = funnel.with_columns(
            **{name: pl.Series(x) for name, x in given.items()}, cvr_spend=PRICE * given["cvr"]
        )
        result = cr.funnel(
            table, {"new": run}, estimator=LABELS, reward=["conversion", "spend"], test="none",
            position_bias="table(1,0.6,0.3)", **options,
        )  # fmt: skip
        assert result.protocol["estimand"] == "sales"
        assert result.to_dict()["estimand"].startswith("Sales:")
        parts = result.by_unit().partition_by("estimator", "reward", as_dict=True)
        return {
            key: part["value"].to_numpy().reshape(n, USERS).mean(axis=1)
            for key, part in parts.items()
        }

    return chance, {name: values(models) for name, models in MODELS.items()}


TRUTH = sum(SEEN[RANK[u][i] - 1] * CTR[u][i] * CVR[u][i] for u, i in PAIRS) / USERS


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("world", MODELS)
def test_means_and_variances_over_all_outcomes(outcomes, world, label):
    chance, found = outcomes
    mean, variance = by_hand(MODELS[world], label)
    for reward, price in (("conversion", 1), ("spend", PRICE)):
        value = found[world][label, reward]
        assert chance @ value == pytest.approx(price * float(mean), abs=1e-12)
        spread = chance @ (value - chance @ value) ** 2
        assert spread == pytest.approx(price**2 * float(variance), abs=1e-12)


def test_who_is_unbiased_when():
    """DR if theta is right, or ctr times cvr is; IPS by theta alone, DM by the models alone."""
    right = {
        (w, label) for w in MODELS for label in LABELS if by_hand(MODELS[w], label)[0] == TRUTH
    }
    assert right == {
        *((w, "IPS") for w in ("right", "wrong ctr", "wrong cvr")),
        *((w, "DM") for w in ("right", "wrong theta")),
        *((w, "DR") for w in ("right", "wrong theta", "wrong ctr", "wrong cvr")),
    }


@pytest.mark.parametrize("world", ["right", "wrong ctr", "wrong cvr"])
def test_closed_forms_of_the_variance(world):
    """Those of conversions if clicked, with theta for the ctr and ctr times cvr for the cvr."""
    _, ctr, cvr = MODELS[world]
    t, q, g = (np.array(x, float) for x in (THETA, _times(CTR, CVR), _times(ctr, cvr)))
    c = np.array([[float(SEEN[r - 1]) for r in row] for row in RANK])
    ips, dr = ips_variance(t, q, c, users=USERS), dr_variance(t, q, g, c, users=USERS)
    assert ips == pytest.approx(float(by_hand(MODELS[world], "IPS")[1]), abs=1e-14)
    assert dr == pytest.approx(float(by_hand(MODELS[world], "DR")[1]), abs=1e-14)


def _times(x, y):
    return [[a * b for a, b in zip(p, q, strict=True)] for p, q in zip(x, y, strict=True)]
