"""Slates drawn one item after the other: chances given the items above multiply, others do not."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from one_slot_shop import FULL, Tally, holds

SAID = ("mean_slate_weight", "effective_slates", "heavy_tail")
ITEMS, SLOTS = 4, 3
LOGGER, TARGET = np.array([1.5, 0.5, 0.0, -0.5]), np.array([-1.0, 0.5, 1.0, 0.3])
LIKED = np.array([0.1, 0.3, 0.5, 0.2])
SLATES = list(itertools.permutations(range(ITEMS), SLOTS))


def given_above(score, slate):
    """The chance of each item of a slate given those above it (Plackett-Luce)."""
    left, chances = set(range(ITEMS)), []
    for item in slate:
        chances.append(np.exp(score[item]) / sum(np.exp(score[b]) for b in left))
        left.remove(item)
    return np.array(chances)


def chance(score):
    return np.array([given_above(score, slate).prod() for slate in SLATES])


def whatever_above(score):
    """P(item at rank), by enumeration: items x ranks."""
    at, p = np.zeros((ITEMS, SLOTS)), chance(score)
    for slate, own in zip(SLATES, p, strict=True):
        at[list(slate), range(SLOTS)] += own
    return at


def earns(slate):
    """A user reads from the top and leaves at the first click."""
    liked = LIKED[list(slate)]
    return liked * np.cumprod(np.append(1, 1 - liked[:-1]))


TRUTH, LOGGED = (
    sum(p * earns(s).sum() for p, s in zip(chance(score), SLATES, strict=True))
    for score in (TARGET, LOGGER)
)


def world(seed, sessions=3000):
    """A log with both kinds of chances, and a target's chances of either kind."""
    rng = np.random.default_rng(seed)
    slate = rng.choice(len(SLATES), sessions, p=chance(LOGGER))
    items = np.array(SLATES)[slate]
    clicked = np.zeros(items.shape, int)
    first = rng.random(items.shape) < LIKED[items]
    row = np.flatnonzero(first.any(axis=1))
    clicked[row, first[row].argmax(axis=1)] = 1
    above = np.array([given_above(LOGGER, s) for s in SLATES])[slate]
    session, rank = (
        np.repeat(np.arange(sessions), SLOTS),
        np.tile(np.arange(1, SLOTS + 1), sessions),
    )
    log = pl.DataFrame(
        {"session": session, "item": items.ravel(), "rank": rank, "click": clicked.ravel(),
         "propensity": whatever_above(LOGGER)[items.ravel(), rank - 1],
         "propensity_above": above.ravel()}
    )  # fmt: skip
    cells = []
    at = whatever_above(TARGET)
    for number, shown in enumerate(SLATES):
        for r in range(SLOTS):
            left = [a for a in range(ITEMS) if a not in shown[:r]]
            total = sum(np.exp(TARGET[a]) for a in left)
            for a in range(ITEMS):
                own = np.exp(TARGET[a]) / total if a in left else 0.0
                cells.append((number, a, r + 1, at[a, r], own))
    cells = pl.DataFrame(
        cells, schema=["slate", "item", "rank", "propensity", "propensity_above"], orient="row"
    )
    run = pl.DataFrame({"session": np.arange(sessions), "slate": slate}).join(cells, on="slate")
    return log, run.drop("slate")


def rows(full: bool) -> list[dict]:
    """Coverage of the truth by RIPS, SIPS and CascadeDR with chances given the items above."""
    count, labels = (1000 if full else 40), ["RIPS", "SIPS", "CascadeDR"]
    found = []
    for sessions in (1000, 4000) if full else (1000,):
        name = f"chances given the items above, {sessions:,} sessions"
        tallies = {label: Tally(name, label) for label in labels}
        for seed in range(count):
            log, run = world(seed, sessions)
            result = cr.estimate(log, {"new": run}, reward="click", estimator=labels, bounds="none")
            rows = {r.estimator: r for r in result.estimates if r.system == "new"}
            for c in result.comparisons:
                row, own = rows[c.estimator], [d for d in result.diagnostics if d.id in SAID]
                tallies[c.estimator].add(
                    row.low <= TRUTH <= row.high,
                    c.lift_low <= TRUTH / LOGGED - 1 <= c.lift_high,
                    any(d.state != "pass" and d.concerns("new", c.estimator) for d in own),
                )
        found += [one.row() for one in tallies.values()]
    return found


def test_chances_given_the_items_above_find_the_truth():
    for r in rows(FULL):
        assert holds(r, low=0.92), r


def test_other_chances_fail_before_the_number_is_believed():
    """The chances of a rank whatever stands above do not multiply: slates weigh too much."""
    log, run = world(1)
    said = {}
    for kind in ("propensity", "propensity_above"):
        found = cr.estimate(
            log, {"new": run}, reward="click", estimator=["RIPS", "SIPS"], logged=kind, test="none"
        )
        said[kind] = [d for d in found.diagnostics if d.name == "mean slate weight"]
        verdicts = {r.estimator: r.verdict for r in found.estimates if r.system == "new"}
        if kind == "propensity":
            assert set(verdicts.values()) == {"fail"}
    assert {d.state for d in said["propensity"]} == {"fail"}
    assert {d.state for d in said["propensity_above"]} == {"pass"}
    assert {d.subject for d in said["propensity"]} == {"new, RIPS", "new, SIPS"}
    assert abs(said["propensity"][0].value - 1) > 0.1


def test_lists_are_held_to_the_weights_of_slates_not_of_rows():
    """An item that was shown above its rank cannot be shown at it: rows weigh less than 1."""
    log, run = world(4)
    first = np.argsort(-LOGGER)[:SLOTS][[1, 0, 2]]
    lists = run.filter(pl.col("item") == pl.col("rank").replace_strict(dict(enumerate(first, 1))))
    found = cr.estimate(
        log.drop("propensity"), {"list": lists.select("session", "item", "rank")}, reward="click",
        estimator=["RIPS", "SIPS"], test="none",
    )  # fmt: skip
    means = {d.name: d.state for d in found.diagnostics if d.name.startswith("mean")}
    assert means == {"mean slate weight": "pass"}


def test_single_items_are_weighed_by_their_own_chances():
    log, run = world(2)
    with pytest.raises(cr.UsageError, match="IIPS weighs by an item's chance at its rank"):
        cr.estimate(log, {"new": run}, reward="click", estimator=["IIPS", "RIPS"])
    alone = cr.estimate(log, {"new": run}, reward="click", estimator=["IIPS"], test="none")
    assert alone.protocol["logged_exposure"] == "propensity"


def test_runs_of_the_logged_items_alone_are_refused():
    """SNIPS of such a run was 34 times too low: its views are those of the logged items only."""
    log, run = world(3, 200)
    own = run.join(log.select("session", "item", "rank"), on=["session", "item", "rank"])
    with pytest.raises(cr.InputError, match=r"must add up to 1.*List every item") as refused:
        cr.estimate(log, {"new": own}, reward="click", estimator=["IPS", "SNIPS"])
    assert "rank 1: 0." in str(refused.value)
    twice = run.with_columns(pl.col("propensity") * 2)
    with pytest.raises(cr.InputError, match="must add up to 1"):
        cr.estimate(log, {"new": twice}, reward="click", estimator=["IPS"])
    cr.estimate(log, {"new": run}, reward="click", estimator=["IPS", "SNIPS"], test="none")
