"""``counterrank gate RESULT``: exit code 0 if the candidate may go on, 3 if not."""

from __future__ import annotations

from typing import Annotated

import typer

Result = Annotated[str, typer.Argument(help="A folder that --out wrote, or a JSON document.")]
MinLift = Annotated[float, typer.Option(help="What the lower end of the lift must reach.")]
Measure = Annotated[str, typer.Option("--measure", "-m", help="By which measure or estimator.")]
Baseline = Annotated[str, typer.Option(help="The system to hold. [default: the result's]")]
Candidates = Annotated[
    list[str] | None, typer.Option("--system", help="Which candidate; repeat. [default: all]")
]
Summary = Annotated[
    str | None, typer.Option(metavar="PATH", help="Add the summary to this Markdown file.")
]
MLflow = Annotated[
    str | None, typer.Option(metavar="URI", help="Log the result to this MLflow store.")
]
Experiment = Annotated[str, typer.Option(help="The MLflow experiment to log to.")]


def gate(
    result: Result,
    min_lift: MinLift = 0.0,
    measure: Measure = "",
    baseline: Baseline = "",
    system: Candidates = None,
    summary: Summary = None,
    mlflow: MLflow = None,
    experiment: Experiment = "counterrank",
) -> None:
    """Stop a worse ranker: exit code 3 unless the lift's lower end reaches --min-lift."""
    from counterrank.cli import tracking, writing
    from counterrank.gate import gated
    from counterrank.saved import saved

    document = saved(result)
    found = gated(
        document, measure=measure, baseline=baseline, systems=system or (), least=min_lift
    )
    text = found.markdown()
    typer.echo(text, nl=False)
    if summary is not None:
        writing.appended(summary, text)
    if mlflow is not None:
        typer.echo(tracking.logged(document, found, mlflow, experiment), err=True)
    if not found.passed:
        raise typer.Exit(3)
