"""Does a click end the reading? Views below a click against views below none."""

from __future__ import annotations

import numpy as np

from counterrank.arrays import Floats
from counterrank.exposure.learn.depth import Deepest
from counterrank.exposure.learn.facts import Facts, counted
from counterrank.exposure.learn.rows import Rows

SIDES = ("after", "without")


def looks(data: Rows, deepest: Deepest) -> dict[str, Floats]:
    """Viewed rows that something follows, by rank and whether clicked, and how many looked on."""
    seen = data.rank < deepest.end[deepest.of]
    if data.viewed is not None:
        seen &= data.viewed > 0
    clicked = data.reward > 0
    on = deepest.rank[deepest.of] > data.rank
    out = {}
    for side, which in zip(SIDES, (seen & clicked, seen & ~clicked), strict=True):
        out[side] = counted(data.rank[which])
        out[f"{side}, on"] = counted(data.rank[which & on])
    out["reach"] = counted(deepest.rank)
    return out


def going_on(facts: Facts) -> float:
    """How often users look further after a click, relative to after no click; nan without clicks.

    Each viewed row that something follows is compared with the share that looks further at its
    rank. Near 1 where only rank decides, 0 where the first click ends the session.
    """
    reach = int(np.flatnonzero(facts.sums["reach"])[-1])  # nothing follows the deepest view
    rows = {side: np.append(facts.sums[side], np.zeros(reach))[:reach] for side in facts.sums}
    after, without = (rows[side] for side in SIDES)
    if not after.any() or not without.any():
        return float("nan")
    usual = (rows["after, on"] + rows["without, on"]) / np.maximum(after + without, 1)
    went = [
        float(rows[f"{side}, on"].sum() / max((usual * rows[side]).sum(), 1e-300)) for side in SIDES
    ]
    return went[0] / went[1] if went[1] > 0 else float("nan")
