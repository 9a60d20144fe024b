"""``gate`` and ``report``: what is done with results that were saved."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from counterrank.api import verb as v

if TYPE_CHECKING:
    from counterrank.documents.gate import Gate
    from counterrank.results.result import Result

Saved = Annotated["str | os.PathLike[str] | Result", ""]


@v.verb
def gate(
    result: Saved,
    *,
    min_lift: float = 0.0,
    measure: str = "",
    estimator: str = "",
    baseline: str = "",
    system: v.Several = (),
    summary: str | None = None,
    mlflow: str | None = None,
    experiment: str = "counterrank",
) -> Gate:
    """Stop a worse ranker: exit code 3 unless the lift's lower end reaches --min-lift.

    ``result`` is a folder that ``--out`` wrote, a JSON document, or a result in memory. The
    decision is by ``measure`` and ``estimator`` (default: what the result puts first), for each
    ``system`` (default: all) against ``baseline`` (default: the result's). ``summary`` is a
    Markdown file that the answer is added to, ``mlflow`` a store that it is logged to.
    """
    from counterrank.documents.gate import gated
    from counterrank.metrics import measure as measures
    from counterrank.ope.estimators import estimator as estimators
    from counterrank.results import output_files as files
    from counterrank.results.mlflow_store import log_to_mlflow

    document = v.document_of(result)
    found = gated(
        document, measure=measures.label(measure), estimator=estimators.label(estimator),
        baseline=baseline, systems=v.as_list(system), least=min_lift,
    )  # fmt: skip
    if summary is not None:
        files.append(summary, found.markdown())
    if mlflow is not None:
        log_to_mlflow(document, found, mlflow, experiment)
    return found


@v.verb
def report(*results: Saved, output: str = "report.html", title: str = "") -> str:
    """Turn results into one page that shows them: self-contained, nothing is loaded.

    ``results`` are folders that ``--out`` wrote, JSON documents, or results in memory.
    """
    from counterrank.report import page
    from counterrank.results import output_files as files

    files.whole_text(output, page([v.document_of(r) for r in results], title=title))
    return output
