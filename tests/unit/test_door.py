"""Every bad input gets a message: what was wrong, what was found, what to do. Never a traceback."""

from __future__ import annotations

import gzip

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterrank as cr
from making import grid, judgments, run, scored

TRUTH = judgments({"u": {"a": 1, "b": 0}, "v": {"c": 2}})
RUN = run({"u": ["a", "b"], "v": ["c"]})


def message(truth=TRUTH, table=RUN, **options) -> str:
    with pytest.raises(cr.CounterrankError) as caught:
        cr.evaluate(truth, {"run": table}, test="none", **options)
    error = caught.value
    assert error.wrong
    assert error.found or error.todo
    return str(error)


def test_missing_column_suggests_the_nearest():
    text = message(TRUTH.rename({"rating": "ratings"}))
    assert 'no column "rating"' in text
    assert 'Did you mean "ratings"?' in text
    assert "--columns rating=ratings" in text


def test_run_needs_rank_or_score():
    text = message(table=RUN.rename({"rank": "scores"}))
    assert '"rank" or "score"' in text
    assert 'Did you mean "scores"?' in text


def test_unknown_role():
    assert 'Did you mean "user"?' in message(columns={"usr": "user"})


def test_renamed_columns_work_for_judgments_and_runs():
    truth = TRUTH.rename({"user": "uid", "rating": "stars"})
    table = RUN.rename({"user": "uid"})
    names = {"user": "uid", "rating": "stars"}
    result = cr.evaluate(truth, {"r": table}, columns=names, measure=["RR"], test="none")
    assert result.estimates[0].value == 1.0


def test_a_name_may_hold_for_one_table_only():
    truth = TRUTH.rename({"user": "uid"})
    result = cr.evaluate(truth, {"r": RUN}, columns={"user": "uid"}, measure=["RR"], test="none")
    assert result.estimates[0].value == 1.0


@pytest.mark.parametrize("column", ["user", "item", "rating"])
def test_missing_values_in_judgments(column):
    hole = pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise(pl.col(column)).alias(column)
    text = message(TRUTH.with_columns(hole))
    assert f'Column "{column}"' in text
    assert "1 of 3 rows (first: row 2" in text


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity(bad):
    text = message(table=scored({"u": [("a", 1), ("b", bad)], "v": [("c", bad)]}))
    assert 'Column "score"' in text
    assert "must be finite" in text
    assert "2 of 3 rows (first: row 2" in text
    assert "must be finite" in message(judgments({"u": {"a": bad}}))


def test_wrong_types():
    assert "must hold numbers" in message(TRUTH.with_columns(rating=pl.lit("good")))
    assert "must hold numbers" in message(TRUTH.with_columns(rating=pl.lit([1])))
    assert "text or whole numbers" in message(TRUTH.with_columns(item=pl.lit(1.5)))
    assert "whole numbers" in message(table=RUN.with_columns(rank=pl.col("rank") + 0.5))


def test_ranks_count_from_one():
    text = message(table=RUN.with_columns(rank=pl.col("rank") - 1))
    assert "must count from 1" in text
    assert "2 of 3 rows (first: row 1, value 0)" in text


def test_repeated_rank():
    text = message(table=RUN.with_columns(rank=pl.lit(1)))
    assert "repeats a rank" in text
    assert "row 2, user 'u', item 'b'" in text


def test_duplicate_rows_name_the_callers_row_even_when_unsorted():
    table = scored({"u": [("a", 3)], "v": [("c", 1)]})
    again = pl.concat([table, scored({"u": [("a", 1)]})])
    assert "row 3, user 'u', item 'a'" in message(table=again)


def test_judged_twice():
    text = message(pl.concat([TRUTH, TRUTH.head(1)]))
    assert "more than once" in text
    assert "row 4, user 'u', item 'a'" in text


def test_no_user_in_common():
    text = message(table=run({"x": ["a"]}))
    assert "no user in common" in text
    assert "'x'" in text
    assert "'u'" in text


def test_empty_tables():
    assert "no rows" in message(TRUTH.head(0))
    assert "no rows" in message(table=RUN.head(0))


def test_not_a_table():
    assert "cannot be read as a table" in message(42)
    assert "cannot be read as a table" in message(table=[1, 2])


def test_mixed_objects_in_pandas():
    mixed = pd.DataFrame({"user": ["u", "u"], "item": [1, "b"], "rating": [1, 2]})
    assert "mixes types" in message(mixed)


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x.tsv", "x.txt", "x.csv.gz", "x.gz"])
def test_unreadable_files(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"\x93\xff\x00 not a table \xfe")
    assert name in message(str(path))
    path.write_bytes(b"")
    assert name in message(str(path))
    assert "No file" in message(str(tmp_path / ("no" + name)))


@pytest.mark.parametrize("keep", [0.02, 0.3, 0.7, 0.98])
def test_truncated_parquet(tmp_path, keep):
    path = tmp_path / "cut.parquet"
    RUN.write_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep)])
    assert "cannot be read as Parquet" in message(table=str(path))


def test_damaged_parquet_never_gives_a_traceback(tmp_path):
    path = tmp_path / "bad.parquet"
    table = pl.DataFrame(
        {"user": np.arange(4000) // 4, "item": np.arange(4000), "rank": np.arange(4000) % 4 + 1}
    )
    table.write_parquet(path)
    whole = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    truth = table.select("user", "item", rating=pl.lit(1))
    refused = 0
    for _ in range(40):
        broken = bytearray(whole)
        for place in rng.integers(4, len(whole), 20):
            broken[place] ^= 0xFF
        path.write_bytes(broken)
        try:
            cr.evaluate(truth, {"r": str(path)}, measure=["RR"], test="none")
        except cr.CounterrankError:
            refused += 1
    assert refused > 0


def test_truncated_gzip(tmp_path):
    path = tmp_path / "run.csv.gz"
    whole = gzip.compress(RUN.write_csv().encode() * 1)
    path.write_bytes(whole[:-6])
    assert "cannot be read" in message(table=str(path))


def test_csv_with_words_for_numbers(tmp_path):
    path = tmp_path / "j.csv"
    path.write_text("user,item,rating\nu,a,1\nu,b,many\n")
    text = message(str(path))
    assert 'Column "rating"' in text
    assert "row 2, value 'many'" in text


def test_trec_text_of_another_shape(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("u 0 a 1\nu 0 b\n")
    text = message(str(path))
    assert "Line 2 has 3 fields" in text


def test_not_utf8(tmp_path):
    path = tmp_path / "qrels"
    path.write_bytes(b"u 0 caf\xe9 1\n")
    assert "not UTF-8" in message(str(path))


def test_empty_folder_and_glob(tmp_path):
    assert "holds no table" in message(str(tmp_path))
    assert "No file" in message(str(tmp_path / "*.parquet"))


def test_folder_glob_and_parts_of_several_types(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    RUN.filter(pl.col("user") == "u").write_parquet(folder / "a.parquet")
    RUN.filter(pl.col("user") == "v").with_columns(pl.col("rank").cast(pl.Int8)).write_parquet(
        folder / "b.parquet"
    )
    (folder / "_SUCCESS").write_text("")
    for source in (str(folder), str(folder / "*.parquet"), folder):
        result = cr.evaluate(TRUTH, {"r": source}, measure=["RR"], test="none")
        assert result.estimates[0].value == 1.0
        assert result.inputs[1].rows == 3


def test_csv_keeps_leading_zeros(tmp_path):
    truth, table = tmp_path / "j.csv", tmp_path / "r.tsv"
    truth.write_text("user,item,rating\n1,007,1\n")
    table.write_text("user\titem\trank\n1\t7\t1\n1\t007\t2\n")
    result = cr.evaluate(str(truth), {"r": str(table)}, measure=["RR"], test="none")
    assert result.estimates[0].value == 0.5


def test_text_and_integer_ids_meet(tmp_path):
    path = tmp_path / "j.csv"
    path.write_text("user,item,rating\n1,10,1\n2,11,1\n")
    table = pl.DataFrame({"user": [1, 2], "item": [10, 11], "rank": [1, 1]})
    result = cr.evaluate(str(path), {"r": table}, measure=["RR"], test="none")
    assert result.estimates[0].value == 1.0
    small = pl.DataFrame({"user": [1, 2], "item": [10, 11], "rating": [1, 1]},
                         schema_overrides={"user": pl.UInt64, "item": pl.Int8})  # fmt: skip
    assert cr.evaluate(small, {"r": table}, measure=["RR"], test="none").estimates[0].value == 1.0


def test_same_name_twice():
    with pytest.raises(cr.UsageError, match="named"):
        cr.evaluate(TRUTH, [("a", RUN), ("a", RUN)], test="none")


def test_system_column_splits_a_table():
    both = pl.concat([RUN.with_columns(system=pl.lit("x")), RUN.with_columns(system=pl.lit("y"))])
    result = cr.evaluate(TRUTH, both, measure=["RR"], test="none")
    assert result.systems == ("x", "y")
    assert cr.evaluate(TRUTH, {"n": both}, measure=["RR"], test="none").systems == ("n/x", "n/y")


def test_draws_are_refused_with_a_reason():
    assert '"draw"' in message(table=RUN.with_columns(draw=pl.lit(0)))


def test_rank_wins_over_score():
    table = RUN.with_columns(score=pl.col("rank"))  # scores say the opposite
    result = cr.evaluate(TRUTH, {"r": table}, measure=["RR"], test="none")
    assert grid(result)[0, 0].tolist() == [1.0, 1.0]
    assert result.protocol["ranked_by"] == {"r": "rank"}


def test_engines_and_lazy_frames_give_the_same():
    expected = grid(cr.evaluate(TRUTH, {"r": RUN}, test="none"))
    connection = duckdb.connect()
    connection.register("t", TRUTH.to_arrow())
    connection.register("r", RUN.to_arrow())
    pairs = [
        (TRUTH.lazy(), RUN.lazy()),
        (TRUTH.to_pandas(), RUN.to_pandas()),
        (TRUTH.to_arrow(), pa.table(RUN.to_arrow())),
        (connection.table("t"), connection.sql("select * from r")),
    ]
    for truth, table in pairs:
        assert np.array_equal(grid(cr.evaluate(truth, {"r": table}, test="none")), expected)


def test_only_known_policies():
    for option in ("missing", "no_relevant", "unjudged", "duplicates", "ties", "interval", "test"):
        assert "It takes one of" in message(**{option: "zer0"}) if option != "test" else True
    with pytest.raises(cr.UsageError, match='no argument "drop"'):
        cr.evaluate(TRUTH, {"r": RUN}, drop=True)


def test_unjudged_users_can_be_refused():
    assert "without judgments" in message(table=run({"u": ["a"], "x": ["a"]}), unjudged="error")


def test_expected_ties_refuse_measures_that_are_not_linear():
    text = message(table=scored({"u": [("a", 1)]}), ties="expected", measure=["AP@3", "P@3"])
    assert "AP@3" in text
    assert "P@3," not in text


def test_a_name_that_no_table_has_is_a_slip():
    from counterrank.simulate import World, funnel_world, judged_world, platform

    world, shop = judged_world(users=20), funnel_world().sample(users=50)
    week = platform(World(seed=1), sessions=50, runs=["near"])
    wrong = {"rating": "stars"}
    with pytest.raises(cr.InputError, match='No table has a column "stars"'):
        cr.evaluate(world.judgments, world.runs, columns=wrong)
    with pytest.raises(cr.InputError, match='No table has a column "stars"'):
        cr.strata(world.judgments, world.runs, columns=wrong)
    with pytest.raises(cr.InputError, match='No table has a column "clicked"'):
        cr.funnel(shop.funnel, shop.runs, columns={"click": "clicked"})
    with pytest.raises(cr.InputError, match='No table has a column "place"'):
        cr.estimate(week.log, week.runs, position_bias="log2", columns={"rank": "place"})
    with pytest.raises(cr.InputError, match='No table has a column "place"'):
        cr.exposure(week.log, columns={"rank": "place"})
    named = world.judgments.rename({"rating": "stars"})  # one table has it, the other needs none
    assert cr.evaluate(named, world.runs, columns=wrong).estimates
