"""From a log to a position model: check that it can be told, learn the table, fit a curve.

A pass over partitions of whole clusters counts, another brings items together where they matter,
the estimate follows from the sums, and a last pass adds up its influences by cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import InputError
from counterrank.data.checks import certainty
from counterrank.data.ids import hash_ids, mix64
from counterrank.data.logs import Log
from counterrank.data.schema import Input
from counterrank.engine.partitions import Partition, Partitions, split
from counterrank.position.learn import identify
from counterrank.position.learn.curve import InfluenceSpread, Parameter, fit
from counterrank.position.learn.em import Em
from counterrank.position.learn.harvest import Harvest
from counterrank.position.learn.impressions import (
    HASH,
    Catalogue,
    Impressions,
    RankStatistics,
    add_up,
    as_they_are,
    by_group,
    count_cells,
    count_moved,
    first_and_last,
    grouped,
    impressions_by_group,
)
from counterrank.position.learn.learned import (
    CurveBasis,
    Learned,
    LearnedCurve,
    after_click,
    balance,
    item_relevance,
    misfit,
)
from counterrank.position.learn.request import LOG, LearnRequest, Method
from counterrank.position.learn.swap import Swap, count_rates
from counterrank.position.learn.views import (
    Depth,
    Views,
    count_depths,
    count_looks,
    count_views,
    deepest_views,
    going_on,
    skip_share,
)
from counterrank.position.models import CurveError

Group = str | None  # a value of the column that curves are learned by, or None: all rows


def learn(request: LearnRequest, log: Partitions) -> Learned:
    """A position model, or one for each value of a column, from partitions of whole clusters."""
    asked, request = request, request.read(cast(Log, log.heads[LOG]))
    counts = log.reduce(partial(count, request), "Counting")
    if counts.certain == counts.rows:
        raise certainty(log.heads[LOG].name, counts.rows)
    everyone = counts.groups[None]
    request = choose_method(request, everyone)
    items = items_by_group(request, everyone.scale, log)
    solutions: dict[Group, Solution] = {None: solve_group(request, everyone, items[None])}
    refused = {}
    for value in sorted(group for group in counts.groups if group is not None):
        try:
            solutions[value] = solve_group(request, counts.groups[value], items[value])
        except InputError as error:
            refused[value] = f"{error.wrong} {error.found}"
    spreads = log.reduce(partial(influences, request, solutions), "Intervals")
    how = replace(asked, method=request.method)
    about = CurveError(log=counts.name_log(log.inputs[LOG]), learned=asdict(how))
    curves = {
        group: finish(request, counts.groups[group], solution, spreads[group], about)
        for group, solution in solutions.items()
    }
    return Learned.of(request, curves, refused, solutions)


@dataclass(frozen=True)
class Counts:
    """Rows, those with a propensity of 1, the statistics of each group, and a sum of all ids."""

    rows: int
    certain: int
    groups: dict[Group, RankStatistics]
    digest: int

    def name_log(self, log: Input) -> dict[str, Any]:
        """What tells this log from others, whatever file it is in, if it is in one."""
        return {"rows": self.rows, "digest": f"{self.digest % 2**64:016x}", "sha256": log.sha256}


def count(request: LearnRequest, part: Partition) -> Counts:
    """First pass: counts of all rows and of each value's."""
    frame = part[LOG].frame
    certain = int((frame["propensity"] == 1).sum()) if "propensity" in frame.columns else 0
    groups = impressions_by_group(request, part)
    return Counts(
        frame.height,
        certain,
        {name: RankStatistics.of(data, _sums(request, data)) for name, data in groups.items()},
        digest_rows(frame),
    )


def digest_rows(frame: pl.DataFrame) -> int:
    """A sum over rows of what names them: the same for the same log, however it is cut."""
    place = mix64(hash_ids(frame["session"]) + frame["rank"].to_numpy().astype(np.uint64))
    return int(mix64(place + hash_ids(frame["item"])).sum(dtype=np.uint64))


def _sums(request: LearnRequest, data: Impressions) -> dict[str, Floats]:
    """What the method adds up; where it is still to be chosen, whatever any would."""
    method = request.method
    if method in ("harvest", "em"):
        return {}
    if method == "swap":
        return count_rates(data)
    deepest = deepest_views(data, request.length)
    sums = count_looks(data, deepest)
    if method in ("views", "auto"):
        sums |= count_views(data)
    if method in ("depth", "auto"):
        sums |= count_depths(data, deepest)
    if method == "auto":
        ends = deepest.rank if data.viewed is None else deepest.end
        sums["ends"] = np.array([float(ends.sum())])
    return sums


def choose_method(request: LearnRequest, statistics: RankStatistics) -> LearnRequest:
    """The request with the method that ``auto`` stands for, if the log lets it learn."""
    identify.every_rank(statistics)
    if request.method == "auto":
        request = request.choose(automatic(statistics))
    identify.counts_suffice(statistics, request.method, request.length)
    return request


def automatic(statistics: RankStatistics) -> Method:
    """Views where they were logged; depth where rows thin out as views do; else rank changes.

    A log of viewed rows only has fewer and fewer rows as ranks go down, and no gaps.
    """
    shown, rows, sums = statistics.shown, statistics.rows, statistics.sums
    if statistics.viewed and 0 < sums["viewed"].sum() < rows:
        return "views"
    thin = shown[-1] < 0.5 * shown[0] and rows == sums["ends"][0]
    return "depth" if thin else "harvest"


def items_by_group(
    request: LearnRequest, most: float, log: Partitions
) -> dict[Group, pl.DataFrame]:
    """Second pass: the cells of item and rank of each group, or only how many items it has.

    Rewards are at most ``most``.
    """
    work = partial(count_items, request, most, log.pieces)
    meet = add_up if request.by_item else count_moved
    if request.by_item and log.count == 1:  # each cell is there once
        meet = as_they_are
    return by_group(log.exchange(work, meet, "Items"))


def count_items(
    request: LearnRequest, most: float, pieces: int, part: Partition
) -> dict[int, pl.DataFrame]:
    """A partition's counts by item and rank, of each value apart, by a hash of the item."""
    groups = impressions_by_group(request, part)
    cells = partial(count_cells, most=most)
    each = cells if request.by_item else first_and_last
    values = {name: data for name, data in groups.items() if name is not None} or groups
    frame = pl.concat([each(data, name) for name, data in values.items()])
    return split(frame, HASH, pieces)


@dataclass(frozen=True)
class Solution:
    """A method's estimate; ``moved`` are the items that changed their rank.

    ``relevance`` is theirs, for the test of the model; ``balance`` tests that ranks were random.
    """

    method: Views | Depth | Swap | Em | Harvest
    items: int
    moved_items: int
    moved: Catalogue | None = None
    relevance: Floats | None = None
    balance: tuple[float, float] | None = None


def solve_group(request: LearnRequest, statistics: RankStatistics, items: pl.DataFrame) -> Solution:
    """The method's estimate of a group, if its log lets it learn."""
    method = request.method
    identify.counts_suffice(statistics, method, request.length)
    if not request.by_item:  # how many items there are is for the reader
        sizes = int(items["items"].sum()), int(items["moved"].sum())
        if method == "views":
            return Solution(Views.of(statistics), *sizes)
        if method == "depth":
            return Solution(Depth.of(statistics, request.length), *sizes)
        return Solution(Swap.of(statistics, coins=True), *sizes)
    everything = Catalogue.of(items, statistics.scale)
    moved = everything.moved()
    sizes = everything.items.height, moved.items.height
    if method == "swap":
        swap = Swap.of(statistics, coins=False)
        return Solution(swap, *sizes, moved, item_relevance(moved, swap.c), balance(everything))
    identify.items_move(everything, len(statistics.shown))
    learned = Harvest.of(moved) if method == "harvest" else Em.of(moved)
    return Solution(learned, *sizes, moved, item_relevance(moved, learned.c))


def influences(
    request: LearnRequest, solutions: Mapping[Group, Solution], part: Partition
) -> dict[Group, InfluenceSpread]:
    """Third pass: influences on the estimates, known by now."""
    groups = impressions_by_group(request, part)
    return {name: _spread(solutions[name], groups[name]) for name in groups if name in solutions}


def session_influences(learned: Learned, frame: pl.DataFrame, place: Ints, n: int) -> list[Floats]:
    r"""What each session moves the parameters by, :math:`\psi_\theta` (parameters x sessions).

    One array for each curve, in the order of ``learned.curves()``. ``frame`` are rows of the log
    that it was learned from, ``place`` the session of each, a number below ``n``.
    """
    groups = grouped(learned.request, frame.with_columns(pl.Series(" place", place)), " place")
    out = []
    for value, curve in learned.curves():
        psi = np.zeros((len(curve.slopes), n))
        if (data := groups.get(value or None)) is not None:
            solution = learned.solutions[value or None]
            items = None if solution.moved is None else solution.moved.rows_in(data)
            own = solution.method.influence(data, items)
            psi[:, own.clusters] = curve.slopes @ own.psi.T
        out.append(psi)
    return out


def _spread(solution: Solution, data: Impressions) -> InfluenceSpread:
    method, moved = solution.method, solution.moved
    if moved is None or solution.relevance is None:
        return method.influence(data, None).spread()
    items = moved.rows_in(data)
    return method.influence(data, items).spread(after_click(items, method.c, solution.relevance))


def _error(
    parameters: list[Parameter], slopes: Floats, spread: InfluenceSpread, clusters: int
) -> dict[str, Any]:
    """How sure the model is; a table's parameters are its weights."""
    names = tuple(p.name for p in parameters) or (("weights",) if len(slopes) else ())
    covariance = slopes @ spread.covariance @ slopes.T
    return {"parameters": names, "covariance": covariance, "clusters": clusters}


def finish(
    request: LearnRequest,
    s: RankStatistics,
    solution: Solution,
    spread: InfluenceSpread,
    about: CurveError,
) -> LearnedCurve:
    """The table with its intervals, a curve through it, and the statistics of both."""
    curve = solution.method.curve(spread)
    model, parameters, slopes = fit(curve, request.model, level=request.level)
    test = None
    if solution.moved_items and solution.moved is not None:
        test = misfit(solution.moved, solution.method.c, spread.after)
    return LearnedCurve(
        curve,
        model.with_error(replace(about, **_error(parameters, slopes, spread, s.clusters))),
        parameters,
        slopes,
        CurveBasis(s.rows, s.sessions, s.clusters, s.by, solution.items, solution.moved_items),
        test,
        solution.balance,
        skip_share(s) if request.method == "depth" else None,
        going_on(s) if request.method in ("views", "depth") else None,
    )
