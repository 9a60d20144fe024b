"""A bit of the grid: pass means safe, a worse candidate is not called better, clean logs pass.

Shares of so few logs vary; each is held to what is promised and 2.33 standard errors more, with
candidates of one log taken as wholly dependent, and in each cell the lower limit to the promise.
``make calibrate`` is the whole grid.
"""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

from calibration.cells import GRID
from calibration.page import BETTER, OUTSIDE, PASS, WORSE, Share, limits, told_rows, write
from calibration.run import file_of, lines_of, made_by, piece, pieces

LOGS = 4
CHOSEN = {
    "worlds": (
        "clean",
        "trust 0.2",
        "carry-over 0.5",
        "drift 1.5",
        "hidden device 0.6",
        "personalised 1, harvested",
        "selection 0.5",
        "lost views 0.4 below",
        "leak 2",
        "logger knows more than the log",
    ),
    "simulator": ("clean", "trust 0.3", "selection 0.5", "lost views 0.4 below"),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A few logs of some cells, as lines of files."""
    folder = tmp_path_factory.mktemp("calibration")
    for generator, names in CHOSEN.items():
        for name in names:
            keep(folder, generator, name, 10_000)
    return folder


def keep(folder, generator, name, sessions):
    """A few logs of a cell, as lines of a file."""
    file = file_of(folder, generator, name, sessions)
    file.parent.mkdir(parents=True, exist_ok=True)
    made = piece(generator, name, sessions, list(range(LOGS)))
    file.write_text("".join(json.dumps({**line, "commit": "now"}) + "\n" for line in made))


@pytest.fixture(scope="module")
def rows(kept):
    return told_rows(kept)


def most(promise: float, logs: int) -> float:
    """What a share that is promised may be in so many logs."""
    return promise + 2.33 * math.sqrt(promise * (1 - promise) / max(logs, 1))


def logs_of(rows: pl.DataFrame) -> int:
    return rows.select("generator", "cell", "seed").n_unique()


def test_every_cell_is_told_with_its_truth(rows):
    assert rows.height == 6 * LOGS * sum(map(len, CHOSEN.values()))
    assert rows.filter(pl.col("truth").is_null()).is_empty()
    worse = rows.filter(pl.col("system") == "worse", ~pl.col("cell").str.starts_with("leak"))
    assert (worse["truth"] < -0.03).all()
    assert (rows.filter(system="better")["truth"] > 0.03).all()


def test_there_is_a_second_interval_around_the_plain_one(rows):
    assert rows["second"].unique().to_list() == ["bound"]
    inside = (pl.col("second_low") <= pl.col("low")) & (pl.col("second_high") >= pl.col("high"))
    assert rows.select(inside.all()).item()


@pytest.mark.parametrize("generator", CHOSEN)
def test_pass_means_that_the_truth_is_in_the_second_interval(rows, generator):
    passed = rows.filter(PASS, generator=generator)
    share = Share.of(OUTSIDE, PASS, passed)
    assert share.n
    assert share.hits / share.n <= most(0.05, logs_of(passed)), share
    for (cell,), part in passed.group_by("cell"):
        assert Share.of(OUTSIDE, PASS, part).low <= 0.05, cell


@pytest.mark.parametrize("generator", CHOSEN)
def test_a_worse_candidate_is_seldom_called_better(rows, generator):
    worse = rows.filter(WORSE, generator=generator)
    share = Share.of(BETTER, WORSE, worse)
    assert share.hits / share.n <= most(0.025, logs_of(worse)), share
    for (cell,), part in worse.group_by("cell"):
        assert Share.of(BETTER, WORSE, part).low <= 0.025, cell


@pytest.mark.parametrize("generator", CHOSEN)
def test_a_clean_log_is_seldom_held_back(tmp_path, generator):
    """Of 20,000 sessions, for which it is promised; half as many often cannot tell."""
    keep(tmp_path, generator, "clean, a week ahead", 20_000)
    share = Share.of(~PASS, pl.lit(True), told_rows(tmp_path))
    assert share.hits / share.n <= most(0.15, LOGS), share


def test_limits_are_those_of_wilson_and_widen_where_logs_err_as_one():
    """Of 5 of 50: 0.0435 and 0.2136. If the six of a log go together, a sixth of them count."""
    low, high = limits(np.repeat([1.0, 0.0], [5, 45]), np.ones(50))
    assert (low, high) == pytest.approx((0.0435, 0.2136), abs=1e-4)
    together = limits(6 * np.repeat([1.0, 0.0], [5, 45]), np.full(50, 6.0))
    assert together == pytest.approx(limits(np.repeat([1.0, 0.0], [5, 45]), np.ones(50)), abs=0.005)
    assert limits(np.zeros(10), np.ones(10))[0] == 0


def test_a_run_goes_on_where_it_was_stopped(kept, tmp_path):
    """Seeds in whole lines are done; a line that was cut short is made again."""
    file = file_of(tmp_path, "worlds", "leak 2", 10_000)
    file.parent.mkdir(parents=True)
    lines = file_of(kept, "worlds", "leak 2", 10_000).read_text().splitlines()
    file.write_text("\n".join([lines[0], lines[1], lines[2][:50]]))
    assert [line["seed"] for line in lines_of(file)] == [0, 1]
    todo = pieces(tmp_path, None, ["worlds"], ["leak 2"], 9)
    assert todo == [
        ("worlds", "leak 2", 10_000, [2, 3, 4, 5, 6]),
        ("worlds", "leak 2", 10_000, [7, 8]),
    ]
    assert made_by()


def test_stored_rows_count_unless_they_were_made_again(kept, rows, tmp_path):
    store, name = tmp_path / "rows.parquet", "leak 2"
    rows.with_columns(commit=pl.lit("before")).write_parquet(store)
    assert told_rows(tmp_path, store).drop("commit").equals(rows.drop("commit"))
    assert pieces(tmp_path, store, ["worlds"], [name], LOGS) == []
    file = file_of(tmp_path, "worlds", name, 10_000)
    file.parent.mkdir(parents=True)
    file.write_text(file_of(kept, "worlds", name, 10_000).read_text())
    both = told_rows(tmp_path, store)
    assert both.height == rows.height
    assert set(both.filter(cell=name)["commit"]) == {"now"}
    assert set(both.filter(pl.col("cell") != name)["commit"]) == {"before"}


def test_the_page_has_every_cell_and_names_who_made_it(rows, tmp_path):
    page = tmp_path / "calibration.md"
    write(rows, page)
    text = page.read_text()
    for generator, names in CHOSEN.items():
        for name in names:
            assert f"| {name} | 10,000 |" in text, (generator, name)
    assert "`now`" in text


def test_no_two_cells_share_a_file(tmp_path):
    for cells in GRID.values():
        files = {file_of(tmp_path, "worlds", cell.name, 1) for cell in cells}
        assert len(files) == len(cells)
