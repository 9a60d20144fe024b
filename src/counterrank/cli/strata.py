"""``counterrank strata JUDGMENTS RUN...``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.cli import options
from counterrank.cli.engine import with_engine
from counterrank.cli.evaluate import Baseline, Judgments, Resamples, RunPaths
from counterrank.cli.options import (
    ByUnit,
    Columns,
    Duplicates,
    Format,
    Level,
    Measures,
    Missing,
    NoRelevant,
    Out,
    Quiet,
    Seed,
    Strict,
    Ties,
    Unjudged,
)

if TYPE_CHECKING:
    from counterrank.engine import Engine

Strata = Annotated[int | None, typer.Option(metavar="N", help="Number of strata. [default: 2]")]
Cut = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="width, quantile or items of the propensity, or a column of the judgments.",
    ),
]
Propensity = Annotated[
    str | None,
    typer.Option(
        metavar="FROM",
        help="popularity, published, a column of the judgments, or a table with item and"
        " propensity. [default: popularity]",
    ),
]
Feedback = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Where popularity is counted. [default: the judgments]"),
]
OpenLoop = Annotated[
    str | None,
    typer.Option(metavar="JUDGMENTS", help="Judgments of items shown at random: the truth."),
]
OpenRuns = Annotated[
    list[str] | None,
    typer.Option("--open-run", metavar="RUN", help="Runs for the open loop, if not the same."),
]
Interval = Annotated[str, typer.Option(help="normal, t or bootstrap.")]
Test = Annotated[str, typer.Option(help="t or none.")]
Correct = Annotated[str, typer.Option(help="holm, bh or none; also of the paradox audit.")]
Family = Annotated[str, typer.Option(help="What it spans: all, or measure (each, by each method).")]


@with_engine
def strata(
    judgments: Judgments,
    runs: RunPaths,
    measure: Measures = None,
    strata: Strata = None,
    cut: Cut = "width",
    propensity: Propensity = None,
    feedback: Feedback = None,
    open_loop: OpenLoop = None,
    open_run: OpenRuns = None,
    baseline: Baseline = None,
    level: Level = 0.95,
    interval: Interval = "normal",
    test: Test = "t",
    correct: Correct = "holm",
    family: Family = "all",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "skip",
    unjudged: Unjudged = "ignore",
    duplicates: Duplicates = "error",
    ties: Ties = "id",
    columns: Columns = None,
    out: Out = None,
    by_unit: ByUnit = None,
    format: Format = "table",
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Measure lists overall, weighted and within strata of the feedback; audit for paradoxes."""
    from counterrank import digest

    named = options.named_runs(runs)
    digest.begin([judgments, *(path for _, path in named)])  # the imports below take their time
    from counterrank import progress
    from counterrank.api import strata as verb
    from counterrank.cli import output, strata_table, writing
    from counterrank.ranking import DEFAULTS

    options.formatted(format)
    again = options.named_runs(open_run or [])
    read = [judgments, *(path for _, path in [*named, *again])]
    read += [path for path in (propensity, feedback, open_loop) if path]
    writing.refuse_early(by_unit, out, read)
    result = verb.strata(
        judgments,
        named,
        measures=options.labels(measure) or DEFAULTS,
        strata=strata,
        cut=cut,
        propensity=propensity,
        feedback=feedback,
        open_loop=open_loop,
        open_runs=again or None,
        baseline=baseline,
        level=level,
        interval=interval,
        test=test,
        correct=correct,
        family=family,
        resamples=resamples,
        seed=seed,
        missing=missing,
        no_relevant=no_relevant,
        unjudged=unjudged,
        duplicates=duplicates,
        ties=ties,
        engine=engine,
        columns=options.column_names(columns),
        progress=progress.quiet if quiet else progress.bar,
    )
    output.show(result, format, strata_table.table)
    written = writing.by_unit(result, by_unit) + writing.folder(result, out)
    if written and not quiet:
        typer.echo(f"Wrote {', '.join(written)}.", err=True)
    if strict and result.verdict == "fail":
        raise typer.Exit(3)
