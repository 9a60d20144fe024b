"""Position models: formulas, labels, files, and what cannot be learnt."""

from __future__ import annotations

import json
from math import comb

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank import position as ex
from counterrank.diagnostics.position_models import position
from counterrank.position import model_file
from making import scrolled, shown

RANKS = np.arange(1, 9)
LABELS = [
    "flat", "log2", "log2(scale=0.5)", "jarvelin(base=3)", "power(eta=0.5)@10",
    "power(eta=0.123456789012345,scale=0.9)", "geometric(p=0.9)", "beta_geometric(a=3,b=0.7)@4",
    "table(1,0.6,0.1)@2", "by(device,phone=geometric(p=0.5)@3,tv=log2)",
    "by(hour,flat,7=log2@5,8=power)",
]  # fmt: skip


def test_beta_geometric_is_the_mean_over_users():
    """a = 2, b = 3: p has density 12 p (1-p)^2, so E[p^n] = 12 sum_j C(2,j) (-1)^j / (n+2+j)."""
    plain = [12 * sum(comb(2, j) * (-1) ** j / (r + 1 + j) for j in range(3)) for r in RANKS]
    assert ex.BetaGeometric(2, 3).at(RANKS) == pytest.approx(plain)
    steps = np.cumprod([1.0, *((4 + s - 1) / (5 + s - 1) for s in range(1, 8))])
    assert ex.BetaGeometric().at(RANKS) == pytest.approx(steps)


@pytest.mark.parametrize("label", LABELS)
def test_models_come_back_from_labels_and_json(label, tmp_path):
    model = ex.position_bias(label)
    assert ex.position_bias(str(model)) == model
    assert ex.position_bias(model) is model
    path = tmp_path / "m.json"
    path.write_text(
        json.dumps({"kind": "exposure", "tables": {"model": model_file.to_json(model)}})
    )
    assert ex.position_bias(path) == ex.position_bias(str(path)) == model


@pytest.mark.parametrize("label", [label for label in LABELS if not label.startswith("by")])
def test_nothing_is_seen_below_the_cut_off(label):
    model = ex.exposure(label)
    cut = model @ 3
    assert str(cut).endswith("@3")
    assert cut.at(RANKS)[3:].tolist() == [0.0] * 5
    k = 3 if model.k is None else min(3, model.k)
    assert np.array_equal(cut.at(RANKS)[:k], model.at(RANKS)[:k])
    assert cut.best(8, None).tolist()[3:] == [0.0] * 5


def test_a_discount_with_a_cut_off_is_a_measure_with_one():
    judged = pl.DataFrame({"user": ["u"] * 4, "item": list("abcd"), "rating": [1, 2, 1, 3]})
    run = pl.DataFrame({"user": ["u"] * 4, "item": list("dcab"), "rank": [1, 2, 3, 4]})
    pairs = (
        ("DCG(discount=power@2)", "DCG(discount=power)@2"),
        ("nDCG(discount=table(1,0.9,0.8)@2)", "nDCG(discount=table(1,0.9,0.8))@2"),
    )
    for inner, outer in pairs:
        found = cr.evaluate(judged, {"r": run}, measure=[inner, outer], test="none")
        assert found.estimates[0].value == found.estimates[1].value


def test_scale_only_scales():
    assert ex.exposure("power(scale=0.4)").at(RANKS) == pytest.approx(0.4 / RANKS)


def test_context_chooses_the_model_and_unknown_ones_are_refused():
    model = ex.position_bias("by(device,phone=geometric(p=0.5),7=log2)")
    assert model.column == "device"
    assert ex.Log2().column is None
    assert model.at(np.array([3, 3]), ["phone", "7"]).tolist() == [0.25, 0.5]
    assert model.at(np.array([3]), pl.Series([7])).tolist() == [0.5]
    with pytest.raises(cr.InputError, match=r"no curve for .*tv.*It knows: phone, 7"):
        model.at(np.array([1]), ["tv"])
    with pytest.raises(cr.UsageError, match="no such column"):
        model.at(np.array([1]))
    other = ex.ByContext("device", model.models, ex.Flat())
    assert other.at(np.array([9]), ["tv"]).tolist() == [1.0]
    assert (other @ 5).at(np.array([9, 3]), ["tv", "phone"]).tolist() == [0.0, 0.25]


def test_a_file_that_is_not_there_is_no_label():
    for name in ("pbm.jsn", "models/pbm", "pbm.json"):
        with pytest.raises(cr.InputError, match=f'"{name}" cannot be read'):
            cr.position_bias(name)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{", "not a JSON document"),
        ("[]", "no position model"),
        ('{"kind": "evaluate", "model": 1}', "Its kind is 'evaluate'"),
        (
            '{"kind": "exposure", "tables": {"model": {"name": "log3"}}}',
            '"log3" is not a position model',
        ),
        (
            '{"kind": "exposure", "tables": {"model": {"name": "power", "eat": 1}}}',
            'no option "eat"',
        ),
        (
            '{"kind": "exposure", "tables": {"model": {"name": "power", "eta": "x"}}}',
            "must be a number",
        ),
        ('{"kind": "exposure", "tables": {"model": {"name": "power", "eta": -1}}}', "at least 0"),
        (
            '{"kind": "exposure", "tables": {"model": {"name": "table", "weights": [1, "b"]}}}',
            "list of numb",
        ),
        (
            '{"kind": "exposure", "tables": {"model": {"name": "by", "models": {}}}}',
            'needs "column"',
        ),
        ('{"kind": "exposure", "tables": {"model": 3}}', 'needs a "name"'),
    ],
)
def test_bad_files_are_refused(text, hint, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(cr.InputError, match=hint):
        cr.position_bias(str(path))
    with pytest.raises(cr.InputError, match="cannot be read"):
        cr.position_bias(tmp_path / "none.json")


@pytest.mark.parametrize("label", ["log3", "power@0", "by(phone=log2)", "by(device)", "table(a)"])
def test_bad_labels_are_refused(label):
    with pytest.raises(cr.UsageError):
        ex.position_bias(label)


def test_expected_exposure_is_the_mean_over_draws():
    rng = np.random.default_rng(3)
    rows = [(q, i, r) for q, d in ((0, 5), (1, 2), (3, 4)) for _ in range(d)
            for r, i in enumerate(rng.permutation(7)[:4], 1)]  # fmt: skip
    lists, items, rank = np.array(rows).T
    draws = np.array([5, 2, 1, 4])
    model = ex.Power(0.7)
    plain: dict[tuple[int, int], float] = {}
    for q, i, r in rows:
        plain[q, i] = plain.get((q, i), 0.0) + r**-0.7 / int(draws[q])
    found = ex.expected_exposure(lists, items, model.at(rank), draws)
    assert {(q, i): e for q, i, e in zip(*found, strict=True)} == pytest.approx(plain)
    total = np.bincount(found[0], found[2])
    assert total[[0, 1, 3]] == pytest.approx(model.at(np.arange(1, 5)).sum())


def log(**change) -> pl.DataFrame:
    given = {"seen": 1 / RANKS[:5], "sessions": 3000, "seed": 1} | change
    return shown(**given)


def test_views_are_counted_as_one_would_by_hand():
    table = log()
    found = cr.exposure(table, method="auto")
    assert found.protocol["method"] == "views"
    by_hand = table.group_by("rank").agg(pl.col("viewed").mean()).sort("rank")["viewed"]
    assert [row.value for row in found.estimates] == pytest.approx(by_hand.to_list())
    assert found.model == ex.WeightTable(tuple(row.value for row in found.estimates))


def test_depth_is_a_survival_curve():
    """Depths 1, 3, 3 and 2 of lists of 3; the log of viewed rows only and the whole log agree."""
    depths = {"a": 1, "b": 3, "c": 3, "d": 2}
    whole = pl.DataFrame(
        [(s, r, r, int(r <= d)) for s, d in depths.items() for r in (1, 2, 3)],
        schema=["session", "item", "rank", "viewed"], orient="row",
    )  # fmt: skip
    for table in (whole, whole.filter(pl.col("viewed") == 1).drop("viewed")):
        found = cr.exposure(table, method="depth", length=3)
        assert [row.value for row in found.estimates] == pytest.approx([1, 0.75, 0.5])


def test_lists_that_end_are_no_users_who_stop():
    """Half of the lists have two items: their users could not go on."""
    depths, length = [2, 2, 1, 4, 3, 1], [2, 2, 2, 4, 4, 4]
    table = pl.DataFrame(
        [(s, r, r, int(r <= d)) for s, (d, n) in enumerate(zip(depths, length, strict=True))
         for r in range(1, n + 1)],
        schema=["session", "item", "rank", "viewed"], orient="row",
    )  # fmt: skip
    found = cr.exposure(table, method="depth")
    # 4 of 6 went on from rank 1, 2 of 2 that could from rank 2, 1 of 2 from rank 3
    assert [row.value for row in found.estimates] == pytest.approx([1, 2 / 3, 2 / 3, 1 / 3])


def test_swap_is_a_ratio_of_click_rates():
    table = log(jitter=1e6).drop("viewed")
    rate = table.group_by("rank").agg(pl.col("click").mean()).sort("rank")["click"].to_list()
    found = cr.exposure(table, method="swap", context=["query"])
    assert [r.value for r in found.estimates] == pytest.approx([x / rate[0] for x in rate])
    assert verdicts(found)["random ranks"] == "pass"
    unshuffled = cr.exposure(log().drop("viewed"), method="swap", context=["query"])
    assert verdicts(unshuffled)["random ranks"] == "fail"


def likelihood(c, cells):
    """The best log-likelihood over relevances, by plain search, for given examination."""
    total = 0.0
    for own in cells.values():
        grid = np.linspace(1e-4, 0.9999, 4000)
        value = sum(k * np.log(c[r] * grid) + (n - k) * np.log1p(-c[r] * grid)
                    for r, n, k in own)  # fmt: skip
        total += float(np.max(value))
    return total


def test_em_finds_the_greatest_likelihood():
    table = log(sessions=400, queries=2)
    cells: dict[object, list] = {}
    for q, i, r, n, k in (
        table.group_by("query", "item", "rank").agg(pl.len(), pl.col("click").sum()).iter_rows()
    ):
        cells.setdefault((q, i), []).append((r - 1, n, k))
    learned = cr.exposure(table, method="em", reward="click", context=["query"]).learned
    found = learned.whole.curve.value
    best = likelihood(found, cells)
    for k in range(1, 5):
        for factor in (0.95, 1.05):
            other = found.copy()
            other[k] *= factor
            assert likelihood(other, cells) < best


def test_harvest_with_two_ranks_is_one_ratio():
    """Two ranks: sum of overlap-weighted click rates at rank 2 over the same at rank 1."""
    table = log(seen=[1.0, 0.4], queries=5, sessions=2000)
    up = down = 0.0
    for own in table.partition_by("query", "item"):
        n, k = (
            [own.filter(pl.col("rank") == r)["click"].len() for r in (1, 2)],
            [own.filter(pl.col("rank") == r)["click"].sum() for r in (1, 2)],
        )
        if min(n):
            weight = n[0] * n[1] / (n[0] + n[1])
            up, down = up + weight * k[1] / n[1], down + weight * k[0] / n[0]
    found = cr.exposure(table, method="harvest", context=["query"])
    assert [row.value for row in found.estimates] == pytest.approx([1, up / down], rel=1e-6)


def test_a_factor_of_the_reward_changes_nothing():
    table = log().drop("viewed")
    paid = table.with_columns(revenue=pl.col("click") * 20.0)
    for method in ("harvest", "em", "swap"):
        a, b = (
            cr.exposure(paid, method=method, reward=r, context=["query"]).to_frame()
            for r in ("click", "revenue")
        )
        assert np.allclose(a["value"], b["value"])
        assert np.allclose(a["high"], b["high"])


def verdicts(found) -> dict[str, str]:
    return {d.name: d.state for d in found.diagnostics}


def test_diagnostics_are_silent_on_clean_logs_and_loud_on_broken_ones():
    clean = cr.exposure(log(sessions=8000), method="harvest", context=["query"])
    assert set(verdicts(clean).values()) == {"pass"}
    cascade = cr.exposure(log(cascade=True), method="harvest", context=["query"])
    assert verdicts(cascade)["click above"] == "fail"
    # an item whose relevance is another one at each rank: rank acts differently on each item
    table = log(sessions=8000)
    odd = ((pl.col("item") + pl.col("query")) % 2 == 0) & (pl.col("rank") > 2)
    mixed = table.with_columns(click=pl.when(odd).then(0).otherwise(pl.col("click")))
    found = cr.exposure(mixed, method="em", context=["query"])
    assert verdicts(found)["position-based model"] == "fail"
    thin = cr.exposure(log(sessions=250), method="harvest", context=["query"])
    assert verdicts(thin)["rank sample"] == "caution"
    table = log(queries=400, sessions=3000)
    assert verdicts(cr.exposure(table, method="em", context=["query"]))["rows per item"] == (
        "caution"
    )


def test_a_wrong_family_and_a_rising_curve_are_noticed():
    seen = [0.9, 0.9, 0.9, 0.2, 0.6]
    found = cr.exposure(log(seen=seen), method="views", model="power")
    assert verdicts(found)["curve shape"] == "fail"
    assert verdicts(found)["falling curve"] == "caution"
    good = cr.exposure(log(seen=0.9 / RANKS[:5]), method="views", model="power")
    assert verdicts(good)["curve shape"] == verdicts(good)["falling curve"] == "pass"


def test_skipped_ranks_are_noticed():
    found = cr.exposure(log(seen=[0.9, 0.5, 0.5, 0.5, 0.5]), method="depth")
    assert verdicts(found)["scrolling"] == "fail"
    whole = scrolled(length=8, sessions=500, seed=1, a=4, b=1)
    assert verdicts(cr.exposure(whole, method="depth", length=8))["scrolling"] == "pass"


def fixed(table):
    """Every item at one rank."""
    return table.with_columns(item=pl.col("rank"), query=pl.lit(0))


def islands(table):
    """Items move within ranks 1 to 3 and within 4 to 5, never between."""
    return table.with_columns(item=pl.col("item") + 100 * (pl.col("rank") > 3))


@pytest.mark.parametrize(
    ("change", "method", "hint"),
    [
        (fixed, "harvest", "No item was ever shown at two ranks"),
        (fixed, "em", "each at one rank only.*Log whether"),
        (islands, "harvest", "Cut off: rank 4, 5"),
        (islands, "em", "share no clicked item with rank 1"),
        (lambda t: t.drop("viewed"), "views", 'no column "viewed"'),
        (lambda t: t.with_columns(viewed=1), "views", "is 1 in every row"),
        (lambda t: t.drop("viewed"), "depth", "look like all shown rows"),
        (lambda t: t.with_columns(viewed=0, click=0), "depth", "No row was viewed"),
        (lambda t: t.with_columns(click=0), "swap", "there are none"),
        (lambda t: t.with_columns(click=pl.col("click") * (pl.col("rank") < 4)), "swap",
         "--ranks 3"),
        (lambda t: t.filter(pl.col("rank") != 2), "harvest", "No row has rank 2"),
        (lambda t: t.with_columns(click=-pl.col("click")), "em", "below 0"),
        (lambda t: t.with_columns(rank=pl.col("rank") + 1), "views", "No row has rank 1"),
        (lambda t: t.with_columns(rank=pl.col("session") + 1), "views", "--ranks 100"),
    ],
)  # fmt: skip
def test_what_cannot_be_learnt_is_refused_with_what_to_log(change, method, hint):
    with pytest.raises(cr.InputError, match=hint):
        cr.exposure(change(log()), method=method, reward="click", context=["query"])


@pytest.mark.parametrize(
    "options",
    [{"method": "guess"}, {"model": "cubic"}, {"level": 1.0}, {"method": "views", "length": 5},
     {"method": "em", "swapped": "query"}],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(cr.UsageError):
        cr.exposure(log(), **options)


def test_swaps_must_be_ranks():
    table = log().with_columns(coin=pl.lit("heads"))
    with pytest.raises(cr.InputError, match="which rank was swapped"):
        cr.exposure(table, method="swap", swapped="coin")


@pytest.mark.parametrize("kind", [pl.Boolean, pl.String, pl.Float64, pl.Int8, pl.Date])
def test_contexts_of_any_type_find_their_curve(kind):
    column = (pl.col("session") % 2).cast(pl.Int32)
    column = column.cast(pl.Boolean) if kind == pl.Boolean else column.cast(kind)
    table = log().with_columns(mark=column)
    found = cr.exposure(table, by="mark")
    seen = found.model.at(table["rank"].to_numpy(), table["mark"])
    mean = table.group_by("mark", "rank").agg(pl.col("viewed").mean())
    by_hand = table.join(
        mean.rename({"viewed": "mean"}), on=["mark", "rank"], how="left", maintain_order="left"
    )
    assert np.allclose(seen, by_hand["mean"])
    assert len(found.learned.parts) == 2


def test_thin_contexts_take_the_curve_of_all_rows():
    table = log(sessions=4000).with_columns(
        device=pl.when(pl.col("session") < 5).then(pl.lit("tv")).otherwise(pl.lit("phone"))
    )
    found = cr.exposure(table, method="harvest", context=["query"], by="device")
    assert list(found.learned.parts) == ["phone"]
    assert found.model.default == found.learned.whole.model
    assert verdicts(found)["thin contexts"] == "caution"
    assert position(found.learned) == found.diagnostics


def test_the_document_is_read_back_exactly(tmp_path):
    table = log().with_columns(device=pl.col("session") % 2)
    for by in (None, "device"):
        found = cr.exposure(table, model="beta_geometric", by=by)
        path = tmp_path / "pbm.json"
        path.write_text(found.to_json())
        assert cr.position_bias(path) == found.model
        document = json.loads(path.read_text())
        assert document["estimates"] == found.to_frame().to_dicts()
        assert {"diagnostics", "protocol", "provenance", "tables"} <= set(document)
        assert {"basis", "parameters", "ranks", "model"} <= set(document["tables"])


def test_auto_takes_depth_where_only_viewed_rows_were_logged():
    from counterrank.simulate import World, platform

    log = platform(World(), sessions=2000, views="viewed_only", runs=[]).log
    found = cr.exposure(log)
    assert found.protocol["method"] == "depth"
    latent = platform(World(), sessions=2000, views="latent", runs=[]).log
    assert cr.exposure(latent, context=["context"]).protocol["method"] == "harvest"
