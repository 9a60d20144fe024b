"""Tables to call verbs on, and a result that was saved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from faults.calls import call, write_tables


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables and ``saved``, a folder that --out wrote."""
    folder = write_tables(tmp_path_factory.mktemp("stored"))
    words = [folder / f"{name}.csv" for name in ("judged", "old", "new")]
    code, _, err = call("evaluate", *words, "-m", "nDCG@3,P@2", "--baseline", "old",
                        "--out", folder / "saved", "--draws", 200, "--quiet")  # fmt: skip
    assert code == 0, err
    return folder


@pytest.fixture
def tables(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same in a folder of its own, where the test stands."""
    folder = tmp_path / "work"
    shutil.copytree(stored, folder)
    monkeypatch.chdir(folder)
    return folder
