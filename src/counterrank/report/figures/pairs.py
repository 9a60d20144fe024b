"""The matrix of corrected p-values, where all pairs were compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterrank.decision import leading, rows_of
from counterrank.report import charts
from counterrank.report.figure import BLUE, Figure
from counterrank.report.figures.estimates import KINDS

FEWEST = 3  # systems that make a matrix worth drawing


def matrix(document: Mapping[str, Any]) -> list[Figure]:
    """Every pair of systems under the leading measure."""
    if document.get("protocol", {}).get("baseline") or document.get("kind") not in KINDS:
        return []
    label = leading(document)
    rows = [
        r for r in rows_of(document.get("comparisons", []), label) if r["p_corrected"] is not None
    ]
    names = list(dict.fromkeys(str(r[k]) for r in rows for k in ("baseline", "system")))
    if len(names) < FEWEST:
        return []
    both = [
        {
            "system": a,
            "other": b,
            "p_corrected": r["p_corrected"],
            "difference": up * r["difference"],
        }
        for r in rows
        for a, b, up in ((r["system"], r["baseline"], 1), (r["baseline"], r["system"], -1))
    ]
    return [
        Figure(
            "p-values",
            f"{label}: corrected p-values of all pairs",
            "Dark cells are pairs that differ beyond chance; pale ones the data cannot tell apart.",
            both,
            charts.grid(
                "other",
                "system",
                "p_corrected",
                order=names,
                title="p",
                colours=(BLUE, "#ffffff"),
                ends=(0, 0.2),
            ),
        )
    ]
