"""What --out writes: the old result or the new one, never half of one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from counterrank.results.output_files import NAMES
from counterrank.simulate import judged_world

WRITE = """
import sys
from pathlib import Path
import polars as pl
from counterrank.results import output_files as writing

class Result:
    def __init__(self, mark):
        self.mark = mark
        self.unit_frame = pl.DataFrame({"mark": [mark] * 50_000})
    def to_dict(self):
        rows = {name: [] for name in ("estimates", "comparisons", "diagnostics")}
        rest = {"tables": {}, "protocol": {}, "provenance": {"version": "0", "inputs": []}}
        return {"schema": 1, "kind": "evaluate", "mark": self.mark, **rows, **rest}
    def by_unit(self):
        return self.unit_frame

for mark in range(int(sys.argv[2]), 1_000_000):
    writing.folder(Result(mark), sys.argv[1])
    print(mark, flush=True)
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("tables")
    world = judged_world(users=50)
    world.judgments.write_parquet(folder / "judgments.parquet")
    world.runs["deep"].write_parquet(folder / "deep.parquet")
    return folder


def mark_of(folder: Path) -> set[int]:
    """The marks of all files of a result: one, if it is whole."""
    import polars as pl

    document = json.loads((folder / "result.json").read_text())
    page = (folder / "report.html").read_text()
    assert page.endswith("</html>")
    marks = pl.read_parquet(folder / "units.parquet")["mark"].unique().to_list()
    return {document["mark"], *marks}


def test_killed_at_any_moment_it_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    folder, last = tmp_path / "out", 0
    for turn in range(6):
        command = [sys.executable, "-c", WRITE, str(folder), str(last + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            first = int(writer.stdout.readline())
            time.sleep(0.03 + 0.017 * turn)
            os.kill(writer.pid, signal.SIGKILL)
            told = [first, *(int(line) for line in writer.stdout.read().split())]
        assert {entry.name for entry in folder.iterdir()} == set(NAMES)
        (mark,) = mark_of(folder)
        assert told[-1] <= mark <= told[-1] + 1
        last = mark


def test_the_folder_holds_the_three_files_and_spares_others(tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [
        sys.executable, "-m", "counterrank", "evaluate", str(tables / "judgments.parquet"),
        str(tables / "deep.parquet"), "-m", "nDCG@10", "--out", str(out), "--quiet",
    ]  # fmt: skip
    for other in (False, True):
        if other:
            (out / "notes.txt").write_text("mine")
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "Traceback" not in done.stderr
        document = json.loads((out / "result.json").read_text())
        assert document["provenance"]["command"][:2] == ["counterrank", "evaluate"]
        assert (out / "report.html").stat().st_size > 5_000
    assert {p.name for p in out.iterdir()} == {*NAMES, "notes.txt"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"], "nothing is left beside it"


def test_a_reader_who_leaves_early_does_not_cost_the_files(tables: Path, tmp_path: Path) -> None:
    for format in ("table", "json", "csv"):
        out = tmp_path / format
        words = [
            "evaluate", tables / "judgments.parquet", tables / "deep.parquet", "--out", out,
            "--format", format, "--quiet",
        ]  # fmt: skip
        command = [sys.executable, "-m", "counterrank", *map(str, words)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stderr is not None
            writer.stdout.close()  # nobody reads
            assert writer.wait(120) == 0
            assert writer.stderr.read() == b""
        assert {entry.name for entry in out.iterdir()} == set(NAMES)
