"""The study of conversions: its two slips, its agreement with the library, a very small run."""

from __future__ import annotations

import types

import numpy as np
import polars as pl
import pytest

from counterrank.studies import conversions as study
from counterrank.studies import semi_synthetic as semi
from counterrank.studies.descent import LOSSES, event_chances, rank_factors
from counterrank.studies.study import Context


def published_dcg(z, y, p, h, k):
    """One user's, with an array that is overwritten as in the published code."""
    h = h.copy()
    value = h[0] + z[0] * (y[0] - h[0]) / p[0]
    part = h[1:k]  # a view
    part += z[1:k] * (y[1:k] - h[1:k]) / p[1:k]
    value += np.sum(part / np.log2(np.arange(2, k + 1)))
    total = np.sum(h + z * (y - h) / p)
    return np.clip(value / total, 0, 1) if total else 0.0


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    shape = (30, 60)
    order = np.argsort(rng.random(shape), axis=1)
    z, y = (rng.random(shape) < 0.3).astype(float), (rng.random(shape) < 0.4).astype(float)
    return order, z, y * z, rng.uniform(0.1, 0.9, shape), rng.uniform(0.1, 0.9, shape)


def test_the_overwriting_slip_is_the_published_one(world):
    order, z, y, p, h = world
    found = study.slipped_values(order, z, y, p, h)
    own = [np.take_along_axis(x, order, axis=1) for x in (z, y, p, h)]
    for place, k in enumerate(study.CUTS):
        each = [published_dcg(*(x[u] for x in own), k) for u in range(len(order))]
        assert found[place] == pytest.approx(np.mean(each))
    mended = study.slipped_values(order, z, y, p, h, overwrite=False)
    assert found[3:] == mended[3:]
    assert found[:3] != mended[:3]


def test_without_slips_it_is_what_the_library_says(world):
    order, z, y, p, h = world
    seen = study.pair_table(z > 0, y > 0)
    u, i = np.nonzero(np.ones_like(z))
    given = pl.DataFrame({"user": u, "item": i, "ctr": p[u, i], "cvr": h[u, i]})
    found = study.library_values(seen, [order], predictions=given)
    one, none = np.ones_like(p), np.zeros_like(p)
    for name, side in {"Naive": (one, none), "IPS": (p, none), "DR": (p, h)}.items():
        plain = study.slipped_values(order, z, y, *side, overwrite=False)
        assert found[name][0] == pytest.approx(plain)


def test_the_numbering_slip_moves_whole_users_and_items():
    scores = np.arange(12.0).reshape(3, 4)
    train = np.ones((3, 4), bool)
    wrong = study.numbering_slip(scores, train, np.random.default_rng(1))
    assert sorted(wrong.ravel()) == sorted(scores.ravel())
    assert not np.array_equal(wrong, scores)
    assert np.allclose(np.diff(np.sort(wrong, axis=1), axis=1), 1)  # rows stay together


def test_recommenders_rank_what_was_bought_first():
    rng = np.random.default_rng(0)
    likes = rng.random((40, 30)) < np.linspace(0.02, 0.6, 30)
    for loss in LOSSES:
        scores = rank_factors(np.nonzero(likes), likes.shape, loss=loss, size=5, l2=1e-4,
                              rate=0.05, epochs=30)  # fmt: skip
        assert scores[likes].mean() > scores[~likes].mean() + 0.1, loss


def test_chances_learn_rates():
    rng = np.random.default_rng(0)
    rate = np.linspace(0.1, 0.9, 20)
    y = rng.random((50, 20)) < rate

    def draw(r):
        u, i = r.integers(50, size=256), r.integers(20, size=256)
        return u, i, y[u, i].astype(float), np.ones(256)

    found = event_chances(draw, y.shape, steps=1500, rate=0.01, l2=0.1)
    assert found.mean(axis=0) == pytest.approx(y.mean(axis=0), abs=0.1)


def test_a_small_run_has_every_cell_and_goes_on_after_a_kill(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    u, i = np.nonzero(rng.random((60, 70)) < 0.3)
    stars = rng.integers(1, 6, len(u))
    part = rng.random(len(u)) < 0.6
    table = pl.DataFrame({"user": u, "item": i, "rating": stars})
    parts = {"train": table.filter(pl.Series(part)), "test": table.filter(pl.Series(~part))}
    monkeypatch.setattr(study, "SETTINGS", study.SETTINGS[::11])
    monkeypatch.setattr(Context, "has", lambda self, name: name == "coat")
    context = Context(quick=True, out=tmp_path, loaded={"coat": parts})
    found = study.reproduce_conversions(context)
    assert [t.title.split(": ")[1] for t in found.tables] == list(study.VARIANTS)
    cells = [cell for t in found.tables for row in t.rows for cell in row[1:]]
    assert len(cells) == 5 * 18
    assert all(np.isfinite(cell.ours) for cell in cells)
    assert len(found.differences) == 5
    assert all("it is" in d.because for d in found.differences)
    monkeypatch.setattr(study, "one_seed", lambda *_: 1 / 0)  # nothing is computed again
    assert study.reproduce_conversions(context) == found


def test_users_are_kept_by_their_conversions_whatever_ids_are():
    chosen = [(9, 3, 5), (9, 4, 4), (9, 8, 1), (5, 3, 5), (5, 4, 2), (7, 3, 4), (7, 8, 5)]
    random = [(9, 8, 5), (5, 8, 4), (7, 4, 1)]
    parts = {name: pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")
             for name, rows in (("train", chosen), ("test", random))}  # fmt: skip
    found = study.ClickedRatings.of(parts)  # 5 has one conversion, 7 none among the random
    assert found.click.tolist() == [[True, True, True]]
    assert found.bought.tolist() == [[True, True, False]]
    assert found.shown.tolist() == found.liked.tolist() == [[False, False, True]]


def seeds_that_err(by, repetitions=5):
    """Truth 1 and estimates that err by so much, by estimator, a little more in each seed."""
    return [
        {variant: {"truth": [[1.0] * 6],
                   **{e: [[1 + x * (1 + 0.01 * r)] * 6] for e, x in by.items()}}
         for variant in study.VARIANTS}
        for r in range(repetitions)
    ]  # fmt: skip


def test_each_claim_of_table_4_can_hold_and_can_fail():
    for by, states in (
        ({"Naive": 0.2, "IPS": 0.5, "DR": 0.1}, {"holds"}),
        ({"Naive": 0.5, "IPS": 0.2, "DR": 0.6}, {"does not hold"}),
        ({"Naive": 0.2, "IPS": 0.2, "DR": 0.2}, {"cannot be told here"}),
    ):
        seeds = seeds_that_err(by)
        told = study.claims("coat", seeds, study.mean_errors(seeds))
        assert {claim.state for claim in told} == states
        assert len(told) == len(study.VARIANTS) + 2


def test_no_bias_is_told_only_where_a_bias_is_seen():
    def row(bias):
        return types.SimpleNamespace(bias=bias, variance=1e-4)

    def state(own, naive):
        found = {(1.0, "IPS"): row(own), (1.0, "DR, noise 1"): row(0.0), (1.0, "Naive"): row(naive)}
        return semi._unbiased(found, 10).state

    assert state(0.001, -0.5) == "holds"
    assert state(0.001, 0.001) == "cannot be told here"
    assert state(0.1, -0.5) == "does not hold"
