"""The log, the runs and the judgments of a simulated platform, and what each switch does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from counterrank.core.errors import UsageError
from counterrank.simulate import (
    RANKERS,
    REWARDS,
    SPECIALISTS,
    Cascade,
    DependentClicks,
    SamplePlan,
    World,
    platform,
)  # fmt: skip
from counterrank.simulate import sample as streaming

SWITCHES = ("carry_over", "cascading", "interaction", "trust", "missing_support")
PL = {"ranker": "plackett_luce"}


def log(sessions=3000, seed=0, **options):
    return platform(World(**options), sessions=sessions, seed=seed, runs=[]).log


def wide(frame, column, slots=10):
    return frame[column].to_numpy().reshape(-1, slots)


def test_columns_and_kinds():
    sample = platform(sessions=50)
    columns = [
        "session", "user", "day", "timestamp", "context", "candidates", "policy", "arm", "item",
        "rank", "viewed", "exposure", "click", "like", "dwell", "conversion", "revenue",
    ]  # fmt: skip
    assert sample.log.columns == columns
    chancy = platform(World(ranker="plackett_luce"), sessions=50, runs=[])
    assert chancy.log.columns == [*columns[:12], "propensity", "propensity_above", *columns[12:]]
    assert sample.log.null_count().sum_horizontal()[0] == 0
    assert (wide(sample.log, "rank") == np.arange(1, 11)).all()
    assert sample.log.select("session", "item").is_unique().all()
    assert list(sample.runs) == [name for name in RANKERS if name != "two_stage"]
    assert set(sample.truth["near"]) == set(REWARDS)


@pytest.mark.parametrize("options", [{}, PL, {"examination": "dependent_clicks"}])
def test_rewards_follow_views_and_clicks(options):
    table = log(**options)
    viewed, click, bought = (table[c].cast(bool) for c in ("viewed", "click", "conversion"))
    assert not (click & ~viewed).any()
    assert not (table["like"].cast(bool) & ~viewed).any()
    assert not (bought & ~click).any()
    assert ((table["dwell"] > 0) == click).all()
    assert ((table["revenue"] > 0) == bought).all()
    assert (np.diff(wide(table, "viewed"), axis=1) <= 0).all()  # nobody skips a rank
    assert bought.sum() > 50


def test_users_come_again_and_keep_their_context():
    table = log(sessions=20_000).unique("session")
    by_user = table.group_by("user").agg(pl.len(), pl.col("context").n_unique().alias("contexts"))
    assert by_user["contexts"].max() == 1
    assert by_user["len"].mean() == pytest.approx(4, rel=0.15)
    assert by_user["len"].max() > 5 * by_user["len"].mean()


def test_users_may_come_in_any_context():
    one, other = log(sessions=20_000), log(sessions=20_000, user_contexts="any")
    by_user = other.unique("session").group_by("user")
    by_user = by_user.agg(pl.len(), pl.col("context").n_unique().alias("contexts"))
    assert by_user.filter(pl.col("len") > 60)["contexts"].min() > 4
    assert by_user["len"].mean() == pytest.approx(4, rel=0.15)
    for column in ("context", "item", "viewed"):
        assert one[column].equals(other[column])
    with pytest.raises(UsageError, match="one context"):
        World(user_contexts="any", carry_over=0.1)


def test_same_seed_same_data_other_seed_other_data():
    for options in ({}, PL, {"carry_over": 0.5, "days": 3}):
        world = World(**options)
        one, two = (platform(world, sessions=500, seed=7) for _ in range(2))
        assert_frame_equal(one.log, two.log)
        assert_frame_equal(one.runs["stochastic"], two.runs["stochastic"])
        assert not one.log.equals(platform(world, sessions=500, seed=8).log)
        other = World(**options, seed=1)
        assert not one.log.equals(platform(other, sessions=500, seed=7).log)


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_at_zero_is_no_switch(switch):
    """Nor does a switch that is hardly on shift any other choice."""
    for options in ({}, PL):
        plain = log(**options)
        assert_frame_equal(plain, log(**options, **{switch: 0.0}))
        nearly = log(**options, **{switch: 1e-9})
        assert_frame_equal(plain.drop("exposure"), nearly.drop("exposure"))
        assert plain["exposure"].to_numpy() == pytest.approx(nearly["exposure"].to_numpy(), 1e-6)


def test_trust_costs_clicks_the_lower_the_more():
    plain, off = log(20_000), log(20_000, trust=1)
    assert plain["viewed"].equals(off["viewed"])
    before, after = (wide(t, "click").sum(axis=0) for t in (plain, off))
    assert after[0] == before[0]
    assert (wide(off, "click") <= wide(plain, "click")).all()
    keep = 1 / np.sqrt(np.arange(1, 11))
    assert (np.abs(after - before * keep) <= 4 * np.sqrt(before * keep * (1 - keep))).all()


def test_interaction_costs_items_below_their_kind():
    world = World(interaction=1)
    plain, off = log(5000), log(5000, interaction=1)
    kind = world.latent.category[wide(plain, "item")]
    repeated = np.zeros(kind.shape, bool)
    repeated[:, 1:] = kind[:, 1:] == kind[:, :-1]
    before, after = wide(plain, "click"), wide(off, "click")
    assert (after[~repeated] == before[~repeated]).all()
    assert before[repeated].sum() > 100
    assert after[repeated].sum() == 0


def test_cascading_ends_sessions_with_a_click():
    plain, off = log(5000), log(5000, cascading=1)
    click = wide(off, "click")
    after_click = (np.cumsum(click, axis=1) - click) > 0
    assert wide(off, "viewed")[after_click].sum() == 0
    assert (wide(off, "viewed")[~after_click] == wide(plain, "viewed")[~after_click]).all()
    assert wide(plain, "viewed")[after_click].sum() > 0
    half = wide(log(5000, cascading=0.5), "viewed").sum()
    assert wide(off, "viewed").sum() < half < wide(plain, "viewed").sum()


def test_carry_over_depends_on_the_last_list():
    world = World(carry_over=1)
    who = SamplePlan(world=world, sessions=4000).who
    items = world.items_at(who.context, who.set, who.places)
    rich = world.users.richness(who.context, items)
    last = {}
    for n, user in enumerate(who.user.tolist()):
        if user in last:
            assert who.appetite[n] == pytest.approx(1 - rich[last[user]])
        last[user] = n
    assert len(last) < 2000
    assert ((who.appetite > 0) & (who.appetite < 1)).all()
    plain, off = log(4000), log(4000, carry_over=1)
    assert plain["viewed"].equals(off["viewed"])
    assert (wide(off, "click") <= wide(plain, "click")).all()
    assert off["click"].sum() < 0.9 * plain["click"].sum()


def unsupported(sample, name):
    """Share of a target's exposure on items that the log's session never showed."""
    shown = sample.log.select("session", "item").with_columns(shown=True)
    run = sample.runs[name]
    return run.join(shown, on=["session", "item"], how="left")["shown"].is_null().mean()


def test_missing_support_grows_with_its_degree():
    samples = [platform(World(missing_support=d), sessions=500) for d in (0, 0.3, 1)]
    assert_frame_equal(samples[0].log, samples[2].log)
    for name in ("near", "far", "random", "stochastic"):
        none, some, much = (unsupported(s, name) for s in samples)
        assert none == 0 < some < much
    assert unsupported(samples[2], "logged") == 0


def test_missing_support_of_a_stochastic_logger():
    """All candidates can be shown at 0; at 1 the loggers withhold those below the slots."""
    full, held = (World(**PL, missing_support=d) for d in (0, 1))
    for world, least in ((full, 20), (held, 10)):
        can = (world.exposures["logged"].by_candidates > 0).sum(axis=2)
        assert (can == least).all()
        assert (world.exposures["stochastic"].by_candidates > 0).all()


def test_views_observed_latent_or_only_viewed_rows():
    world = World()
    seen, latent, only = (
        platform(world, sessions=200, runs=[], views=v).log
        for v in ("observed", "latent", "viewed_only")
    )
    assert_frame_equal(seen.drop("viewed"), latent)
    assert_frame_equal(seen.filter(pl.col("viewed") == 1).drop("viewed"), only)


def test_cascade_has_one_click_at_most():
    click = wide(log(examination="cascade"), "click").sum(axis=1)
    assert click.max() == 1
    assert log(examination=Cascade()).equals(log(examination="cascade"))
    never = log(examination=DependentClicks((0,)))
    assert_frame_equal(never, log(examination="cascade"))
    assert wide(log(examination="dependent_clicks(1)"), "viewed").all()


def test_logged_run_is_what_was_shown_and_targets_rank_the_same_candidates():
    sample = platform(sessions=300)
    assert_frame_equal(sample.runs["logged"], sample.log.select("session", "item", "rank"))
    world = World()
    for name in ("near", "far", "random", "ideal"):
        best = sample.runs[name].sort("session", "rank")
        cells = sample.log.unique("session").sort("session")
        x, s = cells["context"].to_numpy(), cells["candidates"].to_numpy()
        score = world.rankers[name].score[x, s]
        order = np.argsort(-score, axis=1)[:, :10]
        assert (wide(best, "item") == world.items_at(x, s, order)).all()


def test_length_spread_makes_some_watch_longer_and_changes_nothing_else():
    even, spread = World(seed=2), World(seed=2, length_spread=0.5)
    assert list(even.rankers) == list(RANKERS)
    assert list(spread.rankers) == [*RANKERS, *SPECIALISTS]
    one, other = (platform(w, sessions=500, runs=["near"]) for w in (even, spread))
    assert_frame_equal(one.runs["near"], other.runs["near"])
    kinds = pl.selectors.exclude("policy", "dwell")
    assert_frame_equal(one.log.select(kinds), other.log.select(kinds))
    long = even.latent.long[one.log["context"]]
    assert even.latent.long.sum() == 2
    longer = np.where(long, np.sqrt(20), 1) * one.log["dwell"].to_numpy()
    assert other.log["dwell"].to_numpy() == pytest.approx(longer)
    with pytest.raises(UsageError, match='no ranker "long_form"'):
        World(arms={"long_form": 0.5})


def test_specialists_know_one_length_and_nothing_of_the_other():
    world = World(seed=1, length_spread=1, items=2000, candidates=100, slots=100, sets=2)
    time = np.log(world.latent.quality * world.latent.dwell)
    x = np.arange(world.contexts)[:, None, None]
    time = time[x, world.latent.sets]
    for name, known in (("short_form", ~world.latent.long), ("long_form", world.latent.long)):
        score = world.rankers[name].score
        for c in range(world.contexts):
            for s in range(world.sets):
                r = np.corrcoef(time[c, s], score[c, s])[0, 1]
                assert r > 0.7 if known[c] else abs(r) < 4 / np.sqrt(100)


def test_deterministic_logger_exposure_is_that_of_the_rank():
    table = log(examination="power(eta=0.5)")
    assert table["exposure"].to_numpy() == pytest.approx(table["rank"].to_numpy() ** -0.5)
    assert "propensity" not in table.columns


def test_several_loggers_and_arms():
    world = World(loggers={"logged": 0.75, "stochastic": 0.25}, arms={"far": 0.2, "random": 0.3})
    table = platform(world, sessions=8000, runs=[]).log.unique("session")
    assert table.group_by("user").agg(pl.col("arm").n_unique())["arm"].max() == 1
    served = table.select(pl.col("arm").cast(str), pl.col("policy").cast(str))
    arms = served.filter(pl.col("arm") != "control")
    assert (arms["arm"] == arms["policy"]).all()
    control = served.filter(pl.col("arm") == "control")["policy"]
    assert set(control) == {"logged", "stochastic"}
    error = 4 * np.sqrt(0.75 * 0.25 / len(control))
    assert (control == "logged").mean() == pytest.approx(0.75, abs=error)


def test_given_context_all_rankers_have_exposures():
    sample = platform(sessions=100, given="context")
    assert list(sample.runs) == list(RANKERS)
    for run in sample.runs.values():
        assert run.columns == ["session", "item", "exposure"]
        total = run.group_by("session").agg(pl.col("exposure").sum())["exposure"]
        assert total.to_numpy() == pytest.approx(np.sum(1 / np.log2(np.arange(2, 12))))


@pytest.mark.parametrize("given", ["candidates", "context"])
def test_draws_average_to_the_exposure(given):
    world, draws = World(contexts=1, sets=2), 4000
    names = ["stochastic"] if given == "candidates" else ["stochastic", "two_stage", "near"]
    options = {"sessions": 1, "given": given, "runs": names}
    exact = platform(world, **options).runs
    drawn = platform(world, **options, stochastic="draws", draws=draws).runs
    for name in names:
        seen = drawn[name].with_columns(w=1 / (pl.col("rank") + 1).log(2))
        assert seen["draw"].n_unique() == draws
        sums = seen.group_by("item").agg(pl.col("w").sum(), (pl.col("w") ** 2).sum().alias("ww"))
        both = exact[name].join(sums, on="item", how="left").fill_null(0)
        mean = both["w"] / draws
        se = ((both["ww"] / draws - mean**2) / draws).sqrt()
        assert ((mean - both["exposure"]).abs() <= 4.5 * se + 1e-3).all()


def test_judgments_grade_true_quality():
    world = World()
    sample = platform(world, sessions=500)
    table = sample.judgments
    assert set(table["rating"]) == {0, 1, 2, 3, 4}
    assert set(table["user"]) == set(sample.log["user"])
    context = dict(sample.log.select("user", "context").unique().iter_rows())
    x = np.array([context[u] for u in table["user"]])
    quality = world.latent.quality[x, table["item"].to_numpy()]
    top = [quality[(table["rating"] == g).to_numpy()] for g in range(5)]
    assert all(top[g].max() <= top[g + 1].min() for g in range(4))
    best = sample.log.join(table, on=["user", "item"], how="left")
    assert best["rating"].null_count() == 0


def test_blocks_hold_the_same_sessions_in_memory_and_in_a_stream(monkeypatch):
    monkeypatch.setattr("counterrank.simulate.sessions.BLOCK", 64)
    world = World(ranker="plackett_luce", days=2)
    sample = platform(world, sessions=300)
    assert sample.log["session"].n_unique() == 300
    steps = []

    def counted(parts, word):
        for part in parts:
            steps.append(word)
            yield part

    monkeypatch.setattr("counterrank.simulate.sample_tables.JUDGES", 16)
    plan = SamplePlan(world=world, sessions=300)
    assert_frame_equal(
        streaming.stream_table(plan, "judgments", counted).collect(), sample.judgments
    )
    assert len(steps) > 3
    steps.clear()
    assert_frame_equal(streaming.stream_table(plan, "log", counted).collect(), sample.log)
    assert steps == ["log"] * 5
    for name in ("near", "stochastic"):
        assert_frame_equal(streaming.stream_table(plan, name, counted).collect(), sample.runs[name])
    few = (
        streaming.stream_table(plan, "log", counted)
        .filter(pl.col("rank") == 2)
        .select("item")
        .head(70)
        .collect()
    )
    assert_frame_equal(few, sample.log.filter(pl.col("rank") == 2).select("item").head(70))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"trust": 1.5}, "trust must lie between 0 and 1"),
        ({"trust": float("nan")}, "trust must lie between 0 and 1"),
        ({"slots": 30}, "slots <= candidates <= items"),
        ({"contexts": 0}, "contexts must be at least 1"),
        ({"days": 1.5}, "days must be a whole number"),
        ({"ranker": "stochastic"}, "ranker cannot be"),
        ({"temperature": 0.0}, "temperature must be at least 0.01"),
        ({"loggers": {"loged": 1.0}}, 'Did you mean "logged"'),
        ({"loggers": {"logged": 0.5}}, "add up to 0.5"),
        ({"loggers": {}}, "add up to 0"),
        ({"arms": {"far": 0.7, "near": 0.7}}, "add up to 1.4"),
        ({"arms": {"far": 0.0}}, "a share must lie above 0"),
        ({"examination": "lgo2"}, 'Did you mean "log2"'),
        ({"examination": "table(2,1)"}, "weights that are probabilities"),
        ({"examination": "table(0)"}, "not all of them 0"),
        ({"examination": "cascade(p=1)"}, 'cascade has no option "p"'),
        ({"examination": "dependent_clicks(2)"}, "probabilities of going on"),
        ({"examination": "dependent_clicks(x)"}, "takes numbers"),
        ({"examination": ()}, "No model of examination"),
        ({"examination": ("log2", "cascade")}, "not in what a click does"),
        ({"examination": "table(0.5,0.9)", "cascading": 0.1}, "falls from rank to rank"),
        ({"sessions_per_user": 0}, "sessions_per_user"),
        ({"seed": -1}, "seed"),
    ],
)
def test_refuses_worlds_that_make_no_sense(options, words):
    with pytest.raises(UsageError, match=words.replace("(", r"\(").replace(")", r"\)")):
        World(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sessions": 0}, "sessions must lie between 1 and 2147483647, not 0"),
        ({"draws": 0}, "draws must lie between 1"),
        ({"views": "some"}, "views cannot be"),
        ({"given": "all"}, "given cannot be"),
        ({"stochastic": "x"}, "stochastic cannot be"),
        ({"runs": ["x"]}, "runs cannot be"),
        ({"runs": ["two_stage"]}, "candidates of its own"),
    ],
)
def test_refuses_samples_that_make_no_sense(options, words):
    with pytest.raises(UsageError, match=words):
        platform(World(), **options)
