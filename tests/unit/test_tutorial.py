"""The tutorial, followed to the letter in an empty folder: commands print what it shows.

Its Python is run with the other examples of the docs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CORE_ONLY = """
import sys
from importlib.machinery import PathFinder

EXTRAS = {"pandas", "pyarrow", "sklearn", "pyspark", "duckdb", "mlflow"}


class Core(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        extra = name.partition(".")[0] in EXTRAS
        return None if extra else super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Core
"""


def steps() -> list[tuple[str, str]]:
    """Each block of commands, and what the page shows below it."""
    found = BLOCK.findall(PAGE)
    after = [*found[1:], ("", "")]
    return [
        (text, below if then == "text" else "")
        for (kind, text), (then, below) in zip(found, after, strict=True)
        if kind == "sh"
    ]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What every block printed, in order; extras cannot be imported, as after a core install."""
    folder = tmp_path_factory.mktemp("tutorial")
    tools, here = folder / "tools", folder / "empty"
    for made in (tools, here):
        made.mkdir()
    command = tools / "counterrank"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m counterrank "$@"\n')
    command.chmod(0o755)
    (tools / "sitecustomize.py").write_text(CORE_ONLY)
    paths = {
        "PATH": os.pathsep.join([str(tools), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(tools), str(ROOT / "src")]),
    }
    said = []
    for text, _ in steps():
        done = subprocess.run(
            ["sh", "-e", "-c", text], cwd=here, env={**os.environ, **paths, "COLUMNS": "80"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, text + done.stdout + done.stderr
        said.append(done.stdout)
    return here, said


def test_commands_print_what_the_page_shows(printed):
    _, said = printed
    shown = 0
    for (text, below), out in zip(steps(), said, strict=True):
        lines = iter(out.splitlines())
        for line in below.splitlines():
            if line not in ("", "..."):
                assert line in lines, f"{text}\n{line}\n{out}"
                shown += 1
    assert shown > 20


def test_it_ends_with_a_decision_and_its_files(printed):
    folder, _ = printed
    assert "passes" in (folder / "decision.md").read_text(encoding="utf-8")
    assert {p.name for p in (folder / "result").iterdir()} == {
        "result.json", "units.parquet", "report.html",
    }  # fmt: skip


def test_it_takes_no_extra():
    installs = re.findall(r"pip install (\S+)", PAGE)
    assert installs[0] == "."
    assert "```python" in PAGE
