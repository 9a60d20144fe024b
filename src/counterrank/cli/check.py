"""``counterrank check TABLE...``: only the door and the diagnoses."""

from __future__ import annotations

import json
import shutil
from typing import Annotated

import typer

from counterrank.cli import options
from counterrank.cli.grounds import grounds
from counterrank.cli.options import Columns, Duplicates, Format, Measures, Strict
from counterrank.cli.wording import wrapped

Tables = Annotated[
    list[str], typer.Argument(metavar="TABLE", help="Judgments and runs, in any order.")
]


def check(
    tables: Tables,
    measure: Measures = None,
    duplicates: Duplicates = "error",
    columns: Columns = None,
    format: Format = "table",
    strict: Strict = False,
) -> None:
    """Say what is wrong with these tables, and what an evaluation of them would rest on."""
    from counterrank.cli.output import say
    from counterrank.verbs import check as verb

    options.formatted(format)
    result = verb.check(
        options.named_runs(tables),
        measures=options.labels(measure) or None,
        duplicates=duplicates,
        columns=options.column_names(columns),
    )
    if format == "json":
        typer.echo(json.dumps(result.to_dict(), indent=1, ensure_ascii=False))
    elif format == "csv":
        typer.echo(result.to_frame().write_csv(), nl=False)
    else:
        wide = shutil.get_terminal_size().columns
        lines = [part for line in result.lines() for part in wrapped(line, wide, " " * 9)]
        say([*lines, "", *grounds(result.diagnoses, wide)] if result.diagnoses else lines)
    if result.refused:
        raise typer.Exit(2)
    if strict and result.verdict == "fail":
        raise typer.Exit(3)
