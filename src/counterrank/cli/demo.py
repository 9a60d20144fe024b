"""``counterrank demo``: a small simulated evaluation, from tables to a decision."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from counterrank.cli.options import Quiet

Out = Annotated[str, typer.Option(metavar="DIR", help="Where tables and results go.")]
Seed = Annotated[int, typer.Option(help="Seed of the simulated world.")]


def demo(out: Out = "counterrank-demo", seed: Seed = 0, quiet: Quiet = False) -> None:
    """Simulate users and four recommenders, evaluate them, and say where the results are."""
    from counterrank import progress
    from counterrank.cli import output, table, writing
    from counterrank.simulate import judged_world
    from counterrank.verbs import evaluate as verb

    folder = writing.made(out)
    world = judged_world(seed=seed)
    judgments = folder / "judgments.parquet"
    writing.whole(judgments, world.judgments.write_parquet)
    paths = {}
    for name, run in world.runs.items():
        paths[name] = str(folder / f"{name}.parquet")
        writing.whole(Path(paths[name]), run.write_parquet)
    result = verb.evaluate(
        str(judgments),
        paths,
        measures=("DCG@10", "nDCG@10", "Recall(rel=4)@10"),
        baseline="popular",
        progress=progress.quiet if quiet else progress.bar,
    )
    output.show(result, "table", table.table)
    writing.folder(result, out)
    runs = " ".join(f"{name}={path}" for name, path in paths.items())
    command = "counterrank" if shutil.which("counterrank") else os.path.relpath(sys.argv[0])
    typer.echo(f"\nTables, result.json and units.parquet (per-user values) are in {folder}/.")
    typer.echo(f"The same by hand:\n  {command} evaluate {judgments} {runs} --baseline popular")
