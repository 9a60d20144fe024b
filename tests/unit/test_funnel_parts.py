"""``funnel`` over buckets of users is ``funnel`` in memory, however many buckets there are."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import cloudpickle
import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.data.ids import unify_id_columns
from counterrank.engine import Local, Partition, Partitions
from counterrank.engine.wire import pack, unpack

ALL = ("Naive", "IPS", "SNIPS", "DM", "DR", "SNDR", "IPS(clip=4)", "DR(clip=4)")
MEASURES = ("DCG@10", "CG@10", "P@10", "RBP")
USERS, ITEMS = 60, 14


class Parts(Partitions):
    """Tables in parts by a hash of the user; what is sent goes through bytes, as it would."""

    def __init__(self, tables, count):
        whole = {name: schema.whole() for name, schema in tables.schemas.items()}
        frames = [table.frame for table in whole.values()]
        for column in tables.ids:
            frames = unify_id_columns(frames, column)
        kinds = [{c: frame.schema[c] for c in tables.ids} for frame in frames]
        self.inputs = {name: table.input() for name, table in whole.items()}
        self.heads = {n: replace(t, frame=t.frame.clear()) for n, t in whole.items()}
        self.count, self.parts = count, []
        for part in range(count):
            own = {}
            for (name, schema), kind in zip(tables.schemas.items(), kinds, strict=True):
                raw = schema.roles.renamed(schema.source.read(schema.roles.choose))
                mine = raw.filter(raw["user"].cast(pl.String).hash(7) % count == part)
                table = schema.part(mine)
                own[name] = replace(table, frame=table.frame.cast(kind))
            self.parts.append(own)

    def map(self, work, label):
        work = cloudpickle.loads(cloudpickle.dumps(work))
        return [unpack(pack(work(Partition(tables)))) for tables in reversed(self.parts)]


class InParts(Local):
    """An engine of such parts."""

    @contextmanager
    def open(self, tables, progress=None):
        yield Parts(tables, self.partitions)


def cut(count, **options):
    return InParts(partitions=count, **options)


@pytest.fixture(scope="module")
def shop():
    rng = np.random.default_rng(5)
    user, item = np.divmod(np.arange(USERS * ITEMS), ITEMS)
    p, h = rng.uniform(0.1, 0.7, len(user)), rng.uniform(0.05, 0.9, len(user))
    click = (rng.random(len(user)) < p).astype(int)
    bought = click * (rng.random(len(user)) < 0.4)
    table = pl.DataFrame(
        {
            "user": [f"u{n}" for n in user],
            "item": [f"i{n}" for n in item],
            "click": click,
            "conversion": bought,
            "spend": bought * rng.integers(1, 30, len(user)),
            "ctr": p,
            "cvr": h,
            "cvr_spend": 10 * h,
        }
    )
    runs = {name: lists(rng, 8, name) for name in ("old", "new")}
    return table, runs


def lists(rng, length, name) -> pl.DataFrame:
    rows = [
        (f"u{u}", f"i{i}", r)
        for u in range(USERS + 5)  # some users have lists only
        if not (name == "new" and u % 9 == 0)  # and some have none
        for r, i in enumerate(rng.permutation(ITEMS)[:length], 1)
    ]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row").sample(
        fraction=1, shuffle=True, seed=1
    )


def columns(result) -> dict:
    return {key: np.stack(own) for key, own in result.units.columns.items()}


def plain(result) -> dict:
    """All that a result says, but for where it was computed."""
    told = json.loads(result.to_json())
    for word in ("engine", "partitions", "inference"):
        told["protocol"].pop(word)
        told["provenance"]["options"].pop(word, None)
    return told


def alike(a, b, tolerance=1e-12) -> None:
    """The same to rounding, whatever it is made of."""
    assert type(a) is type(b), (a, b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            alike(a[key], b[key], tolerance)
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            alike(x, y, tolerance)
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=tolerance, abs=tolerance, nan_ok=True)
    else:
        assert a == b


def same(table, runs, *, exact=True, counts=(1, 7), **options) -> None:
    options = {"estimator": ALL, "measure": MEASURES} | options
    whole = cr.funnel(table, runs, **options)
    for n in counts:
        found = cr.funnel(table, runs, engine=cut(n), **options)
        assert found.protocol["partitions"] == n
        own = columns(found)
        for key, x in columns(whole).items():
            if exact:
                assert np.array_equal(own[key], x), key
            else:
                assert own[key] == pytest.approx(x, rel=1e-12, abs=1e-12)
        if exact:
            assert found.to_frame().equals(whole.to_frame())
            assert found.by_unit().equals(whole.by_unit())
        alike(plain(found), plain(whole))


def clicks(table):
    return table.filter(pl.col("click") == 1)


def test_columns_of_the_funnel(shop):
    same(*shop, counts=(1, 3, 20), reward=["conversion", "spend"])


@pytest.mark.parametrize("users", ["auto", "table", "all"])
@pytest.mark.parametrize("pairs", ["all", "rows"])
def test_who_and_what_counts(shop, users, pairs):
    table, runs = shop
    some = table.filter((pl.col("click") == 1) | (pl.int_range(pl.len()) % 3 > 0)).drop("cvr")
    options = {"estimator": ("Naive", "IPS", "SNIPS"), "users": users, "pairs": pairs}
    same(some, runs, **options)
    same(clicks(some), runs, **options)


def test_a_table_of_predictions_and_a_runs_own_cvr(shop):
    table, runs = shop
    guess = table.select("user", "item", "ctr", "cvr")
    runs = {
        name: run.filter(pl.col("user").is_in(table["user"].implode()))
        for name, run in runs.items()
    }
    same(table.drop("ctr", "cvr"), runs, predictions=guess)
    same(clicks(table).drop("ctr", "cvr"), runs, predictions=guess, users="all")
    own = {
        name: run.join(guess.drop("ctr"), on=["user", "item"], how="left")
        for name, run in runs.items()
    }
    same(clicks(table).drop("cvr"), own)


def test_rankings_of_all_items(shop):
    table, _ = shop
    rng = np.random.default_rng(3)
    runs = {"all": lists(rng, ITEMS, "all"), "old": lists(rng, ITEMS, "old")}
    labels = ("Naive", "IPS", "DM", "DR")
    measures = ("RankSum", "PublishedDCG@10", "PublishedRecall@10")
    same(table, runs, estimator=labels, measure=measures)


def test_ids_that_are_numbers_or_text_of_numbers(shop):
    table, runs = shop
    number = pl.col("user", "item").str.slice(1).cast(pl.Int64)
    numbered = {name: run.with_columns(number) for name, run in runs.items()}
    same(table.with_columns(number), numbered, users="table")
    text = {name: run.with_columns(number.cast(pl.String)) for name, run in runs.items()}
    same(table.with_columns(number), text, users="table")


@pytest.mark.parametrize(
    ("ctr", "cvr"), [("rates", "rates"), ("factors(d=1)", "rates(weight=ctr)"), ("column", "rates")]
)
@pytest.mark.parametrize("pairs", ["all", "rows"])
def test_fitted_models(shop, ctr, cvr, pairs):
    table, runs = shop
    bare = table.drop("cvr", *(["ctr"] if ctr != "column" else []))
    options = {
        "ctr": ctr,
        "cvr": cvr,
        "pairs": pairs,
        "measure": ("DCG@10",),
        "floor": 0.01,
        "estimator": ("IPS", "SNDR"),
    }
    same(bare, runs, exact=False, counts=(5,), **options)
    if pairs == "all":
        same(clicks(bare), runs, exact=False, counts=(20,), **options)


def test_models_of_features(shop):
    pytest.importorskip("sklearn")
    table, runs = shop
    rng = np.random.default_rng(9)
    users = pl.DataFrame({"user": [f"u{n}" for n in range(USERS + 5)]}).with_columns(
        age=pl.Series(rng.uniform(20, 60, USERS + 5)),
        segment=pl.Series(rng.choice(["a", "b"], USERS + 5)),
    )
    items = pl.DataFrame({"item": [f"i{n}" for n in range(ITEMS)]}).with_columns(
        price=pl.Series(rng.uniform(1, 9, ITEMS))
    )
    options = {"user_features": users, "item_features": items, "measure": ("DCG@10",)}
    same(
        table.drop("ctr", "cvr"), runs, exact=False, counts=(3,), ctr="logistic",
        cvr="logistic", **options,
    )  # fmt: skip


def test_a_table_of_several_systems_need_not_be_in_every_part(shop):
    table, runs = shop
    few = runs["new"].filter(pl.col("user") == "u4")
    both = pl.concat(
        [runs["old"].with_columns(system=pl.lit("a")), few.with_columns(system=pl.lit("b"))]
    )
    same(table, both.sort("system"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"missing": "error"},
        {"measure": ["RankSum"]},
        {"table": lambda t: t.with_columns(ctr=pl.lit(1.0))},
        {"table": lambda t: t.with_columns(pl.col("user").str.replace("u", "v"))},
        {"table": lambda t: t.drop("ctr")},
        {"table": lambda t: t.drop("cvr")},
        {"table": lambda t: t.filter(pl.col("item") != "i3")},
        {"table": lambda t: t.drop("ctr").with_columns(click=0, conversion=0), "ctr": "rates"},
        {"baseline": "none"},
    ],
)  # fmt: skip
def test_what_is_refused_is_refused_in_the_same_words(shop, wrong):
    table, runs = shop
    options = dict(wrong)
    table = options.pop("table", lambda t: t)(table)
    with pytest.raises(cr.CounterrankError) as whole:
        cr.funnel(table, runs, **options)
    with pytest.raises(cr.CounterrankError) as found:
        cr.funnel(table, runs, engine=cut(20), **options)
    assert str(found.value) == str(whole.value)


def test_models_are_refused_where_their_clicks_do_not_fit(shop):
    table, runs = shop
    tiny = cut(3, memory="128MB")
    many = partial(cr.funnel, table.drop("ctr"), runs, estimator="IPS", ctr="rates")
    assert many(engine=tiny).protocol["partitions"] == 3
    object.__setattr__(tiny, "memory", 1000)
    with pytest.raises(cr.UsageError, match="in one place"):
        many(engine=tiny)


@pytest.mark.parametrize("fitted", ["column", "rates"])
def test_moments_say_what_values_per_user_say(shop, fitted):
    table, runs = shop
    options = {
        "estimator": ALL, "measure": MEASURES, "reward": ["conversion", "spend"],
        "ctr": fitted, "interval": "t",
    }  # fmt: skip
    whole = cr.funnel(table, runs, **options)
    for n in (1, 7):
        found = cr.funnel(table, runs, engine=cut(n, inference="moments"), **options)
        assert found.protocol["inference"]["inference"] == "moments"
        a, b = plain(found), plain(whole)
        for told in (a, b):  # the usual ctr is known to half a percent
            told["diagnostics"] = [d for d in told["diagnostics"] if d["name"] != "smallest ctr"]
        alike(a, b, 1e-9)
        with pytest.raises(cr.UsageError, match="units"):
            found.by_unit()


def test_resamples_do_not_depend_on_the_parts(shop):
    options = {
        "estimator": ALL[:5],
        "interval": "bootstrap",
        "test": "bootstrap",
        "resamples": 300,
    }
    one, many = (cr.funnel(*shop, engine=cut(n, inference="moments"), **options) for n in (1, 7))
    alike(plain(many), plain(one), 1e-9)
    units = cr.funnel(*shop, **options)
    for a, b in zip(one.estimates, units.estimates, strict=True):
        assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-9)
    with pytest.raises(cr.UsageError, match="bca"):
        cr.funnel(*shop, engine=cut(2, inference="moments"), interval="bca")


def test_by_way_of_the_disk(shop, tmp_path):
    table, runs = shop
    table.write_csv(tmp_path / "clicks.csv")
    for name, run in runs.items():
        run.write_parquet(tmp_path / f"{name}.parquet")
    files = [tmp_path / f"{name}.parquet" for name in runs]
    whole, found = (
        cr.funnel(tmp_path / "clicks.csv", files, estimator=ALL, measure=MEASURES, engine=engine)
        for engine in (Local(), Local(partitions=7, scratch=str(tmp_path)))
    )
    assert found.protocol["partitions"] == 7
    assert found.by_unit().equals(whole.by_unit())
    alike(plain(found), plain(whole))


def test_check_says_the_same(shop):
    table, runs = shop
    for funnel in (table, table.drop("ctr", "cvr")):
        for lists in ({0: ("old", runs["old"])}, {}):
            whole, found = (
                cr.check({"funnel": funnel, **dict(lists.values())}, engine=engine)
                for engine in (Local(), cut(5))
            )
            assert found.tables["to_log"] == whole.tables["to_log"]
            assert [d.name for d in found.diagnostics] == [d.name for d in whole.diagnostics]
            for a, b in zip(found.diagnostics, whole.diagnostics, strict=True):
                alike(vars(a), vars(b))


@pytest.fixture(scope="module")
def seen(shop):
    """The same shop with what was shown: three of four rows, and all that was clicked."""
    table, runs = shop
    rng = np.random.default_rng(8)
    shown = (rng.random(table.height) < 0.75) | (table["click"] == 1).to_numpy()
    own = table.with_columns(
        shown=pl.Series(shown.astype(int)),
        exposure=pl.Series(rng.uniform(0.6, 0.9, table.height)),
        rank=pl.Series(rng.integers(1, 6, table.height)),
    )
    return own, runs


SALES = {"measure": ("sales", "sales@3"), "position_bias": "power(eta=0.5)"}


@pytest.mark.parametrize("views", ["observed", "latent"])
def test_sales(seen, views):
    table, runs = seen
    same(table, runs, users="table", views=views, **SALES)
    shown = table.filter(pl.col("shown") == 1).drop("cvr", "cvr_spend")
    options = {"estimator": ("Naive", "IPS", "SNIPS"), "views": views, **SALES}
    same(shown, runs, **options)


def test_sales_by_a_ctr_of_the_runs(shop):
    table, runs = shop
    listed = {
        name: run.with_columns(ctr=0.1 + pl.col("rank") / 20, cvr=pl.col("rank") / 10)
        for name, run in runs.items()
    }
    same(clicks(table).drop("cvr"), listed, **SALES)


@pytest.mark.parametrize("pairs", ["all", "rows"])
def test_sales_by_fitted_models(seen, pairs):
    table, runs = seen
    fitted = dict.fromkeys(("exposure", "ctr", "cvr"), "rates")
    bare = table.drop("ctr", "cvr", "exposure")
    options = {"estimator": ("IPS", "SNDR"), "pairs": pairs, **fitted, **SALES}
    same(bare, runs, exact=False, counts=(5,), **options)
    whole, moments = (
        cr.funnel(bare, runs, engine=cut(n, inference=how), **options)
        for n, how in ((1, "units"), (7, "moments"))
    )
    for a, b in zip(whole.estimates, moments.estimates, strict=True):
        assert (a.value, a.se) == pytest.approx((b.value, b.se), rel=1e-9)


def test_sales_of_events_also_by_way_of_the_disk(seen, tmp_path):
    table, runs = seen
    parts = [
        table.filter(pl.col(column) == 1).select("user", "item", "rank", "spend").with_columns(
            event=pl.lit(event), time=pl.lit(time)
        )
        for column, event, time in (
            ("shown", "view", 1), ("click", "click", 2), ("conversion", "purchase", 3)
        )
    ]  # fmt: skip
    log = pl.concat([*parts, parts[1].with_columns(time=0)]).sample(
        fraction=1, shuffle=True, seed=2
    )
    options = {
        "exposure": "rates",
        "estimator": ("Naive", "IPS"),
        "reward": ["conversion", "spend"],
    }
    same(log, runs, exact=False, counts=(1, 5), **options, **SALES)
    log.write_csv(tmp_path / "events.csv")
    whole, found = (
        cr.funnel(tmp_path / "events.csv", runs, engine=engine, **options, **SALES)
        for engine in (Local(), Local(partitions=7, scratch=str(tmp_path)))
    )
    assert found.protocol["partitions"] == 7
    assert whole.protocol["events"]["clicks_unseen"] == parts[1].height
    alike(plain(found), plain(whole))
    few = log.filter(pl.col("event") != "view")
    with pytest.raises(cr.CounterrankError) as one:
        cr.funnel(few, runs, **options, **SALES)
    with pytest.raises(cr.CounterrankError) as many:
        cr.funnel(few, runs, engine=cut(20), **options, **SALES)
    assert str(one.value) == str(many.value)
