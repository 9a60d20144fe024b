"""DCG against nDCG: one point per system, those that swap places marked."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from counterrank.report import charts
from counterrank.report.figure import Figure


def dcg_and_ndcg(document: Mapping[str, Any]) -> list[Figure]:
    """The first DCG and nDCG of the same form that were evaluated."""
    if document.get("kind") != "evaluate":
        return []
    values: dict[str, dict[str, float]] = {}
    for row in document["estimates"]:
        values.setdefault(str(row["measure"]), {})[str(row["system"])] = row["value"]
    pair = next(((m, f"n{m}") for m in values if m.startswith("DCG") and f"n{m}" in values), None)
    if pair is None or len(values[pair[0]]) < 2:
        return []
    total, share = values[pair[0]], values[pair[1]]
    swapped = {
        name
        for a, b in combinations(total, 2)
        if (total[a] - total[b]) * (share[a] - share[b]) < 0
        for name in (a, b)
    }
    rows = [
        {
            "system": name,
            "x": total[name],
            "y": share[name],
            "order": "in another order" if name in swapped else "in the same order",
        }
        for name in total
    ]
    return [
        Figure(
            "dcg-ndcg",
            f"{pair[0]} against {pair[1]}",
            f"{len(swapped)} of {len(rows)} systems belong to pairs that the two order differently."
            " DCG estimates what is earned; nDCG, a mean of ratios, does not.",
            rows,
            charts.scatter("x", "y", name="system", titles=pair, mark="order"),
        )
    ]
