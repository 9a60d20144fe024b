"""A result as lines of text: the same on a terminal, in a notebook's print and in a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterrank.core.format import wrap_text
from counterrank.documents.decision import decide
from counterrank.documents.estimand_sentences import estimand
from counterrank.report.terminal.diagnostic_table import diagnostic_lines

if TYPE_CHECKING:
    from counterrank.results.result import Result

TABLES = {  # where each verb's table is laid out
    "evaluate": "value_table:value_lines",
    "estimate": "value_table:value_lines",
    "funnel": "value_table:value_lines",
    "strata": "strata_table:strata_lines",
    "exposure": "exposure_table:exposure_lines",
    "check": "diagnostic_table:check_lines",
    **{
        f"assess {name}": f"assess_tables:{name}_lines"
        for name in ("power", "robustness", "agreement", "online", "accuracy")
    },
}


def lines(result: Result, wide: int) -> list[str]:
    """The whole result: its table, what it rests on, and the decision it speaks for."""
    module, _, name = TABLES[result.kind].partition(":")
    table: Callable[[Result, int], list[str]] = getattr(
        import_module(f"counterrank.report.terminal.{module}"), name
    )
    shown = table(result, wide)
    if result.kind != "check":
        told = estimand(result.kind, result.protocol)
        shown = [*wrap_text(f"What is estimated: {told}", wide), "", *shown]
    if result.recommendation:
        shown += ["", "Recommendation", *wrap_text(" ".join(result.recommendation), wide)]
    if result.kind != "check":
        shown += ["", *diagnostic_lines(result.diagnostics, wide)]
    return shown + (decision_lines(result.to_dict(), wide) if result.comparisons else [])


def decision_lines(document: Mapping[str, Any], wide: int) -> list[str]:
    """The decision the result speaks for, as the last lines; nothing if there is none to take."""
    found = decide(document)
    if found.verdict == "read":
        return []
    return ["", *wrap_text(f"Decision: {found.verdict}. {found.sentence}", wide, "  ")]
