"""``counterrank simulate``: a platform whose truth is known, as files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from counterrank.api import verb as v
from counterrank.core.errors import UsageError, first_line, printable
from counterrank.core.format import terminal_text
from counterrank.core.parallel import Progress
from counterrank.results import output_files as files

if TYPE_CHECKING:
    import polars as pl

    from counterrank.simulate import SamplePlan


TRUTH = "truth.json"
Shares = Annotated[Mapping[str, float] | None, "shares"]


@v.verb
def simulate(
    *,
    out: v.File = "counterrank-simulated",
    sessions: v.Count = 2000,
    seed: v.Seed = 0,
    world_seed: v.Seed = 0,
    contexts: v.Count = 8,
    items: v.Count = 200,
    sets: v.Count = 12,
    candidates: v.Count = 20,
    slots: v.Count = 10,
    days: v.Count = 1,
    sessions_per_user: float = 4,
    traffic: v.Share = 0.5,
    drift: v.Share = 0.0,
    ranker: Literal["deterministic", "plackett_luce"] = "deterministic",
    temperature: float = 1.0,
    logger: Shares = None,
    arm: Shares = None,
    examination: v.Several = ("log2",),
    user_spread: v.Share = 0.5,
    user_contexts: Literal["one", "any"] = "one",
    length_spread: v.Share = 0.0,
    carry_over: float = 0.0,
    cascading: float = 0.0,
    interaction: float = 0.0,
    trust: float = 0.0,
    missing_support: float = 0.0,
    views: Literal["observed", "latent", "viewed_only"] = "observed",
    given: Literal["candidates", "context"] = "candidates",
    stochastic: Literal["exposure", "draws"] = "exposure",
    draws: v.Count = 20,
    run: v.Several = (),
    format: Literal["table", "json"] = "table",
    quiet: bool = False,
) -> None:
    """Simulate a platform: write its log, runs, judgments and the true value of every ranker."""
    from counterrank.core.parallel import bar
    from counterrank.core.parallel import quiet as silent
    from counterrank.simulate import SamplePlan, World

    world = World(
        contexts=contexts, items=items, sets=sets, candidates=candidates, slots=slots, days=days,
        sessions_per_user=sessions_per_user, traffic=traffic, drift=drift, ranker=ranker,
        temperature=temperature, loggers=logger or {"logged": 1.0}, arms=arm or {},
        examination=tuple(v.as_list(examination)), user_spread=user_spread,
        user_contexts=user_contexts, length_spread=length_spread, carry_over=carry_over,
        cascading=cascading, interaction=interaction, trust=trust,
        missing_support=missing_support, seed=world_seed,
    )  # fmt: skip
    plan = SamplePlan(
        world=world, sessions=sessions, seed=seed, views=views, given=given, stochastic=stochastic,
        draws=draws, runs=v.as_list(run) or None,
    )  # fmt: skip
    written = write(plan, out, silent if quiet else bar)
    show(plan, written, format)


def write(plan: SamplePlan, out: str, progress: Progress) -> list[str]:
    """Log, runs, judgments and truth; says what was written."""
    from counterrank.simulate import sample

    files.refuse_early(None, out, [])
    _refuse_leftovers(Path(out) / "runs", plan.targets)
    names = {"log.parquet": "log", **{f"runs/{name}.parquet": name for name in plan.targets}}
    names["judgments.parquet"] = "judgments"
    refuse_others(Path(out), [Path(out, file) for file in names])
    text = json.dumps(sample.truth_document(plan), indent=1)
    folder = files.make_folder(out)
    tables = {f: sample.stream_table(plan, name, progress) for f, name in names.items()}
    writers = {file: partial(_sink, table) for file, table in tables.items()}
    truth = partial(Path.write_text, data=text + "\n", encoding="utf-8")
    first, *rest = files.several(folder, {TRUTH: truth, **writers})  # by which ours are known
    return [*rest, first]


def show(plan: SamplePlan, written: list[str], format: str) -> None:
    """What was written, and the true value of every reward under every ranker."""
    from counterrank.simulate import REWARDS, sample

    if format == "json":
        print(json.dumps(sample.truth_document(plan), indent=1))
        return
    told = f"{plan.sessions:,} sessions. Wrote {printable(', '.join(written))}."
    print(f"{terminal_text(told, sys.stdout)}\n")
    print("True value per session" + " " * 2 + "".join(f"{r:>11}" for r in REWARDS))
    inexact = 0.0
    for name, rewards in plan.world.truth().items():
        cells = "".join(f"{rewards[r].value:11.5g}" for r in REWARDS)
        exact = rewards[REWARDS[0]].exact
        inexact = max(inexact, *(k.se / k.value for k in rewards.values()))
        print(f"{name:<22}{'  ' if exact else ' ~'}{cells}")
    if inexact:
        print(f"\n~ by Monte Carlo, standard error {inexact:.2%} or less; the others are exact.")


def _sink(table: pl.LazyFrame, path: Path) -> None:
    """Write while making; a full disk is the system's fault, however Polars puts it."""
    import polars as pl

    try:
        table.sink_parquet(path, compression="lz4")
    except pl.exceptions.ComputeError as error:
        raise OSError(first_line(error)) from error


def refuse_others(folder: Path, files: Iterable[Path]) -> None:
    """Refuse to replace files where no simulation was: a log of that name may be a real one."""
    there = [file for file in files if os.path.lexists(file)]
    if there and not os.path.isfile(folder / TRUTH):
        raise UsageError(
            f'"{there[0]}" was not made by a simulation.',
            found=f'There is no "{folder / TRUTH}".',
            todo="Take another folder.",
        )


def _refuse_leftovers(runs: Path, names: list[str]) -> None:
    """Runs of another simulation would be taken for this one's."""
    there = sorted(path.stem for path in runs.glob("*.parquet")) if os.path.isdir(runs) else []
    others = [name for name in there if name not in names]
    if others:
        raise UsageError(
            f'"{runs}" holds runs that this simulation does not write.',
            found=f"The first is {others[0]}.parquet.",
            todo="Take another folder, or remove them first.",
        )
