"""All verbs in one place."""

from __future__ import annotations

from typing import Annotated

import typer

from counterrank.cli.assess import assess
from counterrank.cli.check import check
from counterrank.cli.demo import demo
from counterrank.cli.estimate import estimate
from counterrank.cli.evaluate import evaluate
from counterrank.cli.exposure import exposure
from counterrank.cli.funnel import funnel
from counterrank.cli.gate import gate, report
from counterrank.cli.measures import measures
from counterrank.cli.plain import Command, Group
from counterrank.cli.simulate import simulate
from counterrank.cli.strata import strata
from counterrank.version import __version__

app = typer.Typer(
    name="counterrank",
    cls=Group,
    help="What would this ranker have earned, how sure are we, and what does that rest on?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command(cls=Command)(evaluate)
app.command(cls=Command)(estimate)
app.command(cls=Command)(strata)
app.command(cls=Command)(funnel)
app.command(cls=Command)(exposure)
app.add_typer(assess, name="assess")
app.command(cls=Command)(check)
app.command(cls=Command)(report)
app.command(cls=Command)(gate)
app.command(cls=Command)(measures)
app.command(cls=Command)(simulate)
app.command(cls=Command)(demo)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"counterrank {__version__}")
        raise typer.Exit


@app.callback()
def _counterrank(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What would this ranker have earned, how sure are we, and what does that rest on?"""
