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
