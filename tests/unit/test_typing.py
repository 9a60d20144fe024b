"""What a type checker sees of the package: a user's small program passes in strict mode."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import counterrank

PROGRAM = """
import polars as pl

import counterrank as cr


def best(judgments: pl.DataFrame, log: pl.DataFrame, run: pl.DataFrame) -> float:
    try:
        result = cr.evaluate(
            judgments, {"new": run}, measure=["nDCG@10", "RR"], baseline="new", level=0.9,
            test="none", missing="skip", memory="1GB",
        )
    except cr.UsageError as error:
        print(error.wrong, error.found, error.todo)
        raise
    logged = cr.estimate(
        log, {"new": run}, reward="click", position_bias="log2", estimator=["IPS", "DR"]
    )
    print(len(logged.comparisons), [d.state for d in logged.diagnostics])
    frame: pl.DataFrame = logged.to_frame("comparisons")
    print(frame.height)
    value: float = result.estimates[0].value
    return value
"""


PROGRAMS = {
    "right": PROGRAM,
    "wrong_keyword": PROGRAM.replace("level=0.9", "levl=0.9").replace(
        'test="none"', 'test="nothing"'
    ),
    "wrong_word": PROGRAM.replace('missing="skip"', 'missing="skp"'),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each program, by one run: the package is what takes it long to read."""
    folder = tmp_path_factory.mktemp("programs")
    for name, text in PROGRAMS.items():
        (folder / f"{name}.py").write_text(text)
    home = Path(counterrank.__file__).parents[1]
    words = ["--strict", "--follow-imports=silent", "--config-file", "", "--cache-dir", "cache"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words, *(f"{name}.py" for name in PROGRAMS)],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "MYPYPATH": str(home)},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    *lines, last = done.stdout.splitlines()
    assert last.endswith("in 2 files (checked 3 source files)"), done.stdout
    found = {n: "\n".join(line for line in lines if line.startswith(f"{n}.py:")) for n in PROGRAMS}
    assert sum(len(text.splitlines()) for text in found.values()) == len(lines), done.stdout
    return found


def test_a_program_of_a_user_passes(said: dict[str, str]) -> None:
    assert said["right"] == ""


def test_wrong_keywords_and_words_are_seen(said: dict[str, str]) -> None:
    """Otherwise the first test could pass because nothing is typed."""
    assert "levl" in said["wrong_keyword"]
    assert '"missing"' in said["wrong_word"]
