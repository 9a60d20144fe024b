"""``funnel``: formulas against plain Python, who counts, what is refused, what options do."""

from __future__ import annotations

import json
import warnings
from math import inf

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.conversions import conversion_measure
from counterrank.simulate import funnel_world
from plain_funnels import CURVES, value

ALL = ("Naive", "IPS", "SNIPS", "DM", "DR", "SNDR")
ITEMS = 9


@pytest.fixture(scope="module")
def shop():
    """Forty users, nine items, spend as well as conversions, every pair with its predictions."""
    rng = np.random.default_rng(0)
    users = [f"u{n}" for n in range(40)]
    rows, pairs, lists = [], {}, {}
    for user in users:
        for n in range(ITEMS):
            p, h = rng.uniform(0.1, 0.8), rng.uniform(0.05, 0.9)
            z = int(rng.random() < p)
            y = int(z and rng.random() < 0.5)
            spend = y * float(rng.integers(1, 30))
            rows.append((user, f"i{n}", z, y, spend, p, h, 10 * h))
            pairs[user, f"i{n}"] = {"conversion": (z, y, p, h), "spend": (z, spend, p, 10 * h)}
        lists[user] = [f"i{n}" for n in rng.permutation(ITEMS)[:6]]
    names = ["user", "item", "click", "conversion", "spend", "ctr", "cvr", "cvr_spend"]
    return users, pl.DataFrame(rows, schema=names, orient="row"), pairs, lists


def run(lists) -> pl.DataFrame:
    rows = [(u, i, r) for u, items in lists.items() for r, i in enumerate(items, 1)]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


def known(pairs, reward="conversion"):
    return {key: both[reward] for key, both in pairs.items()}


def values(table, lists, **options) -> dict:
    runs = {"new": lists if isinstance(lists, pl.DataFrame) else run(lists)}
    result = cr.funnel(table, runs, **{"estimator": ALL, "measure": list(CURVES)} | options)
    return {(r.estimator, r.measure, r.reward): r.value for r in result.estimates}


def test_every_estimator_and_measure_is_its_formula(shop):
    users, table, pairs, lists = shop
    found = values(table, lists, reward=["conversion", "spend"])
    assert len(found) == len(ALL) * len(CURVES) * 2
    for (label, worth, reward), x in found.items():
        plain = value(users, lists, known(pairs, reward), label, CURVES[worth])
        assert x == pytest.approx(plain, rel=1e-12)


def test_clips_and_the_floor(shop):
    users, table, pairs, lists = shop
    labels = [f"{label}(clip=2)" for label in ALL if label not in ("Naive", "DM")]
    found = values(table, lists, estimator=labels, measure="DCG@3")
    for label in labels:
        plain = value(users, lists, known(pairs), label[:-8], CURVES["DCG@3"], clip=2)
        assert found[label, "DCG@3", "conversion"] == pytest.approx(plain, rel=1e-12)
    raised = values(table, lists, floor=0.5, measure="DCG@3")
    for label in ALL:
        plain = value(users, lists, known(pairs), label, CURVES["DCG@3"], floor=0.5)
        assert raised[label, "DCG@3", "conversion"] == pytest.approx(plain, rel=1e-12)


def test_influence_values_are_the_derivative_by_the_users(shop):
    _, table, _, lists = shop
    result = cr.funnel(table, {"new": run(lists)}, estimator=ALL, measure="DCG@3")
    for label in ALL:
        e, key = result.estimate("new", label), result.key("new", label)
        columns, function = np.stack(result.units.columns[key], axis=1), result.functions[key]
        step = 1e-6
        for u in (0, 7, 39):
            weight = np.ones(e.n)
            weight[u] += step * e.n
            means = weight @ columns / weight.sum()
            moved = (float(function(means)) - e.value) / step
            assert moved == pytest.approx(e.influence[u], rel=1e-3, abs=1e-5)


def test_predictions_may_come_from_four_places(shop):
    _, table, _, lists = shop
    expected = values(table, lists)
    guess = table.select("user", "item", "ctr", "cvr")
    bare = table.drop("ctr", "cvr")
    clicks = bare.filter(pl.col("click") == 1)
    assert values(bare, lists, predictions=guess) == expected
    assert values(clicks, lists, predictions=guess, users="all") == expected
    own = run(lists).join(guess.drop("ctr"), on=["user", "item"], how="left")
    told = table.filter(pl.col("click") == 1).drop("cvr")
    assert values(told, own) == pytest.approx(expected, rel=1e-12)
    fitted = values(bare, lists, ctr="rates", cvr="rates")
    assert fitted["Naive", "power", "conversion"] == expected["Naive", "power", "conversion"]
    told = cr.funnel(bare, {"new": run(lists)}, ctr="rates", estimator="IPS").protocol
    assert (told["models"]["conversion"]["ctr"], told["ctr"], told["cvr"]) == (
        "rates", "rates", "column"
    )  # fmt: skip
    assert fitted["DR", "power", "conversion"] != expected["DR", "power", "conversion"]


def test_order_of_rows_and_ids_of_another_kind_change_nothing(shop):
    _, table, _, lists = shop
    expected = values(table, lists)
    mixed = table.sample(fraction=1, shuffle=True, seed=1)
    shuffled = run(lists).sample(fraction=1, shuffle=True, seed=2)
    assert values(mixed, shuffled) == expected
    number = pl.col("user", "item").str.slice(1).cast(pl.Int64)
    renamed = values(table.with_columns(number), run(lists).with_columns(number))
    assert renamed == pytest.approx(expected, rel=1e-13)  # users stand in another order
    text = number.cast(pl.String)
    assert values(table.with_columns(number), run(lists).with_columns(text)) == renamed
    scores = run(lists).select("user", "item", score=-pl.col("rank"))
    assert values(table, scores) == expected


def test_users_without_a_click_or_a_list_are_counted(shop):
    users, table, pairs, lists = shop
    table = table.with_columns(
        click=pl.when(pl.col("user") == "u3").then(0).otherwise(pl.col("click")),
        conversion=pl.when(pl.col("user") == "u3").then(0).otherwise(pl.col("conversion")),
    )
    clicks = table.filter(pl.col("click") == 1).drop("cvr")
    options = {"estimator": "IPS", "measure": "CG@2"}
    auto = cr.funnel(clicks, {"new": run(lists)}, **options)
    assert auto.estimates[0].units == 40
    assert auto.protocol["users"] == "all"
    idle = 40 - clicks["user"].n_unique()
    assert auto.protocol["users_with_lists_only"] == idle > 0
    mine = cr.funnel(clicks, {"new": run(lists)}, users="table", **options)
    assert mine.estimates[0].units == 40 - idle
    assert mine.estimates[0].value == pytest.approx(auto.estimates[0].value * 40 / (40 - idle))
    whole = cr.funnel(table, {"new": run(lists)}, **options)
    assert whole.protocol["users"] == "table"
    assert whole.estimates[0].value == pytest.approx(auto.estimates[0].value)
    few = {user: items for user, items in lists.items() if user != "u5"}
    short = cr.funnel(table, {"new": run(few)}, **options)
    plain = value(users, few, known(pairs) | {("u3", f"i{n}"): (0, 0, 1, 0) for n in range(ITEMS)},
                  "IPS", CURVES["CG@2"])  # fmt: skip
    assert short.estimates[0].value == pytest.approx(plain)
    with pytest.raises(cr.InputError, match="no list for 1 of 40"):
        cr.funnel(table, {"new": run(few)}, missing="error", **options)


def test_pairs_without_a_row_could_not_be_clicked(shop):
    """With impressions, what was never shown has no support; in a whole table nothing lacks it."""
    _, table, _, lists = shop
    some = table.filter(pl.col("item") != "i4")
    for pairs, share in (("all", "items nobody clicked"), ("rows", "the funnel does not hold")):
        result = cr.funnel(some, {"new": run(lists)}, pairs=pairs, estimator=["IPS"])
        told = next(d for d in result.diagnostics if d.name == "support")
        assert told.value > 0.05
        assert share in told.meaning
    gap = table.filter((pl.col("item") != "i4") | (pl.col("user") < "u3"))
    found = [
        next(
            d.value
            for d in cr.funnel(gap, {"new": run(lists)}, pairs=p, estimator=["IPS"]).diagnostics
            if d.name == "support"
        )
        for p in ("all", "rows")
    ]
    assert found[0] == 0 < found[1]


def test_a_run_of_strangers_is_refused_also_where_lists_make_users(shop):
    _, table, _, lists = shop
    clicks = table.filter(pl.col("click") == 1)
    runs = {"new": run(lists), "other": run(lists).with_columns(user=pl.col("user") + "x")}
    with pytest.raises(cr.InputError, match="no user in common"):
        cr.funnel(clicks, runs, estimator="IPS")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.with_columns(conversion=pl.lit(1)), r"without a click.*Found \d+ of 360"),
        (lambda t: pl.concat([t, t.head(2)]), "more than once.*Found 2 such rows.*row 361"),
        (lambda t: t.with_columns(click=pl.lit(2)), '"click".*must hold 0 or 1'),
        (lambda t: t.with_columns(ctr=pl.lit(0.0)), "is 0 where there was a click"),
        (lambda t: t.with_columns(ctr=pl.lit(1.0)), "is 1 in every row"),
        (lambda t: t.with_columns(ctr=pl.lit(1.5)), '"ctr".*must be at most 1'),
        (lambda t: t.with_columns(cvr=pl.lit(inf)), '"cvr".*must be finite'),
        (lambda t: t.drop("click"), 'no column "click"'),
        (lambda t: t.drop("conversion"), 'no column "conversion"'),
        (lambda t: t.drop("ctr"), "which nobody predicted"),
        (lambda t: t.drop("cvr"), "needs a predicted conversion"),
        (lambda t: t.head(0), "has no rows"),
        (lambda t: t.with_columns(user=pl.col("user") + "x"), "no user in common"),
        (lambda t: t.filter(pl.col("user") > "u2"), None),
        (
            lambda t: t.filter((pl.col("item") != "i0") | (pl.col("click") == 1)),
            r"without a predicted cvr, which DM needs. Found \d+ \(first: user 'u\d+', item 'i0'",
        ),
    ],
)  # fmt: skip
def test_bad_funnels_are_refused_with_what_was_found(shop, change, said):
    _, table, _, lists = shop
    if said is None:  # lists of strangers are ignored where the table tells who counts
        assert values(change(table), lists)
        return
    with pytest.raises(cr.CounterrankError, match=said):
        values(change(table), lists, users="table")


def test_conversions_may_be_missing_where_there_was_no_click(shop):
    _, table, _, lists = shop
    unknown = pl.when(pl.col("click") == 1).then(pl.col("conversion"))
    assert values(table.with_columns(conversion=unknown), lists) == values(table, lists)
    nan = unknown.cast(pl.Float64).fill_null(float("nan"))
    assert values(table.with_columns(conversion=nan), lists) == values(table, lists)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"estimator": ["PI"]}, '"PI" is not an estimator'),
        ({"estimator": ["IPS@3"]}, "not a label of an estimator"),
        ({"measure": ["nDCG@10"]}, "not a measure of conversions"),
        ({"measure": ["CG"]}, "needs a cut-off"),
        ({"measure": ["RankSum"]}, "needs rankings of all 9 items"),
        ({"measure": ["Recall@5"]}, "called Hits.*one name has one definition.*Write Hits@5"),
        ({"measure": ["arp"]}, "called RankSum.*Write RankSum"),
        ({"measure": ["PublishedDCG@3"]}, "divides by each user's own sum"),
        ({"measure": ["PublishedDCG@3"], "estimator": "DR"}, "needs rankings of all 9 items"),
        ({"measure": ["RBP(p=2)"]}, "must lie between 0 and 1"),
        ({"pairs": "some"}, 'pairs cannot be "some"'),
        ({"users": "none"}, 'users cannot be "none"'),
        ({"missing": "skip"}, 'missing cannot be "skip"'),
        ({"ties": "expected"}, 'ties cannot be "expected"'),
        ({"floor": 1.5}, "floor must lie between 0 and 1"),
        ({"baseline": "old"}, 'no system "old"'),
        ({"ctr": "guess"}, '"guess" is not a model'),
        ({"interval": "bernstein"}, 'interval cannot be "bernstein"'),
        ({"reward": ["click"]}, "cannot be a reward"),
        ({"reward": ["spent"]}, 'no column "spent"'),
        ({"estimator": []}, "Nothing is to be estimated"),
    ],
)
def test_options_that_make_no_sense(shop, options, said):
    _, table, _, lists = shop
    with pytest.raises(cr.CounterrankError, match=said):
        values(table, lists, **options)


def test_an_item_twice_in_a_list(shop):
    _, table, _, lists = shop
    doubled = pl.concat([run(lists), pl.DataFrame({"user": ["u0"], "item": [lists["u0"][0]],
                                                   "rank": [7]})])  # fmt: skip
    with pytest.raises(cr.InputError, match="more than once"):
        values(table, doubled)
    assert values(table, doubled, duplicates="first") == values(table, lists)


def test_labels_of_measures_print_as_they_are_read():
    for label in (
        "DCG@10", "DCG", "CG@5", "Hits@5", "P@3", "RBP(p=0.9)@10", "RankSum", "PublishedDCG@5",
        "PublishedRecall@5", "geometric(p=0.9)@10", "power",
    ):  # fmt: skip
        assert str(conversion_measure(label)) == label
        assert conversion_measure(str(conversion_measure(label))) == conversion_measure(label)
    rank = np.arange(1, 8)
    assert np.array_equal(
        conversion_measure("hits@5").at(rank), conversion_measure("CG@5").at(rank)
    )
    assert conversion_measure("RankSum").at(rank).tolist() == rank.tolist()
    assert conversion_measure("PublishedDCG@9").at(np.array([1, 2, 4])).tolist() == [1, 1, 0.5]


def test_comparisons_are_paired_and_one_family_per_question(shop):
    _, table, _, lists = shop
    other = {user: items[::-1] for user, items in lists.items()}
    runs = {"old": run(other), "new": run(lists)}
    result = cr.funnel(table, runs, estimator=["IPS", "DR"], measure=["DCG@3", "CG@2"])
    assert {c.baseline for c in result.comparisons} == {"old"}
    assert [c.family for c in result.comparisons] == ["1 comparison"] * 4  # one family per question
    for c in result.comparisons:
        d = result.estimate("new", c.estimator, c.measure) - result.estimate(
            "old", c.estimator, c.measure
        )
        assert d.value == result.difference("new", "old", c.estimator, c.measure).value
        assert (c.difference, c.se) == pytest.approx((d.value, d.se), rel=1e-12)
        assert c.lift == pytest.approx(c.difference / (result.estimate(
            "old", c.estimator, c.measure).value))  # fmt: skip
        assert c.p_corrected >= c.p
    turned = cr.funnel(table, runs, estimator=["IPS"], measure=["DCG@3"], baseline="new")
    assert turned.comparisons[0].difference == -result.comparisons[0].difference
    quiet = cr.funnel(table, runs, estimator=["IPS"], test="none")
    assert quiet.comparisons == []


def test_the_document(shop):
    _, table, _, lists = shop
    result = cr.funnel(table, {"old": run(lists), "new": run(lists)}, estimator=["IPS", "DR"])
    told = json.loads(result.to_json())
    assert told["kind"] == "funnel"
    assert set(told) == {
        "schema", "kind", "estimand", "estimates", "comparisons", "diagnostics", "tables",
        "protocol", "provenance",
    }  # fmt: skip
    assert set(told["tables"]) == {"weights", "tipping"}
    keys = (
        "system",
        "measure",
        "reward",
        "estimator",
        "segment",
        "value",
        "se",
        "low",
        "high",
        "level",
        "units",
    )
    assert set(keys) < set(told["estimates"][0])
    assert told["protocol"]["exposures"]["DCG@10"]["weight"] == "log2@10"
    frame = result.by_unit()
    assert frame.columns == ["unit", "system", "measure", "reward", "estimator", "value"]
    means = frame.group_by("system", "estimator").agg(pl.col("value").mean())
    for row in result.estimates:
        mine = means.filter(
            (pl.col("system") == row.system) & (pl.col("estimator") == row.estimator)
        )
        assert mine["value"][0] == pytest.approx(row.value)
    with pytest.raises(cr.UsageError, match="There is no estimate"):
        result.estimate("new", "SNIPS")


def loud(result) -> set[str]:
    return {d.name for d in result.not_passing}


def test_diagnostics_are_silent_on_a_clean_funnel_and_loud_on_broken_ones():
    world = funnel_world(items=10, seed=2)
    sample = world.sample(users=6000, top=5, seed=1)
    seller = {"seller": sample.runs["seller"]}
    options = {"estimator": ["IPS", "DR"], "measure": "CG@5"}
    assert loud(cr.funnel(sample.funnel, seller, **options)) == set()
    low = sample.funnel.with_columns(pl.col("ctr") * 0.7)
    assert "mean weight" in loud(cr.funnel(low, seller, **options))
    high = {"seller": sample.runs["seller"].with_columns(pl.col("cvr") * 4)}
    assert loud(cr.funnel(sample.funnel, high, **options)) == {"doubly robust"}
    few = sample.funnel.with_columns(conversion=(pl.col("conversion") * (pl.col("user") < 60)))
    assert "conversions" in loud(cr.funnel(few, seller, **options))
    hit = sample.funnel.join(sample.runs["seller"], on=["user", "item"], how="semi")["user"][0]
    ctr = pl.when(pl.col("user") == hit).then(1e-5).otherwise(pl.col("ctr"))
    heavy = loud(cr.funnel(sample.funnel.with_columns(ctr=ctr), seller, **options))
    assert {"largest weight", "effective sample size", "smallest ctr"} <= heavy
    raised = cr.funnel(sample.funnel.with_columns(ctr=ctr), seller, floor=0.03, **options)
    assert "smallest ctr" not in loud(raised)
    clicking = sample.funnel["user"].unique()
    mine = {"seller": seller["seller"].filter(pl.col("user").is_in(clicking.implode()))}
    assert "users without a click" in loud(cr.funnel(sample.funnel, mine, **options))
    half = {"seller": seller["seller"].filter(pl.col("user") < 4000)}
    assert "coverage" in loud(cr.funnel(sample.funnel, half, **options))
    clipped = cr.funnel(sample.funnel, seller, estimator=["IPS(clip=3)"], measure="CG@5")
    assert loud(clipped) == {"clipping"}


def test_forecasts_that_do_not_come_true_are_told():
    world = funnel_world(items=60, seed=2)
    sample = world.sample(users=1500, top=5, seed=1, rows="all")
    runs = {"seller": sample.runs["seller"].drop("cvr")}
    options = {"estimator": ["IPS", "DR"], "measure": "CG@5"}
    clean = cr.funnel(sample.funnel, runs, **options)
    assert {"click model", "conversion model"} <= {d.name for d in clean.diagnostics}
    assert loud(clean) == set()
    steep = sample.funnel.with_columns(ctr=1.4 * pl.col("ctr") ** 1.3)
    assert "click model" in loud(cr.funnel(steep, runs, **options))
    flat = sample.funnel.with_columns(ctr=pl.col("ctr").mean())  # right on average, not for lists
    told = loud(cr.funnel(flat, runs, **options))
    assert told == {"mean weight", "click model by item"}
    high = sample.funnel.with_columns(pl.col("cvr") * 1.5)
    assert "conversion model" in loud(cr.funnel(high, runs, **options))
    shown = steep.filter((pl.col("user") + pl.col("item")) % 3 > 0)  # impressions
    guess = sample.funnel.select("user", "item", "cvr")
    own = {"seller": runs["seller"].join(guess, on=["user", "item"], how="left")}
    rows = cr.funnel(shown, own, pairs="rows", **options)
    assert {"click model", "support"} <= loud(rows)
    assert "click model" not in {d.name for d in cr.funnel(shown, own, **options).diagnostics}
    bare = sample.funnel.drop("ctr", "cvr")
    guessed = cr.funnel(bare, runs, ctr="rates(by=user)", cvr="rates", **options)
    assert "mean weight" in loud(guessed)
    assert "click model" in {d.name for d in guessed.diagnostics}
    assert guessed.protocol["models"]["conversion"]["ctr"] == "rates(by=user)"


@pytest.mark.parametrize(("power", "verdict"), [(-0.8, "fail"), (3.0, "pass")])
def test_a_tail_of_weights_is_told(power, verdict):
    """Chances p of density p^power: weights 1/p of clicks have a tail of index 1/(2 + power)."""
    rng = np.random.default_rng(0)
    users = 40_000
    ctr = np.maximum(rng.random(users) ** (1 / (1 + power)), 1e-12)
    click = np.flatnonzero(rng.random(users) < ctr)
    table = pl.DataFrame({"user": click, "item": 0, "click": 1, "conversion": 1, "ctr": ctr[click]})
    run_ = pl.DataFrame({"user": np.arange(users), "item": 0, "rank": 1})
    result = cr.funnel(table, {"new": run_}, estimator="IPS", measure="CG@1")
    told = next(d for d in result.diagnostics if d.name == "weight tail")
    assert told.state == verdict
    if verdict == "fail":
        assert told.value == pytest.approx(1 / (2 + power), abs=0.15)


def whole_shop(seed=0, users=1500, items=12):
    """Every pair with its true ctr and cvr, and a run of all items."""
    rng = np.random.default_rng(seed)
    ctr, cvr = rng.uniform(0.1, 0.6, (users, items)), rng.uniform(0.1, 0.6, (users, items))
    click = rng.random(ctr.shape) < ctr
    user, item = np.divmod(np.arange(users * items), items)
    table = pl.DataFrame({"user": user, "item": item, "click": click.ravel().astype(int)})
    sold = (click & (rng.random(ctr.shape) < cvr)).ravel().astype(int)
    known = {"conversion": sold, "ctr": ctr.ravel(), "cvr": cvr.ravel()}
    run = pl.DataFrame({"user": user, "item": item, "rank": item + 1})
    return table.with_columns(**{name: pl.Series(x) for name, x in known.items()}), run


def test_a_wrong_ctr_of_all_pairs_is_told_with_and_without_a_cvr():
    table, run = whole_shop()
    for columns in (table, table.drop("cvr")):
        for power, verdict in ((1, "pass"), (2, "fail")):
            given = columns.with_columns(pl.col("ctr") ** power)
            result = cr.funnel(given, {"r": run}, estimator="IPS", test="none")
            told = [d.state for d in result.diagnostics if d.name == "click model"]
            assert told == [verdict]


def test_the_contest_of_dr_and_ips_is_told_for_every_reward():
    table, run = whole_shop()
    table = table.with_columns(spend=10.0 * pl.col("conversion"), cvr_spend=40 * pl.col("cvr"))
    result = cr.funnel(
        table, {"r": run}, reward=["conversion", "spend"], estimator=["IPS", "DR"], test="none"
    )
    told = [d for d in result.diagnostics if d.name == "doubly robust"]
    for d, reward in zip(told, ("conversion", "spend"), strict=True):
        errors = [result.estimate("r", label, reward).se for label in ("DR", "IPS")]
        assert d.value == pytest.approx((errors[0] / errors[1]) ** 2, rel=0.05)
        assert f"DCG@10 of {reward}" in d.meaning
    assert [d.state for d in told] == ["pass", "caution"]
    models = [d.state for d in result.diagnostics if d.name == "conversion model"]
    assert models == ["pass", "fail"]


def test_the_protocol_describes_what_was_fitted_and_only_that():
    table, run = whole_shop(users=100)
    for given, asked in (({"ctr": "rates"}, "ctr"), ({"cvr": "rates"}, "cvr")):
        result = cr.funnel(table, {"r": run}, estimator=["IPS", "DR"], test="none", **given)
        (told,) = result.protocol["models"].values()
        assert {"ctr", "cvr"} & set(told) == {asked}
        assert told["folds"] == 5


def test_conversions_are_weighted_by_the_ctr_that_was_given():
    """Who clicks seldom buys often: weighted means of the other folds, written out."""
    rng = np.random.default_rng(1)
    keen = rng.random(4000) < 0.5
    p = np.where(keen, 0.8, 0.05)
    click = rng.random(4000) < p
    sold = click & (rng.random(4000) < np.where(keen, 0.1, 0.9))
    table = pl.DataFrame({"user": np.arange(4000), "item": 0, "click": click.astype(int),
                          "conversion": sold.astype(int), "ctr": p})  # fmt: skip
    run = pl.DataFrame({"user": np.arange(4000), "item": 0, "rank": 1})
    found = {
        label: cr.funnel(table, {"r": run}, estimator="DM", cvr=label, test="none")
        for label in ("rates(by=item)", "rates(by=item,weight=ctr)")
    }
    value = [result.estimates[0].value for result in found.values()]
    assert value[0] == pytest.approx(sold.sum() / click.sum(), abs=0.01)
    assert value[1] == pytest.approx(np.sum(sold / p) / np.sum(click / p), abs=0.01)
    blank = table.with_columns(ctr=pl.when(pl.col("user") > 9).then(pl.col("ctr")))
    with pytest.raises(cr.InputError, match="have no ctr"):
        cr.funnel(
            table.drop("ctr"), {"r": run}, estimator="DM", cvr="rates(by=item,weight=ctr)",
            predictions=blank.select("user", "item", "ctr").drop_nulls(),
        )  # fmt: skip


def test_the_interval_of_the_direct_method_is_held_against_the_clicks():
    """A sure model is not a right one: DM has a small error however wrong its predictions are."""
    table, run = whole_shop()
    for factor, verdict in ((1.0, "caution"), (2.5, "fail")):
        given = table.with_columns(pl.col("cvr") * factor)
        result = cr.funnel(given, {"r": run}, estimator=["DM", "IPS"], test="none")
        (told,) = [d for d in result.diagnostics if d.name == "direct method"]
        assert told.state == verdict
        row = {r.estimator: r for r in result.estimates}
        assert set(row) == {"DM", "IPS"}
        assert row["DM"].verdict == verdict
        dr = cr.funnel(given, {"r": run}, estimator=["DM", "DR"], test="none")
        missed = dr.estimate("r", "DR") - dr.estimate("r", "DM")
        assert told.value == pytest.approx(row["DM"].se / missed.se)


def test_the_published_form_written_out_also_clipped_and_first():
    """Shares of each user's own sum; weights are diagnosed as for any other measure."""
    table, run = whole_shop(users=30, items=6)
    labels = ["Naive", "IPS(clip=2)", "DM", "DR"]
    result = cr.funnel(table, {"r": run}, measure="PublishedDCG@3", estimator=labels)
    z, y, p, h = (
        table[name].to_numpy().reshape(30, 6) for name in ("click", "conversion", "ctr", "cvr")
    )
    each = {"Naive": z * y, "IPS(clip=2)": z * y * np.minimum(2, 1 / p), "DM": h}
    each["DR"] = h + z * (y - h) / p
    c = np.array([1, 1, 1 / np.log2(3), 0, 0, 0])
    for row in result.estimates:
        top, bottom = each[row.estimator] @ c, each[row.estimator].sum(axis=1)
        share = np.clip(top / np.where(bottom == 0, np.inf, bottom), 0, 1)
        assert row.value == pytest.approx(share.mean())
        assert row.se == pytest.approx(share.std(ddof=1) / 30**0.5)
    told = {d.name: d.value for d in result.diagnostics if d.subject.startswith("r")}
    assert told["mean weight"] == pytest.approx(np.sum(z * c / p) / (30 * c.sum()))
    assert told["clipping"] == pytest.approx(
        1 - np.sum(z * c * np.minimum(2, 1 / p)) / 30 / c.sum()
    )


def test_a_resampled_baseline_of_nothing_is_no_warning():
    """Few conversions: some resamples have none, and a lift over nothing has no value."""
    table, run = whole_shop(users=20, items=2)
    table = table.with_columns(
        conversion=((pl.col("user") == 3) & (pl.col("click") == 1)).cast(int)
    )
    runs = {"a": run, "b": run.with_columns(rank=3 - pl.col("rank"))}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = cr.funnel(table, runs, measure="CG@1", estimator="IPS", interval="bootstrap",
                           test="bootstrap", resamples=200)  # fmt: skip
        assert result.comparisons[0].p <= 1
