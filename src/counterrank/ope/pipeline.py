"""``estimate``: a log and target rankers in, what each would have earned out.

After the steps comes the main pass over the log: every target's columns, session by session.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints, sum_by
from counterrank.core.faults import Faults
from counterrank.core.merge import merge
from counterrank.core.parallel import Progress, map_threads, workers
from counterrank.diagnostics.diagnostic import Diagnostic, limited
from counterrank.diagnostics.weights import WeightStatistics
from counterrank.engine import Engine
from counterrank.engine.engines import Storage
from counterrank.engine.partitions import Partition, Partitions, Tables, on_some
from counterrank.ope.estimators import estimator
from counterrank.ope.estimators.clipped_weight import Rows
from counterrank.ope.estimators.ips import Estimator, OnPolicy
from counterrank.ope.estimators.slate import SlateWeight
from counterrank.ope.log import LOG, Sessions
from counterrank.ope.log_diagnostics import (
    TargetStatistics,
    audit_log,
    diagnose_targets,
    sample_share,
)
from counterrank.ope.match import LoggedRows, Meeting, Target, on_policy_rows
from counterrank.ope.request import LIVE, LOGGED, EstimateRequest
from counterrank.ope.reward_model import Models, fit_models
from counterrank.ope.setting import Setting, Slopes
from counterrank.results.result import Result
from counterrank.stats.draws import Draws
from counterrank.stats.moments import Moments
from counterrank.stats.units import Columns, Estimate, Functions, Key, Units, join_columns

if TYPE_CHECKING:
    from counterrank.nuisance.own_model import OwnModel
    from counterrank.stats.corner_bounds import CornerBounds

TEXT = 8  # columns that an id of text is as large as
KNEW = "the logger knew more than its logged chances say"


def estimate(
    request: EstimateRequest, tables: Tables, engine: Engine, model: str | OwnModel, bar: Progress
) -> Result:
    """Totals of the log, reward models if asked for, every session's contributions, a result."""
    with engine.open(tables, bar) as log:
        setting = _setting(request.with_heads(log), log)
        request, head = setting.request, log.heads[LOG]
        models = fit_models(log, setting, model)
        storage = _storage(setting, engine, head.frame)
        sums = gather_contributions(log, setting, models, storage, sample_share(setting.totals))
        sums.refuse(request)
        functions = sums.functions(setting)
        bounds, audits = _believe(log, setting, models, sums, functions)
        diagnostics = [*_diagnose(log, setting, sums, functions, not audits), *audits]
        forgotten = _forgotten(log, setting)
        ran = {"inference": storage.protocol(), "clusters": sums.clusters(functions, request)}
    result = Result.of(
        "estimate", sums.table, groups=request.groups(),
        functions={key: functions[key] for key in request.functions()},
        plan=request.plan, diagnostics=diagnostics, bounds=bounds, inputs=log.inputs,
        protocol={**request.protocol(head), **setting.totals.protocol(), **log.protocol(), **ran},
        tables=_tables(request, sums, functions), subjects=_subjects, family=_family,
        parse=estimator.label, default=request.leading, progress=bar,
    )  # fmt: skip
    return _with_tipping(result, request, functions, forgotten, bounds)


def _forgotten(log: Partitions, setting: Setting) -> dict[str, float]:
    """How strong each context is as a cause, where hidden ones could matter."""
    if not setting.request.swings():
        return {}
    from counterrank.ope.forgotten_contexts import forget_contexts

    return forget_contexts(log, setting)


def _with_tipping(
    result: Result, request: EstimateRequest, functions: Functions, forgotten: dict[str, float],
    bounds: CornerBounds | None,
) -> Result:  # fmt: skip
    """The result with what hidden causes would have to be, where chance had a part in the log.

    And with what more columns would tell, where there are second intervals.
    """
    if bounds is not None:
        from counterrank.results.narrowing import with_narrowing

        result = with_narrowing(result, request.groups(), functions, bounds, request.plan)
    if not request.swings():
        return result
    from counterrank.results.tipping import with_tipping

    return with_tipping(result, request.swings(), functions, forgotten, KNEW)


def _setting(request: EstimateRequest, log: Partitions) -> Setting:
    """What every partition must know, the error of a learned position model included."""
    setting = Setting.of(request, log)
    if not setting.learned:
        return setting
    from counterrank.ope.curve_error import CurveParameters

    curve = CurveParameters.of(setting.basis, setting.totals, request.learned)
    return replace(setting, curve=curve)


def _storage(setting: Setting, engine: Engine, log: pl.DataFrame) -> Storage:
    """Whether values per session are held, and with them its ids."""
    texts = sum(log.schema.get(name) == pl.String for name in ("session", "user"))
    sessions, columns = setting.totals.sessions, count_columns(setting) + TEXT * texts
    return Storage.choose(engine.inference, sessions, columns, engine.memory_budget)


def _believe(
    log: Partitions, setting: Setting, models: Models, sums: Contributions, functions: Functions
) -> tuple[CornerBounds | None, list[Diagnostic]]:
    """What assumptions may do to every value, and what is to be said of each."""
    request = setting.request
    rewarded = [e for e in request.computed if e.about == "reward"]
    if request.bounds == "none" or not rewarded:
        return None, []
    from counterrank.ope import bounds

    sample = bounds.LogSample.of(log, setting, sums)
    if sample is None:
        return None, []
    reward, table, own = _decider(request), sums.table, functions
    if not isinstance(table, Units) or sample.sessions.n < setting.totals.sessions:
        alone, own = replace(setting, curve=None), request.all_functions()
        few = contributions(alone, models, Draws(), 1.0, sample.partition())
        assert few is not None
        assert isinstance(few.table, Units)
        table = few.table
    found, live = bounds.believe(sample), sums.estimate(functions, Key(LOGGED, reward, LIVE)).value
    earned = {str(e): e for e in request.computed if e.total == "yes"}
    plain = {k: own[k] for k in request.functions() if k.system == LOGGED or k.estimator in earned}
    per = {}
    if request.per == "impression":
        seen = {name: t.weights.views / setting.totals.sessions for name, t in sums.targets.items()}
        per = {name: 1 / views if views > 0 else 1.0 for name, views in seen.items()}
    lead = max(rewarded, key=lambda e: e.trust)
    values = {s: sums.estimate(functions, Key(s, reward, str(lead))).value for s in request.systems}
    said = bounds.diagnose_assumptions(found, reward, values, live, per)
    fills = {label: e.fills for label, e in earned.items()}
    return bounds.corner_bounds(found, plain, table, per, fills), said


def _decider(request: EstimateRequest) -> str:
    """The reward that decides."""
    by = request.plan.rule.decide_by
    return by if by in request.rewards else request.rewards[0]


def _diagnose(
    log: Partitions, setting: Setting, sums: Contributions, functions: Functions, plain: bool
) -> list[Diagnostic]:
    """What the numbers of each target rest on, and audits of the log by the reward that decides.

    Assumptions are audited here where they are ``plain`` yes or no.
    """
    reward, users = _decider(setting.request), None

    def estimate(name: str, e: Estimator, reward: str) -> Estimate:
        return sums.estimate(functions, Key(name, reward, str(e)))

    if "user" in log.heads[LOG].frame.columns:
        users = estimate(LOGGED, OnPolicy(), reward).clusters
    audits = audit_log(
        log, setting.totals, setting.basis, reward, users=users, read=setting.sessions,
        sample=sums.sample, shifts=not plain,
    )  # fmt: skip
    counting = [e for e in setting.request.estimators if "views" in e.needs]
    views, others = (
        [d for d in audits if (d.name == "lost views") == about] for about in (True, False)
    )
    targets = diagnose_targets(setting, sums.targets, estimate)
    diagnostics = [*targets, *others, *limited(views, counting)]
    if setting.learned:
        from counterrank.ope.curve_error import curve_error

        diagnostics.append(curve_error(setting))
    return diagnostics


def _tables(request: EstimateRequest, sums: Contributions, functions: Functions) -> dict[str, Any]:
    """How many rows weigh how much; the clip sweep, and the choice it speaks for."""
    weights = [row for name, t in sums.targets.items() for row in t.weights.spread(name)]
    tables: dict[str, Any] = {"weights": weights, "sweep": [], "choices": []}
    if request.sweep == "none":
        return tables
    from counterrank.ope.clip_sweep import choose_clip, sweep_clips

    for (name, target), reward in product(sums.targets.items(), request.rewards):
        estimates = partial(sums.beside_logged, functions, name, reward)
        level = request.plan.level
        tables["sweep"] += sweep_clips(name, reward, estimates, target.weights, level)
        tables["choices"].append(choose_clip(name, reward, estimates, level))
    return tables


def _subjects(key: Key) -> set[str]:
    """Subjects of diagnostics that concern an estimate; what sessions lack is the logged's, too."""
    if key.system == LOGGED:
        return {LOGGED, "sessions"}
    return {key.system, f"{key.system}, {key.estimator}", "log", "sessions"}


def _family(size: int, groups: int) -> str:
    return f"{size} comparison{'s' * (size != 1)}"


# the main pass


@dataclass(frozen=True)
class Contributions:
    """What sessions of a partition contribute, or of all: a column each, or only their moments.

    ``sample`` are the log rows of some users, for its audits; ``slopes`` say how columns move with
    the parameters of a learned position model.
    """

    table: Units | Moments
    targets: dict[str, TargetStatistics]
    sample: pl.DataFrame | None
    slopes: Slopes | None = None
    lists: dict[str, pl.DataFrame] = field(default_factory=dict)

    def functions(self, setting: Setting) -> Functions:
        """What every key is a function of, the error of a learned position model included."""
        plain = setting.request.all_functions()
        if setting.curve is None or self.slopes is None:
            return plain
        return self.slopes.functions(plain, setting.curve.root)

    def estimate(self, functions: Functions, key: Key) -> Estimate:
        """What one estimator says of a system's reward."""
        return self.table.estimate(key, functions[key])

    def clusters(self, functions: Functions, request: EstimateRequest) -> int:
        """How many users there are, or sessions where users are not known."""
        return self.estimate(functions, Key(LOGGED, request.rewards[0], LIVE)).clusters

    def beside_logged(
        self, functions: Functions, system: str, reward: str, e: Estimator
    ) -> tuple[Estimate, Estimate]:
        """The same, and how it compares with what the logged ranker earned, as a ratio."""
        key, live = Key(system, reward, str(e)), Key(LOGGED, reward, LIVE)
        both = self.table.over(key, live)
        own = both.estimate(key, functions[key])
        return own, own / both.estimate(live, functions[live])

    def refuse(self, request: EstimateRequest) -> None:
        """Raise for what is wrong with a target, unless the request lets it pass."""
        policies = {"session without list": request.missing, "nothing logged": request.disjoint}
        for target in self.targets.values():
            target.faults.refuse([what for what, policy in policies.items() if policy != "error"])


def gather_contributions(
    log: Partitions, setting: Setting, models: Models, storage: Storage, share: float
) -> Contributions:
    """Every session of all partitions, or their moments, by user where users are known."""
    request, label = setting.request, "joining log and rankers"
    work = partial(contributions, setting, models, request.plan.drawn(storage.inference), share)
    if storage.units:
        return log.reduce(work, label)
    moments = partial(take_moments, request)
    if "user" not in log.heads[LOG].frame.columns:
        return log.reduce(partial(on_some, work, moments), label)
    pieces = partial(_pieces, work, log.pieces)  # a user's sessions are in several partitions
    return log.exchange(pieces, moments, label)


def take_moments(request: EstimateRequest, sums: Contributions) -> Contributions:
    """Moments in place of columns per session."""
    assert isinstance(sums.table, Units)
    groups = [*request.groups(), *request.swept(), *request.swung()]
    moments = Moments.of(sums.table, request.all_functions(), groups)
    return replace(sums, table=moments)


def _pieces(
    work: partial[Contributions | None], count: int, part: Partition
) -> dict[int, Contributions]:
    """Sessions by a hash of their user; what is said of the partition goes with the first piece.

    Ids of sessions are asked for nothing more than an order: of text, hashes have one.
    """
    sums = work(part)
    if sums is None:
        return {}
    table = sums.table
    assert isinstance(table, Units)
    if table.ids.dtype == pl.String:
        table = replace(table, ids=table.ids.hash(0))
    pieces = {n: Contributions(x, {}, None) for n, x in table.by_cluster(count).items()}
    return pieces | {0: replace(sums, table=pieces[0].table)}


def count_columns(setting: Setting) -> int:
    """Columns of a session, of all estimates together, seen on a session of nothing."""
    request, ranks = setting.request, setting.totals.ranks
    some, none = np.ones(ranks), np.zeros(ranks, np.int64)
    rows = Rows(
        np.zeros(1, np.int64), some, some, some, some, some, none, none, some, np.ones(1),
        np.ones(1), np.arange(1, ranks + 1), ranks, some, some,
    )  # fmt: skip
    estimators = [e for reward in request.rewards for e in request.computed_for(reward)]
    wide = sum(len(e.sums(rows, request.per)) for e in estimators)
    live = len(OnPolicy().sums(rows, request.per))
    learned = setting.curve.count if setting.curve and setting.curve.learned else 0
    return len(request.systems) * wide + len(request.rewards) * live + learned


def contributions(
    setting: Setting, models: Models, draws: Draws, share: float, part: Partition
) -> Contributions | None:
    """Columns per session of every target, and the rows of some users for the audits."""
    sessions = setting.sessions(part)
    if sessions is None:
        return None
    request, targets = setting.request, setting.targets(sessions, part)
    columns, statistics, weights = _on_policy(setting, sessions), {}, {}
    masks: dict[Key, Bools] = {}
    for name, target in targets.items():
        rival = targets.get(request.rival) if request.swings() and name != request.rival else None
        mine, statistics[name], weights[name] = _one_target(
            setting, models, sessions, name, target, rival
        )
        columns |= mine
        there = target.place >= 0
        if request.missing == "skip" and not there.all():
            masks |= dict.fromkeys(mine, there)
    slopes, theta = _learned(setting, models, sessions, targets)
    columns = {key: (*own, *theta) for key, own in columns.items()}
    units = Units(sessions.units, columns, masks, sessions.user, draws)
    sample = sessions.sample(share, weights=weights)
    return Contributions(units, statistics, sample, slopes, _lists(setting, part, sample))


def _lists(setting: Setting, part: Partition, sample: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The targets' rows beside the sampled ones, where bounds are asked for."""
    if setting.request.bounds == "none":
        return {}
    from counterrank.ope.bounds import sampled_lists

    return sampled_lists(setting, part, sample)


def _learned(
    setting: Setting,
    models: Models,
    sessions: Sessions,
    targets: dict[str, Target],
) -> tuple[Slopes | None, Columns]:
    """How columns move with a learned position model, and sessions with it, if it is this log's."""
    if setting.curve is None:
        return None, ()
    from counterrank.ope.curve_error import curve_slopes

    slopes = curve_slopes(setting, setting.curve, models, sessions, targets)
    return slopes, setting.curve.influences(sessions, setting.totals.sessions)


def _earned(request: EstimateRequest, sessions: Sessions, target: Target) -> Floats | None:
    """What sessions without and with a list earned, see `TargetStatistics`."""
    there = target.place >= 0
    if there.all():
        return None
    reward = sessions.column(_decider(request), 0, sessions.n)
    rows = on_policy_rows(sessions.blocks.start, reward, np.empty(0))
    [paid] = OnPolicy().sums(rows, "session")
    count = max(len(sessions.contexts), 1)
    cell = sessions.context * 2 + there
    parts = [sum_by(cell, x, 2 * count) for x in (np.ones(sessions.n), paid, paid**2)]
    return np.stack(parts, axis=-1).reshape(count, 2, 3)


@dataclass(frozen=True)
class _Block:
    """What one block of sessions yields for a target, or all of them."""

    columns: Annotated[dict[Key, Columns], join_columns]
    weights: WeightStatistics
    weight: Annotated[Floats, np.concatenate]
    again: Annotated[Ints, np.concatenate]
    twice: Annotated[Ints, np.concatenate]
    empty: Annotated[Ints, np.concatenate]
    unseen: Annotated[Ints, np.concatenate]


def _one_target(
    setting: Setting,
    models: Models,
    sessions: Sessions,
    name: str,
    target: Target,
    rival: Target | None,
) -> tuple[dict[Key, Columns], TargetStatistics, Floats]:
    """Every estimator of every reward for one target, and its weight of each row.

    ``rival`` is what it is compared with.
    """
    request = setting.request
    work = partial(_one_block, setting, models, sessions, name, target, rival)
    whole = merge(map_threads(work, sessions.cuts(), workers()))
    absent = np.flatnonzero(target.place < 0)
    slates = None
    weight = whole.columns.get(Key(name, request.rewards[0], str(SlateWeight())))
    if weight is not None:
        w = np.delete(weight[0], absent) if request.missing == "skip" else weight[0]
        slates = float(w.sum()), float(np.sum(w**2)), len(w)
    by_score = target.table.order == "score" and target.scores == "order"
    statistics = TargetStatistics(
        whole.weights,
        _faults(sessions, target, absent, whole),
        target.tied() if by_score else None,
        target.table.frame.height,
        slates,
        _earned(request, sessions, target),
    )
    return whole.columns, statistics, whole.weight


def _one_block(
    setting: Setting,
    models: Models,
    sessions: Sessions,
    name: str,
    target: Target,
    rival: Target | None,
    cut: tuple[int, int],
) -> _Block:
    """Some sessions: join once, then every reward and estimator on the same arrays."""
    request, basis = setting.request, setting.basis
    logged = LoggedRows.of(sessions, basis, *cut)
    meet = partial(Meeting.of, sessions, basis, logged, missing=request.missing)
    met, other = meet(target), None if rival is None else meet(rival)
    columns, unseen = {}, np.zeros(len(logged.rank), bool)
    for reward in request.rewards:
        future = models.futures.get(name, {}).get(reward)
        paid, model = sessions.column(reward, *cut), models.rewards.get(reward)
        rows = met.with_reward(paid, model, future)
        if other is not None:
            rows = replace(rows, other=other.with_reward(paid, model))
        unseen |= (logged.e0 == 0) & (rows.reward != 0)
        for e in request.computed_for(reward):
            columns[Key(name, reward, str(e))] = tuple(e.sums(rows, request.per))
    first = int(sessions.blocks.start[cut[0]])
    return _Block(
        columns,
        WeightStatistics.of(met.rows, met.unlogged, met.unknown, request.clips),
        met.rows.weight(float("inf")),
        met.row_again + first,
        met.cells.session[met.cell_again] + cut[0],
        met.empty + cut[0],
        np.flatnonzero(unseen) + first,
    )


def _faults(sessions: Sessions, target: Target, absent: Ints, block: _Block) -> Faults:
    """What shows only when rows meet, counted, each with its first."""
    log, name, names = sessions.log.name, target.table.name, target.blocks.names
    listed = names[0] if len(names) else None
    return Faults(
        (
            sessions.fault("session without list", name, absent, listed=listed),
            sessions.blocks.fault("item twice in session", log, block.again),
            sessions.blocks.fault("reward unseen", log, block.unseen),
            sessions.fault("item twice in target", name, block.twice),
            sessions.fault("nothing logged", name, block.empty),
        )
    )


def _on_policy(setting: Setting, sessions: Sessions) -> dict[Key, Columns]:
    """What the logged ranker itself earned, session by session."""
    request, cuts, seen = setting.request, sessions.cuts(), np.empty(0)
    if request.per == "impression":
        seen = np.concatenate([LoggedRows.of(sessions, setting.basis, *cut).seen for cut in cuts])
    columns = {}
    for reward in request.rewards:
        paid = sessions.column(reward, 0, sessions.n)
        rows = on_policy_rows(sessions.blocks.start, paid, seen)
        columns[Key(LOGGED, reward, LIVE)] = tuple(OnPolicy().sums(rows, request.per))
    return columns
