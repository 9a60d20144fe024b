"""``funnel``: when it estimates sales, and from what; events; what counts against whom."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.data.events import funnel_of_events
from counterrank.position.models import CurveError
from counterrank.simulate import funnel_world

USERS, ITEMS, TOP = 60, 9, 4
BIAS = "table(1,0.7,0.4,0.2)"
SEEN = np.array([1, 0.7, 0.4, 0.2])
ALL = ("Naive", "IPS", "SNIPS", "DM", "DR", "SNDR")


@pytest.fixture(scope="module")
def shop():
    """Every pair with its row: whether shown, clicked, bought, and all chances."""
    rng = np.random.default_rng(3)
    shape = (USERS, ITEMS)
    theta, p, h = (rng.uniform(low, 0.9, shape) for low in (0.2, 0.1, 0.1))
    shown = rng.random(shape) < theta
    rank = rng.integers(1, TOP + 1, shape)
    click = shown & (rng.random(shape) < p)
    sold = click & (rng.random(shape) < 0.5)
    user, item = np.indices(shape).reshape(2, -1)
    known = {"shown": shown, "click": click, "conversion": sold}
    table = pl.DataFrame({"user": user, "item": item, "rank": rank.ravel()}).with_columns(
        **{name: pl.Series(x.ravel().astype(int)) for name, x in known.items()},
        **{n: pl.Series(x.ravel()) for n, x in (("exposure", theta), ("ctr", p), ("cvr", h))},
    )
    best = np.stack([rng.permutation(ITEMS)[:TOP] for _ in range(USERS)])
    run = pl.DataFrame(
        {
            "user": np.repeat(np.arange(USERS), TOP),
            "item": best.ravel(),
            "rank": np.tile(np.arange(1, TOP + 1), USERS),
        }
    )
    return table, run


def plain(table, run, label, *, latent=False) -> float:
    """The estimators of sales in plain Python, pair by pair."""
    rows = {(r["user"], r["item"]): r for r in table.iter_rows(named=True)}
    naive = ips = direct = missed = weight = views = 0.0
    for user, item, rank in run.select("user", "item", "rank").iter_rows():
        r = rows[user, item]
        c, o, zy, g = SEEN[rank - 1], r["shown"], r["click"] * r["conversion"], r["ctr"] * r["cvr"]
        v = SEEN[r["rank"] - 1] if latent else 1.0
        w = o / r["exposure"]
        naive += c * o * zy
        ips += c * w * zy
        direct += c * g
        missed += c * w * (zy - v * g)
        weight += c * w * v
        views += c
    value = {
        "Naive": naive, "IPS": ips, "SNIPS": ips / weight * views, "DM": direct,
        "DR": direct + missed, "SNDR": direct + missed / weight * views,
    }  # fmt: skip
    return value[label] / USERS


def found(table, run, **options) -> dict[str, float]:
    runs = run if isinstance(run, dict) else {"new": run}
    result = cr.funnel(table, runs, **{"estimator": ALL, "position_bias": BIAS} | options)
    assert result.protocol["estimand"] == "sales"
    assert {r.measure for r in result.estimates} == {options.get("measure", "sales")}
    return {r.estimator: r.value for r in result.estimates}


@pytest.mark.parametrize("views", ["observed", "latent"])
def test_every_estimator_of_sales_is_its_formula(shop, views):
    table, run = shop
    values = found(table, run, views=views)
    for label in ALL:
        assert values[label] == pytest.approx(plain(*shop, label, latent=views == "latent"))
    some = table.filter((pl.col("shown") == 1) | (pl.col("item") % 2 == 0))
    assert found(some, run, estimator="IPS")["IPS"] == pytest.approx(values["IPS"])
    cut = found(table, run, measure="sales@2", estimator="DR")
    assert cut["DR"] == pytest.approx(plain(table, run.filter(pl.col("rank") <= 2), "DR"))


def test_predictions_may_stand_in_the_run_or_in_a_table_of_their_own(shop):
    table, run = shop
    expected = found(table, run)
    guess = table.select("user", "item", "ctr", "cvr", "exposure")
    bare = table.drop("ctr", "cvr", "exposure")
    assert found(bare, run, predictions=guess) == pytest.approx(expected)
    own = run.join(guess.drop("exposure"), on=["user", "item"], how="left")
    assert found(table.drop("ctr", "cvr"), own) == pytest.approx(expected)
    fitted = dict.fromkeys(("exposure", "ctr", "cvr"), "rates")
    rates = found(bare, run, **fitted)
    assert rates["Naive"] == expected["Naive"]
    assert rates["DR"] != expected["DR"]
    told = cr.funnel(bare, {"new": run}, position_bias=BIAS, **fitted)
    assert told.protocol["models"]["shown"]["exposure"] == "rates"
    names = {d.name: d for d in told.diagnostics}
    assert {"exposure model by user", "exposure model by item", "exposure overlap"} <= set(names)
    assert names["hidden liking"].state == "untested"
    assert {r.verdict for r in told.estimates if r.estimator == "IPS"} != {"pass"}


def test_sales_by_a_ctr_of_what_is_listed(shop):
    """Conversions after clicks, each pair weighted by the chance that it is seen and clicked."""
    table, run = shop
    clicks = table.filter(pl.col("click") == 1).drop("shown", "exposure", "rank", "cvr")
    own = run.join(table.select("user", "item", "cvr"), on=["user", "item"], how="left")
    listed = own.with_columns(ctr=0.1 + 0.05 * pl.col("item"))
    values = found(clicks, listed)
    rows = {(u, i): (y, p) for u, i, y, p in
            clicks.select("user", "item", "conversion", "ctr").iter_rows()}  # fmt: skip
    ips = direct = missed = 0.0
    for user, item, rank, h, ctr in listed.select("user", "item", "rank", "cvr", "ctr").iter_rows():
        c = SEEN[rank - 1] * ctr
        direct += c * h
        if (user, item) in rows:
            y, p = rows[user, item]
            ips += c * y / p
            missed += c * (y - h) / p
    assert values["IPS"] == pytest.approx(ips / USERS)
    assert values["DM"] == pytest.approx(direct / USERS)
    assert values["DR"] == pytest.approx((direct + missed) / USERS)
    result = cr.funnel(clicks, {"new": listed}, position_bias=BIAS)
    assert next(d.state for d in result.diagnostics if d.name == "listed ctr") == "untested"
    assert "pass" not in {r.verdict for r in result.estimates}


def test_if_clicked_reads_both_chances_of_what_was_shown(shop):
    """A click takes that the pair is seen and that it is clicked then."""
    table, run = shop
    both = table.with_columns(ctr=pl.col("ctr") * pl.col("exposure")).drop("shown", "exposure")
    a, b = (
        cr.funnel(t, {"new": run}, estimand="if-clicked", estimator=["IPS", "DR"])
        for t in (table, both)
    )
    assert [r.value for r in a.estimates] == pytest.approx([r.value for r in b.estimates])
    with pytest.raises(cr.UsageError, match='no column "exposure"'):
        cr.funnel(table.drop("exposure"), {"new": run}, estimand="if-clicked", estimator="IPS")


@pytest.mark.parametrize(
    ("change", "options", "lacks"),
    [
        (lambda t: t, {"position_bias": None}, "how likely a rank is seen"),
        (lambda t: t.drop("shown", "exposure"), {}, "what was shown and not clicked"),
        (lambda t: t, {"measure": "DCG@3"}, "These tables allow sales"),
        (lambda t: t, {"estimand": "if-clicked"}, "These tables allow sales"),
    ],
)
def test_without_what_sales_need_nothing_is_decided(shop, change, options, lacks):
    table, run = shop
    runs = {"old": run, "new": run.with_columns(rank=TOP + 1 - pl.col("rank"))}
    options = {"position_bias": BIAS, "estimator": ["IPS", "DR"]} | options
    result = cr.funnel(change(table), runs, **options)
    document = result.to_dict()
    assert document["protocol"]["estimand"] == "if-clicked"
    assert document["estimand"].startswith("Not sales")
    assert lacks in document["protocol"]["undecided"]
    gate = cr.gate(result)
    assert not gate.passed
    assert "are not sales" in gate.markdown()
    assert lacks.split()[0] in gate.markdown()
    if "measure" not in options and "estimand" not in options:
        assert "estimate LOG RUN... --reward purchase" in document["protocol"]["undecided"]
        with pytest.raises(cr.UsageError, match="Sales cannot be estimated"):
            cr.funnel(change(table), runs, **options, estimand="sales")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"measure": "DCG@10", "estimand": "sales"}, "DCG@10 is not a measure of sales"),
        ({"measure": ["sales", "CG@3"]}, "CG@3 is not a measure of sales"),
        ({"measure": "sales", "estimand": "if-clicked"}, "no weight of a rank"),
        ({"position_bias": "table(1,1.5)"}, "at most 1"),
        ({"position_bias": "by(device,log2,phone=power)"}, 'goes by "device"'),
        ({"views": "latent", "estimand": "if-clicked"}, "Leave it out"),
        ({"views": "latent", "ctr": "rates"}, "cannot be fitted"),
    ],
)
def test_options_that_make_no_sales(shop, options, said):
    table, run = shop
    with pytest.raises(cr.UsageError, match=said):
        cr.funnel(table, {"new": run}, **{"position_bias": BIAS} | options)


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda t: t.with_columns(shown=0), {}, "clicks on what was not shown"),
        (lambda t: t.with_columns(exposure=0.0), {}, "is 0 where something was shown"),
        (lambda t: t.with_columns(exposure=1.5), {}, '"exposure".*must be at most 1'),
        (lambda t: t.drop("shown"), {}, "none that says what was shown"),
        (lambda t: t.drop("exposure"), {}, 'chance that a pair was shown.*"exposure"'),
        (lambda t: t.drop("ctr"), {}, "needs a predicted chance of a click"),
        (lambda t: t.drop("rank"), {"views": "latent"}, 'no column "rank"'),
    ],
)
def test_bad_tables_of_what_was_shown(shop, change, options, said):
    table, run = shop
    with pytest.raises(cr.CounterrankError, match=said):
        cr.funnel(change(table), {"new": run}, position_bias=BIAS, **options)


# events

EVENTS = [
    # user, item, event, time, spend, rank; what becomes of it
    ("u", "a", "view", 1, 0, 2),  # shown at rank 2
    ("u", "a", "view", 5, 0, 1),  # again
    ("u", "a", "click", 2, 0, 0),
    ("u", "a", "click", 3, 0, 0),  # again
    ("u", "a", "purchase", 2, 7, 0),  # at the time of the click: bought
    ("u", "a", "purchase", 9, 4, 0),  # again: the same conversion, more spend
    ("u", "b", "view", 4, 0, 3),
    ("u", "b", "click", 3, 0, 0),  # before the view
    ("u", "b", "purchase", 8, 9, 0),  # after no click that counts
    ("u", "c", "click", 1, 0, 0),  # never viewed
    ("v", "a", "view", 1, 0, 1),
    ("v", "a", "click", 1, 0, 0),
    ("v", "a", "purchase", 0, 5, 0),  # before the click
    ("v", "d", "wishlist", 1, 0, 0),
]


def events(**more) -> pl.DataFrame:
    names = ["user", "item", "event", "time", "spend", "rank"]
    table = pl.DataFrame(EVENTS, schema=names, orient="row")
    return table.with_columns(rank=pl.when(pl.col("rank") > 0).then(pl.col("rank")), **more)


def test_events_become_a_funnel_and_what_was_left_out_is_counted():
    frame, counts = funnel_of_events(
        events(time=pl.col("time").cast(float)), ["conversion", "spend"]
    )
    rows = frame.sort("user", "item").select(
        "user", "item", "shown", "click", "conversion", "spend", "rank"
    )
    assert rows.rows() == [
        ("u", "a", 1, 1, 1, 11, 2),
        ("u", "b", 1, 0, 0, 0, 3),
        ("v", "a", 1, 1, 0, 0, 1),
    ]
    assert vars(counts) == {
        "views": 4, "clicks": 5, "purchases": 4, "views_again": 1, "clicks_again": 1,
        "clicks_unseen": 2, "purchases_again": 1, "purchases_unclicked": 2, "others": 1,
    }  # fmt: skip


@pytest.fixture(scope="module")
def log(shop):
    """The same shop as events, shuffled, with times as text."""
    table, _ = shop
    parts = []
    for column, event, hour in (("shown", "view", 8), ("click", "click", 9),
                                ("conversion", "purchase", 17)):  # fmt: skip
        own = table.filter(pl.col(column) == 1).select("user", "item", "rank")
        parts.append(own.with_columns(event=pl.lit(event), time=pl.lit(f"2024-05-01T{hour:02}:30")))
    return pl.concat(parts).sample(fraction=1, shuffle=True, seed=1)


def test_events_say_what_the_funnel_says(shop, log, tmp_path):
    table, run = shop
    shown = table.filter(pl.col("shown") == 1)
    guess = table.select("user", "item", "ctr", "cvr", "exposure")
    expected = found(shown.drop("ctr", "cvr", "exposure"), run, predictions=guess)
    assert found(log, run, predictions=guess) == pytest.approx(expected)
    log.write_csv(tmp_path / "events.csv")
    assert found(tmp_path / "events.csv", run, predictions=guess) == pytest.approx(expected)
    day = log.with_columns(time=pl.col("time").str.to_datetime())
    renamed = day.rename({"event": "what", "time": "at"})
    names = {"event": "what", "time": "at"}
    assert found(renamed, run, predictions=guess, columns=names) == pytest.approx(expected)
    result = cr.funnel(log, {"new": run}, predictions=guess, position_bias=BIAS)
    assert result.protocol["events"]["views"] == shown.height
    assert "events out of order" in {d.name for d in result.diagnostics}
    report = cr.check({"events": log, "new": run})
    assert report.tables["tables"][0].kind == "funnel"
    assert not report.tables["tables"][0].fault


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.filter(pl.col("event") != "view"), 'no event "view".*0 views'),
        (lambda t: t.with_columns(event=pl.lit("seen")), 'no event "view".*of other names'),
        (lambda t: t.with_columns(time=pl.lit("noon")), 'Column "time".*first: row 1'),
        (lambda t: t.with_columns(time=pl.lit(None)), '"time".*'),
        (lambda t: t.drop("time"), 'no column "time"'),
    ],
)
def test_bad_events(shop, log, change, said):
    with pytest.raises(cr.CounterrankError, match=said):
        cr.funnel(change(log), {"new": shop[1]}, position_bias=BIAS, estimator="Naive")


# what counts against whom


def test_a_wrong_model_counts_against_those_who_read_it():
    """300 of 300 times a wrong cvr failed IPS, which never reads it."""
    sample = funnel_world(items=30, seed=2).sample(users=4000, top=5, seed=1, rows="all")
    runs = {"seller": sample.runs["seller"].drop("cvr")}
    wrong = sample.funnel.with_columns(cvr=3 * pl.col("cvr"))
    options = {"estimator": ["Naive", "IPS", "DM", "DR"], "measure": "CG@5"}
    result = cr.funnel(wrong, runs, **options)
    verdict = {r.estimator: r.verdict for r in result.estimates}
    assert verdict["IPS"] == "pass"
    assert verdict["DM"] == "fail"
    assert verdict["DR"] != "pass"
    model = next(d for d in result.diagnostics if d.name == "conversion model")
    assert (model.state, model.estimators) == ("fail", ("DM", "DR"))
    alone = cr.funnel(wrong, runs, estimator="IPS", measure="CG@5")
    assert alone.verdict == "pass"
    steep = sample.funnel.with_columns(ctr=1.6 * pl.col("ctr") ** 1.6)
    result = cr.funnel(steep, runs, **options)
    verdict = {r.estimator: r.verdict for r in result.estimates}
    assert verdict["IPS"] == "fail"
    assert verdict["Naive"] == "pass"
    model = next(d for d in result.diagnostics if d.name == "click model")
    assert model.estimators == ("IPS", "DR")


def test_a_fitted_click_model_never_passes_and_errs_under_hidden_liking():
    """A liking that makes people click and buy, which neither users nor items show."""
    rng = np.random.default_rng(0)
    shape = (2000, 30)
    liking = rng.random(shape) < 0.3
    ctr, cvr = np.where(liking, 0.5, 0.05), np.where(liking, 0.6, 0.1)
    click = rng.random(shape) < ctr
    sold = click & (rng.random(shape) < cvr)
    user, item = np.nonzero(click)
    table = pl.DataFrame({"user": user, "item": item, "click": 1,
                          "conversion": sold[click].astype(int)})  # fmt: skip
    run = pl.DataFrame({"user": np.arange(2000), "item": np.arange(2000) % 30, "rank": 1})
    result = cr.funnel(table, {"new": run}, ctr="rates", cvr="rates", measure="CG@1")
    truth = float(cvr[np.arange(2000), np.arange(2000) % 30].mean())
    for row in result.estimates:
        if row.estimator in ("IPS", "DR"):
            assert row.low > truth  # off, and no test of clicks could tell
            assert row.verdict == "caution"
    told = next(d for d in result.diagnostics if d.name == "hidden liking")
    assert told.state == "untested"
    assert "What this rests on" in str(result)
    assert "untested hidden liking" in str(result)


def test_models_are_tested_by_user_and_by_item():
    """Rates by item miss that some users click more, rates by user that some items are."""
    rng = np.random.default_rng(1)
    shape = (1500, 40)
    keen, charm = rng.normal(0, 0.8, (1500, 1)), rng.normal(0, 0.8, (1, 40))
    click = rng.random(shape) < 1 / (1 + np.exp(2 - keen - charm))
    user, item = np.nonzero(click)
    table = pl.DataFrame({"user": user, "item": item, "click": 1, "conversion": user % 2})
    run = pl.DataFrame({"user": np.arange(1500), "item": np.arange(1500) % 40, "rank": 1})
    states = {}
    for by in ("item", "user", "both"):
        label = f"rates(by={by})"
        result = cr.funnel(table, {"new": run}, ctr=label, measure="CG@1", estimator="IPS")
        states[by] = {d.name: d.state for d in result.diagnostics if "click model" in d.name}
    assert states["item"]["click model by user"] == "fail"
    assert states["item"]["click model by item"] == "pass"
    assert states["user"]["click model by item"] == "fail"
    assert set(states["both"].values()) == {"pass"}
    few = table.head(12)
    result = cr.funnel(few, {"new": run}, ctr="rates", measure="CG@1", estimator="IPS")
    named = {d.name: d.state for d in result.diagnostics}
    assert named["click model by user"] == "untested"


def test_the_command_says_what_it_is_and_the_gate_stays_shut(shop, tmp_path):
    table, run = shop
    table.write_parquet(tmp_path / "funnel.parquet")
    run.write_parquet(tmp_path / "old.parquet")
    turned = run.with_columns(rank=TOP + 1 - pl.col("rank"))
    turned.write_parquet(tmp_path / "new.parquet")

    def call(*words):
        return subprocess.run(
            [sys.executable, "-m", "counterrank", *words], cwd=tmp_path, capture_output=True,
            text=True, check=False, env={**os.environ, "COLUMNS": "100"},
        )  # fmt: skip

    files = ("funnel.parquet", "old.parquet", "new.parquet")
    done = call("funnel", *files, "--position-bias", BIAS, "--out", "sales")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("What is estimated: Sales:")
    assert "sales (conversion) per user, 60 users; lift over old" in done.stdout
    done = call("funnel", *files, "--estimand", "if-clicked", "--out", "clicked")
    assert done.stdout.startswith("What is estimated: Not sales:")
    assert "conversion if clicked, DCG@10" in done.stdout
    assert "Decision: open. No decision" in done.stdout
    shut = call("gate", "clicked", "--summary", "summary.md")
    assert shut.returncode == 3
    assert "are not sales" in shut.stdout
    assert "Not sales" in (tmp_path / "summary.md").read_text()
    assert call("gate", "clicked", "--estimator", "IPS", "--system", "new").returncode == 3
    document = json.loads((tmp_path / "clicked" / "result.json").read_text())
    assert document["protocol"]["estimand"] == "if-clicked"
    lost = call("funnel", *files, "-m", "Recall@5")
    assert lost.returncode == 2
    assert "Write Hits@5" in lost.stderr


# how sure: clipping, a learned position model, heavy tails


def test_what_clipping_can_do_is_in_the_interval(shop):
    """Weight lost times the range of rewards, by hand; DR has predicted some of it."""
    table, run = shop
    labels = ["IPS", "IPS(clip=1.5)", "DR(clip=1.5)"]
    result = cr.funnel(table, {"new": run}, estimator=labels, position_bias=BIAS)
    rows = {(r["user"], r["item"]): r for r in table.iter_rows(named=True)}
    lost = told = 0.0
    for user, item, rank in run.select("user", "item", "rank").iter_rows():
        r = rows[user, item]
        cut = SEEN[rank - 1] * r["shown"] * max(1 / r["exposure"] - 1.5, 0) / USERS
        lost, told = lost + cut, told + cut * r["ctr"] * r["cvr"]
    assert lost > 0.01
    for label, bias in {
        "IPS": (0, 0),
        labels[1]: (0, lost),
        labels[2]: (-told, lost - told),
    }.items():
        e = result.estimate("new", label)
        assert e.bias == pytest.approx(bias, rel=1e-10)
        row = next(r for r in result.estimates if r.estimator == label)
        assert (row.low, row.high) == pytest.approx(e.interval())
    said = [d.meaning for d in result.diagnostics if d.id == "clipping" and d.state != "pass"]
    assert said
    assert all("holds the most that this can do" in text for text in said)


@pytest.mark.parametrize("latent", [False, True])
def test_sales_know_how_sure_a_learned_position_model_is(shop, latent):
    """The variance grows by the slope of the value by each weight, times their covariance."""
    table, run = shop
    shape = np.random.default_rng(1).normal(size=(TOP, TOP)) / 30
    covariance, seen = shape @ shape.T, 0.9 * SEEN
    bias = f"table({','.join(map(str, seen))})"
    model = cr.position.exposure(bias).with_error(CurveError(("weights",), covariance, 500))
    options = {"estimator": ALL, "views": "latent" if latent else "observed"}
    known, learned = (
        cr.funnel(table, {"new": run, "old": run.with_columns(rank=TOP + 1 - pl.col("rank"))},
                  position_bias=bias, **options)
        for bias in (bias, model)
    )  # fmt: skip
    h, values = 1e-6, {}
    for j, way in itertools.product(range(TOP), (1, -1)):
        weights = seen + way * h * (np.arange(TOP) == j)
        moved = found(table, run, position_bias=f"table({','.join(map(str, weights))})", **options)
        values[j, way] = np.array([moved[label] for label in ALL])
    slopes = np.array([(values[j, 1] - values[j, -1]) / (2 * h) for j in range(TOP)])
    for k, label in enumerate(ALL):
        plain, own = (r.estimate("new", label) for r in (known, learned))
        added = slopes[:, k] @ covariance @ slopes[:, k]
        assert own.value == plain.value
        assert own.se**2 - plain.se**2 == pytest.approx(added, rel=1e-4)
    told = next(d for d in learned.diagnostics if d.id == "curve_error")
    assert (told.state, told.subject) == ("pass", "funnel")
    apart = [next(c for c in r.comparisons if c.estimator == "DR") for r in (known, learned)]
    assert apart[1].se > apart[0].se


def test_partitions_and_moments_know_it_as_well(shop):
    table, run = shop
    model = cr.position.exposure(BIAS).with_error(CurveError(("weights",), np.eye(TOP) / 400, 500))
    ask = {"estimator": ["IPS", "DR(clip=2)"], "position_bias": model}
    whole = cr.funnel(table, {"new": run}, **ask)
    for more in ({"partitions": 3}, {"partitions": 3, "inference": "moments"}):
        again = cr.funnel(table, {"new": run}, **ask, **more)
        for a, b in zip(whole.estimates, again.estimates, strict=True):
            assert (b.low, b.high) == pytest.approx((a.low, a.high), rel=1e-9)
        tails = [[d.value for d in r.diagnostics if d.id == "heavy_tail"] for r in (whole, again)]
        assert tails[1] == pytest.approx(tails[0], rel=1e-8)


def test_heavy_tails_of_one_reward_count_against_it_alone(shop):
    """Amounts of which a few are huge; conversions of the same sales have no tail."""
    table, run = shop
    amount = np.random.default_rng(2).lognormal(0, 2.5, table.height)
    table = table.with_columns(revenue=pl.col("conversion") * pl.Series(amount))
    table = table.with_columns(cvr_revenue=pl.col("cvr"))
    result = cr.funnel(
        table, {"new": run}, reward=["conversion", "revenue"], estimator="IPS", position_bias=BIAS
    )
    loud = [d for d in result.not_passing if d.id == "heavy_tail"]
    assert [d.subject for d in loud] == ["new, IPS, revenue"]
    assert "users" in loud[0].meaning
    assert loud[0].concerns("new", "IPS", "sales", "revenue")
    assert not loud[0].concerns("new", "IPS", "sales", "conversion")
