"""What others own is never removed, replaced or overwritten."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

import pytest

import counterrank as cr
from counterrank.core import file_writer, owned_folder
from counterrank.core.errors import UsageError
from counterrank.core.file_writer import GENERATOR, append, whole_text
from counterrank.engine.scratch import scratch
from counterrank.results import output_files
from counterrank.results.output_files import replace_folder
from counterrank.studies.pipeline import forget_steps
from faults.calls import call, command

HOLD = """
import sys, time
from pathlib import Path
from counterrank.core.owned_folder import owned_folder
with owned_folder(Path(sys.argv[1]), "counterrank-") as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


def test_folders_of_others_stay_whatever_their_names(tmp_path: Path) -> None:
    mine = [tmp_path / name for name in ("counterrank-999999-notes", "counterrank-1-x",
                                         "counterrank-0123456789abcdef")]  # fmt: skip
    for folder in mine:
        folder.mkdir()
        (folder / "thesis.txt").write_text("mine")
    (mine[2] / owned_folder.MARK).write_text(json.dumps({"token": "another"}))
    with scratch(str(tmp_path)) as own:
        assert own.is_dir()
    assert all((folder / "thesis.txt").exists() for folder in mine)
    assert not own.exists()


def test_what_is_alive_stays_and_what_was_killed_goes(tmp_path: Path) -> None:
    """Alive by its lock: the number of a process says nothing in another container."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        held = Path(holder.stdout.readline().strip())
        with scratch(str(tmp_path)):
            assert held.is_dir()
        holder.kill()
    assert held.is_dir()
    with scratch(str(tmp_path)):
        assert not held.exists()


def test_what_was_stopped_before_it_had_a_mark_goes(tmp_path: Path) -> None:
    """Empty folders of such a name go; others of that name, and whoever was making one, stay."""
    (tmp_path / f"x-{'a' * 16}").mkdir()
    (tmp_path / f"x-{'b' * 16}").mkdir()
    (tmp_path / f"x-{'b' * 16}" / "mine").touch()
    (tmp_path / "x-short").mkdir()
    for name, beside in (("c" * 16, False), ("d" * 16, True)):  # marked, and not written
        (tmp_path / f"x-{name}").mkdir()
        (tmp_path / f"x-{name}" / owned_folder.MARK).touch()
        if beside:
            (tmp_path / f"x-{name}" / "mine").touch()
    owned_folder.clear_left(tmp_path, "x-")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {f"x-{'b' * 16}", f"x-{'d' * 16}", "x-short"}


def test_a_folder_that_another_took_for_one_left_is_made_again(tmp_path: Path, monkeypatch) -> None:
    made, make = [], Path.mkdir

    def taken(path: Path, *args, **options) -> None:
        make(path, *args, **options)
        made.append(path)
        if len(made) == 1:
            owned_folder.clear_left(tmp_path, "x-")

    monkeypatch.setattr(Path, "mkdir", taken)
    with owned_folder.owned_folder(tmp_path, "x-") as own:
        assert own == made[1] != made[0]
        assert list(tmp_path.iterdir()) == [own]
    assert not list(tmp_path.iterdir())


def test_what_was_killed_while_it_was_removed_goes(tmp_path: Path, monkeypatch) -> None:
    """Of a folder half removed the mark must still be there, or it stays for ever."""

    def killed(path: str, **_: object) -> None:
        Path(path, owned_folder.MARK).unlink(missing_ok=True)
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.rmtree", killed)
    with pytest.raises(KeyboardInterrupt), owned_folder.owned_folder(tmp_path, "x-") as own:
        (own / "old").mkdir()
    assert (own / owned_folder.MARK).exists()
    monkeypatch.undo()
    owned_folder.clear_left(tmp_path, "x-")
    assert not any(tmp_path.iterdir())


def test_a_folder_of_another_machine_stays(tmp_path: Path) -> None:
    token = "0123456789abcdef"
    folder = tmp_path / f"counterrank-{token}"
    folder.mkdir()
    mark = {"token": token, "boot": "another", "host": "another"}
    (folder / owned_folder.MARK).write_text(json.dumps(mark))
    owned_folder.clear_left(tmp_path, "counterrank-")
    assert folder.exists()
    (folder / owned_folder.MARK).write_text(json.dumps(mark | owned_folder._machine()))
    owned_folder.clear_left(tmp_path, "counterrank-")
    assert not folder.exists()


def test_a_lock_that_another_just_tries_is_waited_for(tmp_path: Path, monkeypatch) -> None:
    """Whoever looks whose a folder is holds its lock for a moment; it must not stay unlocked."""
    kept, take = [], owned_folder.lock

    def look(handle: int, *, wait: bool = False) -> bool:
        if not kept:
            kept.append(os.open(next(tmp_path.glob("x-*")) / owned_folder.MARK, os.O_RDWR))
            assert take(kept[0])
            Timer(0.2, os.close, kept).start()
        return take(handle, wait=wait)

    monkeypatch.setattr(owned_folder, "lock", look)
    with owned_folder.owned_folder(tmp_path, "x-") as own:
        monkeypatch.undo()
        time.sleep(0.4)  # until the other has gone
        owned_folder.clear_left(tmp_path, "x-")
        assert own.is_dir()


def test_what_was_left_beside_pieces_that_are_whole_goes(tmp_path: Path) -> None:
    """Interrupted after a piece was in place: no later run writes there again."""
    from counterrank.assess.checkpoint import Checkpoint

    key, token = "0123456789abcdef", "fedcba9876543210"
    left = tmp_path / key / f".counterrank-new-{token}"
    left.mkdir(parents=True)
    mark = {"token": token, **owned_folder._machine()}
    (left / owned_folder.MARK).write_text(json.dumps(mark))
    Checkpoint(tmp_path, key)
    assert not left.exists()


def test_folders_that_cannot_be_listed_end_no_search_for_results(
    tmp_path: Path, monkeypatch
) -> None:
    """`report /`: some of /proc refuses."""
    from counterrank.results.history import expanded

    for name in ("odd", "a"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "result.json").touch()
    scandir = os.scandir

    def refusing(path: str):
        if Path(path).name == "odd":
            raise OSError(22, "Invalid argument", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert expanded(str(tmp_path)) == [str(tmp_path / "a")]


def test_results_so_far_of_others_stay(tables: Path) -> None:
    """A folder that is called unfinished, or .steps, need not be ours."""
    mine = [tables / "out" / "unfinished" / "thesis" / "data.npy", tables / ".steps" / "mine.json"]
    for file in mine:
        file.parent.mkdir(parents=True)
        file.write_text("mine")
    words = ["judged.csv", "old.csv", "new.csv", "--draws", 20, "--resamples", 20]
    code, _, err = call("assess", "power", *words, "--out", "out", "--quiet")
    assert code == 0, err
    (tables / ".steps" / "0123456789ab-one.json").write_text("{}")
    forget_steps(tables / ".steps")
    assert [file.read_text() for file in mine] == ["mine", "mine"]
    assert not (tables / ".steps" / "0123456789ab-one.json").exists()


def test_links_are_written_through_and_modes_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.html", tmp_path / "link.html"
    real.write_text("before")
    real.chmod(0o640)
    link.symlink_to(real)
    whole_text(link, "after")
    assert link.is_symlink()
    assert real.read_text() == "after"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.html", "real.html"]


@pytest.mark.parametrize("verb", ["report", "gate", "by-unit"])
def test_devices_stay_devices(tables: Path, verb: str) -> None:
    pipe = tables / "pipe"
    os.mkfifo(pipe)
    words = {
        "report": ["report", "saved", "-o", pipe],
        "gate": ["gate", "saved", "--summary", pipe],
        "by-unit": ["evaluate", "judged.csv", "old.csv", "--by-unit", pipe],
    }[verb]
    with (tables / "taken").open("wb") as taken, subprocess.Popen(["cat", pipe], stdout=taken):
        assert call(*words)[0] in (0, 3)
    assert (tables / "taken").stat().st_size
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    whole_text("/dev/null", "nothing")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize(
    ("line", "begin"),
    [
        ("report saved -o /dev/stdout | cat > taken", "<!"),
        ("report saved -o link > taken", "<!"),
        ("gate saved --summary /dev/fd/1 > taken", "### C"),
        ("evaluate judged.csv old.csv -m P@2 --by-unit /dev/stdout > taken", "unit,"),
        ("exposure log.csv --method em --out /dev/stdout > taken", "{"),
    ],
)
def test_what_a_shell_has_opened_is_not_cut_or_replaced(tables: Path, line, begin) -> None:
    """``>> taken`` keeps what is there, and what is printed follows what was asked for."""
    (tables / "link").symlink_to("/dev/stdout")
    assert subprocess.run(f"{' '.join(command())} {line}", shell=True, check=False).returncode < 4
    once = (tables / "taken").read_text()
    assert once.startswith(begin)
    subprocess.run(f"{' '.join(command())} {line.replace('>', '>>')}", shell=True, check=False)
    assert (tables / "taken").read_text() == once * 2
    if "gate" in line:
        assert once.count("### Counterrank") == 2
    elif "evaluate" in line:
        assert "What this rests on" in once
    assert (tables / "link").is_symlink()


def test_who_may_read_a_result_stays(tables: Path) -> None:
    out = tables / "out"
    out.mkdir(mode=0o700)
    for _ in range(2):
        assert call("evaluate", "judged.csv", "old.csv", "-m", "P@2", "--out", out)[0] == 0
        assert stat.S_IMODE(out.stat().st_mode) == 0o700
        (out / "result.json").chmod(0o600)
    assert stat.S_IMODE((out / "result.json").stat().st_mode) == 0o600


def test_a_file_that_came_meanwhile_stays(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    for folder in (new, old):
        folder.mkdir()
        (folder / "result.json").write_text(folder.name)
    (old / "thesis.txt").write_text("mine")
    assert not replace_folder(new, old)
    assert (old / "thesis.txt").read_text() == "mine"
    assert (old / "result.json").read_text() == "old"


def test_a_link_of_a_result_is_not_replaced_when_it_is_put_back(tables: Path, monkeypatch) -> None:
    """Where a second file cannot be replaced the first is as it was, and a link still a link."""
    out, real = tables / "out", tables / "real.json"
    out.mkdir()
    real.write_text("old")
    (out / "result.json").symlink_to(real)
    (out / "report.html").write_text("old page")
    put = output_files._put

    def full(file: Path, target: Path) -> None:
        if target.name == "report.html" and file.parent.name == "new":
            raise OSError(28, "No space left on device")
        put(file, target)

    monkeypatch.setattr(output_files, "_put", full)
    code, _, err = call("evaluate", "judged.csv", "old.csv", "-m", "P@2", "--out", out)
    assert code == 2
    assert "No space left" in err
    assert (out / "result.json").is_symlink()
    assert (real.read_text(), (out / "report.html").read_text()) == ("old", "old page")
    assert sorted(p.name for p in out.iterdir()) == ["report.html", "result.json"]


def test_a_file_that_is_overwritten_in_place_is_put_back(tmp_path: Path, monkeypatch) -> None:
    """One that is mounted by itself cannot be moved; a full disk must not cost what it held."""
    target, calls = tmp_path / "page.html", []
    target.write_text("old and longer than new")

    def busy(*_: object) -> None:
        raise OSError(16, "Device or resource busy")

    def over(source: Path, sink: Path) -> None:
        calls.append(source.name)
        if source.name == "new":
            sink.write_text("ne")
            raise OSError(28, "No space left on device")
        plain(source, sink)

    plain = file_writer._over
    monkeypatch.setattr("os.replace", busy)
    monkeypatch.setattr(file_writer, "_over", over)
    with pytest.raises(UsageError, match="No space left"):
        whole_text(target, "new")
    assert target.read_text() == "old and longer than new"
    assert calls == ["new", "old"]
    monkeypatch.setattr(file_writer, "_over", plain)
    whole_text(target, "new")
    assert target.read_text() == "new"


@pytest.mark.parametrize("option", ["--position-bias", "--config"])
def test_a_model_and_options_are_inputs_too(tables: Path, option: str) -> None:
    (tables / "out").mkdir()
    shutil.copy("saved/result.json", "out/result.json")
    before = (tables / "out" / "result.json").read_bytes()
    code, _, err = call(
        "estimate", "log.csv", "target.csv", option, "out/result.json", "--out", "out"
    )
    assert code == 2
    assert (tables / "out" / "result.json").read_bytes() == before
    if option == "--position-bias":
        assert "is one of the inputs" in err


EVALUATE = ["evaluate", "judged.csv", "runs/old.csv", "runs/new.csv"]


@pytest.mark.parametrize(
    "words",
    [
        [*EVALUATE, "--by-unit", "judged.csv"],
        [*EVALUATE, "--by-unit", "hard.csv"],
        [*EVALUATE, "--by-unit", "link.csv"],
        ["evaluate", "judged.csv", "runs", "--by-unit", "runs/units.csv"],
        ["evaluate", "judged.csv", "runs", "--by-unit", "runs/old.csv"],
        ["evaluate", "judged.csv", "runs", "--out", "runs"],
        ["evaluate", "judged.csv", "runs/*.csv", "--by-unit", "runs/mine.csv"],
        ["report", "saved", "-o", "saved/result.json"],
        ["report", "saved/result.json", "-o", "same.json"],
        ["gate", "saved", "--summary", "saved/result.json"],
        ["gate", "saved/result.json", "--summary", "same.json"],
        ["gate", "saved/result.json", "--summary", "saved/units.parquet"],
        ["assess", "power", "saved", "--picture", "same.svg"],
        ["assess", "power", "saved/units.parquet", "--picture", "same.svg"],
        ["exposure", "log.csv", "--out", "log.json"],
    ],
    ids=str,
)
def test_an_output_is_no_input(tables: Path, words: list[str]) -> None:
    (tables / "runs").mkdir()
    for name in ("old.csv", "new.csv"):
        (tables / name).rename(tables / "runs" / name)
    os.link("judged.csv", "hard.csv")
    os.symlink("judged.csv", "link.csv")
    os.link("saved/result.json", "same.json")
    os.symlink("saved/result.json", "same.svg")
    os.link("log.csv", "log.json")
    before = {p: p.read_bytes() for p in tables.rglob("*") if p.is_file()}
    code, _, err = call(*words)
    assert code == 2, err
    assert "is one of the inputs" in err
    assert {p: p.read_bytes() for p in tables.rglob("*") if p.is_file()} == before


def test_what_lies_beside_inputs_is_no_input(tables: Path) -> None:
    (tables / "sub").mkdir()
    assert call("evaluate", "judged.csv", "ol*.csv", "--by-unit", "sub/old.csv")[0] == 0
    assert call("evaluate", "judged.csv", "old.csv", "--out", ".")[0] == 0
    assert (tables / "judged.csv").exists()
    assert (tables / "report.html").exists()


def test_appends_of_others_are_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    with ThreadPoolExecutor(8) as team:
        list(team.map(lambda n: append(str(file), f"{n} {'x' * 5000}\n"), range(80)))
    lines = file.read_text().splitlines()
    assert sorted(int(line.split()[0]) for line in lines) == list(range(80))
    assert {len(line.split()[1]) for line in lines} == {5000}


def test_a_site_replaces_and_removes_pages_of_ours_alone(tmp_path: Path) -> None:
    """A folder of others' pages, under the very names of ours."""
    ours = f"<html><head>{GENERATOR}</head>"
    site = output_files.site_folder
    pages = {"index.html": ours, "2026-01-31-1.html": ours}
    (tmp_path / "2025-12-24-1.html").write_text("mine")
    site(str(tmp_path), pages | {"2026-01-30-1.html": ours})
    site(str(tmp_path), pages)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"index.html", "2026-01-31-1.html", "2025-12-24-1.html"}
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(cr.UsageError, match="no page of ours"):
        site(str(tmp_path), pages)
    assert (tmp_path / "index.html").read_text() == "mine"
