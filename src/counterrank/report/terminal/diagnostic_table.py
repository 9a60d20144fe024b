"""What numbers rest on, failures first; and what ``check`` found of tables, as lines."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

from counterrank.core.format import wrap_text

if TYPE_CHECKING:
    from counterrank.diagnostics.diagnostic import Diagnostic
    from counterrank.results.result import Result

# fmt: off
COUNTS = (
    "duplicates", "sample size", "effective sample size", "rank sample", "rows per item", "events",
    "Simpson's paradox", "conversions", "effective slates", "empty strata", "experiments",
    "systems", "users in stratum", "users", "effective users", "heavy tail",
    "constant user features", "constant item features", "predictions", "list depth",
)
# fmt: on
DECIMAL = (
    "list length",
    "mean weight",
    "mean slate weight",
    "weight tail",
    "click above",
    "random ranks",
    "doubly robust",
)  # fmt: skip


def diagnostic_lines(found: list[Diagnostic], wide: int) -> list[str]:
    """Failures first, then cautions, then what was not tested, each once for all it holds for."""
    order = {"fail": 0, "caution": 1, "untested": 2, "assumed": 3}
    loud = sorted((d for d in found if d.state in order), key=lambda d: order[d.state])
    lines = ["What this rests on"]
    told: dict[tuple[str, str, str], list[str]] = {}
    for d in loud:
        told.setdefault((d.state, d.name, d.meaning), []).append(d.subject)
    for (verdict, name, meaning), subjects in told.items():
        who = subjects[0] if len(subjects) == 1 else f"{len(subjects)} systems"
        lines += wrap_text(f"{verdict:<8} {name}, {who}: {meaning}", wide, " " * 9)
    quiet: dict[str, list[float]] = {}
    for d in found:
        if d.state == "pass":
            quiet.setdefault(d.name, []).append(d.value)
    short = list(map(_short, quiet, quiet.values()))
    if short:
        lines += wrap_text(f"{'pass':<8} {', '.join(short)}.", wide, " " * 9)
    return lines


def _short(name: str, values: list[float]) -> str:
    """A name with its value, or the range over systems."""
    style = "{:,.0f}" if name in COUNTS else "{:.2f}" if name in DECIMAL else "{:.1%}"
    ends = [style.format(min(values)), style.format(max(values))]
    if name == "weight tail" and max(values) == -math.inf:
        return "weights without a tail"
    if name == "agreement":
        return "DCG and nDCG in the same order"
    return f"{name} {' to '.join(key for key, _ in groupby(ends))}"


def check_lines(result: Result, wide: int) -> list[str]:
    """All tables, then diagnostics and advice where there are any."""
    reports = result.tables["tables"]
    lines = [part for report in reports for part in wrap_text(report.line(), wide, " " * 9)]
    if result.diagnostics:
        lines += ["", *diagnostic_lines(result.diagnostics, wide)]
    wanted = enumerate(result.tables["to_log"], 1)
    advice = [line for n, text in wanted for line in wrap_text(f"{n}. {text}.", wide, "   ")]
    if any(report.kind in ("log", "funnel") and not report.fault for report in reports):
        lines += ["", "What to log next time", *(advice or ["Nothing is missing."])]
    return lines
