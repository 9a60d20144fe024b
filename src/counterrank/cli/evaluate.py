"""``counterrank evaluate JUDGMENTS RUN...``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.cli import options
from counterrank.cli.engine import with_engine
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

Judgments = Annotated[
    str,
    typer.Argument(metavar="JUDGMENTS", help="user, item, rating: Parquet, CSV, TSV or qrels."),
]
RunPaths = Annotated[
    list[str],
    typer.Argument(metavar="RUN", help="path or name=path: user, item, rank or score."),
]
Baseline = Annotated[str | None, typer.Option(help="Compare every system with this one.")]
Interval = Annotated[str, typer.Option(help="normal, t, bootstrap, bca or bernstein.")]
Test = Annotated[str, typer.Option(help="permutation, t, bootstrap, wilcoxon or none.")]
Correct = Annotated[
    str | None, typer.Option(help="none, holm, bh or maxt. [default: maxt, or holm]")
]
Family = Annotated[
    str, typer.Option(help="What a correction spans: all, or measure (each by itself).")
]
Draws = Annotated[int, typer.Option(help="Random sign flips of the permutation test.")]
Resamples = Annotated[int, typer.Option(help="Resamples of a bootstrap.")]


@with_engine
def evaluate(
    judgments: Judgments,
    runs: RunPaths,
    measure: Measures = None,
    baseline: Baseline = None,
    level: Level = 0.95,
    interval: Interval = "normal",
    test: Test = "permutation",
    correct: Correct = None,
    family: Family = "all",
    draws: Draws = 100_000,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
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
    """Measure ranked lists against judgments, with intervals, comparisons and grounds."""
    from counterrank.data import digest

    named = options.named_runs(runs)
    digest.begin([judgments, *(path for _, path in named)])  # the imports below take their time
    from counterrank.api import evaluate as verb
    from counterrank.cli import evaluate_table as table
    from counterrank.cli import output, writing
    from counterrank.core import progress
    from counterrank.metrics import DEFAULTS

    options.formatted(format)
    writing.refuse_early(by_unit, out, [judgments, *(path for _, path in named)])
    result = verb.evaluate(
        judgments,
        named,
        measures=options.labels(measure) or DEFAULTS,
        baseline=baseline,
        level=level,
        interval=interval,
        test=test,
        correct=correct,
        family=family,
        draws=draws,
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
    output.show(result, format, table.table)
    written = writing.by_unit(result, by_unit) + writing.folder(result, out)
    if written and not quiet:
        typer.echo(f"Wrote {', '.join(written)}.", err=True)
    if strict and result.verdict == "fail":
        raise typer.Exit(3)
