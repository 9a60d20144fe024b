"""``check`` on a funnel: what estimates of it would rest on, and what should have been logged."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import polars as pl
import pytest

import counterrank as cr
from counterrank.simulate import funnel_world


@pytest.fixture(scope="module")
def week():
    return funnel_world(items=30, seed=2).sample(users=3000, top=5, seed=1)


def wanted(found) -> list[str]:
    return [line.split(":")[0] for line in found.tables["to_log"]]


def named(found) -> dict:
    return {d.name: d for d in found.diagnostics}


def test_a_funnel_is_recognised_and_weighed_with_its_runs(week):
    found = cr.check({"clicks": week.funnel, "seller": week.runs["seller"]})
    assert [t.kind for t in found.tables["tables"]] == ["funnel", "run"]
    assert not any(t.fault for t in found.tables["tables"])
    told = cr.funnel(week.funnel, {"seller": week.runs["seller"]}, estimator=["IPS", "DR"])
    assert set(told.diagnostics) <= set(found.diagnostics)
    assert {"predictions", "conversions", "users without a click", "mean weight"} <= set(
        named(found)
    )
    assert found.verdict == "pass"
    assert wanted(found) == ["impressions", "shown", "timestamp"]


def test_a_bare_funnel_is_told_what_it_lacks(week):
    bare = week.funnel.drop("ctr")
    alone = cr.check(bare)
    assert wanted(alone) == ["ctr", "cvr", "impressions", "shown", "timestamp"]
    assert "No ctr and no cvr is given, so rates were fitted" in named(alone)["predictions"].meaning
    assert {"click model", "click overlap", "conversion model", "smallest ctr"} <= set(named(alone))
    lists = cr.check({"clicks": bare, "bait": week.runs["clickbait"].drop("cvr")})
    assert named(lists)["mean weight"].state == "fail"  # rates do not know tastes
    assert "features" in wanted(lists)
    own = cr.check({"clicks": bare, "bait": week.runs["clickbait"]})
    assert "cvr" not in wanted(own)
    assert "No ctr is given" in named(own)["predictions"].meaning


def test_predictions_of_their_own_and_those_that_reach_too_little(week):
    bare = week.funnel.drop("ctr")
    runs = {"seller": week.runs["seller"]}
    guess = week.funnel.select("user", "item", "ctr")
    found = cr.check({"clicks": bare, "guess": guess, **runs})
    assert [t.kind for t in found.tables["tables"]] == ["funnel", "predictions", "run"]
    assert named(found)["predictions"].state == "pass"
    some = week.funnel.with_columns(cvr=pl.lit(0.2))  # only of what was clicked
    found = cr.check({"clicks": some, "seller": runs["seller"].drop("cvr")})
    assert "does not reach the lists" in named(found)["predictions"].meaning
    assert "mean weight" in named(found)
    assert "cvr" in wanted(found)


def test_users_conversions_and_full_tables(week):
    few = week.funnel.with_columns(conversion=pl.col("conversion") * (pl.col("user") < 40))
    found = cr.check(few)
    assert named(found)["conversions"].state != "pass"
    assert "more clicks, or a reward that comes more often" in found.tables["to_log"]
    once = week.funnel.unique("user", keep="first", maintain_order=True)
    assert "users without a click" in wanted(cr.check(once))
    world = funnel_world(items=12, seed=2).sample(users=800, top=5, seed=1, rows="all")
    full = cr.check(world.funnel.with_columns(day=1))
    assert wanted(full) == ["shown"]
    assert {named(full)[n].state for n in ("click model", "conversion model")} == {"pass"}


def test_faults_of_a_funnel_and_of_its_runs(week):
    odd = pl.DataFrame({"user": [-5], "item": [1], "rank": [1]})
    found = cr.check({"clicks": week.funnel, "odd": odd, "seller": week.runs["seller"]})
    assert [bool(t.fault) for t in found.tables["tables"]] == [False, True, False]
    assert "no user in common" in found.tables["tables"][1].fault
    subjects = {"funnel", "seller", "seller, IPS", "seller, DR"}
    assert {d.subject for d in found.diagnostics} == subjects
    twice = cr.check(pl.concat([week.funnel, week.funnel.head(1)]))
    assert "user and item more than once" in twice.tables["tables"][0].fault
    assert twice.tables["to_log"] == []
    never = cr.check(week.funnel.with_columns(click=0, conversion=0).drop("ctr"))
    assert "No pair was clicked" in never.tables["tables"][0].fault
    with pytest.raises(cr.UsageError, match="More than one funnel"):
        cr.check([week.funnel, week.funnel])
    spend = week.funnel.drop("conversion")
    assert cr.check(spend, reward="spend").tables["tables"][0].kind == "funnel"
    assert cr.check(spend).tables["tables"][0].fault  # nothing says what a click brought


def test_three_users_are_enough_to_look_at():
    tiny = pl.DataFrame({"user": [1, 2, 3], "item": [1, 2, 1], "click": 1, "conversion": [0, 1, 1]})
    found = cr.check(tiny)
    assert not any(t.fault for t in found.tables["tables"])
    assert named(found)["conversions"].state == "fail"


def test_the_command(week, tmp_path):
    week.funnel.drop("ctr").write_parquet(tmp_path / "funnel.parquet")
    week.runs["clickbait"].write_parquet(tmp_path / "bait.parquet")

    tables = ("funnel.parquet", "bait.parquet")

    def call(*words):
        return subprocess.run(
            [sys.executable, "-m", "counterrank", "check", *tables, *words],
            cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, "COLUMNS": "80"},
        )  # fmt: skip

    done = call()
    assert done.returncode == 0, done.stderr
    assert "funnel.parquet: funnel, 13,237 rows, 2,974 users, 30 items." in done.stdout
    assert "What to log next time\n1. ctr:" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    strict = call("--strict", "--format", "json")
    assert strict.returncode == 3
    document = json.loads(strict.stdout, parse_constant=pytest.fail)
    assert document["tables"]["tables"][0]["kind"] == "funnel"
    assert document["tables"]["to_log"][0].startswith("ctr")
