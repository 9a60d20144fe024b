"""``counterrank demo``, run as a user runs it: its files, its text, its page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import polars as pl
import pytest

from counterrank.api import demo
from counterrank.documents.document import saved
from counterrank.report import page
from counterrank.simulate import platform

SESSIONS = 3000


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    words = ["demo", "--out", "here it is", "--sessions", SESSIONS, "--seed", 3]
    done = subprocess.run(
        [sys.executable, "-m", "counterrank", *map(str, words)], capture_output=True, text=True,
        cwd=folder, check=False, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    return folder / "here it is", done


def test_text_fits_tells_the_cost_and_ends_with_the_page(ran):
    folder, done = ran
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(done.stdout.split())
    document = json.loads((folder / "result.json").read_text())
    assert document["tables"]["revealed"] in text
    assert "you would have picked short_form" in text
    assert "Decision: " in text
    assert text.index("Decision: ") < text.index("Now the truth")
    assert lines[-1].endswith("report.html")
    assert (folder.parent / lines[-1].removeprefix("The page: ")).exists()


def test_files(ran):
    folder, _ = ran
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    runs = {f"data/runs/{name}.parquet" for name in demo.CANDIDATES}
    data = {"data/log.parquet", "data/judgments.parquet", "data/truth.json", *runs}
    assert found == data | {"result.json", "units.parquet", "report.html", "position_bias.json"}
    sample = platform(demo.feed(), sessions=SESSIONS, seed=3, runs=demo.CANDIDATES)
    assert pl.read_parquet(folder / "data" / "log.parquet").equals(sample.log)


def test_truth_stands_beside_every_estimate_of_the_reward(ran):
    folder, _ = ran
    document = saved(folder)
    truth = json.loads((folder / "data" / "truth.json").read_text())["truth"]
    rows = {(r["system"], r["estimator"]): r for r in document["tables"]["truth"]}
    wanted = [r for r in document["estimates"] if r["estimator"] != "nDCG"]
    assert len(rows) == len(wanted) == 13
    for r in wanted:
        row = rows[r["system"], r["estimator"]]
        assert row["truth"] == truth[r["system"]]["dwell"]["value"]
        assert (row["estimate"], row["low"], row["high"]) == (r["value"], r["low"], r["high"])
        assert row["inside"] == ("yes" if r["low"] <= row["truth"] <= r["high"] else "no")


def test_the_same_by_hand(ran):
    """The commands it prints give the numbers it showed."""
    folder, done = ran
    lines = done.stdout.splitlines()
    start = lines.index("The same by hand") + 1
    script = "\n".join(lines[start : lines.index("", start)])
    script = re.sub(
        r"^  \w.* (?=exposure|estimate)", f"{sys.executable} -m counterrank ", script, flags=re.M
    )
    before = (folder / "position_bias.json").read_text()
    again = subprocess.run(
        ["sh", "-ec", script + " --format json"], capture_output=True, text=True,
        cwd=folder.parent, check=False,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert (
        json.loads(before)["tables"]["model"]
        == json.loads((folder / "position_bias.json").read_text())["tables"]["model"]
    )
    document = json.loads(again.stdout[again.stdout.index("{") :])

    def values(rows):
        return {
            (r["system"], r["measure"], r["estimator"]): pytest.approx(r["value"]) for r in rows
        }

    assert values(document["estimates"]) == {
        (r["system"], r["measure"], r["estimator"]): r["value"] for r in saved(folder)["estimates"]
    }


def test_page_reveals_after_it_has_decided(ran):
    """The decision does not change."""
    folder, _ = ran
    document = saved(folder)
    html = page([document])
    assert html.index('class="decision') < html.index("The truth, which no estimate has seen")
    assert document["tables"]["revealed"] in html
    kept = {k: v for k, v in document["tables"].items() if k not in ("truth", "revealed")}
    blind = page([document | {"tables": kept}])
    start = html.index('<div class="decision')
    first = html[start : html.index("<section", start)]
    assert first in blind


def test_figure_draws_every_row_with_its_diamond(ran):
    from counterrank.report.figures import figures

    found = {f.name: f for f in figures(saved(ran[0]))}
    assert list(found)[-1] == "truth-1"
    assert len(found["truth-1"].rows) == 13
    assert found["truth-1"].svg().count('class="dm"') == 13
