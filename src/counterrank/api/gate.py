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
    decide_by: str = "",
    estimator: str = "",
    min_lift: float | None = None,
    margin: v.Margin | None = None,
    guard: v.Guards = None,
    baseline: str = "",
    system: v.Several = (),
    summary: str | None = None,
    mlflow: str | None = None,
    experiment: str = "counterrank",
) -> Gate:
    """Stop a worse ranker: exit code 3 unless what decides is better, and no guard is worse.

    ``result`` is a folder that ``--out`` wrote, a JSON document, or a result in memory. The lower
    end of ``decide_by`` (a measure or reward) by ``estimator`` must be above 0 and reach
    ``min_lift``; every guard may lose at most ``margin`` of the baseline, or what ``guard`` says of
    it. What is not said here is as the result says. Each ``system`` (default: all) is held against
    ``baseline``, by intervals that hold for all of the result's candidates at once. ``summary`` is
    a Markdown file that the answer is added to, ``mlflow`` a store that it is logged to.
    """
    from counterrank.documents.gate import gated
    from counterrank.ope.estimators import estimator as estimators
    from counterrank.results import output_files as files
    from counterrank.results.mlflow_store import log_to_mlflow

    v.check_shares(guard)
    document = v.document_of(result)
    found = gated(
        document, decide_by=decide_by, estimator=estimators.label(estimator), baseline=baseline,
        systems=v.as_list(system), min_lift=min_lift, margin=margin, guard=guard,
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
