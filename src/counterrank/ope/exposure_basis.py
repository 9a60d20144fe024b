r"""What a weight divides: how likely a row was seen under the logger, and what it would be worth.

* ``rank``: the exposure of the logged rank by the position model, :math:`e_0 = c(r)`.
* ``exposure``: the logged exposure of the item, chance included (Jeunen Eq. 6).
* ``propensity``: the logged probability of the item at its rank; no position model is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import InputError, UsageError
from counterrank.data.logs import Log
from counterrank.data.schema import Table
from counterrank.ope.log import LogTotals
from counterrank.position.model_file import PositionModel

KNOWN = ("auto", "rank", "exposure", "propensity")
DEEPEST = 10_000  # ranks below are as likely to be seen as this one
NEAR = 0.2  # of logged exposures and a learned curve that mean the same
VIEWS = ("auto", "observed", "rows", "latent")


@dataclass(frozen=True)
class Basis:
    """``logged`` names the logger's side of the weight, ``views`` what is known of views.

    ``curves`` holds the position model at the first ranks, a row for each context.
    """

    logged: str
    views: str
    model: PositionModel | None
    curves: Floats = field(default_factory=lambda: np.ones((1, 0)))

    @property
    def by_rank(self) -> bool:
        """Whether an item counts anew at each rank."""
        return self.logged == "propensity"

    def at(self, rank: Ints, context: Ints) -> Floats:
        r""":math:`c(r)` of the position model."""
        if len(self.curves) == 1:
            same: Floats = self.curves[0].take(rank - 1, mode="clip")
            return same
        seen: Floats = self.curves[context, np.minimum(rank, self.curves.shape[1]) - 1]
        return seen

    def with_totals(self, totals: LogTotals) -> Basis:
        """With ``views`` decided, as logged or as the rows look, and curves computed."""
        basis = self
        if basis.model is not None:
            basis = replace(basis, curves=_curves(basis.model, totals.combinations))
            basis = _without_chance(basis, totals)
        if basis.views != "auto":
            return basis
        views = "observed" if totals.viewed else "latent"
        known = basis.model is not None
        if views == "latent" and known and only_viewed_rows(totals.lengths, basis.curves[0]):
            views = "rows"
        return replace(basis, views=views)


def choose_basis(
    log: Log, targets: list[Table], *, logged: str, views: str, model: PositionModel | None
) -> Basis:
    """The basis asked for, or the one the tables allow."""
    if logged == "auto":
        logged = "exposure" if log.has("exposure") else "rank"
        told = model is not None or all("exposure" in t.frame.columns for t in targets)
        if not (told and (log.has("exposure") or model is not None)) and log.has("propensity"):
            logged = "propensity"
    if logged in ("exposure", "propensity") and not log.has(logged):
        raise UsageError(
            f'"{log.name}" has no column "{logged}".',
            todo=f"Log it, name it (--columns {logged}=NAME), or weigh by --logged rank.",
        )
    _validate_positions(log, targets, logged, model)
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


def _curves(model: PositionModel, contexts: pl.DataFrame) -> Floats:
    """The position model at ranks 1, 2, 3, ..., a row for each context it tells apart."""
    if model.column is None:
        return model.at(np.arange(1, DEEPEST + 1))[None, :]
    rank = np.arange(1, DEEPEST // 10 + 1)  # a curve for each context takes room
    known = contexts[model.column].unique()
    curve = {value: model.at(rank, [value] * len(rank)) for value in known}
    return np.stack([curve[value] for value in contexts[model.column]])


def _validate_positions(
    log: Log, targets: list[Table], logged: str, model: PositionModel | None
) -> None:
    """Without a position model nothing says how likely a rank is to be seen."""
    if logged == "propensity":
        return
    silent = [t for t in targets if "exposure" not in t.frame.columns]
    if model is None and (logged == "rank" or silent):
        raise InputError(
            "Nothing says how likely each rank is to be seen.",
            found=f'"{log.name}" has no column "propensity", and no position model was given.',
            todo="Give one, as in --position-bias log2, or learn it:"
            " counterrank exposure LOG --out pbm.json.",
        )


def only_viewed_rows(lengths: Ints, curve: Floats) -> bool:
    """Whether a log without a column ``viewed`` holds only viewed rows, not all that were shown.

    Such a log thins out as views do: the share of sessions that reach a rank is then nearer to the
    position model's curve than to 1. ``lengths`` counts the sessions of each length.
    """
    rank = np.arange(1, min(len(lengths) - 1, DEEPEST) + 1)
    reached = 1 - np.cumsum(lengths)[rank - 1] / lengths.sum()
    views = curve[rank - 1] / curve[0]
    return bool(np.abs(reached - views).sum() < np.abs(reached - 1).sum())
