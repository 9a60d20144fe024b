"""``gate`` and ``report``: what is done with results that were saved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from counterrank.api import verb as v

if TYPE_CHECKING:
    from counterrank.documents.gate import Gate
    from counterrank.results.result import Result

Saved = Annotated["str | os.PathLike[str] | Result", "file"]


@v.verb
def gate(
    result: Saved,
    *,
    decide_by: str = "",
    estimator: str = "",
    min_lift: v.MinLift | None = None,
    margin: v.Margin | None = None,
    guard: v.Guards = None,
    baseline: str = "",
    system: v.Several = (),
    strict: bool = False,
    withstand: Annotated[float, v.Between(1)] | None = None,
    accept: v.Several = (),
    until: v.Several = (),
    reason: v.Texts = (),
    summary: v.File | None = None,
    mlflow: str | None = None,
    experiment: str = "counterrank",
) -> Gate:
    """Stop a worse ranker: exit code 3 unless what decides is better, and no guard is worse.

    ``result`` is a folder that ``--out`` wrote, a JSON document, or a result in memory. The lower
    end of ``decide_by`` (a measure or reward) by ``estimator`` must be above 0 and reach
    ``min_lift``; every guard may lose at most ``margin`` of the baseline, or what ``guard`` says of
    it. What is not said here is as the result says. Each ``system`` (default: all) is held against
    ``baseline``, by intervals that hold for all of the result's candidates at once, and for what
    the log cannot rule out where the result tells it. A verdict of caution opens the gate, and is
    said; ``strict`` asks for pass. ``withstand=1.2`` asks that the claim survives hidden causes
    that change the odds of being shown by that factor. Diagnostics named in ``accept`` do not count
    through the day ``until``, for a ``reason``: as many of each. ``summary`` is a Markdown file
    that the answer is added to, ``mlflow`` a store that it is logged to.
    """
    from counterrank.core.file_writer import append
    from counterrank.core.input_files import refuse_inputs
    from counterrank.documents.acceptance import acceptances
    from counterrank.documents.document import understood
    from counterrank.documents.gate import hold_gate
    from counterrank.ope.estimators import estimator as estimators
    from counterrank.results.mlflow_store import log_to_mlflow

    v.shares(guard)
    if summary is not None:
        refuse_inputs([summary], v.document_paths(result))
    document = v.document_of(result)
    with understood("The document"):
        found = hold_gate(
            document, decide_by=decide_by, estimator=estimators.label(estimator),
            baseline=baseline, systems=v.as_list(system), min_lift=min_lift, margin=margin,
            guard=guard, strict=strict, withstand=withstand,
            accept=acceptances(
                v.as_list(accept), v.as_list(until), v.as_list(reason), document
            ),
        )  # fmt: skip
        text = found.markdown()
    if summary is not None:
        append(summary, text)
    if mlflow is not None:
        log_to_mlflow(document, found, mlflow, experiment)
    return found


@v.verb
def report(*results: Saved, output: v.File = "report.html", title: str = "") -> str:
    """Turn results into one page, or into a site of their history: nothing is loaded.

    ``results`` are folders that ``--out`` wrote, folders of such folders, JSON documents, or
    results in memory. An ``output`` that ends in .html is one page; any other is a folder with an
    index of all results, their trends, what changed since the last, and a page for each. A result
    is of the day in the name of its folder (2030-01-31) or else of the day it was written.
    """
    from counterrank.core import file_writer as files
    from counterrank.core.input_files import refuse_inputs
    from counterrank.documents.document import understood
    from counterrank.report import page
    from counterrank.report.site import site
    from counterrank.results import history
    from counterrank.results.output_files import site_folder

    every: list[Any] = [
        one for r in results for one in (history.expanded(r) if isinstance(r, str) else [r])
    ]
    refuse_inputs([output], [path for one in every for path in v.document_paths(one)])
    one_page = output.lower().endswith((".html", ".htm")) or files.is_stream(Path(output))
    (files.refuse_unwritable if one_page else files.refuse_address)(output)
    documents = [v.document_of(r) for r in every]
    with understood("A document"):
        text = page(documents, title=title) if one_page else ""
        pages = {} if one_page else site(history.dated(every, documents), title=title)
    if one_page:
        files.whole_text(output, text)
    else:
        site_folder(output, pages)
    return output
