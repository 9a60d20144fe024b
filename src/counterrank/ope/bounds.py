"""What assumptions may do to every value: shifts by a sample of users, as the audits take it.

Logged rows and the lists beside them are made arrays once more, `LogEvidence` and `Placement`; each
assumption says what the log tells of it and what that does to each target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import LogEvidence, Placement, curves_apart
from counterrank.assumptions.registry import ASSUMPTIONS
from counterrank.assumptions.score_test import DEEPEST
from counterrank.assumptions.unseen_items import UnseenItems
from counterrank.core.arrays import Floats, Ints, divide
from counterrank.core.parallel import map_threads, workers
from counterrank.data.ids import as_categories, as_plain, number_rows, positions
from counterrank.data.schema import Table
from counterrank.diagnostics.diagnostic import Diagnostic
from counterrank.engine.partitions import Partition, Partitions
from counterrank.ope.log import LOG, Sessions, log_table
from counterrank.ope.log_diagnostics import audit_rows
from counterrank.ope.match import LoggedRows, Meeting, Target
from counterrank.ope.setting import Setting
from counterrank.ope.times import WEEK, session_days
from counterrank.stats.corner_bounds import CornerBounds, Shifts
from counterrank.stats.units import Functions, Units

if TYPE_CHECKING:
    from counterrank.ope.pipeline import Contributions

Ways = dict[tuple[str, int], Shift]  # shifts by assumption and way


@dataclass(frozen=True, eq=False)
class Believed:
    """What was learned of each assumption for a reward, and the shifts of each target."""

    belief: Belief
    learned: Mapping[str, Told]
    shifts: Mapping[str, Ways]
    unseen: Mapping[str, Shift]

    def ways(self, system: str, fills: bool) -> Ways:
        """The shifts of a target; an estimate that counts unseen items 0 lacks them, too."""
        own, lacking = self.shifts[system], self.unseen[system]
        if fills or not lacking.value:
            return own
        ways = [way for way in own if way[0] == UnseenItems.name]
        return {**own, (UnseenItems.name, 0): lacking, **{w: own[w] + lacking for w in ways}}


def sampled_lists(
    setting: Setting, part: Partition, sample: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """The rows of the targets' tables that belong to the sessions of a sample."""
    ids = sample.select("session").unique()
    out = {}
    for name in setting.request.tables.targets.names:
        frame = part.tables[name].frame.drop("row", strict=False)
        frame = frame.join(ids, on="session", how="semi")
        out[name] = frame.with_columns(as_plain(frame["item"]))
    return out


@dataclass(frozen=True, eq=False)
class LogSample:
    """The log rows of some users, and the targets' tables beside them."""

    setting: Setting
    sessions: Sessions
    tables: Mapping[str, Table]

    @classmethod
    def of(cls, log: Partitions, setting: Setting, sums: Contributions) -> LogSample | None:
        """What the main pass took along; None if it has no rows."""
        if sums.sample is None or not sums.sample.height:
            return None
        table = replace(log_table(log.heads[LOG]), frame=as_categories(sums.sample))
        sessions = setting.totals.number_sessions(Sessions.of(table, gaps="allow"))
        tables = {name: replace(log.heads[name], frame=x) for name, x in sums.lists.items()}
        return cls(setting, sessions, {LOG: table, **tables})

    def partition(self) -> Partition:
        """The same as a partition of the log, its sessions numbered as they are here."""
        return Partition(self.tables, {"sessions": self.sessions, "log": self.sessions})

    def context_values(self) -> list[Ints]:
        """The number of each session's value of each named context."""
        columns = self.sessions.contexts.iter_columns()
        return [number_rows(x.to_frame())[0][self.sessions.context] for x in columns]

    def targets(self) -> dict[str, Target]:
        """The targets' lists."""
        return self.setting.targets(self.sessions, self.partition())


def believe(sample: LogSample) -> dict[str, Believed]:
    """What the sample says of every assumption, reward by reward."""
    request, found = sample.setting.request, {}
    contexts = sample.context_values()
    evidence = {r: curves_apart(_evidence(sample, r), contexts) for r in request.rewards}
    places = _places(sample, evidence[request.rewards[0]])
    for reward, log in evidence.items():
        belief = Belief(log, request.allow)
        learned = {a.name: a.learn(belief) for a in ASSUMPTIONS if a.applies(belief)}
        work = partial(_shifts, belief, learned)
        every = map_threads(work, list(places.values()), workers())
        shifts, unseen = (dict(zip(places, x, strict=True)) for x in zip(*every, strict=True))
        found[reward] = Believed(belief, learned, shifts, unseen)
    return found


def _shifts(belief: Belief, learned: Mapping[str, Told], place: Placement) -> tuple[Ways, Shift]:
    """What every assumption does to one target, and what lacks where unseen items count 0."""
    own = replace(place, log=belief.log, memo={})
    ways = {
        (a.name, way): shift
        for a in ASSUMPTIONS
        if a.name in learned
        for way, shift in enumerate(a.shifts(belief, learned[a.name], own))
    }
    return ways, UnseenItems().counted_0(belief, own)


def _evidence(sample: LogSample, reward: str) -> LogEvidence:
    setting, sessions = sample.setting, sample.sessions
    rows = audit_rows(sessions, setting.basis, reward)
    key = group_keys(sessions, rows.context[rows.session], rows.item, named=rows.named)
    group = np.unique(key, return_inverse=True)[1]
    given, curve = _curves(sample)
    days, dated = session_days(sessions.blocks.frame, sessions.blocks.start)
    horizon = None if days is None else reach(setting.request.horizon, float(np.ptp(days)))
    paid = sessions.column(reward, 0, sessions.n).astype(float)
    by_rank, drawn = setting.basis.by_rank, setting.basis.logged != "rank"
    return LogEvidence(rows, paid, group, curve, given, by_rank, drawn, days, dated, horizon)


def group_keys(sessions: Sessions, context: Ints, item: Ints, *, named: bool) -> Ints:
    """Keys of items in their contexts, or of items where no context was named."""
    out: Ints = context * (sessions.items.size + 1) + item if named else item
    return out


def _curves(sample: LogSample) -> tuple[Floats, Ints]:
    """The position model's curves, each once, and the number of each session's."""
    basis, sessions = sample.setting.basis, sample.sessions
    none = np.zeros(sessions.n, np.int64)
    if basis.by_rank or basis.model is None:
        return np.ones((1, DEEPEST)), none
    curves = np.maximum(basis.curves[:, :DEEPEST], 1e-12)
    given, number = np.unique(curves, axis=0, return_inverse=True)
    each: Ints = number.ravel()[sessions.context if len(curves) > 1 else none]
    return given, each


def _places(sample: LogSample, log: LogEvidence) -> dict[str, Placement]:
    """Where each target puts what was logged, whatever the reward."""
    setting, sessions = sample.setting, sample.sessions
    request, basis = setting.request, setting.basis
    logged = LoggedRows.of(sessions, basis, 0, sessions.n)
    given, curve, named = log.given, log.curve, bool(sessions.log.contexts)
    own = group_keys(sessions, sessions.context[logged.session], logged.item, named=named)
    keys, out = np.unique(own), {}
    for system, target in sample.targets().items():
        met = Meeting.of(sessions, basis, logged, target, missing=request.missing)
        cells, rows = met.cells, met.rows
        arm, rank = curve[cells.session], np.minimum(cells.rank, DEEPEST) - 1
        spread = cells.rank == 0  # at no one rank: the one that is seen as often stands for it
        far = np.abs(given[:, : setting.totals.ranks][arm[spread]] - cells.e[spread, None])
        rank[spread] = np.argmin(far, axis=1)
        factor = cells.e / given[arm, rank]
        base = rows.e0 / given[curve[logged.session], np.minimum(logged.rank, DEEPEST) - 1]
        key = group_keys(sessions, sessions.context[cells.session], cells.item, named=named)
        spot = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        out[system] = Placement(
            log, np.append(rank, 0)[rows.cell],
            divide(np.append(factor, 0.0)[rows.cell], base, 0.0),
            rows.e0, rows.cell, cells.session, np.where(keys[spot] == key, spot, len(keys)),
            cells.item, rank, factor,
        )  # fmt: skip
    return out


# time


def reach(asked: float | None, length: float) -> float:
    """As asked; or a week, at most half the log."""
    return min(WEEK, length / 2) if asked is None else asked


# corners


def corner_bounds(
    found: Mapping[str, Believed],
    functions: Functions,
    table: Units,
    per: Mapping[str, float],
    fills: Mapping[str, bool],
) -> CornerBounds:
    """The corners, and what they do to every estimate; ``table`` has the units of the sample.

    Values of a system are sums over sessions, times ``per`` where they are means over views. Of
    each estimator ``fills`` says whether unseen items count as others do.
    """
    every = product(found.values(), next(iter(found.values())).shifts, set(fills.values()))
    columns = list(dict.fromkeys(way for b, system, fill in every for way in b.ways(system, fill)))
    learned = next(iter(found.values())).learned
    corners = _corners(columns, learned)
    shifts, own, made = {}, {}, {}
    for key, function in functions.items():
        if key.measure not in found:
            continue
        believed = found[key.measure]
        log = believed.belief.log
        view = table.over(key)
        psi = np.zeros(log.n)
        psi[positions(view.ids, table.ids) if view is not table else slice(None)] = view.influence(
            key, function
        )
        own[key] = log.by_cluster(psi)
        if key.system in believed.shifts:
            which = key.system, key.measure, fills[key.estimator]
            if which not in made:
                own_scale = per.get(key.system, 1.0)
                ways = believed.ways(key.system, fills[key.estimator])
                made[which] = _stack(ways, columns, log.clusters).times(own_scale)
            shifts[key] = made[which]
    n = next(iter(found.values())).belief.log.n
    return CornerBounds(corners, shifts, own, n, _remedies(columns, learned))


def _remedies(
    columns: Sequence[tuple[str, int]], learned: Mapping[str, Told]
) -> dict[str, list[int]]:
    """The shifts of what was not told, by what to log; chances do without those of ranks."""
    found: dict[str, list[int]] = {}
    for a in ASSUMPTIONS:
        own = [number for number, (name, _) in enumerate(columns) if name == a.name]
        if own and not learned[a.name].told:
            lacks = learned[a.name].more.get("log", "" if a.assumed else a.needs)
            if log := lacks.partition(":")[0]:
                found.setdefault(log, []).extend(own)
        if own and a.of_ranks:
            found.setdefault("propensity", []).extend(own)
    return found


def _stack(ways: Ways, columns: Sequence[tuple[str, int]], clusters: int) -> Shifts:
    none = Shift(0.0, np.zeros(clusters))
    every = [ways.get(column, none) for column in columns]
    return Shifts(
        np.array([s.value for s in every]),
        np.stack([s.psi for s in every]) if every else np.zeros((0, clusters)),
        np.array([s.extra for s in every]),
    )


def _corners(columns: Sequence[tuple[str, int]], learned: Mapping[str, Told]) -> Floats:
    """Each corner as a row: assumptions of one corner are broken together, in every way."""
    by_corner: dict[str, list[Assumption]] = {}
    for a in ASSUMPTIONS:
        if any(name == a.name for name, _ in columns):
            by_corner.setdefault(a.corner, []).append(a)
    choices = []
    for members in by_corner.values():
        ways = [[c for c in columns if c[0] == a.name] for a in members]
        together = [tuple(some) for some in product(*ways)]
        settled = all(a.fact and learned[a.name].found for a in members)
        choices.append(together if settled else [(), *together])
    place = {column: number for number, column in enumerate(columns)}
    out = np.zeros((int(np.prod([len(c) for c in choices])), len(columns)))
    for row, corner in enumerate(product(*choices)):
        for some in corner:
            for column in some:
                out[row, place[column]] = 1.0
    return out


# what is said of it


def diagnose_assumptions(
    found: Mapping[str, Believed],
    reward: str,
    values: Mapping[str, float],
    live: float,
    per: Mapping[str, float],
) -> list[Diagnostic]:
    """Every assumption for every target, by the reward that decides.

    Lifts are those of its ``values`` over the ``live`` one; ``per`` as in `corner_bounds`.
    """
    believed, out = found[reward], []
    for system, ways in believed.shifts.items():
        base = abs(live or values[system]) / per.get(system, 1.0) or 1.0
        lift = float(divide(values[system], live, 1.0)) - 1
        for a in ASSUMPTIONS:
            if a.name in believed.learned:
                own = [shift for (name, _), shift in ways.items() if name == a.name]
                told = believed.learned[a.name]
                size, harmless, state, text = a.diagnose(believed.belief, told, own, lift, base)
                out.append(Diagnostic(a.name, system, size, harmless, state, text, (system,)))
    return out
