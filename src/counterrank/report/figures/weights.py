"""How the importance weights are spread: how many rows carry how much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterrank.report import charts
from counterrank.report.figure import Figure


def weights(document: Mapping[str, Any]) -> list[Figure]:
    """One figure for each system: the share of rows, and of all weight, by size of the weight."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in document.get("weights", []):
        groups.setdefault(str(row["system"]), []).append(row)
    made = []
    for place, (system, rows) in enumerate(groups.items()):
        bars = [
            {"system": system, "size": _size(r), "of": what, "share": r[key]}
            for r in rows
            for what, key in (("all rows", "rows"), ("all weight", "weight"))
        ]
        made.append(
            Figure(
                f"weights-{place + 1}",
                f"{system}: how weights are spread",
                "Weights near 1 mean that the log shows much the same. Where few rows on the right"
                " hold much of the weight, few rows decide.",
                bars,
                charts.bars("size", "share", by="of", x_title="weight", title="share"),
            )
        )
    return made


def _size(row: Mapping[str, Any]) -> str:
    if row["high"] is None or row["high"] == float("inf"):
        return f"{row['low']:g} and more"
    return f"{row['low']:.3g} to {row['high']:.3g}"
