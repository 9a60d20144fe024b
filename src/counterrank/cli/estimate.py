"""``counterrank estimate LOG RUN...``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.cli import options
from counterrank.cli.engine import with_engine
from counterrank.cli.options import ByUnit, Columns, Format, Level, Out, Quiet, Seed, Strict

if TYPE_CHECKING:
    from counterrank.engine import Engine

LogPath = Annotated[str, typer.Argument(help="session, item, rank and rewards.")]
RunPaths = Annotated[
    list[str],
    typer.Argument(metavar="RUN", help="path or name=path: session, item, rank or score."),
]
Reward = Annotated[
    list[str] | None,
    typer.Option("--reward", metavar="COLUMN", help="What came back; repeat for more."),
]
Bias = Annotated[
    str | None,
    typer.Option(
        "--position-bias",
        metavar="MODEL",
        help="log2, power(eta=1), geometric(p=0.9), table(1,0.6,...), or a JSON file.",
    ),
]
Estimators = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        "-e",
        metavar="LABEL",
        help="OnPolicy, IPS, IPS(clip=200), SNIPS, DM, DR, ...; repeat for more."
        " [default: IPS, SNIPS, DR]",
    ),
]
Per = Annotated[str, typer.Option(help="Reward per session, or per impression (a view).")]
Baseline = Annotated[str, typer.Option(help="Compare with this ranker; logged is the log's own.")]
Interval = Annotated[str, typer.Option(help="normal, t, bootstrap or bca.")]
Test = Annotated[str, typer.Option(help="t, bootstrap or none.")]
Correct = Annotated[str, typer.Option(help="none, holm or bh.")]
Resamples = Annotated[int, typer.Option(help="Resamples of a bootstrap, by user.")]
Scores = Annotated[
    str, typer.Option(help="A run's scores: order, or plackett_luce (they weigh a random draw).")
]
Logged = Annotated[
    str, typer.Option(help="The logger's exposure by: auto, rank, exposure, propensity.")
]
Views = Annotated[str, typer.Option(help="auto, observed, rows (only viewed rows), latent.")]
Missing = Annotated[str, typer.Option(help="Sessions without a list: error, skip, logged.")]
Disjoint = Annotated[str, typer.Option(help="Lists with nothing that was logged: error, zero.")]
Contexts = Annotated[
    list[str] | None,
    typer.Option("--context", metavar="COLUMN", help="Columns the reward model may use."),
]
Loggers = Annotated[
    list[str] | None,
    typer.Option("--logger", metavar="NAME=PATH", help="What each of several loggers would show."),
]
Sweep = Annotated[str, typer.Option(help="clip: IPS and DR over a range of clips, and a choice.")]


@with_engine
def estimate(
    log: LogPath,
    runs: RunPaths,
    reward: Reward = None,
    position_bias: Bias = None,
    estimator: Estimators = None,
    per: Per = "session",
    baseline: Baseline = "logged",
    level: Level = 0.95,
    interval: Interval = "normal",
    test: Test = "t",
    correct: Correct = "holm",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    scores: Scores = "order",
    logged: Logged = "auto",
    views: Views = "auto",
    missing: Missing = "error",
    disjoint: Disjoint = "auto",
    context: Contexts = None,
    logger: Loggers = None,
    sweep: Sweep = "none",
    columns: Columns = None,
    out: Out = None,
    by_unit: ByUnit = None,
    format: Format = "table",
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Estimate what rankers would have earned, from a log of what another one showed."""
    from counterrank import progress
    from counterrank.api import estimate as verb
    from counterrank.cli import estimate_table, output, writing
    from counterrank.ope.estimators.registry import DEFAULTS

    options.formatted(format)
    named = options.named_runs(runs)
    served = options.named_runs(logger or [])
    writing.refuse_early(by_unit, out, [log, *(path for _, path in (*named, *served))])
    result = verb.estimate(
        log,
        named,
        rewards=reward or (),
        position_bias=position_bias,
        estimators=options.labels(estimator) or DEFAULTS,
        per=per,
        baseline=baseline,
        level=level,
        interval=interval,
        test=test,
        correct=correct,
        resamples=resamples,
        seed=seed,
        scores=scores,
        logged=logged,
        views=views,
        missing=missing,
        disjoint=disjoint,
        contexts=context or (),
        loggers=served or None,
        sweep=sweep,
        engine=engine,
        columns=options.column_names(columns),
        progress=progress.quiet if quiet else progress.bar,
    )
    output.show(result, format, estimate_table.table)
    written = writing.by_unit(result, by_unit) + writing.folder(result, out)
    if written and not quiet:
        typer.echo(f"Wrote {', '.join(written)}.", err=True)
    if strict and result.verdict == "fail":
        raise typer.Exit(3)
