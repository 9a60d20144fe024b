"""From sums over all buckets to the estimate: can it be told at all, and what is it?"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from counterrank.arrays import Floats
from counterrank.exposure.learn import identify
from counterrank.exposure.learn.catalogue import Catalogue
from counterrank.exposure.learn.clustered import Spread
from counterrank.exposure.learn.depth import Depth, gaps
from counterrank.exposure.learn.em import Em
from counterrank.exposure.learn.facts import Facts
from counterrank.exposure.learn.fit import fit
from counterrank.exposure.learn.going_on import going_on
from counterrank.exposure.learn.harvest import Harvest
from counterrank.exposure.learn.learnt import Basis, Learnt
from counterrank.exposure.learn.misfit import Misfit, balance, relevance, tested
from counterrank.exposure.learn.plan import Plan
from counterrank.exposure.learn.swap import Swap
from counterrank.exposure.learn.views import Views


@dataclass(frozen=True)
class Solution:
    """An estimate, and what its second pass needs to know of the items that moved.

    ``gamma`` is their relevance for the test of the model; rewards are divided by ``scale``.
    """

    found: Views | Depth | Swap | Em | Harvest
    items: int
    moved_items: int
    scale: float = 1.0
    moved: Catalogue | None = None
    gamma: Floats | None = None
    balance: tuple[float, float] | None = None


def refuse(facts: Facts, plan: Plan) -> None:
    """What counts by rank tell against learning."""
    identify.every_rank(facts)
    if plan.method == "views":
        identify.have_views(facts)
    elif plan.method == "depth":
        identify.have_depth(facts, plan.length)
    else:
        identify.have_rewards(facts, plan.method)
        if plan.method == "swap":
            identify.enough_clicks(facts.sums["rewarded"][1:])


def automatic(facts: Facts) -> str:
    """Views where they were logged; depth where rows thin out as views do; else rank changes.

    A log of viewed rows only has fewer and fewer rows as ranks go down, and no gaps.
    """
    if facts.viewed and 0 < facts.sums["viewed"].sum() < facts.rows:
        return "views"
    thin = facts.shown[-1] < 0.5 * facts.shown[0] and facts.rows == facts.sums["ends"][0]
    return "depth" if thin else "harvest"


def counted(facts: Facts, plan: Plan, items: int, moved: int) -> Solution:
    """Methods that need no items: how many there are is for the reader."""
    if plan.method == "views":
        return Solution(Views.of(facts), items, moved)
    if plan.method == "depth":
        return Solution(Depth.of(facts, plan.length), items, moved)
    return Solution(Swap.of(facts, coins=True), items, moved)


def solved(facts: Facts, plan: Plan, cells: pl.DataFrame) -> Solution:
    """Methods that look at the same item at several ranks, if only to test the model."""
    everything = Catalogue.of(cells, facts.scale)
    method, moved = plan.method, everything.moved()
    if method != "swap":
        identify.items_move(everything, len(facts.shown))
    found = (
        Swap.of(facts, coins=False)
        if method == "swap"
        else (Harvest if method == "harvest" else Em).of(moved)
    )
    return Solution(
        found,
        everything.items.height,
        moved.items.height,
        facts.scale,
        moved,
        relevance(moved, found.c),
        balance(everything) if method == "swap" else None,
    )


def finished(
    facts: Facts, solution: Solution, spread: Spread, *, method: str, model: str, level: float
) -> Learnt:
    """The table with its intervals, a curve through it, and the statistics of both."""
    found = solution.found
    curve = found.curve(spread)
    own, parameters = fit(curve, model, level=level)
    test: Misfit | None = None
    if solution.moved_items and solution.moved and not isinstance(found, (Views, Depth)):
        test = tested(solution.moved, found.c, spread.after)
    return Learnt(
        own, method, model, level, curve, own, parameters,
        Basis(
            facts.rows, facts.sessions, facts.clusters, facts.by, solution.items,
            solution.moved_items,
        ),
        test,
        solution.balance,
        gaps(facts) if method == "depth" else None,
        going_on(facts) if method in ("views", "depth") else None,
    )  # fmt: skip
