"""``counterrank assess online``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterrank.cli import options
from counterrank.cli.assess_common import Resume, aligned, finish, resumed
from counterrank.cli.engine import with_engine
from counterrank.cli.estimate import Bias, Contexts, Estimators, Reward, Views
from counterrank.cli.options import ByUnit, Columns, Format, Level, Out, Quiet, Strict
from counterrank.wording import wrapped

if TYPE_CHECKING:
    from counterrank.assess_result import Assessment
    from counterrank.engine import Engine

Source = Annotated[
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


@with_engine
def online(
    tables: Source,
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
    from counterrank import progress
    from counterrank.cli import writing
    from counterrank.ope.estimators.registry import DEFAULTS
    from counterrank.verbs import assess_online as verb

    options.formatted(format)
    source, *runs = options.named_runs(tables)
    writing.refuse_early(by_unit, out, [path for _, path in (source, *runs)])
    kept = engine.in_memory  # only what is in memory is taken up again
    result = verb.assess_online(
        source[1],
        runs,
        offline=offline or (),
        kind=kind,
        baseline=baseline,
        rewards=reward or (),
        position_bias=position_bias,
        estimators=options.labels(estimator) or DEFAULTS,
        sweep=sweep,
        contexts=context or (),
        views=views,
        control=control,
        truth=truth,
        level=level,
        engine=engine,
        columns=options.column_names(columns),
        resume=resumed(resume, out) if kept else resume,
        progress=progress.quiet if quiet else progress.bar,
    )
    finish(
        result, lines, format=format, out=out, by_unit=by_unit, strict=strict, quiet=quiet,
        resume=resume,
    )  # fmt: skip


def lines(result: Assessment, wide: int) -> list[str]:
    """A block per online metric: correlations, then errors against the effects taken as true."""
    out: list[str] = []
    for reward in dict.fromkeys(row.reward for row in result.estimates):
        rows = [row for row in result.estimates if row.reward == reward]
        r = rows[0]
        head = f"{reward or 'Online'}: {r.cases} cases"
        head += f", {r.effects} true effects, {r.nulls} others" if r.effects + r.nulls else ""
        out += [head]
        if any(math.isfinite(row.value) for row in rows):
            out += [*_correlations(rows, wide), ""]
        if any(math.isfinite(x) for row in rows for x in (row.sign_agreement, row.type_1)):
            out += [*_errors(rows, wide), ""]
    text = {
        "online": f"True effects are those the experiment calls at {result.estimates[0].level:.0%};"
        " type I is the share of the others that the measure calls.",
        "all": "All effects are taken as real.",
    }[result.protocol["truth"]]
    some = any(row.effects + row.nulls for row in result.estimates)
    return [*out, *wrapped(text, wide)] if some else out


def _correlations(rows: list[Any], wide: int) -> list[str]:
    cells = [
        (
            row.measure, _two(row.value), f"[{_two(row.low)}, {_two(row.high)}]", _p(row.p),
            _two(row.kendall),
        )
        for row in rows
    ]  # fmt: skip
    return aligned(("measure", "r", f"{rows[0].level:.0%} interval", "p", "tau"), cells, wide)


def _errors(rows: list[Any], wide: int) -> list[str]:
    cells = []
    for r in rows:
        shares = (r.sign_agreement, r.sensitivity, r.type_1, r.type_2, r.type_3)
        cells.append((r.measure, *map(_share, shares), _p(r.mean_p)))
    head = ("measure", "sign", "sensitive", "type I", "type II", "type III", "mean p")
    return aligned(head, cells, wide)


def _p(x: float) -> str:
    return "n/a" if math.isnan(x) else f"{x:.2g}"


def _two(x: float) -> str:
    return "n/a" if math.isnan(x) else f"{x:.2f}"


def _share(x: float) -> str:
    return "n/a" if math.isnan(x) else f"{x:.0%}"
