"""How narrow a second interval could be on large clean logs; run from the root.

Of each generator, at the median over candidates: the width, in plain ones, that is left if the rank
changes what a view earns by a power of the rank and nothing else is broken, which is one number to
learn from the log; and what the log has to learn it from. No method that lets the rank matter
without being told how needs less.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import counterrank as cr
import counterrank.ope.bounds as bounds
from calibration.cells import GRID
from counterrank.assumptions.two_way import depth
from counterrank.stats.plan import Plan

CELL, SESSIONS, SEEDS, STEP = "clean, no drift", 20_000, range(2000, 2003), 1e-3


def limits(generator: str, seed: int) -> tuple[list[float], tuple[float, float, float]]:
    """The width of each candidate; ranks of an item, their variance in doublings, error of both."""
    case = next(c for c in GRID[generator] if c.name == CELL).case(generator, SESSIONS, seed)
    kept, places, believe = {}, bounds._places, bounds.believe
    with (
        patch.object(bounds, "_places", lambda *a: kept.setdefault("places", places(*a))),
        patch.object(bounds, "believe", lambda *a: kept.setdefault("found", believe(*a))),
    ):
        result = cr.estimate(case.log, case.runs, **case.call)
    found = kept["found"][case.call["reward"]]
    belief, log, fit = found.belief, found.belief.log, found.belief.tilted
    se, far, lead = found.learned["trust"].se, depth(log), result.protocol["decides"]["estimator"]
    rows = {c.system: c for c in result.comparisons if c.estimator == lead}
    z = Plan().union_width(np.inf, 0.95, len(rows), np.inf)
    widths = []
    for name, place in kept["places"].items():
        own = replace(place, log=log, memo={})
        values = [
            belief.value(own, fit.at(fit.by_rank * np.exp(x * far)), belief.b).value
            for x in (STEP, -STEP)
        ]
        slope = (values[0] - values[1]) / (2 * STEP) / (log.paid.sum() / log.n)
        plain = (rows[name].lift_high - rows[name].lift_low) / 2
        widths.append(float(np.hypot(plain / 1.96, slope * se) * z / plain))
    H, earned = fit.expected, fit.size.sum(axis=1)
    at = fit.step_depth
    mean = H @ at / np.maximum(H.sum(axis=1), 1e-300)
    spread = float((H * (at - mean[:, None]) ** 2).sum() / H.sum())
    ranks = float((fit.views > 0).sum(axis=1) @ earned / earned.sum())
    return widths, (ranks, spread, se)


if __name__ == "__main__":
    for generator in GRID:
        found = [limits(generator, seed) for seed in SEEDS]
        ranks, spread, se = np.mean([about for _, about in found], axis=0)
        print(
            f"{generator}: {np.median([w for own, _ in found for w in own]):.2f} plain widths;"
            f" a reward's item was at {ranks:.1f} ranks, log2 of which vary by {spread:.2f};"
            f" the change per doubling has a standard error of {se:.1%}"
        )
