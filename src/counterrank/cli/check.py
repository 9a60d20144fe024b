"""``counterrank check TABLE...``: only the schemas and the diagnoses."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.cli import options
from counterrank.cli.engine import with_engine
from counterrank.cli.estimate import Bias, Contexts, Reward, Views
from counterrank.cli.options import Columns, Duplicates, Format, Measures, Strict
from counterrank.cli.output import grounds
from counterrank.core.format import wrap_text

if TYPE_CHECKING:
    from counterrank.diagnostics.table_reports import TableReport
    from counterrank.engine import Engine

Tables = Annotated[
    list[str],
    typer.Argument(metavar="TABLE", help="Judgments, a log or a funnel, and runs, in any order."),
]


@with_engine
def check(
    tables: Tables,
    measure: Measures = None,
    duplicates: Duplicates = "error",
    reward: Reward = None,
    position_bias: Bias = None,
    context: Contexts = None,
    views: Views = "auto",
    columns: Columns = None,
    format: Format = "table",
    strict: Strict = False,
    *,
    engine: Engine,
) -> None:
    """Say what is wrong with these tables, and what an evaluation of them would rest on."""
    from counterrank.api import check as verb
    from counterrank.cli.output import say

    options.formatted(format)
    result = verb.check(
        options.named_runs(tables),
        measures=options.labels(measure) or None,
        duplicates=duplicates,
        rewards=reward or (),
        position_bias=position_bias,
        contexts=context or (),
        views=views,
        engine=engine,
        columns=options.column_names(columns),
    )
    reports: list[TableReport] = result.tables["tables"]
    if format == "json":
        typer.echo(result.to_json())
    elif format == "csv":
        typer.echo(result.to_frame("tables").write_csv(), nl=False)
    else:
        wide = shutil.get_terminal_size().columns
        lines = [part for report in reports for part in wrap_text(report.line(), wide, " " * 9)]
        if result.diagnoses:
            lines += ["", *grounds(result.diagnoses, wide)]
        if any(report.kind in ("log", "funnel") and not report.fault for report in reports):
            lines += ["", "What to log next time", *_advice(result.tables["to_log"], wide)]
        say(lines)
    if any(report.fault for report in reports):
        raise typer.Exit(2)
    if strict and result.verdict == "fail":
        raise typer.Exit(3)


def _advice(wanted: list[str], wide: int) -> list[str]:
    """A numbered list."""
    if not wanted:
        return ["Nothing is missing."]
    each = [wrap_text(f"{place}. {text}.", wide, "   ") for place, text in enumerate(wanted, 1)]
    return [line for lines in each for line in lines]
