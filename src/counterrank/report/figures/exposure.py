"""The learnt position-bias curve with its band."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterrank.report import charts
from counterrank.report.figure import Figure


def curve(document: Mapping[str, Any]) -> list[Figure]:
    """How likely each rank is seen, as learnt."""
    if document.get("kind") != "exposure":
        return []
    rows = [{**r, "context": r["context"] or "all"} for r in document["estimates"]]
    return [
        Figure(
            "position-bias",
            "Chance of being seen, by rank",
            "A steep curve means that low ranks are hardly seen, and that clicks there count for"
            " more. The band is the interval of what was learnt.",
            rows,
            charts.bands(
                "rank",
                "value",
                by="context",
                x_title="rank",
                title="chance of being seen",
                kind="O",
            ),
        )
    ]
