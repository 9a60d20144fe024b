"""Models of clicks and conversions: what they are fitted on, and what they say in a partition.

Pairs are brought together from all partitions to fit models and to hold predictions against: the
clicked ones, and only with ``pairs="rows"`` or where a given ctr can be compared with clicks all
rows; a small part of what is listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import numpy as np
import polars as pl

from counterrank.conversions.funnel_arrays import FunnelArrays, FunnelPairs, FunnelTotals
from counterrank.conversions.request import COLUMN, FunnelRequest, predicted_columns
from counterrank.core.arrays import Bools, Floats, Ints
from counterrank.core.errors import UsageError
from counterrank.data.funnels import prediction
from counterrank.data.ids import positions, unify_id_columns
from counterrank.data.schema import Table
from counterrank.engine import Partition, Partitions
from counterrank.nuisance.base import FittedModel
from counterrank.nuisance.cross_fit import Nuisance, cross_fit, training, validate_clicks
from counterrank.nuisance.logistic import Encoded, encode_features
from counterrank.nuisance.own_model import OwnModel
from counterrank.position.models import PositionModel

STEPS, OCTAVES = 128, 64  # bins of half a percent, down to 2^-64
Asked = tuple[str | OwnModel, str | OwnModel]  # models of a step and of the next
FOLDS = 5  # of models; fewer where there are fewer users


def gather_pairs(
    data: Partitions, request: FunnelRequest, totals: FunnelTotals, budget: int | None
) -> FunnelPairs | None:
    """What models need, and what tells whether predictions come true; None: nothing does."""
    there = predicted_columns(data.heads)
    given = request.chance_model == COLUMN and request.has_chance
    tested = given and totals.tests_chance(request)
    weighted = given and any(prediction(r, request.rewards) in there for r in request.rewards)
    if not (request.fitting or tested or weighted):
        return None
    rows = "all" if tested or (request.fitting and request.pairs == "rows") else "observed"
    if request.fitting:
        _validate_size(totals.rows if rows == "all" else totals.observed, request, totals, budget)
    work = partial(_pairs, request, totals, rows)
    return data.reduce(work, "gathering clicks")


def _pairs(request: FunnelRequest, totals: FunnelTotals, rows: str, part: Partition) -> FunnelPairs:
    """A partition's pairs with an outcome that was ``observed``, or ``all`` that have a row."""
    pairs = FunnelArrays.of(request, totals, part).pairs
    pairs = pairs.select(pairs.observed if rows == "observed" else pairs.has_row)
    if request.fitting:
        return pairs
    if rows == "observed":
        pairs = pairs.of_some_users(totals.looked_at)
    return pairs.without_idle_users()


def _validate_size(
    pairs: int, request: FunnelRequest, totals: FunnelTotals, budget: int | None
) -> None:
    """Refuse pairs, and numbers of users, that do not fit into the one place models are made."""
    factors = sum(getattr(model, "d", 0) for model in request.models)
    users = totals.n(request.users)
    needed = 8 * (pairs * (4 + len(request.rewards)) + users * (12 + FOLDS * factors))
    if budget is not None and needed > budget:
        raise UsageError(
            "Models of clicks and conversions are fitted on all clicked pairs in one place.",
            found=f"{pairs:,} pairs of {users:,} users take about {needed / 1e9:.1f} GB, and there"
            f" is room for {budget / 1e9:.1f} GB.",
            todo="Give ctr and cvr as columns or as a table of predictions, or more memory"
            " (--memory; on Spark Spark(collect=...)).",
        )


@dataclass(frozen=True)
class Predictors:
    """The models asked for: of ``clicks``, of what each reward brings, and of what is shown.

    ``units`` are the users they know, in the order of their numbers.
    """

    units: pl.Series
    clicks: FittedModel | None
    rewards: dict[str, FittedModel]
    exposures: FittedModel | None = None

    def among(self, units: pl.Series) -> Predictors:
        """The same for a partition's users."""
        if units.equals(self.units):
            return self
        if units.dtype.is_integer():  # in order, so that a partition need not look at all of them
            here = np.searchsorted(self.units.to_numpy(), units.to_numpy())
        else:
            here = positions(units, self.units)
        return Predictors(
            units=units,
            clicks=None if self.clicks is None else self.clicks.only(here),
            rewards={reward: model.only(here) for reward, model in self.rewards.items()},
            exposures=None if self.exposures is None else self.exposures.only(here),
        )


@dataclass(frozen=True)
class ClickModels:
    """Both models for each reward, cross-fitted, where one is asked for, and their ``features``.

    ``shown`` is that of what is shown, with click in the place of conversion.
    """

    units: pl.Series
    by_reward: dict[str, Nuisance] = field(default_factory=dict)
    features: dict[str, Encoded] = field(default_factory=dict)
    shown: Nuisance | None = None

    @classmethod
    def fit(
        cls,
        pairs: FunnelPairs | None,
        request: FunnelRequest,
        totals: FunnelTotals,
        features: Mapping[str, Table],
    ) -> ClickModels:
        """Out of fold; of clicks on all pairs that have a row, in sales on those that were shown.

        Each step of a funnel is learned where the step before was taken.
        """
        if pairs is None or not request.fitting:
            return cls(totals.items.clear())
        encoded_features = _encode(pairs.units, totals, features)
        validate_clicks(totals.clicks, totals.rows)
        numbers = {of: table.numbers for of, table in encoded_features.items()}
        n = len(pairs.units)

        def fit(
            rows: FunnelPairs, event: Bools, y: Floats, kind: str, models: Asked, p: Any
        ) -> Nuisance:
            first, then = ("rates" if model == COLUMN else model for model in models)
            z, sizes = event.astype(float), {"users": n, "items": len(totals.items)}
            return cross_fit(
                training(rows.unit, rows.item, z, y, **sizes, pairs=kind, ctr=p),
                ctr=first,
                cvr=then,
                folds=min(FOLDS, max(n, 2)),
                seed=request.plan.seed,
                user_features=numbers.get("user"),
                item_features=numbers.get("item"),
            )

        rows = pairs.select(pairs.has_row)
        shown, kind = None, request.pairs
        if request.shows and request.exposure != COLUMN:
            click, labels = rows.click.astype(float), (request.exposure, request.ctr)
            shown = fit(rows, rows.observed, click, kind, labels, None)
        if request.shows:
            rows, kind = rows.select(rows.observed), "rows"
        given = rows.ctr if request.ctr == COLUMN else None
        labels = request.ctr, request.cvr
        models = {
            reward: fit(rows, rows.click, y, kind, labels, given)
            for reward, y in rows.reward.items()
            if labels != (COLUMN, COLUMN)
        }
        return cls(pairs.units, models, encoded_features, shown)

    @property
    def clicks(self) -> Nuisance:
        """The models of the first reward, whose model of clicks is that of any."""
        return next(iter(self.by_reward.values()))

    def of_chance(self, request: FunnelRequest) -> Nuisance:
        """The models by which an outcome came to be known."""
        model = self.shown if request.shows else self.clicks
        assert model is not None
        return model

    def predictors(self, request: FunnelRequest) -> Predictors | None:
        """What of the models is asked for; clicks are those of the first reward, as of any."""
        if not self.by_reward and self.shown is None:
            return None
        rewards = {reward: model.conversions for reward, model in self.by_reward.items()}
        return Predictors(
            self.units,
            None if request.ctr == COLUMN else self.clicks.clicks,
            {} if request.cvr == COLUMN else rewards,
            None if self.shown is None else self.shown.clicks,
        )

    def protocol(self, request: FunnelRequest) -> dict[str, dict[str, str | int]]:
        """How the models were fitted; what was given as a column was not."""
        given = {x for x in ("ctr", "cvr") if getattr(request, x) == COLUMN}
        told = {
            reward: {k: v for k, v in model.description.items() if k not in given}
            for reward, model in self.by_reward.items()
        }
        if self.shown is not None:
            own = {k: v for k, v in self.shown.description.items() if k not in ("ctr", "cvr")}
            told["shown"] = {"exposure": self.shown.clicks.label, **own}
        return told


def _encode(
    users: pl.Series, totals: FunnelTotals, tables: Mapping[str, Table]
) -> dict[str, Encoded]:
    """What the tables of features say of every user and item that counts."""
    ids = {"user": users, "item": totals.items}
    out = {}
    for of, table in tables.items():
        mine, frame = unify_id_columns([ids[of].alias(of).to_frame(), table.frame], of)
        out[of] = encode_features(Table(table.source, frame), of, mine[of])
    return out


@dataclass(frozen=True)
class PartitionClicks:
    """What a partition knows of its pairs.

    ``chance`` is that of an outcome being known, of each (NaN: unknown or not needed); ``seen``
    how likely an observed pair was seen: 1, or by its rank.
    """

    request: FunnelRequest
    arrays: FunnelArrays
    predictors: Predictors | None
    chance: Floats
    seen: Floats
    is_met: Bools

    @classmethod
    def of(
        cls,
        request: FunnelRequest,
        totals: FunnelTotals,
        predictors: Predictors | None,
        part: Partition,
    ) -> PartitionClicks:
        arrays = FunnelArrays.of(request, totals, part)
        pairs, o = arrays.pairs, arrays.pairs.observed
        own = None if predictors is None else predictors.among(pairs.units)
        model = None if own is None else own.exposures if request.shows else own.clicks
        given, seen, chance = pairs.chance(request), np.ones(len(o)), np.full(len(o), np.nan)
        if pairs.rank is not None:
            assert isinstance(request.position, PositionModel)
            seen = request.position.at(pairs.rank)
        if model is not None:
            chance[o] = model.at(pairs.unit[o], pairs.item[o]) * seen[o]
        elif given is not None:
            chance = given
        floored = np.maximum(chance, request.floor)
        return cls(request, arrays, own, floored, seen, totals.is_met)


@dataclass(frozen=True)
class ClickChances:
    """Chances of observed pairs: the ``values``, or where they are too many ``counts`` by size."""

    count: int
    smallest: Annotated[float, min]
    values: Annotated[Floats, np.concatenate]
    counts: Ints

    @classmethod
    def of(cls, ctr: Floats, *, hold: bool) -> ClickChances:
        """Those of one partition; ``hold`` all values or only counts."""
        known = ctr[~np.isnan(ctr)]
        least = float(known.min(initial=np.inf))
        if hold:
            return cls(len(known), least, known, np.empty(0, np.int64))
        size = np.clip(-np.log2(known) * STEPS, 0, STEPS * OCTAVES - 1).astype(np.int64)
        return cls(len(known), least, np.empty(0), np.bincount(size, minlength=STEPS * OCTAVES))

    @property
    def median(self) -> float:
        """The usual chance; from counts, to half a percent."""
        if len(self.values):
            return float(np.median(self.values))
        half = int(np.searchsorted(np.cumsum(self.counts), self.count / 2))
        return float(2.0 ** (-(half + 0.5) / STEPS))
