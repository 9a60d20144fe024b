"""What other systems lack has another way here, tried where these tests run."""

from __future__ import annotations

import importlib.util
import json
import os
import stat
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from counterrank.core import owned_folder
from counterrank.core.file_writer import append, whole_text
from counterrank.results import output_files
from counterrank.results.output_files import NAMES
from faults.calls import call


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The folders as Windows has them: locks of ranges of bytes, by the C library."""
    held: set[tuple[int, int]] = set()

    def locking(handle: int, how: int, count: int) -> None:
        place = (os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR))
        if place in held:
            raise PermissionError(13, "Permission denied")
        held.add(place)

    fake = SimpleNamespace(LK_LOCK=1, LK_NBLCK=2, locking=locking, held=held)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setattr(sys, "platform", "win32")
    spec = importlib.util.spec_from_file_location("folders_of_windows", owned_folder.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.held = held  # type: ignore[attr-defined]
    return module


def test_locks_of_windows(windows: ModuleType, tmp_path: Path) -> None:
    """What is locked lies behind the mark, so that others can read it."""
    with windows.owned_folder(tmp_path, "x-") as folder:
        assert [place for _, place in windows.held] == [1 << 30]
        assert json.loads((folder / windows.MARK).read_text())["token"] in folder.name
        windows.clear_left(tmp_path, "x-")
        assert folder.is_dir()
    assert not folder.exists()
    left = tmp_path / "x-0123456789abcdef"
    left.mkdir()
    mark = {"token": "0123456789abcdef", **windows._machine()}
    (left / windows.MARK).write_text(json.dumps(mark))
    windows.held.clear()
    windows.clear_left(tmp_path, "x-")
    assert not left.exists()


def test_without_the_number_of_a_start_the_machine_is_known_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owned_folder, "BOOT", tmp_path / "none")
    assert owned_folder._machine()["boot"] == ""
    for host, stays in (("another", True), (owned_folder._machine()["host"], False)):
        left = tmp_path / "x-0123456789abcdef"
        left.mkdir(exist_ok=True)
        mark = {"token": "0123456789abcdef", "boot": "", "host": host}
        (left / owned_folder.MARK).write_text(json.dumps(mark))
        owned_folder.clear_left(tmp_path, "x-")
        assert left.exists() == stays


@pytest.mark.parametrize("lacks", ["exchange", "library", "locks of folders", "links", "owners"])
def test_a_result_is_written_without(lacks: str, tables: Path, monkeypatch) -> None:
    """No exchange of folders, no C library to ask, no locks of folders, hard links or owners."""
    if lacks == "exchange":
        monkeypatch.setattr(output_files, "_swap", lambda *_: False)
    elif lacks == "library":
        monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: (_ for _ in ()).throw(TypeError))
    elif lacks == "locks of folders":
        plain = os.open

        def opened(path, flags, *more, **named):
            if path == tables / "out":
                raise PermissionError(13, "Permission denied")
            return plain(path, flags, *more, **named)

        monkeypatch.setattr(output_files, "_swap", lambda *_: False)
        monkeypatch.setattr("os.open", opened)
    elif lacks == "links":
        monkeypatch.setattr(output_files, "_swap", lambda *_: False)
        monkeypatch.setattr("os.link", lambda *_: (_ for _ in ()).throw(OSError(1, "no links")))
    else:
        monkeypatch.delattr("os.chown")
    for label in ("P@2", "RR"):
        code, _, err = call("evaluate", "judged.csv", "old.csv", "-m", label, "--out", "out")
        assert code == 0, err
        assert {p.name for p in (tables / "out").iterdir()} == set(NAMES)
        told = json.loads((tables / "out" / "result.json").read_text())
        assert told["estimates"][0]["measure"] == label


def test_files_are_written_without_owners_and_locks(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delattr("os.chown")
    monkeypatch.setattr("counterrank.core.file_writer.lock", lambda *_, **__: False)
    file = tmp_path / "page.html"
    file.write_text("old")
    file.chmod(0o640)
    whole_text(file, "new")
    append(str(file), " and more")
    assert file.read_text() == "new and more"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
