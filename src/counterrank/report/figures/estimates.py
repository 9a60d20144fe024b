"""Forest plots of the estimates: one for each measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterrank.report import charts
from counterrank.report.figure import Figure

OWN_SCALE = ("DCG", "nDCG", "pnDCG")  # what they estimate is not the reward
KINDS = ("evaluate", "estimate", "funnel")  # others have figures of their own
GROUPS = ("measure", "exposure", "reward", "method")


def estimates(document: Mapping[str, Any]) -> list[Figure]:
    """Value and interval of each system; rows that belong to another figure are left to it."""
    if document.get("kind") not in KINDS:
        return []
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in document.get("estimates", []):
        groups.setdefault(_group(document, row), []).append(row)
    made = []
    for place, (group, rows) in enumerate(groups.items()):
        what = ", ".join(group)
        order = [str(r["system"]) for r in sorted(rows, key=lambda r: -r["value"])]
        y = "system" if "reward" not in rows[0] else "name"
        named = [{**r, "name": _name(r)} for r in rows]
        if y == "name":
            order = [_name(r) for r in rows]
        level = rows[0]["level"]
        made.append(
            Figure(
                f"estimates-{place + 1}",
                what,
                f"Each point is a value, each bar its {level:.0%} interval. Bars that do not touch"
                " differ beyond chance; overlapping ones may still differ, see the comparisons.",
                named,
                charts.intervals("value", y, order=order, title=what),
            )
        )
    return made


def _group(document: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[str, ...]:
    """What is drawn together: estimators of one reward share a scale, measures do not."""
    logged = document.get("kind") in ("estimate", "funnel")
    logged = logged and not str(row["measure"]).startswith(OWN_SCALE)
    keys = [key for key in GROUPS if key in row and not (logged and key == "measure")]
    return tuple(str(row[key]) for key in keys)


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['system']} · {row['measure']}"
