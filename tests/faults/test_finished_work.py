"""Work that is done is not lost: what cannot be written is refused before it."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from counterrank.core.errors import UsageError
from counterrank.core.file_writer import STAGE, append, whole_text
from counterrank.results.output_files import NAMES
from faults.calls import begin, call, command, shell

WORDS = ["evaluate", "judged.csv", "old.csv", "-m", "P@2", "--quiet"]


def test_where_we_stand_is_not_replaced(tables: Path) -> None:
    """A shell would find itself in a folder that is gone."""
    out = tables / "out"
    for _ in range(2):
        assert call(*WORDS, "--out", out)[0] == 0
    inode = out.stat().st_ino
    done = shell("evaluate", "../judged.csv", "../old.csv", "--out", ".", "--quiet", cwd=out)
    assert done.returncode == 0, done.stderr
    assert out.stat().st_ino == inode
    assert {p.name for p in out.iterdir()} == set(NAMES)


def test_a_folder_that_is_gone_costs_no_work(tables: Path, monkeypatch) -> None:
    """Another shell removed the folder where we stand; results go elsewhere."""
    (tables / "gone").mkdir()
    monkeypatch.chdir(tables / "gone")
    (tables / "gone").rmdir()
    words = ["evaluate", tables / "judged.csv", tables / "old.csv", "-m", "P@2", "--quiet"]
    for _ in range(2):
        code, _, err = call(*words, "--out", tables / "out")
        assert code == 0, err
    assert {p.name for p in (tables / "out").iterdir()} == set(NAMES)


def held(folder: Path) -> list[str]:
    """What this process has open, mapped or stands in, below a folder."""
    every = [Path("/proc/self/cwd"), *Path("/proc/self/fd").iterdir()]
    open_files = [os.readlink(p) for p in every if p.is_symlink()]
    mapped = Path("/proc/self/maps").read_text().splitlines()
    return [text for text in (*open_files, *mapped) if f"{folder}/" in f"{text}/"]


def test_a_mount_point_takes_the_result(tables: Path) -> None:
    out = tables / "mounted"
    out.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(out)],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        for _ in range(2):
            code, _, err = call(*WORDS, "--out", out)
            assert code == 0, err
            assert {p.name for p in out.iterdir()} == set(NAMES)
            assert held(out) == []
        (out / "fill").write_bytes(b"x" * (3 << 20))
        before = {name: (out / name).read_bytes() for name in NAMES}
        with (out / "rest").open("wb", buffering=0) as rest:
            try:
                while rest.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        for words in (["--out", out], ["--by-unit", out / "units.csv"],
                      ["--by-unit", out / "x.parquet"]):  # fmt: skip
            code, _, err = call(*WORDS, *words)
            assert code == 2
            assert "cannot be written" in err
            assert "No space left" in err
            assert held(out) == []
        assert {name: (out / name).read_bytes() for name in NAMES} == before
        with (out / "rest").open("rb"):
            assert held(out) == [str(out / "rest")]  # it would have been seen
    finally:  # others on the machine may be looking into it
        subprocess.run(["umount", "--lazy", str(out)], check=True)


def test_what_cannot_be_written_is_refused_before_the_work(tables: Path, monkeypatch) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr("counterrank.cli.output.call", work)
    (tables / "file").write_text("")
    for words in (
        ["--out", "file/out"], ["--out", "/proc/out"], ["--by-unit", "no/units.csv"],
        ["--by-unit", "/proc/units.csv"], ["--by-unit", "saved"],
    ):  # fmt: skip
        code, _, err = call(*WORDS, *words)
        assert code == 2, words
        assert "cannot" in err


def test_a_full_standard_output_costs_no_files(tables: Path) -> None:
    for format in ("table", "json"):
        out = tables / format
        with open("/dev/full", "w") as full:
            done = shell(*WORDS, "--out", out, "--format", format, capture_output=False,
                         stdout=full, stderr=subprocess.PIPE)  # fmt: skip
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "No space left" in done.stderr
        assert {p.name for p in out.iterdir()} == set(NAMES)


def test_a_closed_standard_output_costs_no_files(tables: Path) -> None:
    line = " ".join([*command(*WORDS, "--out", "out", "--by-unit", "units.csv"), ">&-"])
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert {p.name for p in (tables / "out").iterdir()} == set(NAMES)
    assert (tables / "units.csv").read_text().startswith("unit,")


def test_a_full_standard_error_costs_nothing(tables: Path) -> None:
    with open("/dev/full", "w") as full:
        options = {"capture_output": False, "stdout": subprocess.DEVNULL, "stderr": full}
        assert shell("evaluate", "nope.csv", "old.csv", **options).returncode == 2
        assert shell(*WORDS[:-1], "--out", "out", **options).returncode == 0
    assert {p.name for p in (tables / "out").iterdir()} == set(NAMES)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_so_and_leaves_nothing(
    tables: Path, number: int, code: int
) -> None:
    words = ["assess", "power", "judged.csv", "old.csv", "new.csv", "--draws", 10**6,
             "--resamples", 10**5, "--partitions", 2, "--scratch", tables, "--quiet"]  # fmt: skip
    before = sorted(p.name for p in tables.iterdir())
    with subprocess.Popen(command(*words), stderr=subprocess.PIPE, text=True) as work:
        while work.poll() is None and sorted(p.name for p in tables.iterdir()) == before:
            time.sleep(0.02)
        os.kill(work.pid, number)
        _, err = work.communicate(timeout=60)
    assert "Traceback" not in err
    assert work.returncode == code, err
    assert sorted(p.name for p in tables.iterdir()) == before


def test_several_runs_into_one_folder(tables: Path) -> None:
    """All end well, and what stands there in the end is the result of one of them."""
    for out in ("new-folder", "with-others"):
        (tables / "with-others").mkdir(exist_ok=True)
        (tables / "with-others" / "notes.txt").write_text("mine")
        every = [
            begin(
                ["evaluate", "judged.csv", "old.csv", "-m", label, "--quiet", "--out", out],
                tables, tables.with_name(label),
            )
            for label in ("P@2", "RR", "AP", "P@1")
        ]  # fmt: skip
        for work in every:
            work.join(120)
        assert [work.exitcode for work in every] == [0, 0, 0, 0]
        told = json.loads((tables / out / "result.json").read_text())["estimates"][0]["measure"]
        kept = pl.read_parquet(tables / out / "units.parquet")["measure"].unique().to_list()
        assert kept == [told]
        assert told in (tables / out / "report.html").read_text()
        left = {p.name for p in (tables / out).iterdir()} - set(NAMES)
        assert left == ({"notes.txt"} if out == "with-others" else set())


WRITE = """
import sys
from pathlib import Path
from counterrank.core.file_writer import whole
def slow(path):
    path.write_text("half")
    print("begun", flush=True)
    import time; time.sleep(60)
whole(Path(sys.argv[1]), slow)
"""


def test_what_a_killed_writer_left_is_cleared(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    with subprocess.Popen(
        [sys.executable, "-c", WRITE, str(target)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
    assert target.read_text() == "old"
    assert any(p.name.startswith(STAGE) for p in tmp_path.iterdir())
    whole_text(target, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_an_append_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("x" * 900)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, old[1]))
        with pytest.raises(UsageError, match="cannot be written"):
            append(str(file), "y" * 500)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    assert file.read_text() == "x" * 900


def test_time_is_not_in_what_is_written(tables: Path, monkeypatch) -> None:
    assert call(*WORDS, "--out", "one")[0] == 0
    time.sleep(0.01)
    assert call(*WORDS, "--out", "one")[0] == 0
    first = {name: (tables / "one" / name).read_bytes() for name in NAMES}
    assert call(*WORDS, "--out", "one")[0] == 0
    assert {name: (tables / "one" / name).read_bytes() for name in NAMES} == first
