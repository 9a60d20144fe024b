"""``counterrank assess QUESTION ...``: evaluate the evaluation."""

from __future__ import annotations

import typer

from counterrank.cli.assess_accuracy import accuracy
from counterrank.cli.assess_agreement import agreement
from counterrank.cli.assess_online import online
from counterrank.cli.assess_power import power
from counterrank.cli.assess_robustness import robustness
from counterrank.cli.plain import Command, Group

assess = typer.Typer(
    cls=Group,
    help="Which measure or estimator can be trusted on these data?",
    no_args_is_help=True,
    rich_markup_mode=None,
)
assess.command(cls=Command)(power)
assess.command(cls=Command)(robustness)
assess.command(cls=Command)(agreement)
assess.command(cls=Command)(online)
assess.command(cls=Command)(accuracy)
