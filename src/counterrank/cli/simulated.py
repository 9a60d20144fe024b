"""The files of a simulation, each written whole, and the truth on the terminal."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from counterrank.cli import writing
from counterrank.errors import UsageError, first_line
from counterrank.progress import Progress

if TYPE_CHECKING:
    import polars as pl

    from counterrank.simulate import Plan


def write(plan: Plan, out: str, progress: Progress) -> list[str]:
    """Log, runs, judgments and truth; says what was written."""
    from counterrank.simulate import document, streaming

    writing.refuse_early(None, out, [])
    _refuse_leftovers(Path(out) / "runs", plan.targets)
    text = json.dumps(document.document(plan), indent=1)
    folder = writing.made(out)
    runs = writing.made(str(folder / "runs"))
    tables = {folder / "log.parquet": streaming.log(plan, progress)}
    tables |= {
        runs / f"{name}.parquet": streaming.run(plan, name, progress) for name in plan.targets
    }
    tables[folder / "judgments.parquet"] = streaming.judgments(plan, progress)
    for path, table in tables.items():
        writing.whole(path, partial(_sink, table))
    truth = folder / "truth.json"
    writing.whole(truth, lambda temporary: temporary.write_text(text + "\n", encoding="utf-8"))
    return [str(path) for path in (*tables, truth)]


def show(plan: Plan, written: list[str], format: str) -> None:
    """What was written, and the true value of every reward under every ranker."""
    from counterrank.simulate import REWARDS, document

    if format == "json":
        typer.echo(json.dumps(document.document(plan), indent=1))
        return
    typer.echo(f"{plan.sessions:,} sessions. Wrote {', '.join(written)}.\n")
    typer.echo("True value per session" + " " * 2 + "".join(f"{r:>11}" for r in REWARDS))
    inexact = 0.0
    for name, rewards in plan.world.truth().items():
        cells = "".join(f"{rewards[r].value:11.5g}" for r in REWARDS)
        exact = rewards[REWARDS[0]].exact
        inexact = max(inexact, *(k.se / k.value for k in rewards.values()))
        typer.echo(f"{name:<22}{'  ' if exact else ' ~'}{cells}")
    if inexact:
        typer.echo(
            f"\n~ by Monte Carlo, standard error {inexact:.2%} or less; the others are exact."
        )


def _sink(table: pl.LazyFrame, path: Path) -> None:
    """Write while making; a full disk is the system's fault, however Polars puts it."""
    import polars as pl

    try:
        table.sink_parquet(path, compression="lz4")
    except pl.exceptions.ComputeError as error:
        raise OSError(first_line(error)) from error


def _refuse_leftovers(runs: Path, names: list[str]) -> None:
    """Runs of another simulation would be taken for this one's."""
    there = sorted(path.stem for path in runs.glob("*.parquet")) if runs.is_dir() else []
    others = [name for name in there if name not in names]
    if others:
        raise UsageError(
            f'"{runs}" holds runs that this simulation does not write.',
            found=f"The first is {others[0]}.parquet.",
            todo="Take another folder, or remove them first.",
        )
