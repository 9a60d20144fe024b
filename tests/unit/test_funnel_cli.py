"""``counterrank funnel``, run as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys

import polars as pl
import pytest

from counterrank.simulate import funnel_world


def call(*words, cwd, columns="100"):
    return subprocess.run(
        [sys.executable, "-m", "counterrank", "funnel", *map(str, words)],
        capture_output=True, text=True, cwd=cwd, check=False,
        env={**os.environ, "COLUMNS": columns},
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("shop")
    sample = funnel_world(items=12).sample(users=800, top=5)
    sample.funnel.write_csv(path / "funnel.csv")
    sample.funnel.drop("ctr").write_parquet(path / "bare.parquet")
    sample.funnel.select("user", "item", "ctr").write_parquet(path / "ctr.parquet")
    for name in ("seller", "clickbait"):
        sample.runs[name].write_parquet(path / f"{name}.parquet")
    sample.runs["seller"].with_columns(pl.col("cvr") * 5).write_parquet(path / "bold.parquet")
    return path


BOTH = ("old=clickbait.parquet", "seller.parquet")


def test_the_table_says_what_to_believe(folder):
    done = call("funnel.csv", *BOTH, "-e", "IPS,DR", "-m", "CG@5", "-m", "RankSum", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "RankSum needs rankings of all 12 items." in done.stderr
    done = call("funnel.csv", *BOTH, "-e", "IPS,DR", "-m", "CG@5", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("What is estimated: Not sales: what everything that")
    head = lines.index("conversion if clicked, CG@5, 800 users; lift over old")
    rows = [line.split()[:2] for line in lines[head + 1 : head + 3]]
    assert rows == [["old", "IPS"], ["old", "DR"]]
    assert all(len(line) <= 100 for line in lines)
    assert "What this rests on" in lines
    assert "worse than old" in done.stdout.replace("\n", " ")


def test_a_table_fits_80_columns_whatever_the_numbers(folder, tmp_path):
    table = pl.read_csv(folder / "funnel.csv")
    table.with_columns(pl.col("ctr") / 1000).write_csv(tmp_path / "rare.csv")
    table.with_columns(conversion=-pl.col("click")).write_csv(tmp_path / "flat.csv")
    for name in ("rare", "flat"):
        words = (tmp_path / f"{name}.csv", *BOTH)
        lines = call(*words, cwd=folder, columns="80").stdout.splitlines()
        assert len(lines) > 20
        assert max(map(len, lines)) <= 80


def test_who_was_swapped_and_what_nobody_clicked_is_said(folder, tmp_path):
    done = call("seller.parquet", "funnel.csv", cwd=folder)
    assert done.returncode == 2
    assert "The funnel comes first, then runs: FUNNEL RUN..." in done.stderr
    table = pl.read_csv(folder / "funnel.csv")
    table.with_columns(click=0, conversion=0).write_csv(tmp_path / "idle.csv")
    told = call(tmp_path / "idle.csv", "seller.parquet", "--strict", cwd=folder)
    assert told.returncode == 3
    text = " ".join(told.stdout.split())
    assert text.count("Nobody clicked what it lists") == 3
    assert "carries" not in text


def test_json_csv_and_files(folder, tmp_path):
    told = json.loads(call("funnel.csv", *BOTH, "--format", "json", cwd=folder).stdout)
    assert told["kind"] == "funnel"
    assert told["protocol"]["baseline"] == "old"
    assert [row["estimator"] for row in told["estimates"][:4]] == ["Naive", "IPS", "SNIPS", "DR"]
    assert len(told["provenance"]["inputs"]) == 3
    rows = list(csv.DictReader(io.StringIO(
        call("funnel.csv", *BOTH, "--format", "csv", cwd=folder).stdout)))  # fmt: skip
    assert {row["measure"] for row in rows} == {"DCG@10"}
    done = call(
        "funnel.csv", *BOTH, "--out", tmp_path / "all", "--by-unit", tmp_path / "u.csv", cwd=folder
    )
    assert done.returncode == 0
    assert "Wrote" in done.stderr
    assert pl.read_csv(tmp_path / "u.csv").height == 800 * 2 * 4
    assert json.loads((tmp_path / "all" / "result.json").read_text())["kind"] == "funnel"
    units = pl.read_parquet(tmp_path / "all" / "units.parquet")
    assert units.columns == ["unit", "system", "measure", "reward", "estimator", "value"]


def test_predictions_models_and_verdicts(folder):
    given = call(
        "bare.parquet", "seller.parquet", "--predictions", "ctr.parquet", "--format", "csv",
        cwd=folder,
    )  # fmt: skip
    own = call("funnel.csv", "seller.parquet", "--format", "csv", cwd=folder)
    assert given.stdout == own.stdout != ""
    lost = call("bare.parquet", "seller.parquet", cwd=folder)
    assert lost.returncode == 2
    assert "--ctr rates" in lost.stderr
    assert "Traceback" not in lost.stderr
    poor = call("bare.parquet", "seller.parquet", "--ctr", "rates(by=user)", "--strict", cwd=folder)
    assert poor.returncode == 3
    assert "mean weight" in poor.stdout
    bold = call("funnel.csv", "bold.parquet", "-e", "IPS,DR", cwd=folder)
    assert "read IPS" in bold.stdout.replace("\n", " ")
