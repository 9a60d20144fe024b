r"""Statistics of many pairs in many draws: :math:`|x_{aj} - x_{bj}|\, s_{ab}` of rows a and b.

Pairs with one side in common are looked at together, some draws at a time, so that all that is
read and written stays in a cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import AnyFloats, Floats, Ints

TILE = 1 << 13  # bytes of each row looked at together


@dataclass(frozen=True)
class Pairs:
    """Pairs in ``groups``: the side that they share, their other sides, and their own places."""

    number: int
    groups: list[tuple[int, Ints | slice, Ints]]

    @classmethod
    def of(cls, a: Ints, b: Ints) -> Pairs:
        """Of the pairs of all ``a`` and ``b``."""
        one, other = (b, a) if len(np.unique(b)) < len(np.unique(a)) else (a, b)
        groups: list[tuple[int, Ints | slice, Ints]] = []
        for side in np.unique(one).tolist():
            mine = np.flatnonzero(one == side)
            mine = mine[np.argsort(other[mine], kind="stable")]
            several: Ints | slice = other[mine]
            if np.all(np.diff(other[mine]) == 1):  # a slice is no copy
                several = slice(int(other[mine][0]), int(other[mine][-1]) + 1)
            groups.append((side, several, mine))
        return cls(len(a), groups)

    def raise_top(
        self, x: AnyFloats, scale: AnyFloats, top: AnyFloats, bar: AnyFloats | None = None
    ) -> Floats:
        """Raise ``top`` to the largest statistic of each draw; how many draws reach a ``bar``.

        ``x`` is rows x draws; ``scale`` and ``bar`` are by pair.
        """
        count = np.zeros(self.number)
        step = TILE // x.itemsize
        room = np.empty((max((len(own) for *_, own in self.groups), default=0), step), x.dtype)
        for start in range(0, x.shape[1], step):
            some = np.ascontiguousarray(x[:, start : start + step])
            best = top[start : start + step]
            for one, others, own in self.groups:
                z = room[: len(own), : len(best)]
                np.subtract(some[others], some[one], out=z)
                np.abs(z, out=z)
                z *= scale[own, None]
                np.maximum(best, z.max(axis=0), out=best)
                if bar is not None:
                    reached = np.packbits(z >= bar[own, None], axis=1)
                    count[own] += np.bitwise_count(reached).sum(axis=1)
        return count
