"""``counterrank funnel FUNNEL RUN...``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.cli import options
from counterrank.cli.engine import with_engine
from counterrank.cli.estimate import block, p_value_sentence, trust_sentence
from counterrank.cli.options import (
    ByUnit,
    Columns,
    Duplicates,
    Format,
    Level,
    Out,
    Quiet,
    Seed,
    Strict,
)
from counterrank.core.format import shorten, wrap_text
from counterrank.diagnostics.diagnosis import worst

if TYPE_CHECKING:
    from counterrank.engine import Engine
    from counterrank.results.result import Result

FunnelPath = Annotated[
    str,
    typer.Argument(
        metavar="FUNNEL", help="user, item, click, conversion; ctr and cvr if predicted."
    ),
]
RunPaths = Annotated[
    list[str],
    typer.Argument(metavar="RUN", help="path or name=path: user, item, rank or score."),
]
Reward = Annotated[
    list[str] | None,
    typer.Option("--reward", metavar="COLUMN", help="What a click brought. [default: conversion]"),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="LABEL",
        help="What a rank is worth: DCG@10, CG@10, P@10, RBP(p=0.8), ARP, PublishedDCG@10, or a"
        " position model; repeat for more. [default: DCG@10]",
    ),
]
Estimators = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        "-e",
        metavar="LABEL",
        help="Naive, IPS, IPS(clip=200), SNIPS, DM, DR, SNDR; repeat for more."
        " [default: Naive, IPS, SNIPS, DR]",
    ),
]
Predictions = Annotated[
    str | None, typer.Option(metavar="PATH", help="A table of user, item, ctr, cvr.")
]
Ctr = Annotated[
    str, typer.Option(help="column, or a model to be fitted: rates, factors, logistic.")
]
Cvr = Annotated[
    str, typer.Option(help="column, or a model to be fitted: rates, factors, logistic.")
]
UserFeatures = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="For logistic: user, and columns of numbers or text."),
]
ItemFeatures = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="For logistic: item, and columns of numbers or text."),
]
Floor = Annotated[float, typer.Option(help="Raise smaller ctr to this.")]
Pairs = Annotated[
    str, typer.Option(help="Pairs without a row: all (not clicked), rows (could not be).")
]
Users = Annotated[str, typer.Option(help="Who counts: auto, table, all (also lists only).")]
Baseline = Annotated[
    str | None, typer.Option(help="Compare every run with this one. [default: the first]")
]
Interval = Annotated[str, typer.Option(help="normal, t, bootstrap or bca.")]
Test = Annotated[str, typer.Option(help="t, bootstrap or none.")]
Correct = Annotated[str, typer.Option(help="none, holm or bh.")]
Resamples = Annotated[int, typer.Option(help="Resamples of a bootstrap, by user.")]
Missing = Annotated[str, typer.Option(help="Users without a list: zero, error.")]
Ties = Annotated[str, typer.Option(help="Order of equal scores: id, id32, file.")]


@with_engine
def funnel(
    funnel: FunnelPath,
    runs: RunPaths,
    reward: Reward = None,
    measure: Measures = None,
    estimator: Estimators = None,
    predictions: Predictions = None,
    ctr: Ctr = "column",
    cvr: Cvr = "column",
    user_features: UserFeatures = None,
    item_features: ItemFeatures = None,
    floor: Floor = 0.0,
    pairs: Pairs = "all",
    users: Users = "auto",
    baseline: Baseline = None,
    level: Level = 0.95,
    interval: Interval = "normal",
    test: Test = "t",
    correct: Correct = "holm",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    missing: Missing = "zero",
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
    """Estimate what recommenders would have sold, from clicks and conversions after clicks."""
    from counterrank.api import funnel as verb
    from counterrank.cli import output, writing
    from counterrank.conversions.conversion_estimators import DEFAULTS, ESTIMATORS
    from counterrank.core import parallel

    options.formatted(format)
    named = options.named_runs(runs)
    further = [path for path in (predictions, user_features, item_features) if path is not None]
    writing.refuse_early(by_unit, out, [funnel, *further, *(path for _, path in named)])
    result = verb.funnel(
        funnel,
        named,
        rewards=reward or (),
        measures=options.labels(measure) or DEFAULTS,
        estimators=options.labels(estimator) or ESTIMATORS,
        predictions=predictions,
        ctr=ctr,
        cvr=cvr,
        user_features=user_features,
        item_features=item_features,
        floor=floor,
        pairs=pairs,
        users=users,
        baseline=baseline,
        level=level,
        interval=interval,
        test=test,
        correct=correct,
        resamples=resamples,
        seed=seed,
        missing=missing,
        duplicates=duplicates,
        ties=ties,
        engine=engine,
        columns=options.column_names(columns),
        progress=parallel.quiet if quiet else parallel.bar,
    )
    output.show(result, format, table)
    written = writing.by_unit(result, by_unit) + writing.folder(result, out)
    if written and not quiet:
        typer.echo(f"Wrote {', '.join(written)}.", err=True)
    if strict and result.verdict == "fail":
        raise typer.Exit(3)


def table(result: Result, wide: int) -> list[str]:
    """All blocks, how to read them, and the verdict on each run."""
    lines: list[str] = []
    for reward in dict.fromkeys(row.reward for row in result.estimates):
        for measure in dict.fromkeys(row.measure for row in result.estimates):
            lines += [*_block(result, reward, measure, wide), ""]
    return lines[:-1] + _reading(result, wide)


def _block(result: Result, reward: str, measure: str, wide: int) -> list[str]:
    rows = [row for row in result.estimates if (row.reward, row.measure) == (reward, measure)]
    versus = {
        (c.system, c.estimator): c
        for c in result.comparisons
        if (c.reward, c.measure) == (reward, measure)
    }
    better = "lower" if measure in result.protocol["lower_is_better"] else "higher"
    heading = f"{reward}, {measure}, {rows[0].units:,} users"
    heading += "" if better == "higher" else " (lower is better)"
    if versus:
        heading += f"; lift over {shorten(result.plan.baseline or '', 20)}"
    return block(heading, rows, versus, level=result.plan.level, wide=wide, better=better)


def _reading(result: Result, wide: int) -> list[str]:
    level = result.plan.level
    text = f"[..]: {level:.0%} {result.plan.interval} interval over users."
    out = ["", *wrap_text(text + p_value_sentence(result.comparisons, level), wide)]
    out += wrap_text(_basis(result), wide)
    for system in result.systems:
        about = (system, "funnel")
        verdict = worst(d for d in result.diagnoses if d.subject in about)
        out += trust_sentence(system, verdict, result.not_passing, about, wide)
    return out


def _basis(result: Result) -> str:
    """What is measured, who counts, and where the predictions came from."""
    told = result.protocol
    text = "Value: conversions of all that is listed, were it clicked, weighted by rank; per user."
    pairs = {"all": "was not clicked", "rows": "could not be clicked"}[told["pairs"]]
    text += f" A pair without a row {pairs}."
    if told["users_with_lists_only"]:
        more = told["users_with_lists_only"]
        who = "user has a list" if more == 1 else "users have lists"
        text += f" {more:,} {who} and no row, and still count{'s' * (more == 1)}."
    if told["floor"]:
        text += f" ctr below {told['floor']:g} was raised to it."
    return f"{text} ctr: {told['ctr']}; cvr: {told['cvr']}."
