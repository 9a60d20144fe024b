"""The cost model of docs/scale.md foretells what it says, and the page shows what it computes."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "studies"))

import scale

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scale.md").read_text()


def test_every_run_is_foretold_within_the_error_that_the_page_states():
    told = re.search(r"within (\d+) %", PAGE)
    assert told
    for run, guess in scale.checked(scale.measured()):
        assert abs(guess / run.seconds - 1) <= int(told[1]) / 100


def test_the_page_shows_what_the_script_prints(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["scale.py"])
    scale.main()
    printed = capsys.readouterr().out
    assert printed.count("\n| --- |") == 3
    assert all(line in PAGE for line in printed.splitlines())


def test_constants_come_back_from_times_that_obey_them():
    known = dict(zip(scale.CONSTANTS, (3e-7, 1e-7, 2e-7, 5e-7, 0.05, 0.3, 9.0), strict=True))
    runs = []
    for rows, partitions, passes in ((1, 8, 4), (10, 64, 2), (10, 8, 4)):
        names, log = scale.PASSES[:passes], rows * 10**6
        bare = scale.Run("spark", log, log, partitions, 2, dict.fromkeys(names, 0.0), 0.0)
        alone = [replace(bare, passes={name: 0.0}) for name in names]
        each = [scale.predicted(one, known) - known["start"] for one in alone]
        times = dict(zip(names, each, strict=True))
        whole = known["start"] + sum(times.values())
        runs.append(replace(bare, passes=times, seconds=whole))
    assert scale.fitted(runs) == pytest.approx(known)
    assert all(scale.predicted(run, known) == pytest.approx(run.seconds) for run in runs)
