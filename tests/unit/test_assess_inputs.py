"""Per-unit values however they are given, and results so far that survive."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.assess.checkpoint import Checkpoint, fingerprint
from counterrank.assess.inputs import read_values
from counterrank.assess.request import ValueRequest
from counterrank.assess.unit_values import Average, Values
from counterrank.core.errors import InputError, UsageError
from counterrank.data.runs import Policies
from counterrank.stats.permutation import permutation_test
from making import grid, world

LABELS = ["nDCG@5", "P@5", "ARP@12"]


def values_of(*given, **options) -> Values:
    return read_values(ValueRequest(*given, **options))


@pytest.fixture(scope="module")
def result():
    truth, runs = world(users=30)
    return truth, runs, cr.evaluate(truth, runs, measure=LABELS, test="none")


@pytest.mark.parametrize("way", ["runs", "result", "frame", "shuffled", "csv", "parquet", "folder"])
def test_every_way_in_gives_the_same_values(result, way, tmp_path):
    truth, runs, evaluation = result
    frame = evaluation.by_unit()
    given: tuple[object, ...] = (frame,)
    if way == "runs":
        given = (truth, runs)
    elif way == "result":
        given = (evaluation,)
    elif way == "shuffled":
        mixed = frame.sample(fraction=1, shuffle=True, seed=1)
        first = mixed.filter(pl.col("system") == "a")  # systems are named in the order they come
        given = (pl.concat([first, mixed.filter(pl.col("system") != "a").sort("system")]),)
    elif way in ("csv", "parquet", "folder"):
        name = "units.parquet" if way == "folder" else f"values.{way}"
        write = frame.write_csv if way == "csv" else frame.write_parquet
        write(tmp_path / name)
        given = (tmp_path if way == "folder" else tmp_path / name,)
    found = values_of(*given, measures=LABELS)
    assert found.systems == ("a", "b", "c")
    assert found.measures == ("nDCG@5", "P@5", "ARP@12")
    assert found.units.equals(evaluation.units.ids)
    np.testing.assert_array_equal(found.x, grid(evaluation))


def test_missing_cells_are_nan_and_left_out_of_what_is_shared(result):
    frame = result[2].by_unit()
    gone = (pl.col("unit") == "u3") & (pl.col("system") == "b") & (pl.col("measure") == "P@5")
    found = values_of(frame.filter(~gone))
    at = found.place("P@5")
    assert np.isnan(found.x).sum() == 1
    assert found.shared(at).sum() == 29
    assert found.shared(found.place("nDCG@5")).all()
    assert not found.scores(at)[~found.shared(at)].any()
    mean = found.frame().filter(pl.col("measure") == "P@5", pl.col("unit") != "u3")
    mean = mean.group_by("system", maintain_order=True).agg(pl.col("value").mean())["value"]
    np.testing.assert_allclose(found.totals()[at], mean.to_numpy())


def test_totals_are_those_of_an_evaluation_also_geometric_ones_and_costs(result):
    truth, runs, _ = result
    found = values_of(truth, runs, measures=LABELS).with_geometric()
    assert found.measures[3:] == ("nDCG(mean=geometric)@5", "P(mean=geometric)@5")
    again = cr.evaluate(truth, runs, measure=list(found.measures), test="none")
    for m, label in enumerate(found.measures):
        own = [again.estimate(s, label).value for s in found.systems]
        np.testing.assert_allclose(found.totals()[m], own, rtol=1e-12)
        sign = Average.of(label).sign
        order = np.argsort(found.scores(m).mean(axis=0))
        assert list(order) == list(np.argsort(sign * np.array(own)))
    assert Average.of("ARP@12").sign == -1
    assert Average.of("my own score") == Average()


def test_what_cannot_be_used_is_refused_with_reasons(result):
    frame = result[2].by_unit()
    with pytest.raises(InputError, match="several values of one unit"):
        values_of(pl.concat([frame, frame.head(1)]))
    ways = [frame.with_columns(method=pl.lit(way)) for way in ("holdout", "IPS")]
    with pytest.raises(InputError, match="Keep the rows of one method"):
        values_of(pl.concat(ways))
    with pytest.raises(InputError, match="is not a table of per-unit values"):
        values_of(__file__)
    with pytest.raises(InputError, match='no column "value"'):
        values_of(frame.drop("value"))
    with pytest.raises(InputError, match="looks like judgments, and nothing else"):
        values_of(result[0])
    with pytest.raises(InputError, match="must be finite"):
        values_of(frame.with_columns(value=pl.lit(float("inf"))))
    truth, runs, _ = result
    with pytest.raises(UsageError, match="mean over tie orders"):
        values_of(truth, runs, measures=["RR@3"], policies=Policies(ties="expected"))
    with pytest.raises(InputError, match="have nothing to find"):
        values_of(truth, runs, measures=["P(rel=4)@3"], policies=Policies(no_relevant="error"))
    with pytest.raises(UsageError, match='no values of "RR@3"'):
        values_of(frame, measures=["RR@3"])


def test_pieces_are_kept_whole_and_only_for_the_same_work(tmp_path):
    asked = []

    def work():
        asked.append(1)
        return np.arange(3.0)

    key = fingerprint(np.arange(4), {"seed": 1})
    assert key == fingerprint(np.arange(4), {"seed": 1})
    assert len({key, fingerprint(np.arange(4), {"seed": 2}), fingerprint(np.arange(4.0))}) == 3
    for _ in range(2):
        assert list(Checkpoint(tmp_path, key)("piece", work)) == [0, 1, 2]
    assert len(asked) == 1
    Checkpoint(tmp_path, fingerprint("other"))("piece", work)
    assert len(asked) == 2
    file = next((tmp_path / key[:16]).iterdir())
    file.write_bytes(file.read_bytes()[:-5])  # a disk that lost the end
    assert list(Checkpoint(tmp_path, key)("piece", work)) == [0, 1, 2]
    assert len(asked) == 3
    raw = bytearray(file.read_bytes())
    for place in (0, 20, len(raw) // 2, len(raw) - 40):  # a disk that changed a byte
        file.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        assert list(Checkpoint(tmp_path, key)("piece", work)) == [0, 1, 2]
    assert len(asked) == 7
    assert list(Checkpoint(tmp_path, key)("day-1/11/2024", work)) == [0, 1, 2]
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be kept"):
        Checkpoint(tmp_path / "file", key)


def test_a_permutation_test_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("counterrank.stats.permutation.MOST", 6)
    x = [np.random.default_rng(3).random((80, 4))]
    pairs = [(0, 1), (1, 2), (0, 3)]
    whole = permutation_test(x, pairs, draws=1000)
    kept = Checkpoint(tmp_path, fingerprint(x[0]))

    class StopError(Exception):
        pass

    def breaks(name, work):
        if name == "flips-5":
            raise StopError
        return kept(name, work)

    with pytest.raises(StopError):
        permutation_test(x, pairs, draws=1000, keep=breaks)
    asked = []

    def told(name, work):
        return kept(name, lambda: (asked.append(name), work())[1])

    again = permutation_test(x, pairs, draws=1000, keep=told)
    assert asked[0] == "flips-5"
    np.testing.assert_array_equal(again.p, whole.p)
    np.testing.assert_array_equal(again.maxt, whole.maxt)


def folds_of(count=3):
    """Judgments and runs by fold, the same users in each."""
    return {str(fold): world(users=20, seed=fold) for fold in range(1, count + 1)}


def below(tables):
    """Tables of all folds as one, with a column that says which."""
    return pl.concat(t.with_columns(fold=pl.lit(name)) for name, t in tables.items())


@pytest.fixture(scope="module")
def folds():
    every = folds_of()
    runs = {s: below({f: own[1][s] for f, own in every.items()}) for s in ("a", "b", "c")}
    return every, below({f: own[0] for f, own in every.items()}), runs


@pytest.mark.parametrize("engine", [{}, {"partitions": 3}])
def test_folds_are_pooled_a_user_once_in_each(folds, engine):
    every, truth, runs = folds
    found = cr.assess_agreement(truth, runs, measure=LABELS, resamples=20, draws=50, **engine)
    alone = [values_of(*own, measures=LABELS) for own in every.values()]
    units = [f"{fold}/{u}" for fold, own in zip(every, alone, strict=True) for u in own.units]
    x = np.concatenate([own.x for own in alone], axis=2)
    got = found.by_unit().with_columns(unit=pl.col("unit").cast(pl.String))
    for s, system in enumerate(("a", "b", "c")):
        for m, label in enumerate(("nDCG@5", "P@5", "ARP@12")):
            own = got.filter(system=system, measure=label)
            assert dict(own.select("unit", "value").rows()) == dict(
                zip(units, x[s, m].tolist(), strict=True)
            )


def test_folds_of_values_and_under_another_name(folds):
    _, truth, runs = folds
    whole = cr.assess_power(truth, runs, measure=LABELS, resamples=20, draws=50)
    named = {s: run.rename({"fold": "split"}) for s, run in runs.items()}
    again = cr.assess_power(truth.rename({"fold": "split"}), named, measure=LABELS, resamples=20,
                            draws=50, columns={"fold": "split"})  # fmt: skip
    parts = pl.col("unit").cast(pl.String).str.split_exact("/", 1)
    table = whole.by_unit().with_columns(
        fold=parts.struct.field("field_0"), unit=parts.struct.field("field_1")
    )
    third = cr.assess_power(table, resamples=20, draws=50)
    assert whole.tables["power"] == again.tables["power"] == third.tables["power"]
    assert whole.tables["power"][0].units == 60


def test_an_item_goes_missing_from_all_folds(folds):
    _, truth, runs = folds
    found = cr.assess_robustness(truth, runs, measure=["P@5"], reduction=["popular_items", "users"],
                                 sizes=[1, 0.5], samples=2)  # fmt: skip
    lost = found.protocol["reductions"]
    assert lost["popular_items"]["of"] == truth["item"].n_unique()
    assert lost["users"]["of"] == 60


def test_folds_of_some_tables_only_are_refused(folds):
    _, truth, runs = folds
    with pytest.raises(InputError, match=r'"b" has no column "fold"\. .*Give all tables'):
        cr.assess_power(truth, runs | {"b": runs["b"].drop("fold")}, measure=LABELS)
