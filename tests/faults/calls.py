"""Calls of the command line, in this process or in one of its own, and tables to call it on."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import traceback
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import polars as pl

from counterrank.cli import main
from counterrank.cli.commands import run
from counterrank.core.errors import CounterrankError

OUTCOMES = (0, 2, 3)


def write_tables(folder: Path, users: int = 12) -> Path:
    """Judgments, two runs, a log and a funnel, small."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [(f"u{u}", f"i{i}", (u * i) % 4) for u in range(users) for i in range(6)]
    judged = pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")
    judged.write_csv(folder / "judged.csv")
    for name, up in (("old", 1), ("new", -1)):
        lists = judged.sort("user", pl.col("rating") * up, "item").with_columns(
            rank=pl.col("item").cum_count().over("user")
        )
        lists.select("user", "item", "rank").write_csv(folder / f"{name}.csv")
    log = [(s, f"i{(s + r) % 6}", r, int((s * r) % 3 == 0)) for s in range(40) for r in (1, 2, 3)]
    pl.DataFrame(log, schema=["session", "item", "rank", "click"], orient="row").write_csv(
        folder / "log.csv"
    )
    target = [(s, f"i{(s + 2 * r) % 6}", r) for s in range(40) for r in (1, 2, 3)]
    pl.DataFrame(target, schema=["session", "item", "rank"], orient="row").write_csv(
        folder / "target.csv"
    )
    sold = [
        (f"u{u}", f"i{i}", int((u + i) % 2), int((u + i) % 4 == 1), 0.5, 0.3)
        for u in range(users)
        for i in range(6)
    ]
    names = ["user", "item", "click", "conversion", "ctr", "cvr"]
    pl.DataFrame(sold, schema=names, orient="row").write_csv(folder / "funnel.csv")
    return folder


def call(*words: object) -> tuple[int, str, str]:
    """Exit code, output and messages of a call in this process, as the command line gives them."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: Any = run([str(word) for word in words])
        except SystemExit as end:
            code = end.code
        except CounterrankError as error:
            code = 2
            print(error.wrong, error.found, error.todo, sep="\n", file=err)
    return code, out.getvalue(), err.getvalue()


def outcome(*words: object) -> tuple[object, str]:
    """The exit code, or the traceback that nobody should see."""
    try:
        return call(*words)[0], ""
    except Exception:
        return "traceback", traceback.format_exc()


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "counterrank", *map(str, words)]


SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["faults.preload"])


def _begin(words: list[str], folder: Path, err: Path, fault: str, most: int) -> None:
    """What a process does that was forked from the server: the command line, as it is."""
    os.chdir(folder)
    read, write = os.pipe()
    os.dup2(write if fault == "pipe" else os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(err, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.close(read)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    if fault == "full":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    sys.argv = ["counterrank", *words]
    main()


def begin(words: list[str], folder: Path, err: Path, fault: str = "", most: int = 0) -> Any:
    """A call in a process of its own that has all libraries at hand.

    ``pipe`` leaves nobody to read what is printed, ``full`` lets no file have ``most`` bytes.
    """
    here = os.environ.get("PYTHONPATH", "")
    try:
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # or it would not find what to load
        forkserver.ensure_running()
    finally:
        os.environ["PYTHONPATH"] = here
    work = SERVER.Process(target=_begin, args=(words, folder, err, fault, most))
    work.start()
    return work


def shell(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """A call in a process of its own."""
    options = {"capture_output": True, "text": True, "timeout": 120} | options
    return subprocess.run(command(*words), check=False, **options)
