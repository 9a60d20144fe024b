"""Sums in the place of per-unit values, where these are too many to be brought together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats
from counterrank.data.ids import hash_ids, sort_key
from counterrank.judged.measured import Asked
from counterrank.judged.ties import unit_columns
from counterrank.judged.values import Shared, UnitValues
from counterrank.moments import Draws, Flips, Merged, Moments, Resamples, Sums
from counterrank.ranking import Judged, Measure


@dataclass(frozen=True, eq=False)
class UnitSums:
    """``together`` are sums of each measure, those beside too, over the units all systems have.

    The columns of all systems stand side by side. ``own`` (systems x measures) are over each
    system's own units, where these may differ. ``judged`` is the share of judged items, summed over
    the lists of each system. ``missing`` and ``blank`` hold a user without a list of each system
    and one with nothing to find for each measure.
    """

    together: tuple[Sums, ...]
    own: tuple[tuple[Sums, ...], ...]
    flips: Flips | None
    judged: Floats
    missing: tuple[pl.Series, ...]
    blank: tuple[pl.Series, ...]

    @classmethod
    def of(cls, values: UnitValues, asked: Asked, draws: Draws) -> UnitSums:
        """Those of one bucket."""
        x = np.concatenate([values.x, values.beside], axis=1)
        columns = [
            [unit_columns(kind, row, values.base.get(m)) for row in x[:, m]]
            for m, kind in enumerate(asked.both)
        ]
        wide = [np.hstack(each) for each in columns]
        kept = [_whole(own) for own in wide]
        asked_for = len(asked.measures)
        blocks = list(zip(wide, kept, strict=True))[:asked_for]
        apart = asked.policies.missing == "skip"
        if apart:
            each = [own for row in zip(*columns[:asked_for], strict=True) for own in row]
            blocks += [(own, _whole(own)) for own in each]
        sums = _summed(blocks, values.units, draws)
        own = sums[asked_for:]
        rows = [own[begin : begin + asked_for] for begin in range(0, len(own), asked_for)]
        beside = zip(wide[asked_for:], kept[asked_for:], strict=True)
        return cls(
            together=(*sums[:asked_for], *(Sums(Moments.of(own[who])) for own, who in beside)),
            own=tuple(map(tuple, rows)),
            flips=_flipped(columns[:asked_for], kept, values.units, draws),
            judged=np.nansum(x[:, asked.both.index(Judged(k=asked.cut))] * values.present, axis=1),
            missing=tuple(values.units.filter(~pl.Series(row)).head(1) for row in values.present),
            blank=tuple(values.units.filter(pl.Series(row)).head(1) for row in values.blank),
        )

    @classmethod
    def merged(cls, parts: Sequence[UnitSums]) -> UnitSums:
        """Those of all buckets."""
        flips = [p.flips for p in parts if p.flips is not None]
        rows = zip(*(p.own for p in parts), strict=True)
        return cls(
            together=_added([p.together for p in parts]),
            own=tuple(_added(row) for row in rows),
            flips=reduce(add, flips) if flips else None,
            judged=np.sum([p.judged for p in parts], axis=0),
            missing=_firsts([p.missing for p in parts]),
            blank=_firsts([p.blank for p in parts]),
        )

    def estimate(self, s: int, m: int, measure: Measure) -> Merged:
        """Of system ``s`` by measure ``m``, over its own units."""
        if not self.own:
            return self._together(s, m, measure)
        sums = self.own[s][m]
        return _merged(sums, slice(0, sums.moments.wide), measure)

    def shared(self, m: int, measure: Measure) -> Shared:
        """All systems by measure ``m``, over the units that all of them have."""
        systems = range(len(self.judged) if self.together[m].moments.n else 0)
        return Shared([self._together(s, m, measure) for s in systems])

    def _together(self, s: int, m: int, measure: Measure) -> Merged:
        sums = self.together[m]
        wide = sums.moments.wide // len(self.judged)
        return _merged(sums, slice(wide * s, wide * (s + 1)), measure)

    def left(self, s: int, m: int) -> int:
        """How many units system ``s`` has for measure ``m``."""
        return (self.own[s][m] if self.own else self.together[m]).moments.n

    def first_missing(self, s: int) -> object:
        """A judged user without a list of system ``s``."""
        return self.missing[s][0]

    def first_blank(self, m: int) -> object:
        """A user with nothing to find for measure ``m``."""
        return self.blank[m][0]


def _whole(columns: Floats) -> Bools:
    """Units without a gap."""
    return ~np.asarray(np.isnan(columns).any(axis=1))


def _merged(sums: Sums, places: slice, measure: Measure) -> Merged:
    """The measure of some columns. A ratio needs no scale: above and below the line it is one."""
    return Merged.of(sums, places, measure.averaged(np.ones(1)))


def _summed(blocks: Sequence[tuple[Floats, Bools]], units: pl.Series, draws: Draws) -> list[Sums]:
    """Sums of columns over the units kept; all are resampled by the same weights."""
    moments = [Moments.of(own[who]) for own, who in blocks]
    if not draws.resamples:
        return [Sums(each) for each in moments]
    filled = [np.where(who[:, None], own, 0) for own, who in blocks]
    counts = np.stack([who for _, who in blocks], axis=1).astype(float)
    drawn = Resamples.of(
        np.hstack([*filled, counts]), hash_ids(units), draws=draws.resamples, seed=draws.seed
    )
    parts = np.split(drawn.sums, np.cumsum([own.shape[1] for own in filled]), axis=1)
    each = zip(moments, parts[-1].T, parts[:-1], strict=True)
    return [Sums(found, Resamples(n, sums)) for found, n, sums in each]


def _flipped(
    columns: Sequence[Sequence[Floats]], kept: Sequence[Bools], units: pl.Series, draws: Draws
) -> Flips | None:
    """Sums under random signs, of what is tested: each measure's first column."""
    if not draws.flips:
        return None
    scores = np.stack(
        [
            np.stack([np.where(who, own[:, 0], 0) for own in systems], axis=1)
            for systems, who in zip(columns, kept, strict=False)
        ],
        axis=1,
    )
    pairs = np.array(draws.pairs, np.int64).reshape(-1, 2)
    return Flips.of(scores, hash_ids(units), pairs, draws=draws.flips, seed=draws.seed)


def _added(parts: Sequence[Sequence[Sums]]) -> tuple[Sums, ...]:
    return tuple(reduce(add, each) for each in zip(*parts, strict=True))


def _firsts(parts: Sequence[Sequence[pl.Series]]) -> tuple[pl.Series, ...]:
    """Of each, the first by id."""
    every = [pl.concat(each) for each in zip(*parts, strict=True)]
    return tuple(ids.gather(sort_key(ids).arg_sort().head(1)) for ids in every)
