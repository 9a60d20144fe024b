r"""The one table every verb makes: a row for each unit, columns by what is estimated.

An estimate is a function of column means; all that inference asks of it is one vector, its
influence :math:`\psi = (c - \bar c) \cdot \nabla f`, summed within clusters. `Units` have it from
their rows; `counterrank.stats.moments` has a vector with the same products where rows are too many
to hold. So estimates, differences and lifts are one class and one formula either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints, sum_by
from counterrank.data.ids import Hashes, argsort_ids, hash_ids, number_rows
from counterrank.stats.draws import BITS, ClusterSums, Draws
from counterrank.stats.estimates import ROUNDING as ROUNDING
from counterrank.stats.estimates import ClusterSizes
from counterrank.stats.estimates import Estimate as Estimate
from counterrank.stats.functions_of_means import (
    ON_LOGS,
    Function,
    about,
    apart,
    bias_of,
    gradient,
    resampled_values,
)

NO_DRAWS = Draws()


class Key(NamedTuple):
    """What a number is of: a system, what is measured of it, how, of which reward and segment."""

    system: str
    measure: str
    estimator: str = "mean"
    reward: str | None = None
    segment: str | None = None

    @property
    def method(self) -> str:
        """The stratum, or how the whole was estimated: what documents of strata call it."""
        return self.segment or self.estimator


Functions = Mapping[Key, Function]
Columns = tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class Units:
    """``columns`` of all units by key; ``masks`` of the units that count, where not all do.

    ``clusters`` holds the id of each unit's cluster, if units come in clusters. Arrays that several
    keys share (a normaliser, the size of a stratum) may be one object: they are then held, merged
    and sent once. Parts of the units merge.
    """

    ids: pl.Series
    columns: dict[Key, Columns]
    masks: dict[Key, Bools] = field(default_factory=dict)
    clusters: pl.Series | None = None
    draws: Draws = NO_DRAWS
    _estimates: dict[tuple[Key, Function], Estimate] = field(default_factory=dict, init=False)
    _resamples: dict[Key, Floats] = field(default_factory=dict, init=False)
    _views: dict[bytes, tuple[Units, Callable[[Any], Any]]] = field(
        default_factory=dict, init=False
    )
    _named: dict[tuple[int, ...], bytes] = field(default_factory=dict, init=False)

    @classmethod
    def merge(cls, parts: Sequence[Units]) -> Units:
        """All units in the order of their ids: the same, to the last bit, as from one part."""
        ids = pl.concat([part.ids for part in parts])
        by = argsort_ids(ids)
        gather = once_each(lambda *arrays: np.concatenate(arrays)[by])
        keys = dict.fromkeys(key for part in parts for key in part.columns)
        masked = {key for part in parts for key in part.masks}
        clusters = [part.clusters for part in parts if part.clusters is not None]
        return cls(
            ids.gather(by),
            {key: tuple(map(gather, *(part.columns[key] for part in parts))) for key in keys},
            {key: gather(*(part.mask(key) for part in parts)) for key in keys if key in masked},
            pl.concat(clusters).gather(by) if clusters else None,
            parts[0].draws,
        )

    @property
    def n(self) -> int:
        """How many units there are."""
        return len(self.ids)

    def mask(self, key: Key) -> Bools:
        """Which units count for a key."""
        return self.masks.get(key, self._everyone)

    def count(self, key: Key) -> int:
        """How many units a key has."""
        return int(self.masks[key].sum()) if key in self.masks else len(self.ids)

    def over(self, *keys: Key) -> Units:
        """The units that all these keys have, and the columns of these keys (or of more)."""
        masks = {id(self.masks[key]): self.masks[key] for key in keys if key in self.masks}
        which = tuple(sorted(masks))
        if which not in self._named:
            shared: Bools = np.logical_and.reduce([self._everyone, *masks.values()])
            self._named[which] = b"" if shared.all() else np.packbits(shared).tobytes()
        name = self._named[which]
        if not name:
            return self
        if name not in self._views:
            shared = np.logical_and.reduce(list(masks.values()))
            view = replace(self, columns={}, masks={}).select(shared)
            self._views[name] = view, once_each(lambda x: x[shared])
            keys = (*keys, *(key for key, mask in self.masks.items() if id(mask) == which[0]))
        view, pick = self._views[name]
        for key in keys:
            if key not in view.columns:
                view.columns[key] = tuple(map(pick, self.columns[key]))
        return view

    def select(self, which: Bools) -> Units:
        """Some of the units."""
        some, pick = pl.Series(which), once_each(lambda x: x[which])
        return Units(
            self.ids.filter(some),
            {key: tuple(map(pick, own)) for key, own in self.columns.items()},
            {key: pick(mask) for key, mask in self.masks.items()},
            None if self.clusters is None else self.clusters.filter(some),
            self.draws,
        )

    def by_cluster(self, pieces: int) -> dict[int, Units]:
        """Pieces that hold clusters whole once those of all partitions are merged, key by key."""
        place = hash_ids(self.ids if self.clusters is None else self.clusters) % np.uint64(pieces)
        return {number: self.select(place == number) for number in range(pieces)}

    def estimate(self, key: Key, function: Function) -> Estimate:
        """The function of the means of a key's columns, over the units it has."""
        view = self.over(key)
        if view is not self:
            return view.estimate(key, function)
        if (key, function) not in self._estimates:
            self._estimates[key, function] = self._estimate(key, function)
        return self._estimates[key, function]

    def _estimate(self, key: Key, function: Function) -> Estimate:
        means, (code, groups) = self.means(key), self.coded_clusters
        function = about(function, means)
        psi = self._influence(key, function, means)
        if code is not None:
            psi = sum_by(code, psi, groups)
        drawn = self._resampled(key) if self.draws.resamples else None
        found = estimate_over(self, function, means, psi, self.sizes, drawn, self.draws.seed)
        return replace(found, dependent=code is not None)

    def means(self, key: Key) -> Floats:
        """The mean of each of a key's columns, over all units of this table."""
        if not len(self.ids):
            return np.full(len(self.columns[key]), np.nan)
        # summed by pairs: no digits are lost
        return np.array([np.add.reduce(x) for x in self.columns[key]]) / len(self.ids)

    def influence(self, key: Key, function: Function) -> Floats:
        """How the value moves when a unit weighs more, unit by unit."""
        means = self.means(key)
        return self._influence(key, about(function, means), means)

    def _influence(self, key: Key, function: Function, means: Floats) -> Floats:
        psi, slopes = np.zeros(len(self.ids)), gradient(function, means).tolist()
        for x, m, slope in zip(self.columns[key], means, slopes, strict=True):
            if slope:
                psi += (x - m) * slope
        return psi

    @cached_property
    def coded_clusters(self) -> tuple[Ints | None, int]:
        """The number of each unit's cluster, if there are clusters, and how many there are."""
        if self.clusters is None:
            return None, len(self.ids)
        code, names = number_rows(self.clusters.to_frame("cluster"))
        return code, names.height

    @cached_property
    def sizes(self) -> ClusterSizes:
        """How many units there are, in how many clusters of which sizes."""
        code, groups = self.coded_clusters
        if code is None:
            return ClusterSizes.ones(groups)
        return ClusterSizes.of(np.bincount(code, minlength=groups).astype(float))

    @cached_property
    def cluster_hashes(self) -> Hashes:
        """A fixed number for the id of each cluster (without clusters: of each unit)."""
        code, groups = self.coded_clusters
        if code is None or self.clusters is None:
            return hash_ids(self.ids)
        row = np.empty(groups, np.int64)
        row[code] = np.arange(len(code))  # any of a cluster's
        return hash_ids(self.clusters.gather(row))

    def distinct(self, keys: Iterable[Key]) -> tuple[list[Floats], dict[Key, Ints]]:
        """The columns of some keys, each array once, and the places of each key's among them."""
        own = {key: self.columns[key] for key in keys}
        arrays = {id(x): x for columns in own.values() for x in columns}
        place = {name: number for number, name in enumerate(arrays)}
        places = {key: np.array([place[id(x)] for x in xs], int) for key, xs in own.items()}
        return list(arrays.values()), places

    def cluster_sums(self, columns: Sequence[Floats]) -> ClusterSums:
        """What resamples of these columns are made of: units come first."""
        code, groups = self.coded_clusters
        columns = [np.ones(len(self.ids)), *columns]
        if code is not None:
            columns = [sum_by(code, x, groups) for x in columns]
        return ClusterSums.of(self.cluster_hashes, columns, self.draws)

    @property
    def resampled_groups(self) -> int:
        """In how many groups clusters are resampled; 0: one by one, or not at all."""
        many = self.draws.resamples and self.coded_clusters[1] > self.draws.many
        return 1 << BITS if many else 0

    def _resampled(self, key: Key) -> Floats:
        """Means of a key's columns in each draw; those of all keys are drawn together."""
        if key not in self._resamples:
            new = [k for k in self.columns if k not in self._resamples]
            columns, places = self.distinct(k for k in new if k == key or self.over(k) is self)
            drawn = self.cluster_sums(columns)
            self._resamples.update({k: drawn.means(1 + place) for k, place in places.items()})
        return self._resamples[key]

    @cached_property
    def _everyone(self) -> Bools:
        return np.ones(len(self.ids), bool)


def estimate_over(
    table: object,
    function: Function,
    means: Floats,
    psi: Floats,
    sizes: ClusterSizes,
    drawn: Floats | None,
    seed: int,
) -> Estimate:
    """The function of means, with the influence ``psi`` of each cluster; ``drawn`` are resampled.

    All that `Units` and moments say alike of an estimate.
    """
    psi = apart(function, psi, means, sizes.outside)
    again = None if drawn is None else resampled_values(function, drawn, seed)
    bias, scale = bias_of(function, means), "log" if function in ON_LOGS else "plain"
    value = float(function(means))
    return Estimate(value, psi, sizes, table, resamples=again, bias=bias, scale=scale)


def join_columns(parts: list[Mapping[Key, Columns]]) -> dict[Key, Columns]:
    """A rule: the columns of parts one after the other; those that keys share stay shared."""
    join = once_each(lambda *same: np.concatenate(same))
    return {key: tuple(map(join, *(part[key] for part in parts))) for key in parts[0]}


def once_each(work: Callable[..., Any]) -> Callable[..., Any]:
    """``work``, done once for the same arrays: what keys share stays shared."""
    done: dict[tuple[int, ...], Any] = {}

    def call(*arrays: Any) -> Any:
        name = tuple(map(id, arrays))
        if name not in done:
            done[name] = work(*arrays)
        return done[name]

    return call
