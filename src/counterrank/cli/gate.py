"""``counterrank gate RESULT``: exit code 0 if the candidate may go on, 3 if not."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterrank.core.errors import UsageError

if TYPE_CHECKING:
    from counterrank.documents.gate import Gate


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
    from counterrank.cli import writing
    from counterrank.documents.document import saved
    from counterrank.documents.gate import gated

    document = saved(result)
    found = gated(
        document, measure=measure, baseline=baseline, systems=system or (), least=min_lift
    )
    text = found.markdown()
    typer.echo(text, nl=False)
    if summary is not None:
        writing.appended(summary, text)
    if mlflow is not None:
        typer.echo(logged(document, found, mlflow, experiment), err=True)
    if not found.passed:
        raise typer.Exit(3)


LONGEST = 250  # characters MLflow takes in a name
MOST = 500  # and in the value of a parameter


def logged(document: Mapping[str, Any], gate: Gate, uri: str, experiment: str) -> str:
    """Values, choices, the verdict and the document itself as one MLflow run; says where it is."""
    if find_spec("mlflow") is None:
        raise UsageError("--mlflow needs MLflow.", todo="Install it: pip install mlflow.")
    if "://" not in uri:  # a folder, which new versions open only to those who ask for it
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    from counterrank.documents.document import as_json

    try:
        mlflow.set_tracking_uri(uri if "://" in uri else Path(uri).absolute().as_uri())
        mlflow.set_experiment(experiment)
        with mlflow.start_run() as run:
            mlflow.log_metrics(_metrics(document))
            mlflow.log_params({k: str(v)[:MOST] for k, v in document["protocol"].items()})
            mlflow.set_tag("counterrank.gate", "open" if gate.passed else "closed")
            mlflow.log_text(as_json(document), "result.json")
            mlflow.log_text(gate.markdown(), "gate.md")
    except mlflow.exceptions.MlflowException as error:
        raise UsageError(
            "MLflow did not take the result.", found=f"It says: {str(error).strip()[:200]}"
        ) from error
    return f"Logged to MLflow: experiment {experiment}, run {run.info.run_id}."


def _metrics(document: Mapping[str, Any]) -> dict[str, float]:
    """Every estimate under a name that MLflow takes."""
    keys = ("system", "measure", "exposure", "reward", "method")
    return {
        _name("/".join(str(row[key]) for key in keys if key in row)): float(row["value"])
        for row in document.get("estimates", [])
        if row.get("value") is not None
    }


def _name(text: str) -> str:
    return re.sub(r"[^\w\-./ ]", "_", text)[:LONGEST]


Results = Annotated[
    list[str],
    typer.Argument(metavar="RESULT", help="Folders that --out wrote, or JSON documents."),
]
Output = Annotated[str, typer.Option("--output", "-o", metavar="PATH", help="The page to write.")]
Title = Annotated[str, typer.Option(help="What the page is called. [default: what it shows]")]


def report(results: Results, output: Output = "report.html", title: Title = "") -> None:
    """Turn results into one page that shows them: self-contained, nothing is loaded."""
    from counterrank.cli import writing
    from counterrank.documents.document import saved
    from counterrank.report import html as bundle
    from counterrank.report import page

    documents = [saved(path) for path in results]
    html = page(documents, title=title)
    writing.whole(Path(output), lambda temporary: temporary.write_text(html, encoding="utf-8"))
    typer.echo(f"Wrote {output}.", err=True)
    if not bundle.there():
        typer.echo("Without charts: pip install 'counterrank[report]' draws them.", err=True)
