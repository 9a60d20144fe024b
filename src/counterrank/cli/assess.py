"""``counterrank assess QUESTION ...``: evaluate the evaluation."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from counterrank.cli import assess_tables, options
from counterrank.cli.engine import with_engine
from counterrank.cli.estimate import Bias, Contexts, Estimators, Reward, Views
from counterrank.cli.evaluate import Draws
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
from counterrank.cli.plain import Command, Group
from counterrank.core.format import wrap_text

if TYPE_CHECKING:
    from counterrank.engine import Engine
    from counterrank.results.result import Result

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE...",
        help="JUDGMENTS RUN..., or one table of per-unit values (unit, system, measure, value),"
        " or a folder that --out wrote.",
    ),
]
Resamples = Annotated[int, typer.Option(help="Resamples of the users, for intervals.")]
Resume = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Keep results so far here, and go on from them. [default: inside --out]",
    ),
]
Means = Annotated[str, typer.Option(help="both: geometric means too; given: only those asked for.")]
NineMeasures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="LABEL",
        help="A measure, like nDCG@10; repeat for more. [default: P, Recall, F1, AP, nDCG, RR,"
        " ERR, Bpref and InfAP at 100]",
    ),
]
Rel = Annotated[
    float | None, typer.Option(help="Rating from which an item is relevant, for the default.")
]
Mean = Annotated[str, typer.Option(help="Mean of each measure: both, arithmetic or geometric.")]
Losses = Annotated[
    list[str] | None,
    typer.Option(
        "--reduction",
        metavar="KIND",
        help="What goes missing: ratings, items, users, popular_items, large_users; repeat for"
        " more. [default: all]",
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE,...", help="Shares left. [default: 1, 0.9 down to 0.05 by 0.05, 0.01]"
    ),
]
Samples = Annotated[int, typer.Option(help="Samples of each size, where chance decides.")]
Skipped = Annotated[str, typer.Option(help="Users with nothing to find: zero, skip.")]
Threads = Annotated[int, typer.Option(help="Threads; 0: as many as cores. No number changes.")]
PastTables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE...",
        help="A table (experiment or day, system, measure, offline, online), or LOG ARM=RUN...",
    ),
]
Offline = Annotated[
    list[str] | None,
    typer.Option("--offline", metavar="COLUMN", help="Columns of offline measures."),
]
Kind = Annotated[str, typer.Option(help="What rows of a table hold: values or effects.")]
Baseline = Annotated[str | None, typer.Option(help="The system that effects are differences from.")]
Sweep = Annotated[str, typer.Option(help="clip: every estimator over a range of clips.")]
Control = Annotated[str, typer.Option(help="The arm whose log the others are estimated from.")]
Truth = Annotated[
    str, typer.Option(help="Effects that are real: online (called by the experiment), all, auto.")
]
TrialTable = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="system, estimator, estimate, truth; optionally low, high, repetition.",
    ),
]
UNFINISHED = "unfinished"

assess = typer.Typer(
    cls=Group,
    help="Which measure or estimator can be trusted on these data?",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@assess.command(cls=Command)
@with_engine
def power(
    tables: Tables,
    measure: Measures = None,
    level: Level = 0.95,
    draws: Draws = 100_000,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    unjudged: Unjudged = "ignore",
    duplicates: Duplicates = "error",
    ties: Ties = "id",
    columns: Columns = None,
    resume: Resume = None,
    out: Out = None,
    by_unit: ByUnit = None,
    format: Format = "table",
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    engine: Engine,
) -> None:
    """How well does each measure tell systems apart? p-values of all pairs, and their sum."""
    _answer(
        "power", tables, columns, Shown(format, out, by_unit, strict, quiet, resume),
        measures=options.labels(measure), level=level, draws=draws, resamples=resamples, seed=seed,
        missing=missing, no_relevant=no_relevant, unjudged=unjudged, duplicates=duplicates,
        ties=ties, engine=engine, resume=_resumed(resume, out),
    )  # fmt: skip


@assess.command(cls=Command)
@with_engine
def robustness(
    tables: Tables,
    measure: NineMeasures = None,
    rel: Rel = None,
    mean: Mean = "both",
    reduction: Losses = None,
    sizes: Sizes = None,
    samples: Samples = 50,
    level: Level = 0.95,
    seed: Seed = 0,
    missing: Missing = "zero",
    no_relevant: Skipped = "zero",
    unjudged: Unjudged = "ignore",
    duplicates: Duplicates = "error",
    ties: Ties = "id",
    columns: Columns = None,
    threads: Threads = 0,
    resume: Resume = None,
    out: Out = None,
    by_unit: ByUnit = None,
    format: Format = "table",
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Which measure keeps the order of systems when judgments go missing?"""
    some = {} if sizes is None else {"sizes": options.numbers("--sizes", sizes)}
    _answer(
        "robustness", tables, columns, Shown(format, out, by_unit, strict, quiet, resume),
        measures=options.labels(measure), rel=rel, mean=mean,
        reductions=options.labels(reduction) or None, samples=samples, level=level, seed=seed,
        missing=missing, no_relevant=no_relevant, unjudged=unjudged, duplicates=duplicates,
        ties=ties, engine=engine, threads=threads, resume=_resumed(resume, out), **some,
    )  # fmt: skip


@assess.command(cls=Command)
@with_engine
def agreement(
    tables: Tables,
    measure: Measures = None,
    means: Means = "both",
    level: Level = 0.95,
    draws: Draws = 100_000,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    unjudged: Unjudged = "ignore",
    duplicates: Duplicates = "error",
    ties: Ties = "id",
    columns: Columns = None,
    resume: Resume = None,
    out: Out = None,
    by_unit: ByUnit = None,
    format: Format = "table",
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Do measures put systems in the same order? Correlations and inverted pairs, DCG first."""
    _answer(
        "agreement", tables, columns, Shown(format, out, by_unit, strict, quiet, resume),
        measures=options.labels(measure), means=means, level=level, draws=draws,
        resamples=resamples, seed=seed, missing=missing, no_relevant=no_relevant,
        unjudged=unjudged, duplicates=duplicates, ties=ties, engine=engine,
        resume=_resumed(resume, out),
    )  # fmt: skip


@assess.command(cls=Command)
@with_engine
def online(
    tables: PastTables,
    offline: Offline = None,
    kind: Kind = "values",
    baseline: Baseline = None,
    reward: Reward = None,
    position_bias: Bias = None,
    estimator: Estimators = None,
    sweep: Sweep = "none",
    context: Contexts = None,
    views: Views = "auto",
    control: Control = "control",
    truth: Truth = "auto",
    level: Level = 0.95,
    columns: Columns = None,
    resume: Resume = None,
    out: Out = None,
    by_unit: ByUnit = None,
    format: Format = "table",
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Do offline figures foretell what experiments found? Correlation, errors, sensitivity."""
    some = {"estimators": options.labels(estimator)} if options.labels(estimator) else {}
    _answer(
        "online", tables, columns, Shown(format, out, by_unit, strict, quiet, resume),
        offline=offline or (), kind=kind, baseline=baseline, rewards=reward or (),
        position_bias=position_bias, sweep=sweep, contexts=context or (), views=views,
        control=control, truth=truth, level=level, engine=engine,
        # only what is in memory is taken up again
        resume=_resumed(resume, out) if engine.in_memory else resume, **some,
    )  # fmt: skip


@assess.command(cls=Command)
def accuracy(
    table: TrialTable,
    level: Level = 0.95,
    columns: Columns = None,
    out: Out = None,
    by_unit: ByUnit = None,
    format: Format = "table",
    strict: Strict = False,
    quiet: Quiet = False,
) -> None:
    """How close do estimators come to a known truth? Error, bias, coverage, order, regret."""
    from counterrank.api.assess_accuracy import assess_accuracy
    from counterrank.cli import writing

    options.formatted(format)
    writing.refuse_early(by_unit, out, [table])
    result = assess_accuracy(table, level=level, columns=options.column_names(columns))
    _show("accuracy", result, Shown(format, out, by_unit, strict, quiet))


class Shown(NamedTuple):
    """Where a result goes: standard output in a ``format``, and files."""

    format: str
    out: str | None
    by_unit: str | None
    strict: bool
    quiet: bool
    resume: str | None = None


def _answer(
    question: str, tables: list[str], columns: list[str] | None, shown: Shown, **asked: Any
) -> None:
    """Ask the question of these tables, then print and write the answer."""
    from counterrank.core import provenance

    source, *runs = options.named_runs(tables)
    paths = [path for _, path in (source, *runs)]
    provenance.hash_ahead(paths)
    from counterrank.cli import writing
    from counterrank.core import parallel

    options.formatted(shown.format)
    writing.refuse_early(shown.by_unit, shown.out, paths)
    verb = getattr(import_module(f"counterrank.api.assess_{question}"), f"assess_{question}")
    bar = parallel.quiet if shown.quiet else parallel.bar
    names = options.column_names(columns)
    _show(question, verb(source[1], runs, columns=names, progress=bar, **asked), shown)


def _resumed(resume: str | None, out: str | None) -> str | None:
    """Where results so far are kept."""
    return resume or (os.path.join(out, UNFINISHED) if out else None)


def _show(question: str, result: Result, shown: Shown) -> None:
    """Print and write the result; what was kept inside ``out`` is then no longer needed."""
    from counterrank.cli import output, writing

    def lines(result: Result, wide: int) -> list[str]:
        table: list[str] = getattr(assess_tables, f"{question}_lines")(result, wide)
        return [*table, "", "Recommendation", *wrap_text(" ".join(result.recommendation), wide)]

    output.show(result, shown.format, lines)
    written = writing.by_unit(result, shown.by_unit) + writing.folder(result, shown.out)
    if shown.out and not shown.resume:
        writing.discard(os.path.join(shown.out, UNFINISHED))
    if written and not shown.quiet:
        typer.echo(f"Wrote {', '.join(written)}.", err=True)
    if shown.strict and result.verdict == "fail":
        raise typer.Exit(3)
