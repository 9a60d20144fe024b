r"""What every partition of a log must know: the request, totals of the log, and its exposures.

A weight divides what the target exposes by how likely a row was seen under the logger (`Basis`):

* ``rank``: the exposure of the logged rank by the position model, :math:`e_0 = c(r)`.
* ``exposure``: the logged exposure of the item, chance included (Jeunen Eq. 6).
* ``propensity``: the logged probability of the item at its rank; no position model is needed.
* ``propensity_above``: that given the items above, which estimators of slates multiply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import InputError, UsageError
from counterrank.core.faults import DataError
from counterrank.data.logs import ABOVE, CHANCES, Log, validate_chances
from counterrank.data.schema import Table
from counterrank.engine.partitions import Partition, Partitions
from counterrank.matching.align import natural_rank
from counterrank.ope.log import LOG, LogTotals, Sessions, log_table, reward_caps, sessions_of
from counterrank.ope.loggers import (
    balance_loggers,
    logger_shares,
    mixture_column,
    validate_loggers,
)
from counterrank.ope.match import Target
from counterrank.ope.request import (
    LOGGED,
    EstimateRequest,
    estimator_needs,
    lists_of,
    validate_lists,
    validate_scores,
    validate_slates,
    validate_views,
)
from counterrank.position.models import PositionBias
from counterrank.stats.functions_of_means import Function, PlugIn
from counterrank.stats.units import Key

if TYPE_CHECKING:
    from counterrank.ope.curve_error import CurveParameters

DEEPEST = 10_000  # ranks below are as likely to be seen as this one
NEAR = 0.2  # of logged exposures and a learned curve that mean the same


@dataclass(frozen=True)
class Basis:
    """``logged`` names the logger's side of the weight, ``views`` what is known of views.

    ``curves`` holds the position model at the first ranks, a row for each context.
    """

    logged: str
    views: str
    model: PositionBias | None
    curves: Floats = field(default_factory=lambda: np.ones((1, 0)))

    @property
    def by_rank(self) -> bool:
        """Whether an item counts anew at each rank."""
        return self.logged in ("propensity", ABOVE)

    def at(self, rank: Ints, context: Ints) -> Floats:
        r""":math:`c(r)` of the position model."""
        if len(self.curves) == 1:
            same: Floats = self.curves[0].take(rank - 1, mode="clip")
            return same
        seen: Floats = self.curves[context, np.minimum(rank, self.curves.shape[1]) - 1]
        return seen

    def with_totals(self, totals: LogTotals) -> Basis:
        """With ``views`` as the log proves them, and curves computed."""
        basis = self
        if basis.model is not None:
            curves = _curves(basis.model, totals.combinations)
            basis = _without_chance(replace(basis, curves=curves), totals)
        if basis.views != "auto":
            return basis
        if not totals.viewed and basis.model is not None and not basis.by_rank:
            _validate_lengths(totals.lengths, basis.curves[0])
        return replace(basis, views="observed" if totals.viewed else "latent")


def choose_basis(
    log: Log,
    targets: list[Table],
    *,
    logged: str,
    views: str,
    model: PositionBias | None,
    slates: bool = False,
) -> Basis:
    """The basis asked for, or the one the tables allow; ``slates``: chances are multiplied."""
    exposed = model is not None or all("exposure" in t.frame.columns for t in targets)
    if logged == "auto":
        logged = "exposure" if log.has("exposure") else "rank"
        if not (exposed and (log.has("exposure") or model is not None)) and log.has("propensity"):
            logged = "propensity"
        if slates and log.has(ABOVE):
            logged = ABOVE
    if logged in CHANCES and not log.has(logged):
        raise UsageError(
            f'"{log.name}" has no column "{logged}".',
            todo=f"Log it, name it (--columns {logged}=NAME), or weigh by --logged rank.",
        )
    if logged not in ("propensity", ABOVE) and (
        not exposed or (logged == "rank" and model is None)
    ):
        raise InputError(
            "Nothing says how likely each rank is to be seen.",
            found=f'"{log.name}" has no column "propensity", and no position model was given.',
            todo="Give one, as in --position-bias log2, or learn it:"
            " counterrank exposure LOG --out pbm.json.",
        )
    if views == "observed" and not log.has("viewed"):
        raise UsageError(
            f'"{log.name}" has no column "viewed".', todo="Use --views rows or latent."
        )
    return Basis(logged, views, model)


def _without_chance(basis: Basis, totals: LogTotals) -> Basis:
    """Logged exposures that are a curve of the ranks say that nothing was left to chance.

    If that curve is the position model's but for some noise, the model is taken on both sides of
    the weight: a true curve below and a learned one above would add their differences to the value.
    """
    if basis.logged != "exposure":
        return basis
    seen = totals.exposures
    rank, context = seen["rank"].to_numpy(), np.zeros(seen.height, np.int64)
    if totals.contexts.width:
        context = totals.number(seen.select(totals.contexts.columns))
    curve = np.maximum(basis.at(rank, context), 1e-300)
    least, most = seen["low"].to_numpy() / curve, seen["high"].to_numpy() / curve
    depth = int(rank.max()) + 1
    low, high = np.full(depth, np.inf), np.zeros(depth)
    cell = rank if len(basis.curves) == 1 else np.zeros_like(rank)
    np.minimum.at(low, cell, least)
    np.maximum.at(high, cell, most)
    there = high > 0
    even = bool(np.all(high[there] - low[there] <= 1e-9 * high[there]))
    near = bool(np.all(np.abs(least - 1) <= NEAR) and np.all(np.abs(most - 1) <= NEAR))
    return replace(basis, logged="rank") if even and near else basis


def _curves(model: PositionBias, contexts: pl.DataFrame) -> Floats:
    """The position model at ranks 1, 2, 3, ..., a row for each context it tells apart."""
    if model.column is None:
        return model.at(np.arange(1, DEEPEST + 1))[None, :]
    rank = np.arange(1, DEEPEST // 10 + 1)  # a curve for each context takes room
    known = contexts[model.column].unique()
    curve = {value: model.at(rank, [value] * len(rank)) for value in known}
    return np.stack([curve[value] for value in contexts[model.column]])


def _validate_lengths(lengths: Ints, curve: Floats) -> None:
    """Refuse to guess whether a log without views holds what was shown, or only what was viewed.

    Where all lists are as long, nobody left one early: rows are all that was shown. Otherwise both
    can be, and values that count views hang on it. ``lengths`` counts the sessions of each length.
    """
    there = np.flatnonzero(lengths)
    if len(there) < 2:
        return
    rank = np.arange(1, min(len(lengths) - 1, DEEPEST) + 1)
    reached = 1 - np.cumsum(lengths)[rank - 1] / lengths.sum()
    views = curve[rank - 1] / curve[0]
    thin = np.abs(reached - views).sum() < np.abs(reached - 1).sum()
    raise UsageError(
        "It is not known whether the log holds all rows that were shown, or only those viewed.",
        found=f"It has no column viewed, and lists of {there[0]} to {there[-1]} rows, which thin"
        f" out {'as' if thin else 'less than'} the position model's views do.",
        todo="Say it: --views latent (all that was shown, seen or not) or --views rows (only what"
        " was on screen); better, log a column viewed.",
    )


# the setting of a pass


@dataclass(frozen=True)
class Setting:
    """A request and what is known of the whole log.

    ``basis`` is what weights divide; where there are several loggers, ``shares`` are their shares
    of the sessions, and ``logger_basis`` how likely each of their own lists was seen. ``curve``
    are the learned parameters of the position model, if their error is known.
    """

    request: EstimateRequest
    totals: LogTotals
    basis: Basis
    logger_basis: Basis
    shares: dict[str, float]
    curve: CurveParameters | None = None

    @classmethod
    def of(cls, request: EstimateRequest, log: Partitions) -> Setting:
        """A pass over the log, and every check that needs no rows."""
        head, targets = log_table(log.heads[LOG]), lists_of(request.tables.targets, log.heads)
        request.plan.pairs([LOGGED, *request.systems])  # the baseline is there
        request.plan.rule.validate(request.rewards)  # so is what decides
        basis = choose_basis(
            head, targets, logged=request.logged, views=request.views, model=request.position,
            slates="chances" in estimator_needs(request.estimators),
        )  # fmt: skip
        loggers = [table.system for table in lists_of(request.tables.loggers, log.heads)]
        if loggers:
            validate_loggers(head)
        validate_scores(request.scores, basis, targets)
        validate_lists(request.estimators, targets, scores=request.scores, missing=request.missing)
        validate_slates(request.estimators, basis, targets, loggers)
        totals = LogTotals.read(log, request.gaps)
        basis = logger_basis = basis.with_totals(totals)
        validate_views(request.estimators, basis)
        shares = logger_shares(totals, loggers) if loggers else {}
        if loggers:
            basis = replace(basis, logged=mixture_column(basis))
        disjoint = request.disjoint
        if disjoint == "auto":
            disjoint = "error" if basis.logged == "rank" else "zero"
        caps = {}
        if request.winsorise is not None:
            caps = reward_caps(log, totals, request.gaps, request.winsorise)
        ranges = {}
        for name, most in totals.most.items():
            cap = caps.get(name, float("inf"))
            ranges[name] = max(totals.least[name], -cap), min(most, cap)
        request = replace(
            request, disjoint=disjoint, logged=basis.logged, views=basis.views, ranges=ranges,
            caps=caps,
        )  # fmt: skip
        return cls(request, totals, basis, logger_basis, shares)

    @property
    def learned(self) -> bool:
        """Whether weights rest on a position model that was learned, from this log or another."""
        model = self.basis.model
        return model is not None and model.error is not None and not self.basis.by_rank

    def sessions(self, part: Partition) -> Sessions | None:
        """A partition's sessions by the whole log's numbers; None if it has none."""
        alone = sessions_of(self.request.gaps, part)
        return None if alone is None else part.cached("log", lambda: self._sessions(alone, part))

    def _sessions(self, alone: Sessions, part: Partition) -> Sessions:
        sessions = self.totals.number_sessions(alone).capped(self.request.caps)
        if not self.shares:
            return sessions
        scores = self.request.scores
        loggers = {
            t.system: Target.of(t, alone.units, scores="order" if t.order != "score" else scores)
            for t in lists_of(self.request.tables.loggers, part.tables)
        }
        rows = self.totals.rows
        return balance_loggers(sessions, self.logger_basis, loggers, self.shares, rows)

    def targets(self, sessions: Sessions, part: Partition) -> dict[str, Target]:
        """The targets' lists beside the partition's sessions, checked for what estimators need."""
        return part.cached("targets", lambda: self._targets(sessions, part))

    def _targets(self, sessions: Sessions, part: Partition) -> dict[str, Target]:
        lists = lists_of(self.request.tables.targets, part.tables)
        scores, needs = self.request.scores, estimator_needs(self.request.estimators)
        targets = {t.system: Target.of(t, sessions.units, scores=scores) for t in lists}
        if "slates" in needs:
            _validate_whole(needs["slates"], sessions)
        for target in targets.values() if self.basis.by_rank and "filled" in needs else ():
            _validate_length(needs["filled"], sessions, target)
        for table in lists if self.basis.by_rank else ():
            validate_chances(table)
        return targets


@dataclass(frozen=True)
class Slopes:
    """Sums over ``n`` sessions of how each key's columns move: columns x parameters."""

    sums: dict[Key, Floats]
    n: dict[Key, int]

    def functions(
        self, functions: Mapping[Key, Function], root: Floats | None
    ) -> dict[Key, Function]:
        """What each key is a function of, with the error of parameters in it (`PlugIn`).

        A key without slopes (a swing) is taken as it is at the parameters.
        """
        return {
            key: PlugIn(f, self.sums[key] / max(self.n[key], 1), root) if key in self.sums else f
            for key, f in functions.items()
        }


def _validate_whole(who: str, sessions: Sessions) -> None:
    """Some estimators weigh whole slates."""
    rank = sessions.blocks.frame["rank"].to_numpy()
    broken = np.flatnonzero(rank != natural_rank(sessions.blocks.length))
    if len(broken):
        name = sessions.log.name
        raise DataError(sessions.blocks.fault("slate with gaps", name, broken, who=who))


def _validate_length(who: str, sessions: Sessions, target: Target) -> None:
    """Some estimators need lists as long as the slates that were shown."""
    rank, place = sessions.blocks.frame["rank"].to_numpy(), target.place
    deepest = np.maximum.reduceat(rank, sessions.blocks.start)
    length = np.append(target.blocks.length, 0)[place]
    short = np.flatnonzero((place >= 0) & (length < deepest))
    if len(short) and not target.stochastic:
        name = target.table.name
        raise DataError(sessions.fault("list shorter than slate", name, short, who=who))
