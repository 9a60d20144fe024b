"""Figures of the questions about measures: power, robustness, agreement, offline against online."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterrank.report import charts
from counterrank.report.charts import Figure, group_rows

Row = Mapping[str, Any]
CURVE = 20  # largest p-values of a curve (Valcarce et al. 2020)


def power(document: Row) -> list[Figure]:
    """The sum of p-values of each measure, and the curves of the largest."""
    rows = sorted(document["power"], key=lambda r: r["value"])
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
            charts.forest_plot(
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
    title = "agreement with the full order (tau)"
    kinds = group_rows(document["curves"], lambda row: str(row["reduction"]))
    return [
        Figure(
            f"robustness-{place}",
            f"Order of the systems when judgments are missing: {kind}",
            "Tau with the order on all judgments, by the share kept. A line that stays high"
            " belongs to a measure that needs few judgments.",
            rows,
            charts.bands("size", "kendall", by="measure", x_title="share kept", title=title),
        )
        for place, (kind, rows) in enumerate(kinds.items(), 1)
    ]


def taus(document: Row) -> list[Figure]:
    """The matrix of taus between measures."""
    found = document.get("taus", [])
    if not found:
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


def online(document: Row) -> list[Figure]:
    """How closely each offline figure follows the online one, and every past case."""
    rows = [
        {**r, "name": _with_clip(r)} for r in document["correlations"] if r["value"] is not None
    ]
    made = [
        Figure(
            "correlation",
            "Correlation of offline figures with the online one",
            "Near 1 is an offline figure that foretells the online one; a bar across 0 may be"
            " chance.",
            rows,
            charts.forest_plot(
                "value", "name", order=[r["name"] for r in rows], title="Pearson's r"
            ),
        )
    ]
    cases = group_rows(document.get("cases", []), lambda row: str(row["measure"]))
    return made + [
        Figure(
            f"cases-{place}",
            f"{label}: offline against online",
            "Each point is a system in an experiment. On a rising line, better offline is"
            " better online.",
            own,
            charts.scatter(
                "offline", "online", name="experiment", titles=(label, "online"), mark="system"
            ),
        )
        for place, (label, own) in enumerate(list(cases.items())[:4], 1)
    ]


def _with_clip(row: Row) -> str:
    parts = [row["measure"], row.get("reward")]
    if row.get("clip") is not None and row["clip"] != float("inf"):
        parts.append(f"clip {row['clip']:g}")
    return ", ".join(str(part) for part in parts if part)


def accuracy(document: Row) -> list[Figure]:
    """The error of each estimator."""
    rows = sorted(document["accuracy"], key=lambda r: r["value"])
    return [
        Figure(
            "accuracy",
            "Error of each estimator against the truth",
            "Relative root mean squared error over all systems: further left is closer to the"
            " truth.",
            rows,
            charts.forest_plot(
                "value", "measure", order=[r["measure"] for r in rows], title="relative RMSE"
            ),
        )
    ]
