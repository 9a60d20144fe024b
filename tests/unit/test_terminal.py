"""Tables on a terminal: bars where there is room, plain signs where there must be, 80 columns."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import counterrank as cr
from counterrank.cli import output
from counterrank.report.terminal import lines as table
from counterrank.report.terminal.bars import draw_bars, with_bars
from counterrank.report.terminal.bars import plain_signs as plain
from counterrank.simulate import World, judged_world, platform

LONG = "a ranker whose name goes on and on, longer than any line of a table has room for it: "


def test_bars_share_a_scale():
    drawn = draw_bars([(0.0, 5.0, 10.0), (10.0, 15.0, 20.0), None], 21)
    assert drawn == ["├────●────┤", " " * 10 + "├────●────┤", ""]
    assert draw_bars([(1.0, 1.0, 1.0)], 5) == ["●"]
    assert draw_bars([(float("nan"), 1.0, 2.0), (0.0, 1.0, 2.0)], 5) == ["", "├─●─┤"]


def test_marks_widen_the_scale():
    assert draw_bars([(5.0, 7.5, 10.0)], 11, marks=[0.0]) == ["┊    ├──●─┤"]
    assert draw_bars([(0.0, 6.0, 10.0)], 11, marks=[20.0], sign="◆") == ["├──●─┤    ◆"]
    assert draw_bars([(0.0, 5.0, 10.0)], 11, marks=[5.0], sign="◆") == ["├────◆────┤"]
    assert draw_bars([(-5.0, 0.0, 5.0)], 11, marks=[0.0]) == ["├────●────┤"]  # the value is on top


def test_bars_only_where_there_is_room():
    lines, ends = ["heading", "x" * 20, "y"], [(0.0, 1.0, 2.0), (1.0, 2.0, 3.0)]
    assert with_bars(lines, ends, 33, zero="no") == lines
    drawn = with_bars(lines, ends, 34, zero="no")
    assert drawn[0] == "heading"
    assert [len(line) for line in drawn[1:]] == [30, 34]
    assert drawn[2].startswith("y" + " " * 21)


@pytest.mark.parametrize(("encoding", "wanted"), [("utf-8", "├●┤ a…b"), ("ascii", "|o| a~b")])
def test_signs_that_the_stream_can_write(encoding, wanted):
    assert plain("├●┤ a…b", encoding) == wanted
    assert len(plain("├─●┊◆┤…", encoding)) == 7


@pytest.fixture(scope="module")
def results():
    world = judged_world(users=80, items=120)
    runs = {LONG + name: run for name, run in world.runs.items()}
    week = platform(World(seed=1), sessions=400, runs=["near", "far"])
    targets = {LONG + name: run for name, run in week.runs.items()}
    log = {"reward": ["dwell", "like"], "position_bias": "log2@10", "sweep": "clip"}
    labels = ["IPS(clip=200)", "SNIPS", "DR", "nDCG", "nDCG(label=debiased)", "DCG"]
    measures = ["DCG@10", "nDCG(gain=exp)@10", "RR@10"]
    evaluated = {"measure": measures, "draws": 200}
    return {
        "all": cr.evaluate(world.judgments, runs, **evaluated),
        "baseline": cr.evaluate(
            world.judgments, runs, baseline=LONG + "deep", **evaluated
        ),
        "no test": cr.evaluate(world.judgments, runs, test="none", **evaluated),
        "estimate": cr.estimate(week.log, targets, estimator=labels, **log),
        "other": cr.estimate(
            week.log, targets, estimator=labels, baseline=LONG + "near", **log
        ),
    }  # fmt: skip


KINDS = ("all", "baseline", "no test", "estimate", "other")


@pytest.mark.parametrize("wide", [80, 100, 160])
@pytest.mark.parametrize("kind", KINDS)
def test_tables_fit_whatever_the_names(results, kind, wide):
    result = results[kind]
    lines = table(result, wide)
    assert max(map(len, lines)) <= wide
    printed = set(re.findall(r"\d+\.\d+", "\n".join(lines)))
    for row in result.estimates:  # numbers are never cut
        assert printed & {f"{row.value:.{places}f}" for places in range(1, 8)}


def test_names_come_before_bars():
    world = judged_world(users=80, items=120)

    def drawn(wide, **options):
        result = cr.evaluate(world.judgments, world.runs, measure=["DCG@10"], **options)
        lines = table(result, wide)
        head = next(n for n, line in enumerate(lines, 1) if line.startswith("DCG@10, "))
        return [line.count("●") for line in lines[head : head + 4]]

    assert drawn(80, test="none") == [1, 1, 1, 1]
    compared = {"baseline": "popular", "draws": 200}
    assert drawn(80, **compared) == [0, 0, 0, 0]  # the comparison fills the line
    assert drawn(110, **compared) == [0, 1, 1, 1]  # the baseline has no difference to draw


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_lines_are_the_verdict(results, kind, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    output.show(results[kind], "table")
    text = capsys.readouterr().out
    last = text.rstrip().split("\n\n")[-1]
    if kind == "no test":  # nothing was compared, so there is nothing to decide
        assert "Decision" not in text
        return
    assert last.startswith("Decision: ")
    assert last.split()[1] in ("test.", "keep.", "open.", "distrust.")
    assert "\x1b" not in text


def test_measures_of_other_scales_have_blocks_of_their_own(results):
    text = "\n".join(table(results["estimate"], 80))
    blocks = {block.split(",")[0]: block for block in text.split("\n\n")}
    assert {"dwell per session", "nDCG of dwell", "DCG of dwell", "nDCG of like"} <= set(blocks)
    assert "nDCG" not in blocks["dwell per session"]
    assert "SNIPS" not in blocks["nDCG of dwell"]


def test_a_terminal_without_unicode(tmp_path):
    world = judged_world(users=40, items=80)
    world.judgments.write_parquet(tmp_path / "j.parquet")
    world.runs["deep"].write_parquet(tmp_path / "deep.parquet")
    for code, point in (("ascii", "--o--"), ("utf-8", "──●──")):
        done = subprocess.run(
            [sys.executable, "-m", "counterrank", "evaluate", "j.parquet", "deep.parquet"],
            capture_output=True, cwd=tmp_path, check=True,
            env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": code},
        ).stdout.decode(code)  # fmt: skip
        assert "\\u" not in done
        assert point in done.replace("-" * 30, "")
        assert max(map(len, done.splitlines())) <= 80
