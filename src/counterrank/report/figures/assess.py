"""Figures of the questions about measures: power, robustness, agreement, offline against online."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterrank.report import charts
from counterrank.report.figure import Figure

Row = Mapping[str, Any]
CURVE = 20  # largest p-values of a curve (Valcarce et al. 2020)


def power(document: Row) -> list[Figure]:
    """The sum of p-values of each measure, and the curves of the largest."""
    if document.get("kind") != "assess power":
        return []
    rows = sorted(document["estimates"], key=lambda r: r["value"])
    points = [
        {"measure": c["measure"], "pair": place + 1, "p": p}
        for c in document["curves"]
        for place, p in enumerate(sorted(c["p"], reverse=True)[:CURVE])
    ]
    return [
        Figure(
            "power",
            "Discriminative power: the sum of p-values",
            "Further left is better: such a measure tells more pairs of systems apart.",
            rows,
            charts.intervals(
                "value", "measure", order=[r["measure"] for r in rows], title="sum of p-values"
            ),
        ),
        Figure(
            "p-curves",
            f"The {CURVE} largest p-values of each measure",
            "A curve that falls early leaves few pairs of systems undecided.",
            points,
            charts.bands(
                "pair", "p", by="measure", x_title="pair, largest p first", title="p", band="no"
            ),
        ),
    ]


def robustness(document: Row) -> list[Figure]:
    """Tau by size for each kind of reduction."""
    if document.get("kind") != "assess robustness":
        return []
    made = []
    kinds = list(dict.fromkeys(r["reduction"] for r in document["curves"]))
    for place, kind in enumerate(kinds):
        rows = [r for r in document["curves"] if r["reduction"] == kind]
        made.append(
            Figure(
                f"robustness-{place + 1}",
                f"Order of the systems when judgments are missing: {kind}",
                "Tau with the order on all judgments, by the share kept. A line that stays high"
                " belongs to a measure that needs few judgments.",
                rows,
                charts.bands("size", "tau", by="measure", x_title="share kept", title="tau"),
            )
        )
    return made


def taus(document: Row) -> list[Figure]:
    """The matrix of taus between measures."""
    found = document.get("taus", [])
    if document.get("kind") != "assess agreement" or not found:
        return []
    rows = [dict(r) for r in found] + [
        {"measure": r["other"], "other": r["measure"], "kendall": r["kendall"]} for r in found
    ]
    names = list(dict.fromkeys([*(r["measure"] for r in found), *(r["other"] for r in found)]))
    return [
        Figure(
            "taus",
            "Do measures order the systems alike?",
            "Kendall's tau of two measures' orders. Dark cells are measures that say the same.",
            rows,
            charts.grid("other", "measure", "kendall", order=names, title="tau"),
        )
    ]
