"""Differences from the baseline, with intervals and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterrank.documents.decision import is_significant, leading_measure
from counterrank.report import charts
from counterrank.report.figure import Figure

NAIVE = "Naive"
CONTRAST = " For contrast only: this ignores who clicked. Do not decide by it."


def lifts(document: Mapping[str, Any]) -> list[Figure]:
    """One figure for each measure (and reward) with a baseline."""
    base = document.get("protocol", {}).get("baseline")
    if not base or document.get("kind") not in KINDS:
        return []
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    keys = ("measure", "exposure", "reward", "method")
    for row in document.get("comparisons", []):
        groups.setdefault(tuple(str(row[k]) for k in keys if k in row), []).append(row)
    level = float(document["protocol"].get("level", 0.95))
    lower = document["protocol"].get("lower_is_better", ())
    made = []
    first = leading_measure(document)  # what the decision reads stands on top
    ordered = sorted(groups.items(), key=lambda pair: _turn(str(pair[1][0]["measure"]), first))
    for place, (group, rows) in enumerate(ordered):
        up = -1 if {rows[0]["measure"], rows[0].get("exposure")} & set(lower) else 1
        marked = [{**row, "reading": _reading(row, level, up)} for row in rows]
        order = [str(r["system"]) for r in sorted(rows, key=lambda r: -up * r["difference"])]
        made.append(
            Figure(
                f"lifts-{place + 1}",
                f"{', '.join(group)}: difference from {base}",
                f"Right of the dashed line is more than {base}. Green and orange differ beyond"
                " chance. Bars are for one comparison, colours allow for all of them, so a grey bar"
                " may miss the line." + CONTRAST * (rows[0]["measure"] == NAIVE),
                marked,
                charts.forest_plot(
                    "difference",
                    "system",
                    order=order,
                    title=f"difference from {base}"[:60],
                    zero="yes",
                    mark="reading",
                ),
            )
        )
    return made


def _turn(label: str, first: str) -> int:
    """The measure of the decision on top, what must not decide at the bottom."""
    return 0 if label == first else 2 if label == NAIVE else 1


def _reading(row: Mapping[str, Any], level: float, up: int) -> str:
    if not is_significant(row, level):
        return "not separated"
    return "better" if up * row["difference"] > 0 else "worse"


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
                charts.forest_plot("value", y, order=order, title=what),
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
            charts.forest_plot(
                "estimate",
                "name",
                order=[str(row["name"]) for row in rows],
                title=reward,
                diamond="truth",
            ),
        )
        for place, (reward, rows) in enumerate(groups.items(), 1)
    ]
