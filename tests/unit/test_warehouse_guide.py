"""The guide from the warehouse to a log: all of its SQL and commands run, and say what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import counterrank as cr

duckdb = pytest.importorskip("duckdb")

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide" / "warehouse.md"
BLOCK = re.compile(r"^```(sql|sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FATES = ("list_fates", "click_fates", "purchase_fates")


class Step(NamedTuple):
    """A block of the guide, what came of it, and what the guide shows of that, if anything."""

    kind: str
    text: str
    code: int
    out: str
    shown: str | None


class Walk(NamedTuple):
    """The guide as followed from beginning to end."""

    folder: Path
    warehouse: Any
    steps: list[Step]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query, after the last block."""
        found: list[tuple[Any, ...]] = self.warehouse.execute(query).fetchall()
        return found

    def number(self, query: str) -> Any:
        """The one value of a query."""
        ((value,),) = self.rows(query)
        return value

    def counts(self, table: str) -> dict[str, int]:
        """How many have each fate."""
        return dict(self.rows(f"SELECT fate, count(*) FROM {table} GROUP BY fate"))


def blocks() -> list[tuple[str, str, str | None]]:
    """The blocks to run, in order, each with the output the guide shows below it."""
    found = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    after = [*found[1:], ("", "")]
    return [
        (kind, text, below if then == "text" else None)
        for (kind, text), (then, below) in zip(found, after, strict=True)
        if kind != "text"
    ]


def queried(warehouse: Any, text: str) -> str:
    """Run SQL; the names and rows of its last query."""
    done = warehouse.execute(text)
    names = [column[0] for column in done.description]
    return "\n".join("  ".join(map(str, row)) for row in [names, *done.fetchall()])


def commanded(folder: Path, text: str) -> tuple[int, str]:
    """Run commands in a shell in which ``counterrank`` is this one."""
    tool = folder / ".bin" / "counterrank"
    if not tool.exists():
        tool.parent.mkdir()
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m counterrank "$@"\n')
        tool.chmod(0o755)
    path = os.pathsep.join([str(tool.parent), os.environ.get("PATH", "")])
    source = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    env = os.environ | {"PATH": path, "PYTHONPATH": source, "COLUMNS": "80"}
    done = subprocess.run(
        ["sh", "-e", "-c", text], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def walk(tmp_path_factory: Any) -> Any:
    folder: Path = tmp_path_factory.mktemp("empty")
    warehouse, steps, before = duckdb.connect(), [], Path.cwd()
    os.chdir(folder)  # where COPY and read_csv look
    try:
        for kind, text, shown in blocks():
            code, out = (0, queried(warehouse, text)) if kind == "sql" else commanded(folder, text)
            steps.append(Step(kind, text, code, out, shown))
    finally:
        os.chdir(before)
    yield Walk(folder, warehouse, steps)
    warehouse.close()


def test_every_command_ends_well(walk: Walk) -> None:
    commands = [step for step in walk.steps if step.kind == "sh"]
    assert {step.text.split()[1] for step in commands} == {
        "exposure", "check", "estimate", "funnel",
    }  # fmt: skip
    for step in commands:
        assert step.code == 0, step.text + step.out


def test_queries_give_what_the_guide_shows(walk: Walk) -> None:
    checked = 0
    for step in walk.steps:
        if step.kind == "sql" and step.shown is not None:
            assert step.out.split() == step.shown.split(), step.text
            checked += 1
    assert checked >= 12


def test_commands_print_what_the_guide_shows(walk: Walk) -> None:
    """Line by line, in order; dots stand for lines left out, and lines may be cut at the end."""
    for step in walk.steps:
        if step.kind != "sh" or step.shown is None:
            continue
        printed = iter([" ".join(line.split()) for line in step.out.splitlines()])
        for line in step.shown.splitlines():
            if line.strip() not in ("", "..."):
                wanted = " ".join(line.split())
                assert any(p.startswith(wanted) for p in printed), f"{line}\n{step.out}"


def test_nothing_is_dropped_in_silence(walk: Walk) -> None:
    lists, clicks, bought = (walk.counts(table) for table in FATES)
    assert sum(lists.values()) == walk.number("SELECT count(DISTINCT list_id) FROM impressions")
    every = "SELECT count(*) FROM (SELECT DISTINCT list_id, item_id FROM clicks)"
    assert sum(clicks.values()) == walk.number(every)
    assert sum(bought.values()) == walk.number("SELECT count(*) FROM purchases")
    assert set(lists) == {"kept", "bot", "impression lost", "window still open"}
    assert set(clicks) >= {"kept", "no such list", "list left out", "page 2"}
    assert set(bought) == {"kept", "no click before", "after the window", "click left out"}
    fired = walk.number("SELECT sum(fired) FROM shown")
    assert fired == walk.number("SELECT count(*) FROM impressions")
    assert walk.number("SELECT count(*) FROM shown") < fired


def test_fates_are_those_that_were_made(walk: Walk) -> None:
    lists, clicks = walk.counts("list_fates"), walk.counts("click_fates")
    assert lists["bot"] == 240
    assert clicks["no such list"] == 150
    bots = "SELECT min(user_id) FROM list_fates WHERE fate = 'bot'"
    assert walk.number(bots) >= 9000
    late = (
        "SELECT count(*) FROM purchase_fates AS f JOIN purchases AS p ON p.order_id = f.order_id"
        " JOIN click_fates AS c ON c.list_id = f.list_id AND c.item_id = f.item_id"
        " WHERE f.fate = 'kept' AND p.bought_at > c.clicked_at + INTERVAL '7' DAY"
    )
    assert walk.number(late) == 0


def test_the_log_has_its_columns_and_whole_lists(walk: Walk) -> None:
    log = pl.read_parquet(walk.folder / "log.parquet")
    assert log.columns == [
        "session", "user", "item", "rank", "viewed", "click", "purchase", "timestamp", "device",
        "category", "propensity", "exposure",
    ]  # fmt: skip
    lists, clicks = walk.counts("list_fates"), walk.counts("click_fates")
    assert log.height == 6 * lists["kept"]
    assert log["click"].sum() == clicks["kept"]
    assert not log.select("session", "item").is_duplicated().any()
    ranks = log.group_by("session").agg(pl.col("rank").sort())["rank"]
    assert all(found == [1, 2, 3, 4, 5, 6] for found in ranks.to_list())
    assert log.filter(pl.col("click") == 1)["viewed"].min() == 1
    assert log.filter(pl.col("purchase") == 1)["click"].min() == 1


@pytest.mark.parametrize("name", ["new", "live"])
def test_runs_hold_what_was_there_to_the_end_of_the_page(walk: Walk, name: str) -> None:
    run = pl.read_parquet(walk.folder / f"{name}.parquet")
    assert run.columns == ["session", "item", "rank"]
    assert run.height == 6 * walk.counts("list_fates")["kept"]
    absent = (
        f"SELECT count(*) FROM {name}_run AS r LEFT JOIN candidates AS c"
        " ON c.list_id = r.session AND c.item_id = r.item WHERE c.list_id IS NULL"
    )
    assert walk.number(absent) == 0


def test_chances_add_up_and_counts_come_near(walk: Walk) -> None:
    apart = (
        "SELECT max(abs(counted - CASE WHEN base_rank = rank THEN 0.825 ELSE 0.025 END))"
        " FROM counted"
    )
    sessions = walk.counts("list_fates")["kept"]
    assert walk.number(apart) < 4 * (0.825 * 0.175 / sessions) ** 0.5
    log = pl.read_parquet(walk.folder / "log.parquet")
    assert set(log["propensity"].round(6).unique()) == {0.025, 0.825}
    # each rank shows one item: the mean of 1 / propensity over its rows is the number of candidates
    inverse = log.group_by("rank").agg((1 / pl.col("propensity")).mean().alias("mean"))["mean"]
    assert inverse.to_list() == pytest.approx([8] * 6, rel=0.1)


def test_check_accepts_the_log(walk: Walk) -> None:
    known: dict[str, Any] = {"position_bias": walk.folder / "pbm.json", "context": "category"}
    log, new, careless = (walk.folder / f"{name}.parquet" for name in ("log", "new", "careless"))
    fit = cr.check(log, new, reward=["click", "purchase"], **known)
    assert {d.name: d.state for d in fit.not_passing} == {"logged chances": "untested"}
    assert fit.tables["to_log"] == []
    assert cr.check(log, careless, **known).verdict == "fail"


def test_estimates_come_near_the_truth(walk: Walk) -> None:
    value = (
        "SELECT avg(value) FROM (SELECT sum(true_view(rank) * true_click(item)) AS value"
        " FROM {}_run GROUP BY session)"
    )
    truth = {name: walk.number(value.format(name)) for name in ("new", "live")}
    runs = {name: walk.folder / f"{name}.parquet" for name in truth}
    known: dict[str, Any] = {"position_bias": walk.folder / "pbm.json", "context": "category"}
    found = cr.estimate(walk.folder / "log.parquet", runs, reward="click", baseline="live", **known)
    rows = [row for row in found.estimates if row.system in truth]
    assert len(rows) == 6
    for row in rows:
        assert abs(row.value - truth[row.system]) < 3 * row.se, row
        assert row.verdict == "caution"  # its exposures change from list to list: untested
    (lift,) = (c for c in found.comparisons if (c.system, c.estimator) == ("new", "DR"))
    assert 0 < lift.lift_low < truth["new"] / truth["live"] - 1 < lift.lift_high
    by_rank = cr.estimate(walk.folder / "events.parquet", runs, reward="click", **known)
    assert by_rank.verdict == "fail"
