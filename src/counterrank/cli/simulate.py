"""``counterrank simulate``: a platform whose truth is known, as files."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.cli import writing
from counterrank.cli.options import Quiet
from counterrank.core.errors import UsageError, first_line, one_of
from counterrank.core.parallel import Progress

if TYPE_CHECKING:
    import polars as pl

    from counterrank.simulate import SamplePlan


Out = Annotated[str, typer.Option(metavar="DIR", help="Where the files go.")]
Sessions = Annotated[int, typer.Option(help="How many sessions.")]
Seed = Annotated[int, typer.Option(help="Seed of the sample.")]
WorldSeed = Annotated[int, typer.Option(help="Seed of the world.")]
Contexts = Annotated[int, typer.Option(help="Contexts.")]
Items = Annotated[int, typer.Option(help="Items.")]
Sets = Annotated[int, typer.Option(help="Candidate sets per context.")]
Candidates = Annotated[int, typer.Option(help="Items in a candidate set.")]
Slots = Annotated[int, typer.Option(help="Items shown.")]
Days = Annotated[int, typer.Option(help="Days.")]
PerUser = Annotated[float, typer.Option(help="Mean number of sessions of a user.")]
Traffic = Annotated[float, typer.Option(help="How much traffic changes by day, 0 to 1.")]
Drift = Annotated[float, typer.Option(help="How much quality changes by day, 0 to 1.")]
RankerKind = Annotated[
    str, typer.Option("--ranker", help="How production ranks: deterministic, plackett_luce.")
]
Temperature = Annotated[float, typer.Option(help="Temperature of a plackett_luce production.")]
Loggers = Annotated[
    list[str] | None,
    typer.Option("--logger", metavar="RANKER=SHARE", help="Who logs; repeat. [default: logged=1]"),
]
Arms = Annotated[
    list[str] | None,
    typer.Option("--arm", metavar="RANKER=SHARE", help="An A/B arm, by share of users; repeat."),
]
Examinations = Annotated[
    list[str] | None,
    typer.Option(
        "--examination",
        metavar="LABEL",
        help="A position model, cascade or dependent_clicks; several are dealt out to the contexts."
        " [default: log2]",
    ),
]
UserSpread = Annotated[float, typer.Option(help="How much users differ, 0 to 1.")]
UserContexts = Annotated[str, typer.Option(help="Contexts of a user: one, any.")]
LengthSpread = Annotated[
    float, typer.Option(help="How much longer a quarter of the contexts watches, 0 to 1.")
]
CarryOver = Annotated[float, typer.Option(help="Break assumption 1: effect of the last list.")]
Cascading = Annotated[float, typer.Option(help="Break assumption 2: clicks end sessions.")]
Interaction = Annotated[float, typer.Option(help="Break assumption 3: effect of the item above.")]
Trust = Annotated[float, typer.Option(help="Break assumption 4: effect of the rank on clicks.")]
Missing = Annotated[float, typer.Option(help="Break assumption 5: items only targets show.")]
Views = Annotated[str, typer.Option(help="Views in the log: observed, latent, viewed_only.")]
Given = Annotated[str, typer.Option(help="Exposures given the candidates or the context.")]
Stochastic = Annotated[str, typer.Option(help="Runs of stochastic rankers: exposure, draws.")]
Draws = Annotated[int, typer.Option(help="Lists per session if runs are draws.")]
Runs = Annotated[
    list[str] | None,
    typer.Option("--run", metavar="RANKER", help="Whose runs to write; repeat. [default: all]"),
]
TruthFormat = Annotated[str, typer.Option("--format", help="Show the truth as table or json.")]


def simulate(
    out: Out = "counterrank-simulated",
    sessions: Sessions = 2000,
    seed: Seed = 0,
    world_seed: WorldSeed = 0,
    contexts: Contexts = 8,
    items: Items = 200,
    sets: Sets = 12,
    candidates: Candidates = 20,
    slots: Slots = 10,
    days: Days = 1,
    sessions_per_user: PerUser = 4,
    traffic: Traffic = 0.5,
    drift: Drift = 0.0,
    ranker: RankerKind = "deterministic",
    temperature: Temperature = 1.0,
    logger: Loggers = None,
    arm: Arms = None,
    examination: Examinations = None,
    user_spread: UserSpread = 0.5,
    user_contexts: UserContexts = "one",
    length_spread: LengthSpread = 0.0,
    carry_over: CarryOver = 0.0,
    cascading: Cascading = 0.0,
    interaction: Interaction = 0.0,
    trust: Trust = 0.0,
    missing_support: Missing = 0.0,
    views: Views = "observed",
    given: Given = "candidates",
    stochastic: Stochastic = "exposure",
    draws: Draws = 20,
    run: Runs = None,
    format: TruthFormat = "table",
    quiet: Quiet = False,
) -> None:
    """Simulate a platform: write its log, runs, judgments and the true value of every ranker."""
    from counterrank.cli.simulate import show, write
    from counterrank.core import parallel
    from counterrank.simulate import SamplePlan, World

    one_of("--format", format, ("table", "json"))
    world = World(
        contexts=contexts,
        items=items,
        sets=sets,
        candidates=candidates,
        slots=slots,
        days=days,
        sessions_per_user=sessions_per_user,
        traffic=traffic,
        drift=drift,
        ranker=ranker,
        temperature=temperature,
        loggers=shares("--logger", logger) or {"logged": 1.0},
        arms=shares("--arm", arm),
        examination=tuple(examination) if examination else "log2",
        user_spread=user_spread,
        user_contexts=user_contexts,
        length_spread=length_spread,
        carry_over=carry_over,
        cascading=cascading,
        interaction=interaction,
        trust=trust,
        missing_support=missing_support,
        seed=world_seed,
    )
    plan = SamplePlan(
        world=world,
        sessions=sessions,
        seed=seed,
        views=views,
        given=given,
        stochastic=stochastic,
        draws=draws,
        runs=run,
    )
    written = write(plan, out, parallel.quiet if quiet else parallel.bar)
    show(plan, written, format)


def shares(option: str, given: list[str] | None) -> dict[str, float]:
    """``RANKER=SHARE`` as a mapping."""
    found = {}
    for text in given or []:
        name, _, share = text.partition("=")
        try:
            found[name] = float(share)
        except ValueError:
            raise UsageError(
                f'{option} cannot read "{text}".', todo="Write RANKER=SHARE, as in near=0.5."
            ) from None
    return found


def write(plan: SamplePlan, out: str, progress: Progress) -> list[str]:
    """Log, runs, judgments and truth; says what was written."""
    from counterrank.simulate import sample as document
    from counterrank.simulate import sample as streaming

    writing.refuse_early(None, out, [])
    _refuse_leftovers(Path(out) / "runs", plan.targets)
    text = json.dumps(document.truth_document(plan), indent=1)
    folder = writing.made(out)
    runs = writing.made(str(folder / "runs"))
    tables = {folder / "log.parquet": streaming.stream_log(plan, progress)}
    tables |= {
        runs / f"{name}.parquet": streaming.stream_run(plan, name, progress)
        for name in plan.targets
    }
    tables[folder / "judgments.parquet"] = streaming.stream_judgments(plan, progress)
    for path, table in tables.items():
        writing.whole(path, partial(_sink, table))
    truth = folder / "truth.json"
    writing.whole(truth, lambda temporary: temporary.write_text(text + "\n", encoding="utf-8"))
    return [str(path) for path in (*tables, truth)]


def show(plan: SamplePlan, written: list[str], format: str) -> None:
    """What was written, and the true value of every reward under every ranker."""
    from counterrank.simulate import REWARDS
    from counterrank.simulate import sample as document

    if format == "json":
        typer.echo(json.dumps(document.truth_document(plan), indent=1))
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
