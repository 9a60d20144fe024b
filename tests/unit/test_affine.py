"""The affine correction of trust bias: its formula, and what it expects over all outcomes."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.core.errors import UsageError
from counterrank.ope.estimators import estimator
from worlds.feed import Feed

CURVE = (1.0, 0.6, 0.3)
PLUS, MINUS = (0.9, 0.8, 0.75), (0.5, 0.25, 0.1)
LABEL = "Affine(plus=table(0.9,0.8,0.75),minus=table(0.5,0.25,0.1))"
RELEVANCE = {"a": 0.2, "b": 0.7, "c": 0.4}
TARGET = {"a": 3, "b": 1, "c": 2}


def estimates(frame, label=LABEL, **more):
    run = pl.DataFrame(
        [
            {"session": s, "item": i, "rank": r}
            for s in frame["session"].unique()
            for i, r in TARGET.items()
        ]
    )
    result = cr.estimate(
        frame, {"new": run}, reward="click", estimator=[label], test="none",
        position_bias="table(1,0.6,0.3)", **more,
    )  # fmt: skip
    return next(row.value for row in result.estimates if row.system == "new")


def earns(item, rank):
    """What a view of an item earns at a rank."""
    return MINUS[rank - 1] + (PLUS[rank - 1] - MINUS[rank - 1]) * RELEVANCE[item]


@pytest.mark.parametrize("views", [True, False])
def test_it_expects_the_truth_over_all_outcomes(views):
    """Every outcome of one list, each a log of its own, weighted by its chance."""
    truth = sum(CURVE[r - 1] * earns(item, r) for item, r in TARGET.items())
    total = plain = 0.0
    for seen, clicked in product(product((0, 1), repeat=3), repeat=2):
        if any(c > v for c, v in zip(clicked, seen, strict=True)):
            continue
        chance = 1.0
        for rank, item in enumerate("abc", start=1):
            v, c, p = seen[rank - 1], clicked[rank - 1], earns(item, rank)
            chance *= CURVE[rank - 1] * (p if c else 1 - p) if v else 1 - CURVE[rank - 1]
        log = {"session": [1] * 3, "item": list("abc"), "rank": [1, 2, 3], "click": clicked}
        log |= {"viewed": seen} if views else {}
        if chance:
            total += chance * estimates(pl.DataFrame(log))
            plain += chance * estimates(pl.DataFrame(log), "IPS")
    assert total == pytest.approx(truth, abs=1e-12)
    assert abs(plain - truth) > 0.1  # which IPS is not


def test_it_is_its_formula():
    rng = np.random.default_rng(1)
    rows, value = [], 0.0
    for session in range(20):
        for rank, item in enumerate(rng.permutation(list("abc")), start=1):
            v = int(rng.random() < CURVE[rank - 1])
            c = int(v and rng.random() < 0.5)
            rows.append((session, item, rank, v, c))
            r, rho = rank - 1, TARGET[item] - 1
            moved = v * MINUS[rho] + (PLUS[rho] - MINUS[rho]) / (PLUS[r] - MINUS[r]) * (
                c - v * MINUS[r]
            )
            value += CURVE[rho] / CURVE[r] * moved / 20
    schema = ["session", "item", "rank", "viewed", "click"]
    log = pl.DataFrame(rows, schema=schema, orient="row")
    assert estimates(log) == pytest.approx(value, abs=1e-12)
    assert estimates(log, "Affine") == pytest.approx(estimates(log, "IPS"), abs=1e-12)


def test_where_ranks_sell_it_is_right_and_ips_is_not():
    """A view earns r k^-t + t (1 - r) / (10 k) in these worlds, r being relevance."""
    label = "Affine(plus=power(eta=0.5),minus=power(scale=0.05))"
    off = {label: [], "IPS": []}
    for seed in range(6):
        feed = Feed(seed=seed, trust=0.5)
        week = feed.log(5000, seed=seed)
        result = cr.estimate(
            week.log, {"better": week.runs["better"], "worse": week.runs["worse"]},
            reward="click", position_bias=feed.position_bias, estimator=list(off),
        )  # fmt: skip
        for c in result.comparisons:
            se = (c.lift_high - c.lift_low) / 3.92
            off[c.estimator].append((c.lift - week.lift(c.system)) / se)
    z = {name: np.abs(values) for name, values in off.items()}
    assert (z[label] < 2).mean() >= 10 / 12  # 12 lifts of 95 % each
    assert (z["IPS"] > 2).mean() >= 0.8


def test_the_label_parses_back_and_wrong_chances_are_refused():
    assert str(estimator(LABEL)) == LABEL
    with pytest.raises(UsageError, match="above minus"):
        estimator("Affine(minus=flat)")
