"""The laws of partitions: map, reduce and exchange say the same wherever the rows are."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.core import parallel
from counterrank.core.errors import InputError
from counterrank.core.faults import DataError, Fault
from counterrank.core.parallel import workers
from counterrank.data.schema import judgments_schema, run_schema
from counterrank.engine import Partition, Tables, disk, split, wire
from counterrank.engine.partitions import merge_in_turn
from counterrank.engine.wire import pack, unpack

TRUTH = pl.DataFrame(
    {
        "user": np.repeat(np.arange(90), 4),
        "item": np.arange(360) * 7 % 31,
        "rating": np.arange(360) % 5 / 4,
    }
)
RUN = TRUTH.select("user", "item", rank=1 + pl.arange(0, 360) % 4).filter(pl.col("user") % 3 > 0)
ENGINES = {"memory": cr.Local(), **{n: cr.Local(partitions=n) for n in (1, 3, 7, 200)}}
everywhere = pytest.mark.parametrize("engine", ENGINES.values(), ids=map(str, ENGINES))


def opened(engine, needs="", truth=TRUTH, run=RUN, **options):
    schemas = {"truth": judgments_schema(truth), "run": run_schema(run, name="run")}
    return engine.open(Tables(schemas, "user", ("user", "item"), needs), **options)


@dataclass(frozen=True)
class Counts:
    """A result of a pass: what merges by adding, by the largest, and one below the other."""

    rows: int
    deepest: Annotated[int, max]
    users: pl.Series
    ratings: np.ndarray


@pytest.fixture
def own_results(monkeypatch):
    """Classes of this file may travel, as those of the package do."""
    monkeypatch.setattr(wire, "HOME", __name__.split(".")[0])


def counts(part: Partition) -> Counts:
    truth, run = part["truth"].frame, part["run"].frame
    return Counts(
        truth.height + run.height,
        run["rank"].max() or 0,
        truth["user"].unique(maintain_order=True),
        np.bincount(truth["item"].to_numpy(), truth["rating"].to_numpy(), 31),
    )


@everywhere
def test_every_unit_is_whole_in_one_partition(engine):
    with opened(engine) as partitions:
        users = partitions.map(lambda part: part["truth"].frame["user"].to_list(), "reading")
        assert partitions.count == (engine.partitions or 1)
        assert partitions.protocol() == {"engine": "local", "partitions": partitions.count}
        assert [i.rows for i in partitions.inputs.values()] == [TRUTH.height, RUN.height]
        assert {name: head.frame.height for name, head in partitions.heads.items()} == {
            "truth": 0, "run": 0,
        }  # fmt: skip
    assert sum(len(set(part)) for part in users) == 90
    assert len(users) <= (engine.partitions or 1)


@everywhere
def test_reduce_is_what_one_partition_gives(own_results, engine):
    with opened(cr.Local()) as partitions:
        (whole,) = partitions.map(counts, "counting")
    with opened(engine) as partitions:
        total = partitions.reduce(counts, "counting")
        assert partitions.reduce(lambda part: None, "nothing") is None
        some = partitions.reduce(
            lambda part: None if part["run"].frame.height == 0 else part["run"].frame.height, "runs"
        )
    assert (total.rows, total.deepest, some) == (whole.rows, whole.deepest, RUN.height)
    assert sorted(total.users) == sorted(whole.users)
    np.testing.assert_allclose(total.ratings, whole.ratings, rtol=1e-14)


def by_item(part: Partition) -> dict[int, pl.DataFrame]:
    return split(part["truth"].frame.select("item", "user", "rating"), "item", 5)


def items(rows: pl.DataFrame) -> list[tuple[int, int, float]]:
    found = rows.group_by("item").agg(pl.len(), pl.col("rating").sum()).sort("item")
    return list(found.iter_rows())


@everywhere
def test_an_exchange_brings_the_rows_of_a_key_together(engine):
    with opened(engine) as partitions:
        found = partitions.exchange(by_item, items, "exchanging")
        again = partitions.exchange(by_item, items, "exchanging")
        assert partitions.exchange(lambda part: {}, items, "nothing") is None
        largest = partitions.exchange(
            lambda part: {0: part["truth"].frame.height}, lambda rows: {"rows": rows}, "counting"
        )
    assert found == again
    assert len({item for item, _, _ in found}) == len(found) == 31
    assert sorted(found) == items(TRUTH)
    assert largest == {"rows": TRUTH.height}


def test_keys_come_in_their_order():
    def keys(part: Partition) -> dict[int, list[int]]:
        return {key: [key] for key in (10, 9, 0, 100)}

    for engine in ENGINES.values():
        with opened(engine) as partitions:
            found = partitions.exchange(keys, lambda piece: [piece[0]], "exchanging")
        assert found == [0, 9, 10, 100]


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_results_do_not_depend_on_threads(own_results, monkeypatch, cores):
    """To the last bit, and in the order of partitions."""
    sums = []
    for team in (3, cores):
        monkeypatch.setattr(disk, "workers", lambda team=team: team)
        with opened(cr.Local(partitions=7)) as partitions:
            users = partitions.map(lambda part: part["truth"].frame["user"].to_list(), "")
            total = partitions.reduce(counts, "")
            sums.append((users, total.ratings.tolist(), total.users.to_list()))
            assert total.users.to_list() == list(dict.fromkeys(u for part in users for u in part))
    assert sums[0] == sums[1]


def test_one_core_for_a_partition_on_disk_and_all_for_the_one_in_memory(monkeypatch):
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: range(4), raising=False)
    for engine, team in ((cr.Local(), {4}), (cr.Local(partitions=3), {1})):
        with opened(engine) as partitions:
            assert set(partitions.map(lambda part: workers(), "")) == team


@everywhere
def test_partitions_without_the_table_that_is_needed_are_left_out(engine):
    few = RUN.filter(user=4)
    with opened(engine, "run", run=few) as partitions:
        heights = partitions.map(lambda part: part["run"].frame.height, "")
        assert partitions.reduce(lambda part: 1, "") == 1
        assert partitions.exchange(lambda part: {0: 1}, lambda count: count, "") == 1
    assert heights == [few.height]


def test_only_memory_keeps_what_is_cached():
    for engine, times in ((cr.Local(), 1), (cr.Local(partitions=1), 2)):
        made = []

        def work(part: Partition, made=made) -> int:
            return part.cached("x", lambda: made.append(1) or part.cached("y", lambda: 7))

        with opened(engine) as partitions:
            assert [partitions.map(work, "") for _ in range(2)] == [[7], [7]]
        assert len(made) == times


def test_as_many_rows_meet_as_may():
    with opened(cr.Local()) as partitions:
        assert partitions.share(10, "truth") == 1
        assert partitions.pieces == 1
    with opened(cr.Local(partitions=7)) as partitions:
        assert partitions.share(36, "truth") == 0.1
        assert partitions.share(1000, "truth") == 1
        assert partitions.pieces == 2


@everywhere
def test_refusals_are_counted_over_partitions(engine):
    def refuse(rows: int) -> int:
        raise DataError(Fault("negative", "truth", "rating", rows, 2 * rows))

    def refusing(part: Partition) -> int:
        return refuse(part["truth"].frame.height)

    def pieces(part: Partition) -> dict[int, int]:
        return dict.fromkeys(range(2), part["truth"].frame.height)

    with opened(engine) as partitions:
        for run in (partitions.map, partitions.reduce):
            with pytest.raises(InputError, match="Found 360 of 720 rows"):
                run(refusing, "")
        with pytest.raises(InputError, match="Found 360 of 720 rows"):
            partitions.exchange(refusing, refuse, "")
        with pytest.raises(InputError, match="Found 360 of 720 rows"):
            partitions.exchange(lambda part: {0: part["truth"].frame.height}, refuse, "")
        assert partitions.reduce(pieces, "") == {0: 360, 1: 360}


def test_other_errors_end_the_work():
    with opened(cr.Local(partitions=3)) as partitions, pytest.raises(ZeroDivisionError):
        partitions.map(lambda part: 1 // 0, "")
    assert threading.active_count() < 20


def test_a_bar_says_what_is_done(own_results):
    said = []

    def bar(steps, word):
        said.append((word, len(steps)))
        return steps

    with opened(cr.Local(partitions=3), progress=bar) as partitions:
        partitions.map(counts, "counting")
        partitions.exchange(by_item, items, "items")
    names = [word for word, _ in said]
    assert names == ["cutting tables into partitions", "counting", "items", "items"]
    assert said[1:] == [("counting", 3), ("items", 3), ("items", 5)]


def test_what_was_exchanged_is_gone(tmp_path):
    with opened(cr.Local(partitions=3, scratch=str(tmp_path))) as partitions:
        partitions.exchange(by_item, items, "")
        assert sorted(p.name for p in next(tmp_path.iterdir()).iterdir()) == [
            ".counterrank-owner", "run", "truth",
        ]  # fmt: skip
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 16, 100])
def test_merging_in_turn_keeps_the_order_and_holds_few(count):
    alive = [0, 0]

    @dataclass
    class Numbered:
        numbers: list[int]

        @classmethod
        def merge(cls, parts):
            alive[0] -= len(parts) - 1
            return cls([n for part in parts for n in part.numbers])

    def one(number):
        alive[0] += 1
        alive[1] = max(alive)
        return Numbered([number])

    whole = merge_in_turn(one(n) if n % 3 else None for n in range(count))
    wanted = [n for n in range(count) if n % 3]
    assert (whole.numbers if whole else []) == wanted
    assert alive[1] <= 2 + np.log2(count + 1)


@pytest.mark.parametrize("kind", [pl.Int64, pl.String, pl.Float64, pl.UInt64, pl.Categorical])
def test_equal_values_share_a_key(kind):
    column = pl.Series("x", np.arange(200) % 23).cast(pl.String).cast(kind)
    frame = pl.DataFrame({"x": column, "row": range(200)})
    for count in (1, 4, 50):
        parts = split(frame, "x", count)
        assert all(0 <= key < count for key in parts)
        assert sum(part["x"].n_unique() for part in parts.values()) == 23
        assert all(part["row"].is_sorted() for part in parts.values())
        other = split(frame.reverse(), "x", count)
        assert {k: set(p["row"]) for k, p in other.items()} == {
            k: set(p["row"]) for k, p in parts.items()
        }
    assert split(frame.clear(), "x", 4) == {}


class Named(NamedTuple):
    """Stands for one of the package."""

    count: int
    rows: np.ndarray


def test_named_tuples_sets_and_bytes_survive_the_way(monkeypatch):
    with pytest.raises((TypeError, AttributeError)):
        unpack(pack(Named(1, np.arange(3))))
    monkeypatch.setattr(wire, "HOME", __name__.split(".")[0])
    back = unpack(pack(Named(1, np.arange(3))))
    assert isinstance(back, Named)
    assert (back.count, back.rows.tolist()) == (1, [0, 1, 2])
    sent = (frozenset({("a", 1), ("b", 2)}), {1, 2}, b"\0\xff", (), [], frozenset())
    assert unpack(pack(sent)) == sent
    assert [type(x) for x in unpack(pack(sent))] == [type(x) for x in sent]
    found = unpack(pack(Counts(3, 2, pl.Series("user", [1]), np.ones(2))))
    assert (found.rows, found.deepest, found.users.to_list()) == (3, 2, [1])


@pytest.mark.parametrize("value", [object(), np.array([object()]), Named, lambda: 1])
def test_what_cannot_be_sent_is_refused(value):
    with pytest.raises(TypeError, match="cannot be sent"):
        pack(value)
