"""Estimates beside the truth, where a simulation knows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterrank.report import charts
from counterrank.report.figure import Figure


def truth(document: Mapping[str, Any]) -> list[Figure]:
    """One figure for each reward: every interval, and a diamond where the truth is."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in document.get("truth", []):
        named = {**row, "name": f"{row['system']} · {row['measure']}"}
        groups.setdefault(str(row["reward"]), []).append(named)
    return [
        Figure(
            f"truth-{place}",
            f"{reward}: the truth, revealed",
            "Diamonds are what each system truly earns, computed from the simulated world after"
            " the estimates were made. Where a diamond lies on its bar, the interval holds it.",
            rows,
            charts.intervals(
                "estimate",
                "name",
                order=[str(row["name"]) for row in rows],
                title=reward,
                diamond="truth",
            ),
        )
        for place, (reward, rows) in enumerate(groups.items(), 1)
    ]
