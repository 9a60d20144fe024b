"""``counterrank check TABLE...``: only the door and the diagnoses."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from counterrank.cli import options
from counterrank.cli.options import Columns, Duplicates, Format, Measures, Strict

Tables = Annotated[
    list[str], typer.Argument(metavar="TABLE...", help="Judgments and runs, in any order.")
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
    from counterrank import verbs
    from counterrank.cli import output

    options.formatted(format)
    result = verbs.check(
        options.named_runs(tables),
        measures=measure or None,
        duplicates=duplicates,
        columns=options.column_names(columns),
    )
    if format == "json":
        typer.echo(json.dumps(result.to_dict(), indent=1, ensure_ascii=False))
    elif format == "csv":
        typer.echo(result.to_frame().write_csv(), nl=False)
    else:
        from rich.console import Console

        console = Console(highlight=False)
        for line in result.lines():
            console.print(output.printable(line).replace(r"\[", "["), markup=False)
        if result.diagnoses:
            output.diagnoses(console, result.diagnoses)
    if result.refused:
        raise typer.Exit(2)
    if strict and result.verdict == "fail":
        raise typer.Exit(3)
