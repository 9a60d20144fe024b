"""Every estimator against its formula in plain Python; laws that hold for all of them."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterrank as cr
import plain_logs as plain
from counterrank.simulate import World, platform


@st.composite
def logs(draw):
    """A small log, a target that re-ranks most of it, and predictions of the reward of a view."""
    n, items = draw(st.integers(2, 5)), draw(st.integers(3, 6))
    log, run = [], []
    numbers = st.floats(0, 3, allow_nan=False).map(lambda x: round(x, 3))
    for s in range(n):
        shown = draw(st.permutations(range(items)))[: draw(st.integers(2, items))]
        for rank, item in enumerate(shown, 1):
            seen = draw(st.integers(0, 1))
            reward = draw(numbers) if seen else 0.0
            e0 = draw(st.floats(0.05, 1.0).map(lambda x: round(x, 3)))
            log.append({"session": s, "user": s % 2, "item": item, "rank": rank,
                        "reward": reward, "viewed": seen, "exposure": e0})  # fmt: skip
        again = draw(st.permutations([*shown, items]))
        run += [{"session": s, "item": i, "rank": r} for r, i in enumerate(again, 1)]
    q = {i: draw(numbers) for i in range(items + 1)}
    return log, run, q


@settings(max_examples=60, deadline=None)
@given(
    logs(),
    st.sampled_from(["observed", "latent", "rows"]),
    st.sampled_from(["rank", "exposure"]),
    st.sampled_from(["log2", "power"]),
    st.sampled_from([math.inf, 1.5]),
)
def test_estimators_equal_their_formulas(world, views, logged, model, clip):
    log, run, q = world
    drop = ([] if views == "observed" else ["viewed"]) + (
        [] if logged == "exposure" else ["exposure"]
    )
    rows = [{k: v for k, v in row.items() if k not in drop} for row in log]
    data = plain.sessions(rows, run, model, views)
    seen = sum(v * e for part, _ in data.values() for _, e, _, v, _ in part)
    frame = pl.DataFrame(run).with_columns(predicted=pl.col("item").replace_strict(q))
    tail = "" if clip == math.inf else f"(clip={clip})"
    result = cr.estimate(
        pl.DataFrame(rows),
        {"new": frame},
        position_bias=model,
        views=views,
        logged=logged,
        disjoint="zero",
        estimator=["DM", *(f"{name}{tail}" for name in ("IPS", "DR", "SNIPS", "SNDR"))],
    )
    expected = {
        "IPS": plain.ips(data, clip),
        "DM": plain.dm(data, q),
        "DR": plain.dr(data, q, clip),
    }
    if seen > 0:
        expected |= {"SNIPS": plain.snips(data, clip), "SNDR": plain.sndr(data, q, clip)}
    for name, value in expected.items():
        label = name if name == "DM" else f"{name}{tail}"
        assert result.estimate("new", label).value == pytest.approx(value, rel=1e-9, abs=1e-9), name
    paid = sum(row["reward"] for row in log) / len(data)
    assert result.estimate("logged", "OnPolicy").value == pytest.approx(paid)


def small(seed=0, n=300, k=6, items=12):
    """A log with users and a target, as frames."""
    rng = np.random.default_rng(seed)
    shown = np.argsort(rng.random((n, items)), axis=1)[:, :k]
    again = np.take_along_axis(shown, np.argsort(rng.random((n, k)), axis=1), axis=1)
    rank = np.tile(np.arange(1, k + 1), n)
    log = pl.DataFrame(
        {
            "session": np.repeat(np.arange(n), k),
            "user": np.repeat(rng.integers(0, n // 3, n), k),
            "item": shown.ravel(),
            "rank": rank,
            "click": (rng.random(n * k) < 0.5 / rank).astype(int),
        }
    )
    run = pl.DataFrame({"session": log["session"], "item": again.ravel(), "rank": rank})
    return log, run


LABELS = ["IPS", "IPS(clip=3)", "SNIPS", "DM", "DR", "SNDR", "DCG", "nDCG", "pnDCG"]


def values(log, run, **more):
    result = cr.estimate(
        log, {"new": run}, reward="click", position_bias="log2", estimator=LABELS, **more
    )
    return {
        (r.system, r.estimator, k): v
        for r in result.estimates
        for k, v in (("value", r.value), ("se", r.se))
    }


def test_order_of_rows_and_names_of_items_change_nothing():
    log, run = small()
    expected = values(log, run)
    shuffled = values(
        log.sample(fraction=1, shuffle=True, seed=3), run.sample(fraction=1, shuffle=True, seed=4)
    )
    assert shuffled == expected
    text = [f.with_columns(pl.format("i{}", "item").alias("item")) for f in (log, run)]
    renamed = values(*text)
    assert renamed == pytest.approx(expected, rel=1e-12)
    mixed = values(log.with_columns(pl.col("session").cast(pl.String)), run)
    for label in ("IPS", "SNIPS", "DCG", "nDCG"):  # folds of the model go by the order of ids
        assert mixed["new", label, "value"] == pytest.approx(
            expected["new", label, "value"], rel=1e-12
        )


def test_size_of_blocks_changes_nothing(monkeypatch):
    from counterrank.ope import log as sessions

    log, run = small()
    expected = values(log, run)
    monkeypatch.setattr(sessions, "ROWS", 50)
    cut = values(log, run)
    assert cut == pytest.approx(expected, rel=1e-12)


def test_the_logged_ranker_estimated_from_its_own_log_is_what_it_earned():
    log, _ = small()
    found = values(log, log.select("session", "item", "rank"))
    for label in ("IPS", "SNIPS", "DR", "SNDR"):
        assert found["new", label, "value"] == pytest.approx(
            found["logged", "OnPolicy", "value"], rel=1e-9
        )


def test_influence_is_the_derivative_of_the_value():
    log, run = small()
    result = cr.estimate(log, {"new": run}, reward="click", position_bias="log2", estimator=LABELS)
    for label in LABELS:
        e, key = result.estimate("new", label), result.key("new", label)
        columns, function = np.stack(result.units.columns[key], axis=1), result.functions[key]
        influence = result.units.influence(key, function)
        weight = np.full(e.n, 1 / e.n)
        for unit in (0, 7):
            step = 1e-6
            moved = (1 - step) * weight
            moved[unit] += step
            change = (function(moved @ columns) - e.value) / step
            assert change == pytest.approx(influence[unit], rel=1e-3, abs=1e-6), label


def test_samples_of_a_stochastic_ranker_are_averaged():
    log, run = small(n=40)
    other = run.sample(fraction=1, shuffle=True, seed=1).with_columns(
        rank=pl.int_range(1, pl.len() + 1).over("session")
    )
    both = pl.concat([run.with_columns(draw=pl.lit(1)), other.with_columns(draw=pl.lit(2))])
    labels = ["IPS", "DM", "DR"]

    def found(target):
        result = cr.estimate(
            log, {"new": target}, reward="click", position_bias="log2", estimator=labels
        )
        return np.array([result.estimate("new", label).value for label in labels])

    assert found(both) == pytest.approx((found(run) + found(other)) / 2, rel=1e-12)
    curve = (1 / (pl.col("rank") + 1).log(2)).alias("exposure")
    given = both.with_columns(curve).group_by("session", "item").agg(pl.col("exposure").sum() / 2)
    assert found(given) == pytest.approx(found(both), rel=1e-12)
    scored = both.with_columns(score=-pl.col("rank").cast(float)).drop("rank")
    assert found(scored) == pytest.approx(found(both), rel=1e-12)


def test_a_uniform_target_on_a_uniform_log_earns_the_mean():
    """Trap: the weights are then 1, whatever is drawn."""
    rng = np.random.default_rng(0)
    session = np.arange(500)
    log = pl.DataFrame({"session": session, "item": rng.integers(0, 5, 500), "rank": 1})
    log = log.with_columns(propensity=0.2, click=pl.Series(rng.integers(0, 2, 500)))
    every = pl.DataFrame({"session": np.repeat(session, 5), "item": np.tile(np.arange(5), 500)})
    every = every.with_columns(rank=1, propensity=0.2)
    result = cr.estimate(log, {"uniform": every}, estimator=["IPS", "SNIPS"])
    for label in ("IPS", "SNIPS"):
        assert result.estimate("uniform", label).value == pytest.approx(log["click"].mean())
    assert result.protocol["logged_exposure"] == "propensity"


def test_per_impression_is_per_session_over_views():
    log, run = small()
    ses = cr.estimate(log, {"new": run}, reward="click", position_bias="log2", estimator=LABELS[:6])
    imp = cr.estimate(
        log,
        {"new": run},
        reward="click",
        position_bias="log2",
        estimator=LABELS[:6],
        per="impression",
    )
    views = sum(1 / math.log2(r + 1) for r in range(1, 7))
    for label in LABELS[:6]:
        assert imp.estimate("new", label).value == pytest.approx(
            ses.estimate("new", label).value / views
        )
    assert imp.estimate("logged", "OnPolicy").value == pytest.approx(
        log["click"].sum() / 300 / views
    )


def test_sessions_without_a_list():
    log, run = small(n=30)
    part = run.filter(pl.col("session") >= 10)
    with pytest.raises(cr.InputError, match="no list for 10 of 30 logged sessions"):
        values(log, part)
    skipped = cr.estimate(
        log,
        {"new": part},
        reward="click",
        position_bias="log2",
        missing="skip",
        estimator=["IPS"],
    )
    rest = log.filter(pl.col("session") >= 10)
    only = cr.estimate(rest, {"new": part}, reward="click", position_bias="log2", estimator=["IPS"])
    assert skipped.estimate("new", "IPS").value == pytest.approx(only.estimate("new", "IPS").value)
    a, b = skipped.comparisons[0], only.comparisons[0]
    assert (a.difference, a.se, a.p) == pytest.approx((b.difference, b.se, b.p))
    kept = cr.estimate(
        log,
        {"new": part},
        reward="click",
        position_bias="log2",
        missing="logged",
        estimator=["IPS"],
    )
    early = log.filter(pl.col("session") < 10)["click"].sum()
    assert kept.estimate("new", "IPS").value == pytest.approx(
        (only.estimate("new", "IPS").value * 20 + early) / 30
    )


def test_several_loggers_are_weighed_together():
    log, run = small(n=200)
    log = log.with_columns(
        policy=pl.when(pl.col("session") % 4 == 0).then(pl.lit("b")).otherwise(pl.lit("a"))
    )
    lists = {p: log.select("session", "item", "rank") for p in "ab"}
    lists["b"] = log.select("session", "item", rank=7 - pl.col("rank"))
    served = log.with_columns(
        rank=pl.when(pl.col("policy") == "b").then(7 - pl.col("rank")).otherwise(pl.col("rank"))
    )
    result = cr.estimate(
        served,
        {"new": run},
        reward="click",
        position_bias="log2",
        logger=lists,
        estimator=["IPS"],
    )
    c = {r: 1 / math.log2(r + 1) for r in range(1, 7)}
    target = {(s, i): c[r] for s, i, r in run.iter_rows()}
    total = 0.0
    for row in log.iter_rows(named=True):
        mixed = 0.75 * c[row["rank"]] + 0.25 * c[7 - row["rank"]]
        total += row["click"] * target[row["session"], row["item"]] / mixed
    assert result.estimate("new", "IPS").value == pytest.approx(total / 200)
    with pytest.raises(cr.UsageError, match='logger "b"'):
        cr.estimate(
            served, {"new": run}, reward="click", position_bias="log2", logger={"a": lists["a"]}
        )


def test_any_regressor_can_model_the_reward():
    from sklearn.ensemble import RandomForestRegressor

    log, run = small()
    result = cr.estimate(
        log,
        {"new": run},
        reward="click",
        position_bias="log2",
        model=RandomForestRegressor(10, random_state=0),
        estimator=["DM", "DR"],
    )
    plain_means = cr.estimate(
        log, {"new": run}, reward="click", position_bias="log2", estimator=["DM", "DR"]
    )
    assert result.estimate("new", "DM").value != plain_means.estimate("new", "DM").value
    assert result.estimate("new", "DR").value == pytest.approx(
        plain_means.estimate("new", "DR").value, abs=0.1
    )


def test_lift_is_the_ratio_and_its_interval_covers_the_difference_sign():
    log, run = small()
    result = cr.estimate(log, {"new": run}, reward="click", position_bias="log2")
    for row in result.comparisons:
        base = result.estimate("logged", "OnPolicy").value
        assert row.lift == pytest.approx(row.difference / base)
        assert row.low <= row.difference <= row.high
        assert row.p <= row.p_corrected <= 1


def test_input_tables_are_left_as_they_were():
    log, run = small()
    before = log.clone(), run.clone()
    values(log, run)
    assert log.equals(before[0])
    assert run.equals(before[1])


def test_scores_of_a_plackett_luce_ranker_give_its_exposure():
    from itertools import permutations

    log, run = small(n=40, k=4)
    rng = np.random.default_rng(5)
    scored = run.drop("rank").with_columns(score=pl.Series(rng.normal(size=run.height)).round(1))
    c = [1 / math.log2(r + 1) for r in range(1, 5)]
    rows = []
    for (session,), part in scored.group_by("session"):
        rate = dict(zip(part["item"], part["score"].exp(), strict=True))
        e = dict.fromkeys(rate, 0.0)
        for order in permutations(rate):
            chance, left = 1.0, sum(rate.values())
            for item in order:
                chance *= rate[item] / left
                left -= rate[item]
            for place, item in enumerate(order):
                e[item] += chance * c[place]
        rows += [(session, item, x) for item, x in e.items()]
    given = pl.DataFrame(rows, schema=["session", "item", "exposure"], orient="row")
    options = {"reward": "click", "position_bias": "log2", "estimator": ["IPS", "DM", "DR"]}
    drawn = cr.estimate(log, {"new": scored}, scores="plackett_luce", **options)
    exact = cr.estimate(log, {"new": given}, **options)
    for label in options["estimator"]:
        assert drawn.estimate("new", label).value == pytest.approx(
            exact.estimate("new", label).value, rel=1e-9
        )
    assert drawn.protocol["scores"] == "plackett_luce"
    with pytest.raises(cr.UsageError, match="no scores"):
        cr.estimate(log, {"new": run}, scores="plackett_luce", **options)


def test_loggers_count_also_where_the_log_has_exposures():
    """A column read before must not stand in for the mixture."""
    log, run = small(n=200)
    two = log.with_columns(policy=(pl.col("session") % 2).cast(pl.String))
    lists = {
        "0": log.select("session", "item", "rank"),
        "1": log.select("session", "item", rank=7 - pl.col("rank")),
    }
    served = two.with_columns(
        rank=pl.when(pl.col("policy") == "1").then(7 - pl.col("rank")).otherwise(pl.col("rank"))
    )
    rough = served.with_columns(
        exposure=(1 / (pl.col("rank") + 1).log(2)) * (0.5 + 0.4 * (pl.col("item") % 2))
    )
    options = {"reward": "click", "position_bias": "log2", "estimator": ["IPS"]}
    found = [cr.estimate(table, {"new": run}, logger=lists, **options) for table in (served, rough)]
    values = [result.estimate("new", "IPS").value for result in found]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    alone = cr.estimate(rough, {"new": run}, **options).estimate("new", "IPS").value
    assert values[0] != pytest.approx(alone, rel=1e-3)
    with pytest.raises(cr.InputError, match="contradict the lists"):
        cr.estimate(served, {"new": run}, logger={"0": lists["1"], "1": lists["0"]}, **options)
    half = {"0": lists["0"].filter(pl.col("session") % 2 == 0), "1": lists["1"]}
    with pytest.raises(cr.InputError, match=r"lack sessions of the log\. Found 100 such"):
        cr.estimate(served, {"new": run}, logger=half, **options)


def test_ids_far_apart_and_long_target_lists():
    rng = np.random.default_rng(0)
    n = 4000
    log = pl.DataFrame({"session": np.arange(n), "item": rng.integers(0, 50, n), "rank": 1})
    log = log.with_columns(
        item=pl.when(pl.col("session") == 0).then(2**61).otherwise(pl.col("item"))
    )
    log = log.with_columns(click=pl.Series(rng.integers(0, 2, n)))
    deep = pl.DataFrame({"session": np.repeat(np.arange(n), 60), "item": np.tile(np.arange(60), n)})
    deep = deep.with_columns(rank=pl.int_range(1, pl.len() + 1).over("session"))
    result = cr.estimate(
        log, {"new": deep}, position_bias="log2", disjoint="zero", estimator=["IPS"]
    )
    joined = log.join(deep, on=["session", "item"], suffix="_new")
    expected = (joined["click"] / (joined["rank_new"] + 1).log(2)).sum() / n
    assert result.estimate("new", "IPS").value == pytest.approx(expected)


def test_matching_does_not_overflow():
    from counterrank.matching.hashjoin import dense_join

    session = np.arange(1 << 12)
    thing = np.full(len(session), (1 << 55) - 1)
    match = dense_join((session, thing), (session[::2], thing[::2]), 1 << 55)
    assert (match.cell[::2] == np.arange(len(session) // 2)).all()
    assert (match.cell[1::2] == -1).all()
    assert len(match.row_again) == len(match.cell_again) == 0


def test_a_draw_may_list_items_the_log_never_had():
    log = pl.DataFrame({"session": [1, 1], "item": [1, 2], "rank": [1, 2], "click": [1, 0]})
    drawn = pl.DataFrame(
        {"session": [1] * 4, "draw": [0] * 4, "item": [1, 2, 8, 9], "rank": [1, 2, 3, 4]}
    )
    result = cr.estimate(log, {"new": drawn}, position_bias="log2", estimator=["IPS"])
    assert result.estimate("new", "IPS").value == pytest.approx(1.0)


def test_rows_nobody_sees_weigh_nothing_in_any_estimator():
    log = pl.DataFrame({"session": [1] * 3 + [2] * 3, "item": [1, 2, 3] * 2, "rank": [1, 2, 3] * 2,
                        "click": [1, 0, 0, 0, 1, 0]})  # fmt: skip
    run = log.select("session", "item", rank=4 - pl.col("rank"))
    labels = ["IPS", "DCG(discount=learnt,label=debiased)", "nDCG(discount=learnt,label=debiased)"]
    result = cr.estimate(log, {"new": run}, position_bias="log2@2", estimator=labels)
    ips, dcg, ndcg = (result.estimate("new", label).value for label in labels)
    assert dcg == pytest.approx(ips)
    assert 0 < ndcg < 1


def test_kept_lists_of_a_logger_by_chance_keep_what_they_earned():
    from counterrank.simulate import World, platform

    sample = platform(World(ranker="plackett_luce"), sessions=400, runs=["stochastic"])
    part = sample.runs["stochastic"].filter(pl.col("session") < 2)
    result = cr.estimate(
        sample.log, {"new": part}, reward="click", position_bias="log2@10", missing="logged",
        estimator=["IPS", "SNIPS", "DR"],
    )  # fmt: skip
    paid = result.estimate("logged", "OnPolicy").value
    for label in ("IPS", "SNIPS", "DR"):
        assert result.estimate("new", label).value == pytest.approx(paid, rel=0.08), label
    (told,) = [d for d in result.diagnostics if d.name == "sessions without a list"]
    assert told.state == "fail"
    assert "398 of 400" in told.meaning


def test_what_auto_does_with_exposures_that_are_a_curve():
    """A learnt curve above and the true one below would not cancel."""
    log, run = small()
    true = log.with_columns(exposure=1 / (pl.col("rank") + 1).log(2))
    learnt = "table(1,0.64,0.49,0.44,0.38,0.36)"
    both = cr.estimate(true, {"new": run}, reward="click", position_bias=learnt, estimator=["IPS"])
    plain_ = cr.estimate(log, {"new": run}, reward="click", position_bias=learnt, estimator=["IPS"])
    assert both.protocol["logged_exposure"] == "rank"
    assert both.estimate("new", "IPS").value == plain_.estimate("new", "IPS").value
    kept = cr.estimate(true, {"new": run}, reward="click", position_bias="power", estimator=["IPS"])
    assert kept.protocol["logged_exposure"] == "exposure"


def test_what_is_refused_or_said():
    log, run = small(n=60)
    options = {"reward": "click", "position_bias": "log2"}
    with pytest.raises(cr.UsageError, match='"production" to be the baseline'):
        cr.estimate(log, {"new": run}, baseline="production", **options)
    with pytest.raises(cr.UsageError, match="at most 1"):
        cr.estimate(log, {"new": run}, reward="click", position_bias="table(2,1,1,1,1,1)")
    bare = log.with_columns(exposure=0.3)
    given = run.drop("rank").with_columns(exposure=0.3)
    with pytest.raises(cr.UsageError, match="SNIPS needs to know"):
        cr.estimate(bare, {"new": given}, reward="click", estimator=["IPS", "SNIPS"])
    assert cr.estimate(bare, {"new": given}, reward="click", estimator=["IPS"]).estimates
    short = cr.estimate(log, {"new": run.filter(pl.col("rank") <= 3)}, disjoint="zero", **options)
    assert {d.name for d in short.not_passing} >= {"list length"}
    even = cr.estimate(log, {"new": run.drop("rank").with_columns(score=1.0)}, **options)
    assert [d.state for d in even.diagnostics if d.name == "ties"] == ["fail"]
    classic = cr.estimate(log, {"new": run}, estimator=["DR", "DCG", "nDCG"], **options)
    assert [c.estimator for c in classic.comparisons] == ["DR"]
    mixed = cr.estimate(log.with_columns(arm=pl.col("session") % 2), {"new": run}, **options)
    assert "one ranker" in {d.name for d in mixed.not_passing}
    text = log.with_columns(pl.col("user").cast(pl.String))
    assert values(text, run) == values(log, run)


def test_position_models_by_context():
    log, run = small(n=60)
    log = log.with_columns(device=pl.col("session") % 2, query=pl.col("session"))
    result = cr.estimate(
        log,
        {"new": run},
        reward="click",
        position_bias="by(device,log2,1=power(eta=1))",
        context="query",
        estimator=["IPS", "SNIPS"],
    )
    at = {(row["session"], row["item"]): row["rank"] for row in run.iter_rows(named=True)}
    curves = (lambda r: 1 / math.log2(r + 1), lambda r: 1 / r)
    total = 0.0
    for row in log.iter_rows(named=True):
        c = curves[row["device"]]
        total += row["click"] * c(at[row["session"], row["item"]]) / c(row["rank"])
    assert result.estimate("new", "IPS").value == pytest.approx(total / 60)


def test_weights_are_counted_by_size():
    week = platform(World(seed=1), sessions=400, runs=["far"])
    result = cr.estimate(week.log, week.runs, reward="like", position_bias="log2@10")
    rows = result.rows("weights")
    rank = week.log.join(week.runs["far"], on=["session", "item"], suffix="_target")
    w = np.log2(rank["rank"].to_numpy() + 1) / np.log2(rank["rank_target"].to_numpy() + 1)
    for row in rows:
        inside = (w >= row["low"]) & (w < row["high"])
        assert row["rows"] == pytest.approx(inside.mean())
        assert row["weight"] == pytest.approx(w[inside].sum() / w.sum())
    assert sum(row["rows"] for row in rows) == pytest.approx(1)


def test_a_few_weights_that_are_not_far_apart_have_no_tail():
    """Ranks give weights a few values, whatever a tail fitted to them says: at most 5 here."""
    step = np.array([1, 1.5, 2, 2.5, 3.1, 3.13, 3.52, 3.86, 4.37, 4.71, 5.1])
    moved = np.repeat(np.arange(4, 11), [300, 480, 140, 80, 100, 70, 40])  # each to rank 1
    sessions, ranks = 10_000, len(step)
    lists = np.tile(np.arange(ranks), (sessions, 1))
    for session, place in enumerate(moved):
        lists[session] = [place, *np.delete(np.arange(ranks), place)]
    rng = np.random.default_rng(0)
    viewed = rng.random(lists.shape) < 1 / step
    click = viewed & (rng.random(lists.shape) < 0.3)
    rank = np.tile(np.arange(1, ranks + 1), sessions)
    row = {"session": np.repeat(np.arange(sessions), ranks), "rank": rank}
    log = pl.DataFrame({**row, "item": rank - 1})
    log = log.with_columns(viewed=viewed.ravel().astype(int), click=click.ravel().astype(int))
    result = cr.estimate(
        log, {"new": pl.DataFrame({**row, "item": lists.ravel()})}, reward="click",
        position_bias=f"table({','.join(map(str, 1 / step))})", estimator="DR", bounds="none",
    )  # fmt: skip
    assert [d.state for d in result.diagnostics if d.name == "weight tail"] == ["pass"]
