"""From per-user values to the methods: holdout, IPS, SNIPS, each stratum, stratified."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterrank.aggregate import RatioOfMeans
from counterrank.arrays import Bools, Floats
from counterrank.hits import Pool
from counterrank.ranking import Measure
from counterrank.stratified.face import Blend, Face
from counterrank.stratified.layout import Layout, mean_weight
from counterrank.stratified.published import has_labels

HOLDOUT, IPS, SNIPS, STRATIFIED = "holdout", "IPS", "SNIPS", "stratified"
PUBLISHED = "IPS-published"


def methods(layout: Layout) -> tuple[str, ...]:
    """The names of all methods, in the order in which they are shown."""
    weighted = [] if layout.weight is None else [IPS, SNIPS]
    weighted += [PUBLISHED] if layout.labels else []
    return (HOLDOUT, *weighted, STRATIFIED, *layout.strata.names)


def faces(
    measure: Measure, layout: Layout, scores: Floats, there: Bools, no_relevant: str
) -> dict[str, Face | Blend]:
    """Every method of one measure. ``scores`` is ways x systems x users, as a layout scores them.

    ``there`` are the users that count at all; ``no_relevant`` says whether those with nothing to
    find do. A stratum in which nobody has anything to find has no value and is left out.
    """
    ways = iter(scores)
    pool = layout.pool
    base = counted(measure, pool, there, no_relevant)
    holdout = face(HOLDOUT, measure, next(ways), base)
    found: dict[str, Face | Blend] = {HOLDOUT: holdout}
    if layout.weight is not None:
        found |= _weighted(measure, layout, next(ways), base)
    if layout.labels:
        x = next(ways)
        found |= {PUBLISHED: face(PUBLISHED, measure, x, base)} if has_labels(measure) else {}
    strata = list(_strata(measure, layout, ways, there, no_relevant))
    filled = np.array([each.base.any() for each in strata])
    feedback = (layout.feedback * there)[filled]
    strata = [each for each, some in zip(strata, filled, strict=True) if some]
    found[STRATIFIED] = Blend(STRATIFIED, strata, feedback)
    return found | {each.method: each for each in strata}


def counted(measure: Measure, pool: Pool, there: Bools, no_relevant: str) -> Floats:
    """How much each user counts: 1 or 0 or, for a ratio of means, the user's share below."""
    base = there.astype(float)
    aggregate = measure.aggregate(pool)
    if isinstance(aggregate, RatioOfMeans):
        base *= aggregate.weight
    return base * measure.defined(pool) if no_relevant == "skip" else base


def _strata(
    measure: Measure, layout: Layout, ways: Iterator[Floats], there: Bools, no_relevant: str
) -> Iterator[Face]:
    for name, pool, x in zip(layout.strata.names, layout.pools, ways, strict=True):
        yield face(name, measure, x, counted(measure, pool, there, no_relevant))


def _weighted(measure: Measure, layout: Layout, x: Floats, base: Floats) -> dict[str, Face | Blend]:
    r"""IPS and SNIPS, whose users count :math:`b_u a_u` instead of :math:`b_u`.

    A geometric mean is divided by the geometric mean of :math:`a_u`, user by user.
    """
    assert layout.weight is not None
    a = mean_weight(measure, layout.pool, layout.weight)
    if measure.mean == "geometric":
        own = np.divide(x, a, out=np.zeros_like(x), where=a > 0)
        self_normalised = face(SNIPS, measure, own, base * (a > 0))
    else:
        self_normalised = face(SNIPS, measure, x, base * a)
    return {IPS: face(IPS, measure, x, base), SNIPS: self_normalised}


def face(method: str, measure: Measure, x: Floats, base: Floats) -> Face:
    """One method from per-user values (systems x users) and how much each user counts."""
    if measure.mean == "geometric":
        x = np.log(np.maximum(x, measure.floor))
    return Face(method, x * (base > 0), base, measure.mean)
