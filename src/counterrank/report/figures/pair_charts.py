"""The matrix of corrected p-values, where all pairs were compared."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from counterrank.documents.decision import leading_measure, rows_of_measure
from counterrank.report import charts
from counterrank.report.figure import BLUE, Figure
from counterrank.report.figures.value_charts import KINDS

FEWEST = 3  # systems that make a matrix worth drawing


def matrix(document: Mapping[str, Any]) -> list[Figure]:
    """Every pair of systems under the leading measure."""
    if document.get("protocol", {}).get("baseline") or document.get("kind") not in KINDS:
        return []
    label = leading_measure(document)
    rows = [
        r
        for r in rows_of_measure(document.get("comparisons", []), label)
        if r["p_corrected"] is not None
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
