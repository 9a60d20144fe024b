r"""Estimators that coincide by construction are printed as one; documents keep each row.

Where views are not logged, a row counts as seen as its logged rank says: :math:`v_i = e_{0i}`. Then
:math:`v_i w_i = e_i`, so that :math:`\sum_i v_i w_i` is the target's views :math:`\bar V` (SNIPS is
IPS), and :math:`\sum_i w_i v_i \hat q_i = \sum_a e \hat q` (DR is IPS, whatever the model says).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from counterrank.documents.requirements import Row

ALIKE = ("IPS", "SNIPS", "DR", "SNDR")
NEAR = 1e-9


def joint_labels(protocol: Row, estimates: Sequence[Row]) -> dict[str, str]:
    """What each of the estimators that coincide is printed as; none where they do not."""
    values: dict[str, dict[tuple[Any, ...], list[Any]]] = {}
    for row in estimates if protocol.get("views") == "latent" else ():
        if row["estimator"] in ALIKE:
            of = row["system"], row["measure"], row["reward"], row["segment"]
            own = [row[key] for key in ("value", "se", "low", "high")]
            values.setdefault(row["estimator"], {})[of] = own
    joint: dict[str, str] = {}
    for label in values:
        same = [other for other in values if _same(values[label], values[other])]
        if len(same) > 1 and label not in joint:
            joint |= dict.fromkeys(same, "=".join(same))
    return joint


def reason(joint: Mapping[str, str]) -> str:
    """Why they coincide, in a sentence."""
    if not joint:
        return ""
    return (
        f"{next(iter(joint.values()))}: without logged views every row counts as seen as its rank"
        " says, so weights average to 1 exactly and a model's predictions cancel."
    )


def first_rows(rows: Sequence[Any], labels: Sequence[str], joint: Mapping[str, str]) -> list[Any]:
    """The rows, of which ``labels`` are the estimators, but for repetitions of the first."""
    lead = {name: next(label for label in joint if joint[label] == name) for name in joint.values()}
    return [
        row
        for row, label in zip(rows, labels, strict=True)
        if label not in joint or lead[joint[label]] == label
    ]


def with_joint_rows(document: Row) -> Row:
    """The document with one row for what coincides, and why; to be shown, not to be kept."""
    joint = joint_labels(document.get("protocol", {}), document.get("estimates", []))
    if not joint:
        return document
    shown = {
        part: [
            {**row, "estimator": joint.get(row["estimator"], row["estimator"])}
            for row in first_rows(rows, [row["estimator"] for row in rows], joint)
        ]
        for part in ("estimates", "comparisons")
        for rows in (document[part],)
    }
    decides = dict(document["protocol"].get("decides") or {})
    decides["estimator"] = joint.get(decides.get("estimator", ""), decides.get("estimator", ""))
    protocol = {**document["protocol"], "decides": decides}
    return {**document, **shown, "protocol": protocol, "coincide": reason(joint)}


def _same(a: Mapping[Any, list[Any]], b: Mapping[Any, list[Any]]) -> bool:
    return a.keys() == b.keys() and all(
        x == y or (None not in (x, y) and math.isclose(x, y, rel_tol=NEAR)) or (x != x and y != y)
        for key in a
        for x, y in zip(a[key], b[key], strict=True)
    )
