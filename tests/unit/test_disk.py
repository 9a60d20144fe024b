"""Tables by way of the disk: read in pieces, refused as in memory, and nothing is left behind."""

from __future__ import annotations

import errno
import gzip
import re
import signal
import subprocess
import sys
import time

import duckdb
import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.core.format import byte_count
from counterrank.core.parallel import quiet
from counterrank.data.runs import RunTables
from counterrank.data.schema import judgments_schema
from counterrank.engine import disk
from counterrank.engine.growing_files import GrowingFiles
from counterrank.engine.partitions import Tables
from counterrank.engine.wire import pack, unpack
from making import world

LOG = pl.DataFrame(
    {
        "session": np.repeat(np.arange(60), 3),
        "item": np.tile([3, 1, 2], 60),
        "rank": np.tile([1, 2, 3], 60),
        "click": np.tile([1.0, 0, 0, 0, 1, 0], 30),
    }
)
RUN = LOG.select("session", "item", rank=4 - pl.col("rank"))


def estimated(log, run, **options):
    given = {"reward": "click", "position_bias": "log2", "estimator": ["IPS", "DR"], **options}
    return cr.estimate(log, {"new": run}, **given)


def rows(result):
    return [vars(row) for row in result.estimates]


def kinds(folder):
    """The same table in everything that is read in pieces."""
    judged, runs = world()
    table = runs["a"]
    table.write_csv(folder / "a.csv")
    with gzip.open(folder / "a.csv.gz", "wb") as file:
        file.write(table.write_csv().encode())
    table.write_csv(folder / "a.tsv", separator="\t")
    text = "".join(f"{u} Q0 {i} {r} {-r} tag\n" for u, i, r in table.iter_rows())
    (folder / "a.txt").write_text("# a comment\n\n" + text)
    (folder / "parts").mkdir()
    for n, part in enumerate(table.iter_slices(70)):
        part.write_parquet(folder / "parts" / f"{n}.parquet")
    named = [str(folder / n) for n in ("a.csv", "a.csv.gz", "a.tsv", "a.txt", "parts")]
    return judged, table, [*named, table.lazy(), duckdb.from_arrow(table.to_arrow()), table]


def test_whatever_is_read_in_pieces_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "PIECE", 50)
    judged, table, tables = kinds(tmp_path)
    whole = cr.evaluate(judged, {"a": table}, measure=["nDCG@5", "AP"])
    for given in tables:
        engine = cr.Local(partitions=5, scratch=str(tmp_path))
        found = cr.evaluate(judged, {"a": given}, measure=["nDCG@5", "AP"], engine=engine)
        assert rows(found) == rows(whole)


def test_ids_of_two_kinds_meet(tmp_path):
    text = RUN.with_columns(pl.col("session").cast(pl.String), pl.col("item").cast(pl.String))
    small = RUN.with_columns(pl.col("session").cast(pl.UInt64), pl.col("item").cast(pl.Int16))
    whole = rows(estimated(LOG, RUN))
    for run in (text, small):
        assert rows(estimated(LOG, run, engine=cr.Local(partitions=7))) == whole


BROKEN = {
    "rank": LOG.with_columns(rank=pl.col("rank") - (pl.col("session") > 40).cast(pl.Int64)),
    "missing": LOG.with_columns(click=pl.when(pl.col("session") % 9 != 8).then("click")),
    "text": LOG.with_columns(
        click=pl.when(pl.col("session") % 9 == 8).then(pl.lit("x")).otherwise(pl.lit("1"))
    ),
    "first rows": LOG.with_columns(rank=pl.when(pl.col("session") % 50 > 0).then("rank")),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_the_door_counts_over_all_pieces(name, monkeypatch):
    """What was wrong, how often and where first: as if the table had been in memory."""
    monkeypatch.setattr(disk, "PIECE", 40)
    messages = []
    for engine in (cr.Local(), cr.Local(partitions=4)):
        with pytest.raises(cr.InputError) as found:
            estimated(BROKEN[name], RUN, engine=engine)
        messages.append(str(found.value))
    assert messages[0] == messages[1]
    assert "of 180 rows (first: row " in messages[0]


TWICE = {
    "a rank twice": (LOG.with_columns(rank=pl.lit(1)), RUN, "120 such rows"),
    "an item twice": (LOG.with_columns(item=pl.lit(7)), RUN, "120 such rows"),
    "a gap": (LOG.with_columns(rank=pl.col("rank") * 2), RUN, "180 rows below a gap"),
    "no list": (LOG, RUN.filter(pl.col("session") % 4 > 0), "15 of 60 logged sessions"),
    "nothing in common": (LOG, RUN.with_columns(session=pl.col("session") + 100), "in common"),
    "listed twice": (LOG, RUN.with_columns(item=pl.lit(1)), "120 such rows"),
    "other items": (LOG, RUN.with_columns(item=pl.col("item") + 50), "60 of 60 sessions"),
}


@pytest.mark.parametrize("name", TWICE)
def test_faults_within_sessions_are_counted_over_all_buckets(name):
    log, run, words = TWICE[name]
    for engine in (cr.Local(), cr.Local(partitions=6)):
        with pytest.raises(cr.InputError, match=words):
            estimated(log, run, engine=engine)


def test_rows_without_a_number_are_not_given_one():
    with pytest.raises(cr.InputError, match=r"\(first: session \d+, item"):
        estimated(LOG.with_columns(rank=pl.lit(1)), RUN, engine=cr.Local(partitions=6))


def test_enough_memory_is_memory():
    assert estimated(LOG, RUN, engine=cr.Local(memory="1GB")).protocol["partitions"] == 1


def test_little_memory_is_the_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(disk, "HELD", 10**7)
    found = estimated(LOG, RUN, engine=cr.Local(memory="1GB", scratch=str(tmp_path)))
    assert found.protocol["partitions"] > 1
    assert rows(found) == rows(estimated(LOG, RUN))


def test_ids_of_text_count_among_what_is_held():
    """A million sessions of 36 characters were held in 512 MB as if they had been numbers."""
    text = [table.with_columns(pl.col("session").cast(pl.String)) for table in (LOG, RUN)]
    columns = []
    for both in ((LOG, RUN), text):
        told = estimated(*both, engine=cr.Local(memory="512MB")).protocol["inference"]
        columns.append(int(re.search(r"x (\d+) columns", told["why"])[1]))
    assert columns[1] == columns[0] + 8


def test_a_full_disk_is_told_and_cleared(monkeypatch, tmp_path):
    def full(self, key, number, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(GrowingFiles, "add", full)
    with pytest.raises(cr.UsageError, match="is full"):
        estimated(LOG, RUN, engine=cr.Local(partitions=3, scratch=str(tmp_path)))
    assert not list(tmp_path.iterdir())


def test_too_small_a_disk_is_refused_at_once(monkeypatch, tmp_path):
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Disk", (), {"free": 10})())
    with pytest.raises(cr.UsageError, match="too little room"):
        estimated(LOG, RUN, engine=cr.Local(partitions=3, scratch=str(tmp_path)))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(cr.UsageError, match="No temporary folder"):
        estimated(LOG, RUN, engine=cr.Local(partitions=3, scratch=str(tmp_path / "no")))


def test_told_to_end_it_leaves_nothing(tmp_path):
    """Killed in the middle of the work, by a signal that can be heard."""
    big = pl.concat([LOG.with_columns(session=pl.col("session") + 100 * n) for n in range(4000)])
    big.write_parquet(tmp_path / "log.parquet")
    big.select("session", "item", "rank").write_parquet(tmp_path / "new.parquet")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = "estimate log.parquet new.parquet --reward click --position-bias log2 --partitions 200"
    work = subprocess.Popen(
        [sys.executable, "-m", "counterrank", *words.split(), "--scratch", str(scratch)],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not list(scratch.glob("*/log")) and time.monotonic() < until:
        time.sleep(0.02)
    assert list(scratch.iterdir())
    work.send_signal(signal.SIGTERM)
    assert work.wait(timeout=60) == 143
    assert not list(scratch.iterdir())


@pytest.mark.parametrize(
    ("text", "bytes_"), [("4GB", 4 * 10**9), ("512 mb", 512 * 10**6), ("2GiB", 2 << 30), (70, 70)]
)
def test_amounts_of_memory(text, bytes_):
    assert byte_count(text) == bytes_


@pytest.mark.parametrize(
    "wrong", [{"memory": "much"}, {"memory": "1KB"}, {"partitions": 0}, {"inference": "none"}]
)
def test_engines_refuse_nonsense(wrong):
    with pytest.raises(cr.UsageError):
        cr.Local(**wrong)


def test_results_survive_the_way():
    """All that buckets may return, to the last bit."""
    sent = {
        ("a", 1): [np.arange(6.0).reshape(2, 3), np.float64("nan"), None, True, 1 << 70, "x"],
        "frame": pl.DataFrame({"s": ["ä", None], "n": [1, 2]}),
        "series": pl.Series("ids", [3, 4], pl.Int32),
        "class": RunTables({"k": "v"}, {"k": ("a", "b")}),
        "small": (0.1, -0.0, float("inf")),
    }
    back = unpack(pack(sent))
    assert np.array_equal(back["a", 1][0], sent["a", 1][0])
    assert np.isnan(back["a", 1][1])
    assert back["a", 1][2:] == sent["a", 1][2:]
    assert back["frame"].equals(sent["frame"])
    assert back["series"].equals(sent["series"])
    assert back["series"].dtype == pl.Int32
    assert (back["class"], back["small"]) == (sent["class"], sent["small"])
    with pytest.raises(TypeError):
        pack(object())


def test_scores_beyond_what_floats_hold_keep_their_order(monkeypatch):
    """Some pieces hold such scores and others do not: no order is lost where they meet."""
    monkeypatch.setattr(disk, "PIECE", 50)
    judged, runs = world()
    table = runs["a"].with_columns(pl.col("rank").cast(pl.Int64)).sort("rank")
    score = pl.when(pl.col("rank") < 4).then((1 << 60) - pl.col("rank")).otherwise(-pl.col("rank"))
    run = {"a": table.select("user", "item", score=score)}
    found = [
        rows(cr.evaluate(judged, run, measure=["nDCG@5"], engine=engine))
        for engine in (cr.Local(), cr.Local(partitions=1), cr.Local(partitions=5))
    ]
    assert found[0] == found[1] == found[2]


def test_a_column_of_the_name_row_is_refused():
    """It would be taken for the numbers of rows, or overwritten by them."""
    log = LOG.with_columns(row=pl.col("click") * 2.5)
    for options in ({"reward": ["row"]}, {"context": "row"}):
        for engine in (cr.Local(), cr.Local(partitions=5)):
            with pytest.raises(cr.UsageError, match="cannot be used under this name"):
                estimated(log, RUN, **options, engine=engine)


def test_systems_of_one_table_come_by_name_everywhere():
    """Not in the order of rows, which Spark does not have."""
    several = pl.concat([RUN.with_columns(system=pl.lit(name)) for name in ("z", "a")])
    for engine in (cr.Local(), cr.Local(partitions=1), cr.Local(partitions=5)):
        assert estimated(LOG, several, engine=engine).systems == ("logged", "new/a", "new/z")
    judged, runs = world()
    several = pl.concat(
        [runs[n].with_columns(system=pl.lit(s)) for n, s in zip("ab", "za", strict=True)]
    )
    for engine in (cr.Local(), cr.Local(partitions=5)):
        assert cr.evaluate(judged, several, engine=engine).systems == ("a", "z")


def test_the_first_session_is_the_first_by_its_id():
    """Also where ids are negative or text."""
    for name in (pl.col("session") * 7 - 300, "s" + pl.col("session").cast(pl.String)):
        log, run = (t.with_columns(session=name) for t in (LOG, RUN.filter(session=3)))
        messages = set()
        for engine in (cr.Local(), cr.Local(partitions=9)):
            with pytest.raises(cr.InputError, match="59 of 60 logged") as found:
                estimated(log, run, engine=engine)
            messages.add(str(found.value))
        assert len(messages) == 1


def test_rows_that_contradict_a_logger_are_counted_of_all_rows():
    log = LOG.with_columns(policy=pl.lit("a"))
    with pytest.raises(cr.InputError, match=r"Found 120 of 180 rows.*first: session 0, item 3"):
        estimated(log, RUN, logger={"a": RUN}, estimator=["IPS"], engine=cr.Local(partitions=9))


def test_files_that_lack_a_column_of_others_are_refused(tmp_path):
    LOG.with_columns(user=pl.col("session")).write_parquet(tmp_path / "a.parquet")
    LOG.with_columns(session=pl.col("session") + 60).write_parquet(tmp_path / "b.parquet")
    for engine in (cr.Local(), cr.Local(partitions=3)):
        with pytest.raises(cr.InputError, match="do not fit together"):
            estimated(str(tmp_path), RUN, engine=engine)


def test_a_lazy_frame_that_fails_is_told():
    lazy = LOG.lazy().with_columns(click=(pl.col("click").cast(pl.String) + "x").cast(pl.Int64))
    for engine in (cr.Local(), cr.Local(partitions=3), cr.Local(memory="1GB")):
        with pytest.raises(cr.InputError, match="cannot be read as a table"):
            estimated(lazy, RUN, engine=engine)


def test_a_lazy_frame_that_needs_more_than_memory_goes_by_the_disk(monkeypatch):
    monkeypatch.setattr(disk, "HELD", 10**7)
    found = estimated(LOG.lazy(), RUN.lazy(), engine=cr.Local(memory="1GB"))
    assert found.protocol["partitions"] > 1


def test_pieces_come_in_the_order_of_their_numbers(tmp_path):
    files = GrowingFiles(tmp_path / "table")
    for number in (3, 1, 12, 2):
        files.add(7, number, b"x" * number)
    files.add(0, 1, b"")
    assert files.keys() == [0, 7]
    assert [len(piece) for piece in files.read(7)] == [1, 2, 3, 12]
    assert list(files.read(0)) == [b""]


@pytest.mark.parametrize("text", [False, True])
def test_temporary_files_are_as_large_as_foretold(tmp_path, monkeypatch, text):
    """A log of 36-character ids took twice the room that was asked for."""
    log = pl.DataFrame({
        "session": np.repeat(np.arange(4000), 5), "user": np.repeat(np.arange(1000), 20),
        "item": np.tile(np.arange(5), 4000), "rank": np.tile(np.arange(1, 6), 4000),
        "click": np.tile([1.0, 0, 0, 0, 0], 4000),
    })  # fmt: skip
    if text:
        ids = pl.format("{}-aaaa-bbbb-cccc-0123456789abcd", pl.col("session").cast(pl.String))
        log = log.with_columns(session=ids)
    foretold, written, cut = [], [], disk._cut
    monkeypatch.setattr(disk, "refuse_small", lambda _, size: foretold.append(size))

    def weigh(schema, cast, unit, count, files, piece, ticks):
        rows = cut(schema, cast, unit, count, files, piece, ticks)
        written.extend(file.stat().st_size for file in files.folder.iterdir())
        return rows

    monkeypatch.setattr(disk, "_cut", weigh)
    run = log.select("session", "item", "rank")
    estimated(log, run, engine=cr.Local(partitions=2, scratch=str(tmp_path)))
    assert sum(written) == pytest.approx(foretold[0], rel=0.2)


def test_results_hold_nothing_of_their_partition(tmp_path, monkeypatch):
    """Some ids of text held that of all rows of their partition: 512 MB were 1.5 GB."""
    seen = []
    monkeypatch.setattr(disk, "merge_in_turn", lambda results: seen.extend(results) or 0)
    judged = pl.DataFrame({"user": [1, 2, 3, 4], "item": [1, 2, 3, 4], "rating": [1.0, 2, 3, 4]})
    asked = Tables({"truth": judgments_schema(judged)}, unit="user", ids=("user",))
    with cr.Local(partitions=2, scratch=str(tmp_path)).cut(asked, quiet) as data:
        sent = []
        data.reduce(lambda p: sent.append(p["truth"].frame["rating"].to_numpy()) or sent[-1], "")
    assert len(seen) == len(sent) == 2
    assert not any(np.shares_memory(a, b) for a in seen for b in sent)
