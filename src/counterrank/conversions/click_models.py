"""Models of clicks and conversions: what they are fitted on, and what they say in a partition.

Pairs are brought together from all partitions to fit models and to hold predictions against: the
clicked ones, and only with ``pairs="rows"`` or where a given ctr can be compared with clicks all
rows; a small part of what is listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

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
from counterrank.nuisance.cross_fit import (
    Nuisance,
    cross_fit,
    training,
    validate_clicks,
)
from counterrank.nuisance.logistic import Encoded, encode_features

STEPS, OCTAVES = 128, 64  # bins of half a percent, down to 2^-64
FOLDS = 5  # of models; fewer where there are fewer users


def gather_pairs(
    data: Partitions, request: FunnelRequest, totals: FunnelTotals, budget: int | None
) -> FunnelPairs | None:
    """What models need, and what tells whether predictions come true; None: nothing does."""
    there = predicted_columns(data.heads)
    tested = request.ctr == COLUMN and "ctr" in there and totals.tests_ctr(request)
    weighted = "ctr" in there and any(
        prediction(r, request.rewards) in there for r in request.rewards
    )
    if not (request.fitting or tested or weighted):
        return None
    rows = "all" if tested or (request.fitting and request.pairs == "rows") else "clicked"
    if request.fitting:
        _validate_size(totals.rows if rows == "all" else totals.clicks, request, totals, budget)
    work = partial(_pairs, request, totals, rows)
    return data.reduce(work, "gathering clicks")


def _pairs(request: FunnelRequest, totals: FunnelTotals, rows: str, part: Partition) -> FunnelPairs:
    """A partition's pairs that were ``clicked``, or ``all`` that have a row."""
    pairs = FunnelArrays.of(request, totals, part).pairs
    pairs = pairs.select(pairs.click if rows == "clicked" else pairs.has_row)
    if request.fitting:
        return pairs
    if rows == "clicked":
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
    """The models asked for: of ``clicks``, and of what each reward brings.

    ``units`` are the users they know, in the order of their numbers.
    """

    units: pl.Series
    clicks: FittedModel | None
    rewards: dict[str, FittedModel]

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
        )

    def ctr(self, pairs: FunnelPairs) -> Floats:
        """The ctr of the clicked pairs; that of the others is not needed."""
        assert self.clicks is not None
        ctr, z = np.full(len(pairs.click), np.nan), pairs.click
        ctr[z] = self.clicks.at(pairs.unit[z], pairs.item[z])
        return ctr


@dataclass(frozen=True)
class ClickModels:
    """Both models for each reward, cross-fitted, where one is asked for, and their ``features``."""

    units: pl.Series
    by_reward: dict[str, Nuisance] = field(default_factory=dict)
    features: dict[str, Encoded] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        pairs: FunnelPairs | None,
        request: FunnelRequest,
        totals: FunnelTotals,
        features: Mapping[str, Table],
    ) -> ClickModels:
        """Out of fold, on all pairs that have a row."""
        if pairs is None or not request.fitting:
            return cls(totals.items.clear())
        encoded_features = _encode(pairs.units, totals, features)
        validate_clicks(totals.clicks, totals.rows)
        pairs = pairs.select(pairs.has_row)
        numbers = {of: table.numbers for of, table in encoded_features.items()}
        n = len(pairs.units)
        models = {
            reward: cross_fit(
                training(
                    pairs.unit,
                    pairs.item,
                    pairs.click.astype(float),
                    y,
                    users=n,
                    items=len(totals.items),
                    pairs=request.pairs,
                    ctr=pairs.ctr if request.ctr == COLUMN else None,
                ),
                ctr="rates" if request.ctr == COLUMN else request.ctr,
                cvr="rates" if request.cvr == COLUMN else request.cvr,
                folds=min(FOLDS, max(n, 2)),
                seed=request.plan.seed,
                user_features=numbers.get("user"),
                item_features=numbers.get("item"),
            )
            for reward, y in pairs.reward.items()
        }
        return cls(pairs.units, models, encoded_features)

    def predictors(self, request: FunnelRequest) -> Predictors | None:
        """What of the models is asked for; clicks are those of the first reward, as of any."""
        if not self.by_reward:
            return None
        clicks = next(iter(self.by_reward.values())).clicks
        rewards = {reward: model.conversions for reward, model in self.by_reward.items()}
        return Predictors(
            self.units,
            None if request.ctr == COLUMN else clicks,
            {} if request.cvr == COLUMN else rewards,
        )

    def protocol(self, request: FunnelRequest) -> dict[str, dict[str, str | int]]:
        """How the models were fitted; what was given as a column was not."""
        words = {"ctr": request.ctr, "cvr": request.cvr}
        return {
            reward: {k: v for k, v in model.description.items() if words.get(k) != COLUMN}
            for reward, model in self.by_reward.items()
        }


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
    """What a partition knows of its pairs; ``ctr`` is that of each (NaN: unknown)."""

    request: FunnelRequest
    arrays: FunnelArrays
    predictors: Predictors | None
    ctr: Floats
    is_clicked: Bools

    @classmethod
    def of(
        cls,
        request: FunnelRequest,
        totals: FunnelTotals,
        predictors: Predictors | None,
        part: Partition,
    ) -> PartitionClicks:
        arrays = FunnelArrays.of(request, totals, part)
        pairs = arrays.pairs
        own = None if predictors is None else predictors.among(pairs.units)
        ctr = own.ctr(pairs) if own is not None and own.clicks is not None else pairs.ctr
        if ctr is None:
            ctr = np.full(len(pairs.click), np.nan)
        return cls(request, arrays, own, np.maximum(ctr, request.floor), totals.is_clicked)


@dataclass(frozen=True)
class ClickChances:
    """The ctr of clicked pairs: the ``values``, or where they are too many ``counts`` by size."""

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
        bin_ = np.clip(-np.log2(known) * STEPS, 0, STEPS * OCTAVES - 1).astype(np.int64)
        return cls(len(known), least, np.empty(0), np.bincount(bin_, minlength=STEPS * OCTAVES))

    @property
    def median(self) -> float:
        """The usual ctr; from counts, to half a percent."""
        if len(self.values):
            return float(np.median(self.values))
        half = int(np.searchsorted(np.cumsum(self.counts), self.count / 2))
        return float(2.0 ** (-(half + 0.5) / STEPS))
