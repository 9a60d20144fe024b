"""What a type checker sees of the package: a user's small program passes in strict mode."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def checked(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    file = folder / "program.py"
    file.write_text(text)
    home = Path(counterrank.__file__).parents[1]
    words = ["--strict", "--follow-imports=silent", "--config-file", "", "--cache-dir"]
    return subprocess.run(
        [sys.executable, "-m", "mypy", *words, str(folder / "cache"), str(file)],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "MYPYPATH": str(home)},
    )  # fmt: skip


def test_a_program_of_a_user_passes(tmp_path):
    done = checked(tmp_path, PROGRAM)
    assert done.returncode == 0, done.stdout


def test_wrong_keywords_and_words_are_seen(tmp_path):
    """Otherwise the first test could pass because nothing is typed."""
    wrong = PROGRAM.replace("level=0.9", "levl=0.9").replace('test="none"', 'test="nothing"')
    done = checked(tmp_path, wrong)
    assert done.returncode == 1, done.stdout
    assert "levl" in done.stdout
    again = checked(tmp_path, PROGRAM.replace('missing="skip"', 'missing="skp"'))
    assert again.returncode == 1, again.stdout
    assert '"missing"' in again.stdout
