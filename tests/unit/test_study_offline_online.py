"""The study of offline and online figures: its weeks, both rankers, its clips, a very small run."""

from __future__ import annotations

import polars as pl
import pytest

from counterrank.api.estimate import estimate
from counterrank.studies import offline_online as study
from counterrank.studies import simulated_weeks as weeks
from counterrank.studies.study import Context, by_signs, sure_lead


@pytest.fixture(scope="module")
def week():
    return weeks.Week.simulated(weeks.SECOND, 1, 2500)


def test_of_the_logged_ranker_unbiased_dcg_is_what_was_earned():
    rows = weeks.week_correlations(weeks.FIRST, 1, 2500)
    r = {tuple(key): x for *key, x in rows}
    assert len(r) == 2 * 2 * 6
    for kind in weeks.REWARDS.values():
        assert r[kind, "R_0", "pbm, Q"] == pytest.approx(1)
        assert r[kind, "R_0", "log, C"] < 1
        assert abs(r[kind, "R_t", "pbm, Q"]) < 1


def earned_online(week, arm):
    own = week.log.filter(arm=arm).group_by("day")
    return own.agg(pl.col("click").sum() / pl.col("session").n_unique()).sort("day")["click"]


def test_ndcg_where_something_was_earned_is_that_of_a_log_of_these_sessions(week):
    label = weeks.NDCG.format(clip=200.0)
    found = week.where_earned(week.assessed(["click"], [label]).tables["cases"], "click")
    own = week.log.filter(pl.col("arm") == weeks.CONTROL, pl.col("click").sum().over("session") > 0)
    log = own.filter(pl.col("day") == own["day"].max()).drop("arm")
    lists = {
        weeks.CONTROL: log.select("session", "item", "rank"),
        "near": week.run.join(log.select("session").unique(), on="session", how="semi"),
    }
    result = estimate(log, lists, reward="click", estimator=label, views="rows",
                      position_bias=week.curve, test="none")  # fmt: skip
    for arm, (offline, online) in found.items():
        assert offline[-1] == pytest.approx(result.estimate(arm, label, "click").value)
        assert online == pytest.approx(earned_online(week, arm).to_numpy())


def test_on_its_own_log_a_ranker_unclipped_is_what_it_earned(week):
    dcg = weeks.DCGS["pbm, Q"]
    one, none = week.own_logs(["click"], [dcg.format(clip=1.0), dcg.format(clip="inf")])
    assert none.offline == pytest.approx(earned_online(week, "near").to_numpy())
    assert none.effect == pytest.approx(none.online_effect)
    assert none.se == pytest.approx(none.online_se)
    assert (one.offline < none.offline).all()  # discounted


def test_clips_are_the_thirteen_of_the_paper():
    assert len(weeks.CLIPS) == 13
    assert 1024 not in weeks.CLIPS
    rows = weeks.week_calls(0, 4000)
    assert [(name, clip) for name, clip, *_ in rows] == [
        (name, clip) for name in ("DCG", "nDCG") for clip in weeks.CLIPS
    ]
    sign = {(name, clip): row[1] for name, clip, *row in rows}
    assert sign["DCG", 1.0] < sign["DCG", 64.0]  # raw labels prefer the logger


def test_with_one_reward_the_weight_cancels_in_ndcg():
    log = pl.DataFrame({"session": [0, 0, 0], "item": [1, 2, 3], "rank": [1, 2, 3],
                        "click": [0, 0, 1]})  # fmt: skip
    run = pl.DataFrame({"session": [0, 0, 0], "item": [3, 1, 2], "rank": [2, 1, 3]})
    values = [
        estimate(log, {"new": run}, reward="click", estimator=weeks.NDCG.format(clip=clip),
                       position_bias="geometric(p=0.5)", views="rows", test="none")
        .estimates[-1].value
        for clip in (1.0, 2.0, "inf")
    ]  # fmt: skip
    assert values == pytest.approx([0.5, 0.5, 0.5])


def test_a_lead_is_sure_or_not():
    assert sure_lead([1.0, 1.1, 0.9], [0.0, 0.1, 0.0]) == 1
    assert sure_lead([0.0, 0.1, 0.0], [1.0, 1.1, 0.9]) == -1
    assert sure_lead([1.0, 0.0], [0.0, 1.0]) == 0


def test_what_signs_say():
    assert by_signs([1, 1, 0, 1], least=3) == "holds"
    assert by_signs([1, 1, 0, 0], least=3) == "cannot be told here"
    assert by_signs([1, 1, 1, -1], least=3) == "cannot be told here"
    assert by_signs([-1, 0, 0, 0], least=3) == "does not hold"


def correlated(r_t, spread=0.01):
    """r of three weeks: 1 for unbiased DCG of the logger, by variant for the ranker tried out."""
    near = [-spread, 0.0, spread]
    return {
        feed.name: {
            (kind, ranker, v): [1.0] * 3 if ranker == "R_0" else [r_t[v] + x for x in near]
            for kind in study.REWARDS.values()
            for ranker in ("R_0", "R_t")
            for v in (*study.VARIANTS, study.EARNED)
        }
        for feed in study.FEEDS
    }  # fmt: skip


def test_rows_that_hold_by_construction_decide_nothing():
    r = dict.fromkeys((*study.VARIANTS, study.EARNED), -0.5)
    found = correlated(r)
    tried = dict.fromkeys(study.TRIED, found)
    states = [claim.state for claim in study.claims_about_r(found, tried)]
    assert states[0] == "does not hold"  # though r of R_0 is 1
    lead = correlated(r | {study.BEST: 0.5})
    assert [c.state for c in study.claims_about_r(lead, tried)][:2] == ["holds", "holds"]
    noise = correlated(r | {study.BEST: 0.5}, spread=2.0)
    told = [c.state for c in study.claims_about_r(noise, tried)][:1]
    assert told == ["cannot be told here"]


def called(tpr):
    """Calls by clip in three weeks of so much TPR at clip 1, clipped and unclipped."""
    rows = [
        [name, clip, own[(clip > 1) + (clip == study.CLIPS[-1])] + x, 1.0, 0.1, 20]
        for name, own in tpr.items()
        for clip in study.CLIPS
        for x in (-0.01, 0.0, 0.01)
    ]
    return study.calls_by_clip([rows[k::3] for k in range(3)])  # fmt: skip


def test_claims_about_clips_need_more_than_the_largest_of_many():
    calls = called({"DCG": (0.1, 0.8, 0.3), "nDCG": (0.1, 0.1, 0.1)})
    states = [c.state for c in study.claims_about_calls(calls, calls)]
    assert states == ["holds", "holds", "cannot be told here", "holds", "holds"]
    flat = called({"DCG": (0.1, 0.1, 0.1), "nDCG": (0.1, 0.1, 0.1)})
    assert [c.state for c in study.claims_about_calls(calls, flat)][3] == "cannot be told here"
    turned = called({"DCG": (0.5, 0.1, 0.3), "nDCG": (0.9, 0.9, 0.9)})
    assert [c.state for c in study.claims_about_calls(turned, turned)][1:] == [
        "does not hold", "cannot be told here", "does not hold", "does not hold"]  # fmt: skip


def test_a_small_run_has_every_cell_and_goes_on_after_a_kill(monkeypatch, tmp_path):
    r = [[kind, ranker, v, 0.5 - 0.1 * place]
         for kind in study.REWARDS.values() for ranker in ("R_0", "R_t")
         for place, v in enumerate((*study.VARIANTS, study.EARNED))]  # fmt: skip
    calls = [[name, clip, 0.5, 1.0, 0.1, 20] for name in ("DCG", "nDCG") for clip in study.CLIPS]
    monkeypatch.setattr(study, "week_correlations", lambda *_, **__: r)
    monkeypatch.setattr(study, "week_calls", lambda *_, **__: calls)
    context = Context(quick=True, out=tmp_path)
    found = study.reproduce_offline_online(context)
    first, second, *_ = found.tables
    for table, feed in ((first, study.FIRST), (second, study.SECOND)):
        assert feed.name in table.title
        assert [row[:2] for row in table.rows] == list(study.ROWS)
        assert all(cell.paper is not None for row in table.rows for cell in row[2:])
    drawn = {figure.name: figure for figure in found.figures}
    assert set(drawn) == {"tpr", "mean-p"}
    assert len(drawn["tpr"].rows) == 2 * 13
    assert len(found.differences) == 5
    assert any("sign" in claim.sentence for claim in found.claims)
    monkeypatch.setattr(study, "week_correlations", lambda *_, **__: 1 / 0)
    assert study.reproduce_offline_online(context) == found
