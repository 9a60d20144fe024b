"""The clip sweep: what clipping the weights does to value, interval and effective sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterrank.report import charts
from counterrank.report.figure import Figure


def sweeps(document: Mapping[str, Any]) -> list[Figure]:
    """Two figures for each system and reward: value by clip, effective sample size by clip."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in document.get("sweep", []):
        groups.setdefault((str(row["system"]), str(row["reward"])), []).append(row)
    made = []
    for place, ((system, reward), rows) in enumerate(groups.items()):
        shown = [{**row, "clip": _clip(row["clip"])} for row in rows]
        made += [
            Figure(
                f"sweep-{place + 1}",
                f"{reward}, {system}: value by clip",
                "Small clips are steady but biased, large ones unbiased but wide. Where the line is"
                " flat, clipping does not matter.",
                shown,
                charts.bands("clip", "value", by="measure", x_title="clip", title=reward, kind="N"),
            ),
            Figure(
                f"effective-{place + 1}",
                f"{reward}, {system}: effective sample size by clip",
                "How many equally weighted rows the weighted ones are worth. A fall to the right"
                " means that few rows decide.",
                shown,
                charts.bands(
                    "clip", "effective", by="measure", x_title="clip",
                    title="effective sample size", kind="N", band="no",
                ),
            ),
        ]  # fmt: skip
    return made


def _clip(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def weight_charts(document: Mapping[str, Any]) -> list[Figure]:
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


def curve(document: Mapping[str, Any]) -> list[Figure]:
    """How likely each rank is seen, as learned."""
    if document.get("kind") != "exposure":
        return []
    rows = [{**r, "context": r["context"] or "all"} for r in document["estimates"]]
    return [
        Figure(
            "position-bias",
            "Chance of being seen, by rank",
            "A steep curve means that low ranks are hardly seen, and that clicks there count for"
            " more. The band is the interval of what was learned.",
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
