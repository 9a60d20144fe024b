"""What the buckets of a log yield, and how that becomes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats, Ints
from counterrank.core.faults import Faults
from counterrank.data.ids import argsort_ids, as_plain, hash_ids, number_rows
from counterrank.logged.fitting import Shape
from counterrank.logged.gather import Valued
from counterrank.logged.model import Sums
from counterrank.logged.sessions import Sessions


@dataclass(frozen=True)
class Learning:
    """What models are learnt from, and how large their tables are."""

    shape: Shape
    sums: dict[str, Sums]

    def __add__(self, other: Learning) -> Learning:
        return Learning(self.shape, {r: own + other.sums[r] for r, own in self.sums.items()})


@dataclass(frozen=True)
class Earned:
    """What sessions earned: columns of the logged ranker by reward, and of every target."""

    units: pl.Series
    user: pl.Series | None
    logged: dict[str, Floats]
    targets: dict[str, Valued]
    sample: pl.DataFrame

    @property
    def cluster(self) -> Ints | None:
        """The number of each session's user, in the order of their ids."""
        return None if self.user is None else number_rows(self.user.to_frame())[0]


def together(parts: Sequence[Earned]) -> Earned:
    """All sessions in the order of their ids, as if they had been in one bucket."""
    if len(parts) == 1:
        return parts[0]
    units = pl.concat([part.units for part in parts])
    order = argsort_ids(units)
    user = parts[0].user
    if user is not None:
        user = pl.concat([p.user for p in parts if p.user is not None]).gather(order)
    return Earned(
        units.gather(order),
        user,
        {r: np.concatenate([part.logged[r] for part in parts])[order] for r in parts[0].logged},
        {name: _target(parts, name, order) for name in parts[0].targets},
        pl.concat([part.sample for part in parts]),
    )


def whole_part(part: Earned) -> Earned:
    """What a bucket says beside its sessions: no columns, and nobody's ids."""
    none = part.units.clear()
    return replace(
        part,
        units=none,
        user=None,
        logged={},
        targets={
            name: replace(own, columns={}, kept=np.empty(0, np.int64))
            for name, own in part.targets.items()
        },
    )


def _target(parts: Sequence[Earned], name: str, order: Ints) -> Valued:
    """One target over all sessions."""
    own = [part.targets[name] for part in parts]
    there = np.concatenate([_mask(v.kept, len(p.units)) for p, v in zip(parts, own, strict=True)])
    kept = np.flatnonzero(there[order])
    row = np.cumsum(there) - 1  # of each session that counts, among those that do
    by = row[order[kept]]
    return Valued(
        {key: np.concatenate([v.columns[key] for v in own])[by] for key in own[0].columns},
        reduce(add, [v.weights for v in own]),
        kept,
        Faults.merge([v.faults for v in own]),
        sum(v.tied for v in own),
        sum(v.rows for v in own),
        _slates([v.slates for v in own if v.slates is not None]),
    )


def _slates(parts: Sequence[tuple[float, float, int]]) -> tuple[float, float, int] | None:
    if not parts:
        return None
    total, square, count = zip(*parts, strict=True)
    return sum(total), sum(square), sum(count)


def _mask(places: Ints, n: int) -> Bools:
    there = np.zeros(n, bool)
    there[places] = True
    return there


def audited(sessions: Sessions, share: float, *, by: str = "user") -> Bools:
    """Sessions in a fixed sample of users: whether one is in it depends on its id alone."""
    if share >= 1:
        return np.ones(sessions.n, bool)
    ids = sessions.units if sessions.user is None or by == "session" else sessions.user
    keep: Bools = hash_ids(ids) < np.uint64(share * 2.0**64)
    return keep


def rows_of_some(sessions: Sessions, share: float, by: str) -> pl.DataFrame:
    """The rows of some users, or of some sessions."""
    keep = audited(sessions, share, by=by)
    frame = sessions.blocks.frame.drop("row", strict=False)
    frame = frame.filter(pl.Series(np.repeat(keep, sessions.blocks.length)))
    return frame.with_columns(as_plain(frame["item"]))
