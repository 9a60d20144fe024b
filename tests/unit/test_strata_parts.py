"""A stratified evaluation in buckets of users is the one in memory, to the last bit."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.core.errors import CounterrankError, UsageError
from counterrank.engine import Local
from counterrank.simulate import paradox_world
from cutting import COUNTS, MANY
from making import scored, weighed, world
from split import Split

LABELS = ("nDCG@5", "pnDCG@5", "ARP(rel=2)@8")
MORE = (*LABELS, "AP(rel=2)@10", "DCG(gain=exp,mean=geometric)@5", "ERR@5")


def same(table, runs, counts=COUNTS, **options):
    """Compare everything a result offers with what buckets give."""
    options = {"measure": LABELS, **options}
    whole = cr.strata(table, runs, **options)
    for count in counts:
        parts = cr.strata(table, runs, engine=Split(partitions=count), **options)
        assert parts.units.ids.equals(whole.units.ids)
        for name in ("systems", "estimates", "comparisons", "strata", "audit", "agreement"):
            assert repr(getattr(parts, name)) == repr(getattr(whole, name)), (name, count)
        assert parts.by_unit().equals(whole.by_unit())
        assert repr(parts.diagnostics) == repr(whole.diagnostics)
        assert parts.inputs == whole.inputs
        own, other = parts.protocol, whole.protocol
        assert own | {"inference": 0, "partitions": 0} == other | {"inference": 0, "partitions": 0}
        assert (own["partitions"], own["inference"]["inference"]) == (count, "units")
        assert repr(parts.rows("paradoxes")) == repr(whole.rows("paradoxes"))
    return whole


def uneven():
    """Users missing on either side, some with nothing to find, and a fourth run with ties."""
    table, runs = weighed()
    low = table["user"].is_in(["u3", "u4"])
    rating = pl.when(low).then(0).otherwise(pl.col("rating"))
    runs["a"] = runs["a"].filter(~pl.col("user").is_in(["u1", "u2"]))
    extra = runs["b"].filter(pl.col("user") == "u5").with_columns(user=pl.lit("nobody"))
    runs["b"] = pl.concat([runs["b"], extra])
    rng = np.random.default_rng(5)
    items = [f"i{i}" for i in range(30)]
    runs["d"] = scored({u: [(i, rng.integers(4)) for i in items] for u in table["user"].unique()})
    return table.with_columns(rating=rating), runs


@pytest.mark.parametrize("cut", ["width", "quantile", "items", "country", "rating"])
@pytest.mark.parametrize("propensity", [None, "published", "propensity"])
def test_cuts_and_propensities(cut, propensity) -> None:
    table, runs = uneven()
    strata = None if cut in ("country", "rating") else 3
    same(table, runs, counts=(7,), cut=cut, propensity=propensity, strata=strata)


def test_more_measures() -> None:
    table, runs = uneven()
    same(table, runs, measure=MORE, propensity="published", cut="quantile")


@pytest.mark.parametrize("cut", ["width", "quantile", "items", "country"])
@pytest.mark.parametrize("keys", [["item"], ["user", "item"]])
def test_propensities_from_a_table(cut, keys) -> None:
    table, runs = uneven()
    given = table.group_by(keys).agg(pl.col("propensity").mean()).sort(keys)
    given = given.filter(pl.col("item") != "i7").sample(fraction=1, shuffle=True, seed=1)
    same(table, runs, counts=(7,), cut=cut, propensity=given)


@pytest.mark.parametrize("columns", [["item"], ["user", "item"]])
def test_feedback(columns) -> None:
    table, runs = uneven()
    more = table.filter(pl.col("item") != "i3").sample(3000, with_replacement=True, seed=2)
    counts = (*COUNTS, MANY)
    whole = same(table, runs, counts, feedback=more.select(columns), cut="quantile")
    assert [read.name for read in whole.inputs][:2] == ["the judgments", "the feedback"]


@pytest.mark.parametrize("missing", ["zero", "skip"])
@pytest.mark.parametrize("own", [False, True])
def test_open_loop(missing, own) -> None:
    table, runs = uneven()
    random, others = world(seed=7, users=50)
    again = {name: others[{"d": "a"}.get(name, name)] for name in reversed(runs)}
    options = {"open_loop": random, "missing": missing, "measure": LABELS[:3]}
    whole = same(table, runs, open_run=again if own else None, **options)
    assert whole.agreement


@pytest.mark.parametrize("policies", [
    {"missing": "skip"}, {"no_relevant": "zero"}, {"ties": "expected", "measure": ["DCG@5"]},
    {"interval": "bootstrap", "resamples": 50, "measure": LABELS[:1]},
])  # fmt: skip
def test_policies(policies) -> None:
    table, runs = uneven()
    same(table, runs, **policies)


def near(a, b) -> None:
    """The same rows; numbers to 1e-9 of them, or of what they are made of.

    In sentences a last bit may decide the digit shown (26.75 %), so their words are compared.
    """
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        mine, theirs = asdict(one), asdict(other)
        for key, value in theirs.items():
            if isinstance(value, float):
                assert mine[key] == pytest.approx(value, rel=1e-9, abs=1e-10, nan_ok=True), key
            elif isinstance(value, str):
                assert re.sub(r"\d+\.\d+", "#", mine[key]) == re.sub(r"\d+\.\d+", "#", value), key
            elif not isinstance(value, (list, tuple)):
                assert mine[key] == value, key


@pytest.mark.parametrize("options", [
    {}, {"missing": "skip", "measure": MORE}, {"cut": "country", "no_relevant": "zero"},
    {"propensity": "published", "cut": "quantile", "interval": "t", "strata": 4},
    {"cut": "rating", "measure": ["nDCG(gain=binary,rel=3)@5", "pnDCG@5"]},
])  # fmt: skip
def test_moments_give_the_same_numbers(options) -> None:
    table, runs = uneven()
    options = {"measure": LABELS, **options}
    whole = cr.strata(table, runs, **options)
    for engine in (Local(inference="moments"), Split(partitions=7, inference="moments")):
        sums = cr.strata(table, runs, engine=engine, **options)
        near(sums.estimates, whole.estimates)
        near(sums.comparisons, whole.comparisons)
        near(sums.paradoxes, whole.paradoxes)
        near(sums.diagnostics, whole.diagnostics)
        assert (sums.audit.tested, sums.audit.unproven) == (
            whole.audit.tested,
            whole.audit.unproven,
        )
        assert repr(sums.strata) == repr(whole.strata)
        assert sums.protocol["inference"]["inference"] == "moments"
        own, other = (
            r.estimate("b", LABELS[1]) - r.estimate("a", LABELS[1]) for r in (sums, whole)
        )
        assert (own.value, own.se) == pytest.approx((other.value, other.se), rel=1e-9)
        with pytest.raises(UsageError, match="only their moments were kept"):
            sums.by_unit()


def test_a_proven_paradox_is_one_by_moments_too() -> None:
    world = paradox_world(users=400, items=200)
    options = {"measure": ["nDCG@10"], "cut": "stratum"}
    whole = cr.strata(world.judgments, world.runs, **options)
    sums = cr.strata(
        world.judgments, world.runs, engine=Split(partitions=3, inference="moments"), **options
    )
    assert whole.paradoxes
    near(sums.paradoxes, whole.paradoxes)
    assert [p.sentence for p in sums.paradoxes] == [p.sentence for p in whole.paradoxes]


def test_resamples_of_moments() -> None:
    """Other draws, the same spread; and the same draws whatever the buckets."""
    table, runs = uneven()
    random, _ = world(seed=7, users=50)
    options = {"measure": LABELS[:1], "open_loop": random, "interval": "bootstrap"}
    options |= {"resamples": 2000}
    whole = cr.strata(table, runs, **options)
    one, more = (
        cr.strata(table, runs, engine=Split(partitions=k, inference="moments"), **options)
        for k in (1, 5)
    )
    near(one.estimates, more.estimates)
    near(one.agreement, more.agreement)
    for own, other in zip(one.estimates, whole.estimates, strict=True):
        wide = other.high - other.low
        assert abs(own.low - other.low) < 0.2 * wide
        assert abs(own.high - other.high) < 0.2 * wide
    for own, other in zip(one.agreement, whole.agreement, strict=True):
        assert own.kendall == pytest.approx(other.kendall)
        assert own.se == pytest.approx(other.se, rel=0.15)


@dataclass(frozen=True)
class Within(Split):
    """Values per user may take so many bytes."""

    memory_budget: int = 0


def test_the_switch_to_moments_is_stated() -> None:
    table, runs = uneven()
    for limit, word in ((1 << 20, "units"), (1000, "moments")):
        engine = Within(partitions=3, memory_budget=limit)
        told = cr.strata(table, runs, measure=LABELS, engine=engine).protocol["inference"]
        assert (told["inference"], told["threshold"]) == (word, limit)
        assert "40 units x" in told["why"]


def test_a_column_of_systems() -> None:
    table, runs = uneven()
    both = [runs[s].with_columns(system=pl.lit(s)) for s in "abc"]
    whole = same(table, {"x": pl.concat(both), "d": runs["d"]}, measure=LABELS[:2])
    assert whole.systems == ("x/a", "x/b", "x/c", "d")


def test_numbers_for_ids() -> None:
    table, runs = uneven()

    def numbered(frame):
        user = pl.col("user").replace("nobody", "u99").str.slice(1).cast(pl.Int64)
        return frame.with_columns(user=user, item=pl.col("item").str.slice(1).cast(pl.Int64))

    same(numbered(table), {name: numbered(own) for name, own in runs.items()}, cut="items")


@pytest.mark.parametrize("options", [
    {"missing": "error"}, {"no_relevant": "error"}, {"unjudged": "error"}, {"cut": "user"},
    {"cut": "length"}, {"measure": ["nDCG(gain=binary,rel=9)@5"]}, {"strata": 99},
    {"measure": ["DCG(gain=exp)@5"], "open_loop": True},
    {"propensity": pl.DataFrame({"user": "u1", "item": "x", "propensity": 0.5})},
    {"propensity": pl.DataFrame({"user": "u1", "item": ["x", "x"], "propensity": 0.5})},
    {"baseline": "z"}, {"open_loop": True, "open_run": {"a": 0}},
])  # fmt: skip
def test_the_same_is_refused(options) -> None:
    table, runs = uneven()
    if options.get("open_loop"):
        top = 4 if "open_run" in options else 2000
        options = options | {"open_loop": table.with_columns(rating=pl.col("rating") * top)}
    if "open_run" in options:
        options = options | {"open_run": {"a": runs["a"]}}
    options = {"measure": LABELS, **options}
    with pytest.raises(CounterrankError) as whole:
        cr.strata(table, runs, **options)
    for engine in (
        Split(partitions=1),
        Split(partitions=9),
        Split(partitions=9, inference="moments"),
    ):
        with pytest.raises(CounterrankError) as parts:
            cr.strata(table, runs, engine=engine, **options)
        assert (type(parts.value), str(parts.value)) == (type(whole.value), str(whole.value))
