"""One partition of users: every system's lists meet the judgments, every measure of every user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints, concat, ranges, sort_order
from counterrank.core.faults import Fault, Faults
from counterrank.core.merge import by_key, union
from counterrank.core.parallel import map_threads, workers
from counterrank.data.ids import argsort_ids
from counterrank.data.runs import RunTables
from counterrank.data.schema import Table
from counterrank.diagnostics.judged_lists import ListStatistics, RatingStatistics
from counterrank.engine import Partition
from counterrank.judged.request import JUDGMENTS, EvaluateRequest, pairs_of
from counterrank.matching.hits import Hits, break_ties, find_hits
from counterrank.matching.pool import Pool, greatest, make_pool
from counterrank.metrics import Measure, unscaled
from counterrank.stats.moments import Moments
from counterrank.stats.units import Columns, Key, Units


@dataclass(frozen=True)
class JudgedTotals:
    """What must be known of all partitions before any value.

    ``top`` is the greatest rating, ``users`` the number of judged users (at most, where they are
    not counted), ``systems`` the names in the columns ``system`` of those runs that have one.
    """

    top: Annotated[float, max]
    users: int
    systems: Annotated[dict[str, pl.Series], by_key(union)]

    @classmethod
    def of(cls, runs: RunTables, count_users: bool, part: Partition) -> JudgedTotals:
        """Those of one partition."""
        judged, systems = part[JUDGMENTS], runs.systems_in(part.tables)
        users = judged.frame["user"].n_unique() if count_users else judged.frame.height
        return cls(greatest(judged), users, systems)


@dataclass(frozen=True)
class MeasuredLists:
    """What one partition yields, and what all of them merge to.

    ``units`` have the measures asked for, ``extra`` those that only diagnostics look at; ``lists``
    are counts by system. ``matches`` are there where hits are asked for.
    """

    units: Units | Moments
    extra: Units | Moments
    ratings: RatingStatistics
    lists: dict[str, ListStatistics]
    faults: Faults
    matches: Matches | None


@dataclass(frozen=True)
class _Judged:
    """The judgments of a partition, and what is measured against them.

    ``metrics`` are the measures asked for, then the diagnostic ones; ``defined`` says for each who
    has something to find.
    """

    request: EvaluateRequest
    pool: Pool
    metrics: tuple[Measure, ...]
    defined: Sequence[Bools]

    def masks(self, present: Bools) -> list[Bools | None]:
        """For each metric the users who count, as the policies have it; None: all."""
        masks: list[Bools | None] = [None] * len(self.metrics)
        if self.request.policies.missing == "skip":
            masks = [present] * len(self.metrics)
        if self.request.policies.no_relevant == "skip":
            masks = [d if m is None else m & d for m, d in zip(masks, self.defined, strict=True)]
        return masks


@dataclass(frozen=True)
class _System:
    """One system: its values (metrics x users), the users who count for each, and its lists.

    ``present`` says who has a list; hits are let go of unless they are asked for.
    """

    name: str
    x: Floats
    masks: list[Bools | None]
    lists: ListStatistics
    present: Bools
    hits: Hits | None


def measure_lists(
    request: EvaluateRequest, runs: RunTables, top: float, inference: str, part: Partition
) -> MeasuredLists:
    """Every measure of every list in a partition; ``top`` is the greatest rating of all of them.

    Tables are read and measured side by side. No policy is an error here: only all partitions
    together tell.
    """
    pool = make_pool(part[JUDGMENTS])
    part.release(JUDGMENTS)
    pool = replace(pool, top=max(top, pool.top))
    for m in request.measures:
        m.refuse(pool)
    metrics = (*request.measures, *request.metrics_for_diagnostics(runs.labels))
    judged = _Judged(request, pool, metrics, [m.defined(pool) for m in metrics])
    team = min(workers(), len(runs.names))

    def measure_table(key: str) -> list[_System]:
        lists = runs.lists_of(key, part[key])
        systems = [_measure(run, judged, threads=1 if team > 1 else workers()) for run in lists]
        part.release(key)
        return systems

    tables = map_threads(measure_table, runs.names, team)
    systems = [system for table in tables for system in table]
    blank = [~d for d in judged.defined[: len(request.measures)]]
    units, extra = _tables(judged, systems, inference)
    return MeasuredLists(
        units=units,
        extra=extra,
        ratings=RatingStatistics.of(pool, request.measures, blank),
        lists={system.name: system.lists for system in systems},
        faults=Faults(tuple(_nothing_to_find(judged, row) for row in range(len(blank)))),
        matches=Matches.of(pool, [system.hits for system in systems]),
    )


def _measure(run: Table, judged: _Judged, threads: int) -> _System:
    """Every metric of one run: its lists are aligned once, and its hits serve all."""
    pool, request = judged.pool, judged.request
    hits, seen = find_hits(
        run, pool, ties=request.policies.ties, duplicates=request.policies.duplicates,
        limit=request.cut, threads=threads,
    )  # fmt: skip
    x = unscaled(judged.metrics, hits, pool, threads=threads)
    masks = judged.masks(hits.present)
    ties = tie_shifts(request.measures, hits, pool, x, masks)
    lists = ListStatistics.of(run, pool, hits, seen, request.cut, ties)
    return _System(run.system, x, masks, lists, hits.present, hits if request.hits else None)


def _tables(
    judged: _Judged, systems: Sequence[_System], inference: str
) -> tuple[Units | Moments, Units | Moments]:
    """Values of the measures asked for and of those for diagnostics, per user or as moments."""
    request, names, held = judged.request, [s.name for s in systems], inference == "units"
    units = Units(judged.pool.units, {}, draws=request.plan.drawn(inference))
    extra = Units(judged.pool.units, {})
    bases = [m.base(judged.pool) for m in judged.metrics]
    for system in systems:
        rows = zip(judged.metrics, bases, system.x, system.masks, strict=True)
        for place, (m, base, x, mask) in enumerate(rows):
            if place < len(request.measures):
                raw = (x,) if held and m.mean == "geometric" else ()  # `unit_values` shows these
                _add(units, Key(system.name, str(m)), (*m.columns(x, base), *raw), mask)
            elif m != request.judged:
                _add(extra, Key(system.name, str(m)), (x,), mask)
            if m == request.judged:
                _add(extra, judged_share_key(system.name), (x,), system.present)
    if held:
        return units, extra
    only = [m for m in judged.metrics[len(request.measures) :] if m != request.judged]
    orders = pairs_of(only, request.plan.pairs(names))
    return (
        Moments.of(units, units.columns, request.groups(names)),
        Moments.of(extra, extra.columns, orders),
    )


def _add(table: Units, key: Key, columns: Columns, mask: Bools | None) -> None:
    table.columns[key] = columns
    if mask is not None:
        table.masks[key] = mask


def judged_share_key(system: str) -> Key:
    """How much of a user's list is judged, over the users who have one."""
    return Key(system, "judged share")


def _nothing_to_find(judged: _Judged, row: int) -> Fault:
    blank, units, label = ~judged.defined[row], judged.pool.units, str(judged.metrics[row])
    return Fault.at(
        "nothing to find", "", np.flatnonzero(blank), lambda place: {"id": units[place]},
        of=len(units), column=label,
    )  # fmt: skip


D = TypeVar("D", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Matches:
    """The judgments of some units, and the hits of each system, in the systems' order."""

    pool: Pool
    hits: tuple[Hits, ...]

    @classmethod
    def of(cls, pool: Pool, hits: Sequence[Hits | None]) -> Matches | None:
        """Those of one partition, where hits were asked for."""
        there = tuple(own for own in hits if own is not None)
        return cls(pool, there) if there else None

    @classmethod
    def merge(cls, parts: Sequence[Matches]) -> Matches:
        """Those of all partitions, in the order of the units' ids, as if there had been one."""
        pools = [part.pool for part in parts]
        units, place = place_units([pool.units for pool in pools])
        size = merge_columns([pool.size for pool in pools], place)
        start = np.cumsum(size) - size
        row = [ranges(start[where], pool.size) for pool, where in zip(pools, place, strict=True)]
        items = pl.concat([pool.items for pool in pools])
        pool = Pool(
            units=units,
            items=items.gather(np.argsort(concat(row), kind="stable")),
            size=size,
            rating=merge_columns([pool.rating for pool in pools], row),
            top=max(pool.top for pool in pools),
        )
        by_system = zip(*(part.hits for part in parts), strict=True)
        return cls(pool, tuple(_merge_hits(hits, place, row) for hits in by_system))


def _merge_hits(parts: Sequence[Hits], place: Sequence[Ints], row: Sequence[Ints]) -> Hits:
    """One system's hits in all partitions: units and judgments get the numbers of the whole."""
    numbered = list(zip(parts, place, row, strict=True))
    hits = Hits.join(
        parts,
        concat([where[h.unit] for h, where, _ in numbered]),
        concat([rows[h.judgment] for h, _, rows in numbered]),
        np.concatenate([h.rating for h in parts]),
        merge_columns([h.depth for h in parts], place),
        parts[0].expected,
    )
    return hits.take(sort_order(hits.unit, hits.rank))


def place_units(units: Sequence[pl.Series]) -> tuple[pl.Series, list[Ints]]:
    """All units by id, as in one table, and the places there of each part's."""
    every = pl.concat(list(units))
    by = argsort_ids(every)
    place = np.empty(len(by), np.int64)
    place[by] = np.arange(len(by))
    cuts = np.cumsum([len(part) for part in units])[:-1]
    return every.gather(by), np.split(place, cuts)


def merge_columns(parts: Sequence[npt.NDArray[D]], place: Sequence[Ints]) -> npt.NDArray[D]:
    """Columns of parts (last axis: units), each unit at its place."""
    out = np.empty((*parts[0].shape[:-1], sum(map(len, place))), parts[0].dtype)
    for part, where in zip(parts, place, strict=True):
        out[..., where] = part
    return out


def tie_shifts(
    measures: Sequence[Measure],
    hits: Hits,
    pool: Pool,
    x: Floats,
    counted: Sequence[Bools | None],
) -> Floats | None:
    """How far ties can move the sums of each measure's columns; None where nothing ties.

    Measures x 2 (worst, best) x columns. ``x`` are the values as ties stand (measures x users),
    ``counted`` says for each measure which users count (None: all). Only users with ties are
    looked at.
    """
    if hits.first is hits.rank or not (tied := hits.last > hits.first).any():
        return None
    touched = np.zeros(pool.n, bool)
    touched[hits.unit[tied]] = True
    own = hits.take(touched[hits.unit])
    shifts = np.zeros((len(measures), 2, 2))
    for end in (0, 1):
        moved = unscaled(measures, break_ties(own, best=end == 1), pool)
        for row, m in enumerate(measures):
            mask = counted[row]
            some = touched if mask is None else touched & mask
            base = m.base(pool)
            base = None if base is None else base[some]
            both = (m.columns(values[row, some], base) for values in (moved, x))
            for column, (new, old) in enumerate(zip(*both, strict=True)):
                shifts[row, end, column] = np.sum(new - old)
    return shifts


def tie_bracket(measure: Measure, means: Floats, shifts: Floats) -> tuple[float, float]:
    """Least and greatest value of a measure, if the means of its columns shift (2 x columns)."""
    ends = [float(measure.function(means + shift[: len(means)])) for shift in shifts]
    return min(ends), max(ends)
