"""What was found of tables: a line for each, what they rest on, and what to log next time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterrank.core.format import wrap_text
from counterrank.report.terminal.grounds import diagnostic_lines

if TYPE_CHECKING:
    from counterrank.results.result import Result


def check_lines(result: Result, wide: int) -> list[str]:
    """All tables, then diagnostics and advice where there are any."""
    reports = result.tables["tables"]
    lines = [part for report in reports for part in wrap_text(report.line(), wide, " " * 9)]
    if result.diagnostics:
        lines += ["", *diagnostic_lines(result.diagnostics, wide)]
    if any(report.kind in ("log", "funnel") and not report.fault for report in reports):
        lines += ["", "What to log next time", *_advice(result.tables["to_log"], wide)]
    return lines


def _advice(wanted: list[str], wide: int) -> list[str]:
    """A numbered list."""
    if not wanted:
        return ["Nothing is missing."]
    each = [wrap_text(f"{place}. {text}.", wide, "   ") for place, text in enumerate(wanted, 1)]
    return [line for lines in each for line in lines]
