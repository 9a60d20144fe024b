"""What is done in a bucket of users: count, lay out cells, and sum influences by cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints
from counterrank.data.ids import code_rows
from counterrank.engine.bucket import Bucket
from counterrank.exposure.learn import catalogue
from counterrank.exposure.learn.clustered import Spread
from counterrank.exposure.learn.depth import Depth, deepest_views, depths
from counterrank.exposure.learn.em import Em
from counterrank.exposure.learn.facts import Facts
from counterrank.exposure.learn.going_on import looks
from counterrank.exposure.learn.harvest import Harvest
from counterrank.exposure.learn.misfit import after_click
from counterrank.exposure.learn.plan import LOG, Plan
from counterrank.exposure.learn.rows import Rows, rows
from counterrank.exposure.learn.solving import Solution
from counterrank.exposure.learn.swap import rates
from counterrank.exposure.learn.views import Views, seen


@dataclass(frozen=True)
class Parted:
    """The rows of a bucket, and those of each value of the column that curves are learnt by."""

    everyone: Rows
    parts: Mapping[str, Rows] = field(default_factory=dict)


def parted(plan: Plan, bucket: Bucket) -> Parted:
    """The rows as arrays; several passes look at them."""

    def made() -> Parted:
        frame = bucket.tables[LOG].frame
        if plan.ranks is not None:
            frame = frame.filter(pl.col("rank") <= plan.ranks)
        data = rows(frame, reward=plan.reward, context=plan.context, swapped=plan.swapped)
        if plan.by is None or not frame.height:
            return Parted(data)
        names, order, starts = _sorted(frame[plan.by])
        cut = np.split(order, starts[1:])
        return Parted(data, {n: data.only(at) for n, at in zip(names, cut, strict=True)})

    return bucket.kept(f"exposure {replace(plan, method='', length=None)}", made)


def _sorted(column: pl.Series) -> tuple[list[str], Ints, Ints]:
    """Distinct values as text, as models by context compare them; rows by value; their starts."""
    text = column.cast(pl.String)
    code = code_rows(text.to_frame())
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(code[order]) > 0))
    return text.gather(order[starts]).to_list(), order, starts


def facts(plan: Plan, bucket: Bucket) -> tuple[Facts, dict[str, Facts]]:
    """First pass: counts of all rows and of each value's."""
    data = parted(plan, bucket)
    return _facts(plan, data.everyone), {v: _facts(plan, x) for v, x in data.parts.items()}


def _facts(plan: Plan, data: Rows) -> Facts:
    return Facts.of(data, _sums(plan, data))


def _sums(plan: Plan, data: Rows) -> dict[str, Floats]:
    """What the method adds up; where it is still to be chosen, whatever any would."""
    if plan.method in ("harvest", "em"):
        return {}
    if plan.method == "swap":
        return rates(data)
    deepest = deepest_views(data, plan.length)
    found = looks(data, deepest)
    if plan.method in ("views", "auto"):
        found |= seen(data)
    if plan.method in ("depth", "auto"):
        found |= depths(data, deepest)
    if plan.method == "auto":
        ends = deepest.rank if data.viewed is None else deepest.end
        found["ends"] = np.array([float(ends.sum())])
    return found


def cells(plan: Plan, most: float, bucket: Bucket) -> pl.DataFrame:
    """Second pass: counts by item and rank, of each value apart; rewards are at most ``most``."""
    data = parted(plan, bucket)
    lay = partial(catalogue.counted, most=most) if plan.by_item else catalogue.ends
    if plan.by is None or not data.parts:
        return lay(data.everyone)
    return pl.concat([lay(part, value) for value, part in data.parts.items()])


def spreads(
    plan: Plan, everyone: Solution, solved: Mapping[str, Solution], bucket: Bucket
) -> tuple[Spread, dict[str, Spread]]:
    """Third pass: influences of the estimates, known by now."""
    data = parted(plan, bucket)
    parts = {v: _spread(solved[v], part) for v, part in data.parts.items() if v in solved}
    return _spread(everyone, data.everyone), parts


def _spread(solution: Solution, data: Rows) -> Spread:
    found, moved = solution.found, solution.moved
    at = None if moved is None else moved.beside(data)
    if isinstance(found, (Em, Harvest)):
        assert at is not None
        own = found.spread(at, solution.scale)
    else:
        own = found.spread(data)
    if at is None or solution.gamma is None or isinstance(found, (Views, Depth)):
        return own
    return replace(own, after=after_click(at, found.c, solution.gamma, solution.scale))
