"""Offline figures against online ones: from tables, and straight from a log."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from math import erf, sqrt

import numpy as np
import polars as pl
import pytest
import scipy.stats

import counterrank as cr
from counterrank.assess.case_correlation import correlate
from counterrank.assess.online import one_sided, two_sided
from counterrank.core.errors import InputError, UsageError
from counterrank.simulate import World, platform


def past(experiments=12, systems=3, seed=0):
    """Values of systems in experiments: a good measure, a bad one, and the online metric."""
    rng = np.random.default_rng(seed)
    rows = []
    for e, s in itertools.product(range(experiments), range(systems)):
        online = 1 + 0.3 * rng.normal()
        for measure, noise in (("good", 0.1), ("bad", 3.0)):
            offline = 2 * online + noise * rng.normal()
            rows.append((f"e{e}", f"s{s}", measure, offline, 0.05 + noise / 10, online, 0.06))
    names = ["experiment", "system", "measure", "offline", "offline_se", "online", "online_se"]
    return pl.DataFrame(rows, schema=names, orient="row")


def by_hand(frame, measure, baseline, alpha):
    """All effect figures in plain Python."""
    rows = {
        (r["experiment"], r["system"]): r
        for r in frame.filter(pl.col("measure") == measure).to_dicts()
    }

    def p(d, se):
        return 1 - erf(abs(d) / se / sqrt(2))

    true = nulls = sign = right = missed = wrong = false = 0
    ps = []
    for (e, s), r in rows.items():
        if s == baseline:
            continue
        b = rows[e, baseline]
        off, off_se = r["offline"] - b["offline"], sqrt(r["offline_se"] ** 2 + b["offline_se"] ** 2)
        on, on_se = r["online"] - b["online"], sqrt(r["online_se"] ** 2 + b["online_se"] ** 2)
        called = p(off, off_se) <= alpha
        if p(on, on_se) <= alpha:
            true += 1
            toward = off if on > 0 else -off
            ps.append((1 - erf(toward / off_se / sqrt(2))) / 2)
            sign += off * on > 0
            missed += not called
            right += called and off * on > 0
            wrong += called and off * on < 0
        else:
            nulls += 1
            false += called
    return {
        "sign_agreement": sign / true, "sensitivity": right / true, "type_1": false / nulls,
        "type_2": missed / true, "type_3": wrong / true, "mean_p": sum(ps) / true,
        "effects": true, "nulls": nulls,
    }  # fmt: skip


def effects_by_hand(own, baseline):
    """Effects, and of each experiment the sum of products of the standardised effects."""
    rows = {(r["experiment"], r["system"]): r for r in own.to_dicts()}
    pairs = [
        (e, r["offline"] - rows[e, baseline]["offline"], r["online"] - rows[e, baseline]["online"])
        for (e, s), r in rows.items()
        if s != baseline
    ]
    x, y = (np.array([pair[k] for pair in pairs]) for k in (1, 2))
    product = (x - x.mean()) / x.std() * (y - y.mean()) / y.std()
    score = {}
    for (e, *_), part in zip(pairs, product, strict=True):
        score[e] = score.get(e, 0.0) + part
    return x, y, list(score.values())


def test_single_cases_of_experiments_are_students_test():
    frame = past(systems=1).filter(pl.col("measure") == "bad")
    row = cr.assess_online(frame, level=0.9).correlations[0]
    theirs = scipy.stats.pearsonr(frame["offline"], frame["online"])
    assert (row.value, row.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    ends = theirs.confidence_interval(0.9)
    assert (row.low, row.high) == pytest.approx((ends.low, ends.high))
    assert row.correlated == "values"


def test_days_are_moved_against_each_other():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 5, 2))
    r = np.corrcoef(x.ravel(), y.ravel())[0, 1]
    moved = [np.corrcoef(x.ravel(), np.roll(y, k, axis=0).ravel())[0, 1] for k in range(1, 5)]
    day, arm = [str(d) for d in range(5) for _ in "ab"], ["a", "b"] * 5
    found = correlate(x.ravel(), y.ravel(), day, arm, series=True)
    assert found.r == pytest.approx(r)
    assert found.p == (1 + sum(abs(m) >= abs(r) for m in moved)) / 5
    assert found.se == pytest.approx(max(np.sqrt(np.mean(np.arctanh(moved) ** 2)), 1 / sqrt(7)))


def test_a_perfect_correlation_is_as_sure_as_its_orders():
    """n points in order: one order of n! and its reverse are as extreme, so p is 2 / n!."""
    for n in (3, 4, 5, 6):
        frame = effects(np.arange(1.0, 9.0)).head(n)
        (row,) = cr.assess_online(frame, kind="effects").correlations
        assert row.value == pytest.approx(1)
        orders = list(itertools.permutations(range(n)))
        extreme = [abs(np.corrcoef(range(n), order)[0, 1]) > 1 - 1e-9 for order in orders]
        assert row.p == pytest.approx(np.mean(extreme))


def test_a_measure_of_the_wrong_sign_has_the_worst_mean_p():
    """The null is that the effect is at most 0 in the direction that the experiment found."""
    true = np.arange(1.0, 9.0)
    wrong = cr.assess_online(effects(-true), kind="effects").correlations[0]
    right = cr.assess_online(effects(true), kind="effects").correlations[0]
    assert wrong.mean_p > 0.999
    assert right.mean_p < 0.001


def test_right_calls_must_outnumber_wrong_ones_beyond_chance():
    true = np.arange(1.0, 9.0)
    offline = true * np.where(np.arange(8) < 5, 1, -1)  # five right, three wrong, all sure
    found = cr.assess_online(effects(offline), kind="effects")
    row = found.correlations[0]
    assert (row.sensitivity, row.type_3) == (0.625, 0.375)
    assert "do not outnumber" in found.recommendation[1]
    assert found.recommendation[2].endswith("these speak for no measure.")


def test_every_figure_is_that_of_its_formula():
    frame = past()
    found = cr.assess_online(frame, baseline="s0", level=0.9)
    rows = found.tables["correlations"]
    assert [(r.measure, r.value, r.low, r.high) for r in found.estimates] == [
        (r.measure, r.value, r.low, r.high) for r in rows
    ]
    for row in rows:
        own = frame.filter(pl.col("measure") == row.measure)
        x, y, score = effects_by_hand(own, "s0")
        assert row.value == pytest.approx(np.corrcoef(x, y)[0, 1])
        theirs = scipy.stats.ttest_1samp(score, 0)  # an experiment is one cluster
        assert row.p == pytest.approx(theirs.pvalue)
        assert row.low < row.value < row.high
        assert row.kendall == pytest.approx(scipy.stats.kendalltau(x, y).statistic)
        assert (row.cases, row.groups, row.correlated) == (24, 12, "effects")
        for name, value in by_hand(frame, row.measure, "s0", 0.1).items():
            assert getattr(row, name) == pytest.approx(value), name
        assert row.sensitivity + row.type_2 + row.type_3 == pytest.approx(1)
    assert found.recommendation[0].startswith("good follows the online metric most closely")
    assert len(found.recommendation) == 3
    assert "Use good" in found.recommendation[2]


@pytest.mark.parametrize("way", ["wide", "named", "day", "csv", "effects"])
def test_other_shapes_of_the_table_say_the_same(way, tmp_path):
    frame = past().drop("offline_se")
    long = cr.assess_online(frame, baseline="s0")
    wide = frame.pivot(
        "measure", index=["experiment", "system", "online", "online_se"], values="offline"
    )
    options = {"baseline": "s0"}
    if way == "named":
        wide = wide.with_columns(extra=pl.lit(1.0))
        options["offline"] = ["good", "bad"]
    elif way == "day":
        wide = wide.rename({"experiment": "day"})
    elif way == "csv":
        wide.write_csv(tmp_path / "past.csv")
        wide = tmp_path / "past.csv"
    elif way == "effects":
        control = frame.filter(pl.col("system") == "s0")
        others = frame.filter(pl.col("system") != "s0")
        wide = others.join(control, on=["experiment", "measure"]).select(
            "experiment", "system", "measure", offline=pl.col("offline") - pl.col("offline_right"),
            online=pl.col("online") - pl.col("online_right"),
            online_se=(pl.col("online_se") ** 2 + pl.col("online_se_right") ** 2).sqrt(),
        )  # fmt: skip
        options = {"kind": "effects"}
    other = cr.assess_online(wide, **options)
    names = ["measure", "sign_agreement", "effects", "nulls"]
    names += ["value", "kendall", "cases", *["p"] * (way != "day")]  # days are a series
    for a, b in zip(long.tables["correlations"], other.tables["correlations"], strict=True):
        assert [getattr(a, n) for n in names] == pytest.approx([getattr(b, n) for n in names])
        assert np.isnan(b.sensitivity)  # no standard errors of offline effects
    assert "the sign is right in" in other.recommendation[1]


def test_what_is_true_is_said_or_taken_from_the_experiment():
    frame = past()
    online = cr.assess_online(frame, baseline="s0")
    every = cr.assess_online(frame, baseline="s0", truth="all")
    assert every.tables["correlations"][0].effects == 24 > online.tables["correlations"][0].effects
    assert every.tables["correlations"][0].nulls == 0
    assert np.isnan(every.tables["correlations"][0].type_1)
    bare = frame.drop("online_se")
    assert cr.assess_online(bare, baseline="s0").protocol["truth"] == "all"
    with pytest.raises(UsageError, match="without standard errors"):
        cr.assess_online(bare, baseline="s0", truth="online")


def test_bad_tables_are_refused_with_reasons():
    frame = past()
    with pytest.raises(UsageError, match='no system "s9"'):
        cr.assess_online(frame, baseline="s9")
    with pytest.raises(InputError, match="several rows of one experiment"):
        cr.assess_online(pl.concat([frame, frame.head(1)]))
    with pytest.raises(
        InputError, match=r"online figures.*Found 36 such cases.*first: e0, s0: 1 a"
    ):
        cr.assess_online(frame.with_columns(online=1 + (pl.col("measure") == "bad").cast(int)))
    with pytest.raises(UsageError, match=r'no column "system".*--kind effects'):
        cr.assess_online(frame.filter(pl.col("system") == "s0").drop("system"), baseline="s0")
    wide = frame.filter(pl.col("measure") == "good").drop("measure").rename({"offline": "good"})
    gap = wide.with_columns(good=pl.when(pl.col("system") != "s1").then("good"))
    with pytest.raises(InputError, match=r'Column "good".*missing values.*row 2'):
        cr.assess_online(gap.drop("offline_se"), offline=["good"])
    with pytest.raises(InputError, match='no column "online"'):
        cr.assess_online(frame.drop("online"))
    with pytest.raises(InputError, match="no offline figures"):
        cr.assess_online(frame.select("experiment", "system", "online"))
    with pytest.raises(InputError, match="must not be negative"):
        cr.assess_online(frame.with_columns(online_se=-pl.col("online_se")))
    with pytest.raises(UsageError, match="needs a log"):
        cr.assess_online(frame, sweep="clip")


def test_experiments_that_call_nothing_still_tell_false_calls():
    calm = cr.assess_online(past().with_columns(online=1.0), baseline="s0")
    assert "The experiments call none of 24 effects" in calm.recommendation[1]
    assert "--baseline" in cr.assess_online(past()).recommendation[1]


def test_small_numbers_have_no_interval_and_no_correlation():
    two = cr.assess_online(past(experiments=2, systems=1))
    assert np.isnan(two.estimates[0].value)
    assert "too few" in two.recommendation[0]
    assert two_sided(np.array([0.0, 1.0]), np.zeros(2)) == pytest.approx([1, 0], abs=1e-15)
    p = one_sided(np.array([-1.0, 0.0, 1.0, np.nan]), np.zeros(4))
    assert p[:3] == pytest.approx([1, 1, 0], abs=1e-15)
    assert p[2] > 0
    assert np.isnan(p[3])


def effects(offline, **columns):
    """Effects that experiments call, 1 to 8, and what one measure said."""
    true = np.arange(1.0, 9.0)
    given = {"experiment": [f"e{k}" for k in range(8)], "online": true, "online_se": 0.1}
    given |= {"measure": "m", "offline": offline, "offline_se": 0.1, **columns}
    return pl.DataFrame(given)


def test_a_measure_that_is_wrong_or_silent_is_not_recommended():
    true = np.arange(1.0, 9.0)
    wrong = cr.assess_online(effects(-true), kind="effects")
    assert wrong.recommendation[0].startswith("No measure follows")
    assert "100% the wrong way round" in wrong.recommendation[1]
    silent = cr.assess_online(effects(0.01 * np.cos(5 * true)), kind="effects")
    assert "calls 0% of 8 true effects rightly" in silent.recommendation[1]
    for found in (wrong, silent):
        assert found.recommendation[2].endswith("these speak for no measure.")
    right = cr.assess_online(effects(true), kind="effects")
    assert right.recommendation[2] == "Use m: it follows best and calls most."


def test_false_calls_are_said_beside_the_true_ones():
    online = np.array([1.0] * 4 + [0.0] * 4)
    found = cr.assess_online(effects(np.ones(8), online=online), kind="effects")
    assert found.tables["correlations"][0].type_1 == 1
    assert "and 100% of 4 that the experiment does not call" in found.recommendation[1]


def test_what_was_kept_for_one_role_of_a_column_is_not_used_for_another(week, tmp_path):
    log, runs = week
    log = log.filter(pl.col("session").is_in(log["session"].unique().head(800).implode()))
    log = log.with_columns(chance=0.5 + 0.3 * (pl.col("rank") % 2), day=pl.lit("1/11/2024"))
    given = {"near": runs["near"].with_columns(chance=pl.lit(1.0))}
    ask = {"reward": "click", "estimator": ["IPS"]}
    for role in ("exposure", "propensity"):
        fresh, kept = (
            cr.assess_online(log, given, columns={role: "chance"}, resume=folder, **ask)
            for folder in (None, tmp_path)
        )
        assert kept.tables["cases"][0].offline == fresh.tables["cases"][0].offline


@pytest.fixture(scope="module")
def week():
    world = World(
        examination="power(eta=1)", days=4, drift=1.0, traffic=1.0,
        arms={"ideal": 0.3, "near": 0.3}, seed=1,
    )  # fmt: skip
    sample = platform(world, sessions=6000, seed=1, runs=["ideal", "near"])
    return sample.log.drop("exposure"), {arm: sample.runs[arm] for arm in ("ideal", "near")}


LABELS = ["IPS", "IPS(clip=2)", "DCG"]


@pytest.fixture(scope="module")
def assessed(week):
    log, runs = week
    return cr.assess_online(
        log, runs, reward=["click", "like"], position_bias="power(eta=1)", estimator=LABELS
    )


def test_a_log_gives_the_figures_of_estimate_day_by_day(week, assessed):
    log, runs = week
    day, arm = 2, "near"
    control = log.filter((pl.col("day") == day) & (pl.col("arm") == "control"))
    live = log.filter((pl.col("day") == day) & (pl.col("arm") == arm))
    own = {
        "new": runs[arm].join(control.select("session").unique(), on="session", how="semi"),
        "old": control.select("session", "item", "rank"),
    }
    theirs = cr.estimate(
        control, own, reward="like", position_bias="power(eta=1)", estimator=LABELS, test="none"
    )
    for label in LABELS:
        case = next(
            c for c in assessed.tables["cases"]
            if (c.experiment, c.system, c.measure, c.reward) == ("2", arm, label, "like")
        )  # fmt: skip
        gain = theirs.estimate("new", label) - theirs.estimate("old", label)
        assert case.offline == pytest.approx(theirs.estimate("new", label).value)
        assert (case.effect, case.effect_se) == pytest.approx((gain.value, gain.se))
        assert case.online == pytest.approx(live["like"].sum() / live["session"].n_unique())
        logged = theirs.estimate("logged", "OnPolicy")
        each = live.group_by("session", "user").agg(pl.col("like").sum())
        users = each.group_by("user").agg((pl.col("like") - case.online).sum(), n=pl.len())
        sums, n = users["like"].to_numpy(), users["n"].to_numpy()
        hidden = 2 * np.sum(n**3) / (np.sum(n**2) * n.sum()) - np.sum(n**2) / n.sum() ** 2
        se = sqrt(np.sum(sums**2) / (1 - hidden)) / each.height
        assert case.online_effect == pytest.approx(case.online - logged.value)
        assert case.online_effect_se == pytest.approx(np.hypot(se, logged.se))


def test_several_rewards_are_also_pooled_and_the_sweep_is_one_of_clips(week, assessed):
    log, runs = week
    assert [(r.measure, r.reward) for r in assessed.estimates] == [
        (label, reward) for reward in ("click", "like", "all") for label in LABELS
    ]
    rows = assessed.tables["correlations"]
    pooled = rows[-3]
    parts = [r for r in rows if r.measure == "IPS" and r.reward != "all"]
    assert pooled.effects == sum(r.effects for r in parts)
    assert np.isnan(pooled.value)
    swept = cr.assess_online(
        log, runs, reward="click", position_bias="power(eta=1)", estimator=["IPS"], sweep="clip"
    )
    assert [r.clip for r in swept.tables["correlations"]] == [
        *(2.0**j for j in range(13)),
        float("inf"),
    ]
    assert swept.estimates[1].value == pytest.approx(assessed.estimates[1].value)


def test_a_log_without_days_arms_or_runs_is_refused(week):
    log, runs = week
    with pytest.raises(InputError, match='no column "day"'):
        cr.assess_online(log.drop("day"), runs, reward="click", position_bias="log2")
    with pytest.raises(UsageError, match='no arm "other"'):
        cr.assess_online(log, {"other": runs["near"]}, reward="click", position_bias="log2")
    with pytest.raises(UsageError, match="is the control"):
        cr.assess_online(log, runs, control="near", reward="click", position_bias="log2")
    gone = log.filter((pl.col("arm") != "near") | (pl.col("day") != 1))
    with pytest.raises(InputError, match='"near" has no rows on day 1'):
        cr.assess_online(gone, runs, reward="click", position_bias="log2")


def test_the_command_line_prints_all_and_goes_on_by_day(week, tmp_path):
    log, runs = week
    log.write_parquet(tmp_path / "log.parquet")
    runs["near"].write_parquet(tmp_path / "near.parquet")
    words = (
        "assess online log.parquet near.parquet --reward click -e IPS --resume kept --out result"
    )
    words = [*words.split(), "--position-bias", "power(eta=1)"]
    texts = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "counterrank", *words], cwd=tmp_path, capture_output=True,
            text=True, check=False, env={**os.environ, "COLUMNS": "80"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout)
        kept = sorted(p.name for p in (tmp_path / "kept").glob("*/*"))
        assert kept == [f"day-{d}.npy" for d in range(4)]
    assert texts[0] == texts[1]
    assert "sensitive" in texts[0]
    assert "Recommendation" in texts[0]
    assert max(map(len, texts[0].splitlines())) <= 80
    assert (tmp_path / "result" / "result.json").exists()


def test_measures_with_other_cases_are_compared_over_those_both_have():
    """One measure may lack experiments; places among its own cases say nothing of another's."""
    rng = np.random.default_rng(4)
    days = [f"d{n:02}" for n in range(30)]
    online = rng.normal(size=30)
    rows = [
        (day, measure, float(x + noise * rng.normal()), float(x))
        for measure, noise in (("near", 0.01), ("far", 3.0))
        for day, x in zip(days, online, strict=True)
        if measure == "near" or day > "d09"
    ]
    names = ["experiment", "measure", "offline", "online"]
    for order in (rows, rows[::-1]):
        table = pl.DataFrame(order, schema=names, orient="row")
        found = cr.assess_online(table)
        assert [row.cases for row in found.tables["correlations"]] in ([30, 20], [20, 30])
        assert "not separated" not in " ".join(found.recommendation)
