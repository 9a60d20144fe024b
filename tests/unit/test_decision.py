"""Signs, winners, guards: what is decided follows from paired differences, whatever their sign."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterrank as cr
from counterrank.documents.decision import decide, order_by_pairs
from counterrank.documents.gate import hold_gate
from counterrank.report.figures.value_charts import lifts
from counterrank.simulate import judged_world


def log(means: dict[str, dict[str, float]], *, sessions: int = 600, seed: int = 0) -> Any:
    """A log of one slot with two items, and runs that show one of them; rewards by item.

    ``means`` has for each reward the mean of item "old" (which half of the sessions show) and of
    every other item, which a ranker of its name would show.
    """
    rng = np.random.default_rng(seed)
    items = list(next(iter(means.values())))
    shown = rng.integers(0, len(items), sessions)
    columns = {
        reward: np.array([own[items[i]] for i in shown]) + 0.3 * rng.normal(size=sessions)
        for reward, own in means.items()
    }
    frame = pl.DataFrame(
        {
            "session": np.arange(sessions), "item": [items[i] for i in shown],
            "rank": np.ones(sessions, int), "propensity": np.full(sessions, 1 / len(items)),
            **columns,
        }
    )  # fmt: skip
    runs = {
        f"show {item}": pl.DataFrame(
            {"session": np.arange(sessions), "item": item, "rank": 1, "propensity": 1.0}
        )
        for item in items
    }
    return frame, runs


def estimated(means: Any, **options: Any) -> Any:
    frame, runs = log(means)
    base = "show old"
    return cr.estimate(
        frame, runs, reward=list(means), estimator="IPS", baseline=base, disjoint="zero",
        bounds="none", **options,
    )  # fmt: skip


@pytest.mark.parametrize(("worse", "better"), [(-1.51, -0.62), (0.5, 2.0), (-0.4, 0.6)])
def test_profit_may_be_negative(worse: float, better: float) -> None:
    """A worse ranker had a lift of +46 % over a loss, and passed the gate."""
    base = (worse + better) / 2
    result = estimated({"profit": {"old": base, "bad": worse, "good": better}})
    rows = {c.system: c for c in result.comparisons}
    assert rows["show bad"].claim == "worse"
    assert rows["show good"].claim == "better"
    for c in rows.values():
        assert c.lift is None or np.sign(c.lift) == np.sign(c.difference)
    assert not cr.gate(result, system="show bad").passed
    assert cr.gate(result, system="show good").passed
    found = decide(result.to_dict())
    assert (found.verdict, found.system) == ("test", "show good")


def test_no_share_of_nothing_is_shown() -> None:
    """Near 0 a lift of "+4273.5 % [-2495.8 %, ...]" was printed."""
    result = estimated({"profit": {"old": 0.02, "good": 0.5}})
    text = "\n".join(result.lines()) + cr.gate(result).markdown()
    assert result.comparisons[0].lift is None
    assert "%" not in text.split("Decision")[1].split("intervals")[0].replace("95%", "")
    assert decide(result.to_dict()).verdict == "test"


def test_a_guard_that_loses_keeps_the_gate_shut() -> None:
    """Clicks +30 % and purchases -34 %: the gate opened, and did not say by what."""
    means = {"click": {"old": 1.0, "new": 1.3}, "purchase": {"old": 1.0, "new": 0.66}}
    result = estimated(means)
    decides = result.to_dict()["protocol"]["decides"]
    assert decides["guards"] == [{"measure": "purchase", "reward": None, "margin": 0.02}]
    gate = cr.gate(result)
    assert not gate.passed
    assert "| guards | purchase |" in gate.markdown()
    found = decide(result.to_dict())
    assert found.verdict == "keep"
    assert "purchase is worse" in found.sentence
    other = cr.gate(result, decide_by="purchase")
    assert [r.criterion.measure for r in other.checked[0].requirements] == ["purchase", "click"]
    assert cr.gate(result, guard={"purchase": 0.9}).passed
    assert estimated(means, guard={"purchase": 0.9}).to_dict()["protocol"]["decides"]["guards"] == [
        {"measure": "purchase", "reward": None, "margin": 0.9}
    ]


def test_a_small_log_cannot_pass_by_being_unable_to_tell() -> None:
    means = {"click": {"old": 1.0, "new": 3.0}, "buy": {"old": 0.3, "new": 0.23}}
    frame, runs = log(means, sessions=300)
    options = {"reward": ["click", "buy"], "estimator": "IPS", "baseline": "show old"}
    result = cr.estimate(frame, runs, disjoint="zero", **options)
    assert result.comparisons[0].claim == "better"
    assert not cr.gate(result).passed
    assert "may be worse by more than 2%" in decide(result.to_dict()).sentence


def test_what_decides_must_be_measured() -> None:
    means = {"click": {"old": 1.0, "new": 1.3}, "buy": {"old": 1.0, "new": 1.0}}
    for options in ({"decide_by": "clicks"}, {"guard": {"by": 0.1}}):
        with pytest.raises(cr.UsageError, match="is not measured"):
            estimated(means, **options)
    with pytest.raises(cr.UsageError, match="cannot guard"):
        estimated(means, decide_by="buy", guard={"buy": 0.1})
    with pytest.raises(cr.UsageError, match="cannot guard"):
        cr.gate(estimated(means), guard={"click": 0.1})
    for lead in ({"guard": {"click": 0.1}}, {"decide_by": "buy", "guard": {"buy": 0.1}}):
        with pytest.raises(cr.UsageError, match="decides, so it cannot guard"):
            estimated(means, **lead)
    for least in (float("inf"), -float("inf"), float("nan")):
        with pytest.raises(cr.UsageError, match="min_lift must be finite"):
            estimated(means, min_lift=least)
        with pytest.raises(cr.UsageError, match="min_lift must be finite"):
            cr.gate(estimated(means), min_lift=least)
    for bad in ({"buy": "1%"}, {"buy": -1.0}, 3, {"buy": float("nan")}):
        with pytest.raises(cr.UsageError, match="names to shares"):
            estimated(means, guard=bad)
    assert estimated(means, decide_by="buy").protocol["decides"]["measure"] == "buy"


def test_rewards_as_small_as_can_be_have_no_lift_and_no_warning() -> None:
    frame, runs = log({"profit": {"old": 1.0, "good": 2.0}})
    frame = frame.with_columns(pl.col("profit") * 1e-300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = cr.estimate(
            frame, runs, reward="profit", estimator="IPS", baseline="show old", disjoint="zero"
        )
    assert result.comparisons[0].lift is None


@pytest.mark.parametrize("unit", [2.0**-370, 2.0**-270, 2.0**225])
def test_lifts_do_not_depend_on_the_unit_of_rewards(unit: float) -> None:
    """Their ends went together or to infinity where squares of squares left the floats."""
    frame, runs = log({"profit": {"old": 1.0, "good": 1.2}})
    frame = frame.with_columns(
        timestamp=pl.int_range(pl.len()) * 60,
        profit=pl.col("profit") * (pl.int_range(pl.len()) % 7),
    )

    def scaled_lifts(unit: float) -> list[float | None]:
        scaled = frame.with_columns(pl.col("profit") * unit)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = cr.estimate(scaled, runs, reward="profit", baseline="show old", disjoint="zero")
        return [x for c in found.comparisons for x in (c.lift_low, c.lift, c.lift_high)]

    plain = scaled_lifts(1.0)
    assert plain == sorted(plain[:3]) + sorted(plain[3:6]) + sorted(plain[6:])
    assert scaled_lifts(unit) == pytest.approx(plain, rel=1e-12)


# without a baseline


def lists(hits: dict[str, Any]) -> Any:
    """Judgments and runs: each system finds a user's one item at a rank, or has no list (0)."""
    users = range(len(next(iter(hits.values()))))
    judgments = pl.DataFrame({"user": [f"u{u}" for u in users], "item": "x", "rating": 1})
    runs = {}
    for name, ranks in hits.items():
        rows = [
            {"user": f"u{u}", "item": "x" if r == rank else f"y{r}", "rank": r}
            for u, rank in zip(users, ranks, strict=True)
            if rank
            for r in range(1, 6)
        ]
        runs[name] = pl.DataFrame(rows)
    return judgments, runs


def test_winners_come_from_common_users() -> None:
    """B beats A wherever both have lists, but A has lists only where everyone does well."""
    rng = np.random.default_rng(0)
    easy = rng.random(300) < 0.75
    b = np.where(easy, rng.integers(1, 3, 300), 5)
    a = np.where(easy, np.minimum(b + rng.integers(0, 2, 300), 5), 0)
    judgments, runs = lists({"A": a, "B": b})
    result = cr.evaluate(judgments, runs, measure="RR@10", missing="skip", draws=2000)
    means = {r.system: r.value for r in result.estimates}
    assert means["A"] > means["B"]
    found = decide(result.to_dict())
    assert (found.verdict, found.system) == ("test", "B")
    assert "ahead of A" in found.sentence
    assert "difference from B" in "\n".join(result.lines())


def test_who_is_not_separated_is_named() -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(1, 4, 200)
    judgments, runs = lists({"A": first, "B": rng.permutation(first), "C": first + 2})
    found = decide(cr.evaluate(judgments, runs, measure="RR@10", draws=2000).to_dict())
    assert found.verdict == "open"
    assert "not separated" in found.sentence
    assert "C" not in found.sentence


def paired(beats: dict[tuple[str, str], float]) -> Any:
    """A document of pairs: the first beats the second by so much, or is not separated (0)."""
    of = {"measure": "m", "reward": None, "estimator": "mean", "segment": None}
    rows = [
        {
            **of, "system": a, "baseline": b, "difference": d, "family_low": d - 0.1,
            "family_high": d + 0.1, "claim": "better" if d > 0.1 else "cannot_tell",
        }
        for (a, b), d in beats.items()
    ]  # fmt: skip
    names = dict.fromkeys(name for pair in beats for name in pair)
    values = [{**of, "system": n, "value": 1.0, "low": 0.9, "high": 1.1} for n in names]
    decides = {"measure": "m", "reward": None, "estimator": "mean"}
    return {
        "kind": "evaluate", "estimates": values, "comparisons": rows, "diagnostics": [],
        "protocol": {"baseline": None, "decides": decides},
    }  # fmt: skip


def test_a_circle_has_no_winner() -> None:
    found = decide(paired({("a", "b"): 0.5, ("b", "c"): 0.5, ("c", "a"): 0.5}))
    assert found.verdict == "open"
    assert "beats" in found.sentence
    assert {word for word in "abc" if f"{word} beats" in found.sentence} == set("abc")


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from([-0.5, 0.0, 0.5]), min_size=6, max_size=6))
def test_a_winner_beats_everyone(signs: list[float]) -> None:
    pairs = list(itertools.combinations("abcd", 2))
    turned = {(a, b) if d >= 0 else (b, a): abs(d) for (a, b), d in zip(pairs, signs, strict=True)}
    document = paired(turned)
    found = decide(document)
    beaten = {(a, b) for (a, b), d in turned.items() if d}
    if found.verdict == "test":
        assert all((found.system, o) in beaten for o in "abcd" if o != found.system)
    else:
        assert not any(all((w, o) in beaten for o in "abcd" if o != w) for w in "abcd")
        if found.system:
            assert not any((o, found.system) in beaten for o in "abcd")


def test_the_order_of_pairs_is_that_of_their_differences() -> None:
    value = {"a": 1.0, "b": -2.0, "c": 0.5}
    pairs = [(x, y, value[x] - value[y]) for x, y in itertools.permutations(value, 2)]
    assert order_by_pairs(pairs) == ["a", "c", "b"]
    assert order_by_pairs(pairs, -1) == ["b", "c", "a"]


@settings(max_examples=30, deadline=None)
@given(st.floats(-20, 20), st.floats(0.5, 3), st.booleans(), st.floats(0, 0.2))
def test_a_better_ranker_never_loses_and_a_worse_one_never_passes(
    centre: float, shift: float, lower: bool, min_lift: float
) -> None:
    """Values of any sign, measures of either direction."""
    of = {"measure": "m", "reward": None, "estimator": "mean", "segment": None}
    document: dict[str, Any] = {
        "kind": "evaluate",
        "estimates": [
            {**of, "system": n, "value": v, "low": v - 0.1, "high": v + 0.1}
            for n, v in (("old", centre), ("up", centre + shift), ("down", centre - shift))
        ],
        "comparisons": [
            {
                **of, "system": n, "baseline": "old", "difference": d, "low": d - 0.1,
                "high": d + 0.1, "family_low": d - 0.2, "family_high": d + 0.2,
                **({} if abs(centre) <= 0.1 else {
                    "lift": d / abs(centre), "lift_family_low": (d - 0.2) / abs(centre),
                    "lift_family_high": (d + 0.2) / abs(centre),
                }),
            }
            for n, d in (("up", shift), ("down", -shift))
        ],
        "diagnostics": [{"name": "ties", "systems": [], "estimators": [], "state": "pass"}],
        "protocol": {
            "baseline": "old", "lower_is_better": ["m"] if lower else [],
            "decides": {"measure": "m", "reward": None, "estimator": "mean"},
        },
    }  # fmt: skip
    good, bad = ("down", "up") if lower else ("up", "down")
    gate = hold_gate(document, systems=[good], min_lift=min_lift)
    assert gate.passed == (shift - 0.2 >= min_lift * abs(centre) and shift > 0.2)
    assert not hold_gate(document, systems=[bad], min_lift=min_lift).passed
    found = decide(document)
    assert (found.verdict, found.system) == ("test", good)
    sign = "-" if lower else "+"
    assert abs(centre) <= 0.1 or f"{sign}{shift / abs(centre):.1%}" in found.sentence


def test_many_candidates_do_not_open_the_gate_by_chance() -> None:
    """Looking at one after looking at 20 opened for a worse one in 6 % where 2.5 % is claimed."""
    rng, opened, runs = np.random.default_rng(3), 0, 60
    for _ in range(runs):
        base = rng.integers(1, 6, 80)
        hits = {"old": base} | {f"s{n}": rng.permutation(base) for n in range(10)}
        judgments, own = lists(hits)
        result = cr.evaluate(judgments, own, measure="RR@10", baseline="old", test="t")
        best = max(result.comparisons, key=lambda c: c.difference).system
        opened += cr.gate(result, system=best).passed
    assert opened / runs <= 0.025 + 4 * np.sqrt(0.025 * 0.975 / runs)


# what a diagnostic concerns


def funnel_with(cvr: float, seed: int = 0) -> Any:
    """A shop of all pairs with a known ctr, and a cvr that is right (1) or wrong by a factor."""
    rng = np.random.default_rng(seed)
    users, items = 300, 12
    user, item = (x.ravel() for x in np.meshgrid(np.arange(users), np.arange(items)))
    rate = 0.1 + 0.5 * (item / items)
    click = rng.random(len(user)) < 0.5
    table = pl.DataFrame(
        {
            "user": user, "item": item, "click": click.astype(int),
            "conversion": (click & (rng.random(len(user)) < rate)).astype(int),
            "ctr": np.full(len(user), 0.5), "cvr": np.minimum(cvr * rate, 1.0),
        }
    )  # fmt: skip
    runs = {
        name: pl.DataFrame(
            {
                "user": np.repeat(np.arange(users), 3),
                "item": np.tile(own, users),
                "rank": np.tile([1, 2, 3], users),
            }
        )
        for name, own in (("old", [0, 1, 2]), ("new", [11, 10, 9]))
    }
    return table, runs


def test_a_wrong_cvr_does_not_count_against_ips() -> None:
    """IPS never reads a cvr; its right numbers were refused in 300 of 300."""
    table, runs = funnel_with(0.3)
    options = {"measure": "CG@3", "baseline": "old", "estimator": ["IPS", "DR"]}
    result = cr.funnel(table, runs, **options)
    failing = [d for d in result.diagnostics if d.state == "fail"]
    assert [d.name for d in failing] == ["conversion model"]
    assert failing[0].estimators == ("DR",)
    verdict = {r.estimator: r.verdict for r in result.estimates}
    assert verdict["IPS"] != "fail"
    assert verdict["DR"] == "fail"
    document = result.to_dict()
    del document["protocol"]["undecided"]  # what was clicked decides nothing of sales
    assert hold_gate(document, estimator="IPS").passed
    assert not hold_gate(document, estimator="DR").passed
    assert decide(document).verdict == "distrust"
    assert decide(document, estimator="IPS").verdict == "test"


def test_a_model_that_nobody_reads_fails_nobody() -> None:
    table, runs = funnel_with(0.3)
    result = cr.funnel(table, runs, measure="CG@3", baseline="old", estimator="IPS")
    assert not [d for d in result.diagnostics if d.state == "fail"]


@pytest.mark.parametrize(
    ("concerns", "verdict"),
    [
        ({}, "distrust"),
        ({"estimators": ["IPS"]}, "test"),
        ({"estimators": ["mean"]}, "distrust"),
        ({"systems": ["other"]}, "test"),
        ({"systems": ["new"]}, "distrust"),
        ({"systems": ["old"]}, "distrust"),
        ({"systems": ["new"], "estimators": ["IPS"]}, "test"),
    ],
)
def test_only_what_concerns_the_numbers_counts(concerns: Any, verdict: str) -> None:
    document = paired({("new", "old"): 0.5})
    document["protocol"]["baseline"] = "old"
    document["diagnostics"] = [
        {"name": "x", "subject": "y", "state": "fail", "meaning": "Why.", **concerns}
    ]
    assert decide(document).verdict == verdict
    assert hold_gate(document).passed == (verdict == "test")


def test_a_candidate_that_fails_does_not_hold_back_another() -> None:
    document = paired({("new", "old"): 0.5, ("bad", "old"): 0.9})
    document["protocol"]["baseline"] = "old"
    document["diagnostics"] = [
        {"name": "tail", "subject": "bad", "state": "fail", "meaning": "", "systems": ["bad"]}
    ]
    found = decide(document)
    assert (found.verdict, found.system) == ("test", "new")
    assert "bad does not count: tail fails" in found.sentence
    assert hold_gate(document, systems=["new"]).passed
    assert not hold_gate(document).passed


def test_weights_that_fail_do_not_veto_the_stratified_value() -> None:
    """Weights by popularity failed, and the gate exited 3 for values that use none."""
    world = judged_world(users=120)
    result = cr.strata(world.judgments, world.runs, measure="nDCG@10", baseline="popular")
    failing = [d for d in result.diagnostics if d.state == "fail"]
    assert failing
    assert all(d.estimators == ("IPS",) for d in failing)
    assert decide(result.to_dict()).verdict == "test"
    assert cr.gate(result, system="deep").passed
    assert not cr.gate(result, system="deep", estimator="IPS").passed


# the pick


def better(base: Any, rng: Any) -> Any:
    """Ranks of which half are one higher."""
    return np.maximum(base - (rng.random(len(base)) < 0.5), 1)


def test_the_sentence_says_from_how_many_it_was_picked() -> None:
    rng = np.random.default_rng(2)
    base = rng.integers(2, 6, 400)
    hits = {"old": base} | {f"s{n}": better(base, rng) for n in range(8)}
    judgments, runs = lists(hits)
    result = cr.evaluate(judgments, runs, measure="RR@10", baseline="old", test="t")
    found = decide(result.to_dict())
    assert "picked from 8" in found.sentence
    assert "Corrected for the pick: " in found.sentence
    rows = {c.system: c for c in result.comparisons}
    best = rows[found.system]
    assert best.selected_low < best.selected_difference < best.difference
    assert sum(c.selected_difference is not None for c in rows.values()) == 1


def test_the_best_may_be_the_least() -> None:
    rng = np.random.default_rng(2)
    base = rng.integers(2, 6, 200)
    hits = {"old": base} | {f"s{n}": better(base, rng) for n in range(3)}
    judgments, runs = lists(hits)
    result = cr.evaluate(judgments, runs, measure="ARP@10", baseline="old", test="t")
    best = min(result.comparisons, key=lambda c: c.difference)
    assert best.difference < best.selected_difference < best.selected_high < 0
    assert decide(result.to_dict()).system == best.system


def test_the_log_is_audited_by_the_reward_that_decides() -> None:
    log = pl.DataFrame(
        {"session": np.repeat(np.arange(200), 2), "rank": [1, 2] * 200, "item": ["a", "b"] * 200}
    ).with_columns(click=(pl.col("session") % 3 == 0).cast(int), zero=pl.lit(0))
    run = {"same": log.select("session", "item", "rank")}
    for rewards in (["click", "zero"], ["zero", "click"]):
        found = cr.estimate(
            log, run, reward=rewards, decide_by="zero", position_bias="log2", views="latent"
        )
        assert {d.state for d in found.diagnostics if d.name == "events"} == {"fail"}


def test_what_fails_is_not_called_not_separated() -> None:
    """The better of two systems that has a list for one user in four: its numbers do not count."""
    judgments, runs = lists({"few": [1, 2] * 25 + [0] * 150, "all": [3, 4, 5, 4] * 50})
    result = cr.evaluate(
        judgments, runs, measure="RR@10", missing="skip", baseline="all", draws=2000
    )
    (pair,) = result.comparisons
    assert (pair.verdict, pair.claim) == ("fail", "cannot_tell")
    assert pair.family_low > 0
    assert "not relied on: few." in str(result)
    assert "not separated" not in str(result)
    (figure,) = lifts(result.to_dict())
    assert [(row["claim"], row["clear"]) for row in figure.rows] == [("cannot_tell", "")]
