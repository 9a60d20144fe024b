"""What is kept of users where their values are not: sums of the columns of all methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints
from counterrank.data.ids import hash_ids
from counterrank.moments import Draws, Sums, summed
from counterrank.stratified.face import Face
from counterrank.stratified.faces import STRATIFIED
from counterrank.stratified.summed import SummedBlend, SummedFace, Way


@dataclass(frozen=True, eq=False)
class Totals:
    """Of one measure: ``sums`` of the columns of its methods, all systems at once.

    The columns are those above the line, face by face, those below, then the feedback of each
    stratum. ``counted`` is the number of users who count under each face, ``something`` that of
    users with something to find in any stratum. ``users`` has how many users have feedback in which
    strata, by the sum of :math:`2^q`.
    """

    methods: tuple[str, ...]
    mean: str
    sums: Sums
    counted: Ints
    something: int
    users: dict[int, int]

    @classmethod
    def of(cls, each: Sequence[Face], rows: Floats, units: pl.Series, draws: Draws) -> Totals:
        """Those of one bucket; the last faces are of the strata, ``rows`` their feedback."""
        bases = np.stack([face.base for face in each])
        columns = np.concatenate([*(face.top for face in each), bases, rows])
        within = bases[len(each) - len(rows) :] > 0
        bits = 1 << np.arange(len(rows))
        kinds, count = np.unique(bits @ (rows > 0), return_counts=True)
        return cls(
            tuple(face.method for face in each),
            each[0].mean,
            summed(columns.T, hash_ids(units), draws),
            np.count_nonzero(bases > 0, axis=1),
            int(np.count_nonzero(within.any(axis=0))),
            dict(zip(kinds.astype(int).tolist(), count.tolist(), strict=True)),
        )

    def __add__(self, other: Totals) -> Totals:
        """Those of both parts."""
        kinds = sorted({*self.users, *other.users})
        return Totals(
            self.methods,
            self.mean,
            self.sums + other.sums,
            self.counted + other.counted,
            self.something + other.something,
            {kind: self.users.get(kind, 0) + other.users.get(kind, 0) for kind in kinds},
        )

    @property
    def there(self) -> int:
        """Users that count at all: those whose feedback is not left out."""
        return sum(count for kind, count in self.users.items() if kind)

    def faces(self, systems: int) -> list[SummedFace]:
        """The methods that are ratios of means."""
        below = systems * len(self.methods)
        return [
            SummedFace(
                method,
                self.sums,
                np.arange(systems * place, systems * (place + 1)),
                below + place,
                self.mean,
                int(self.counted[place]),
            )
            for place, method in enumerate(self.methods)
        ]

    def ways(self, systems: int, strata: int) -> dict[str, Way]:
        """All methods; a stratum in which nobody has anything to find is left out."""
        each = self.faces(systems)
        whole, within = each[: len(each) - strata], each[len(each) - strata :]
        filled = [q for q, face in enumerate(within) if face.counted]
        there = [within[q] for q in filled]
        first = (systems + 1) * len(each)
        some = sum(1 << q for q in filled)
        found: dict[str, Way] = {face.method: face for face in whole}
        found[STRATIFIED] = SummedBlend(
            STRATIFIED,
            self.sums,
            there,
            np.array([first + q for q in filled]),
            sum(count for kind, count in self.users.items() if kind & some),
            self.something,
        )
        return found | {face.method: face for face in there}
