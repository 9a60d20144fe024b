"""Refusals of what could not be looked up, once all buckets have been."""

from __future__ import annotations

from counterrank.conversions.estimators import CTR
from counterrank.conversions.listing import Asked
from counterrank.core.faults import Faults


def refuse(faults: Faults, asked: Asked, *, missing: str) -> None:
    """Predictions, items or lists that some measure, estimator or policy cannot do without."""
    needs = {
        "clicked pair without ctr": [str(e) for e in asked.estimators if isinstance(e, CTR)],
        "pair without cvr": [str(e) for e in asked.estimators if "model" in e.needs],
        "not all items": [str(m) for m in asked.measures if m.lists == "all"],
    }
    for what, who in needs.items():
        only = Faults(tuple(fault for fault in faults.found if fault.what == what))
        only.refuse(allowed=() if who else (what,), who=next(iter(who), ""))
    faults.refuse(allowed=needs if missing == "error" else (*needs, "funnel user without list"))
