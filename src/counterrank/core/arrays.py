"""Small array helpers that several modules share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
AnyInts = npt.NDArray[np.integer]
AnyFloats = npt.NDArray[np.floating]

D = TypeVar("D")  # a dataclass
U = TypeVar("U", bound=np.unsignedinteger)
ALONE = 1 << 18  # multiplications up to which a product takes one thread
FEWEST = 16  # rows of a step that is worth its call
TILE = 1 << 13  # bytes of each row that pairs are formed of together
LONG = 256  # entries of a group that is worth a step of its own


@cache
def keep_freed_memory() -> None:
    """Let the C library keep the memory of arrays below 32 MB for the next ones; once is enough.

    It gives memory back to the system whenever a block's arrays are freed, and fetching it again
    costs as much as the work. Freeing one large array raises the size up to which it keeps it.
    """
    np.empty((32 << 20) - (1 << 13), np.uint8)


def divide(top: Any, bottom: Any, empty: float = np.nan) -> Floats:
    """A ratio, also of complex numbers; where there is nothing to divide by it is ``empty``."""
    nothing = np.full(np.broadcast(top, bottom).shape, empty, np.result_type(top, bottom, float))
    ratio: Floats = np.divide(top, bottom, out=nothing, where=np.asarray(bottom) != 0)
    return ratio


def concat(parts: Sequence[Ints]) -> Ints:
    """Whole numbers one after the other; none where there are no parts."""
    return np.concatenate(parts) if len(parts) else np.empty(0, np.int64)


def take_rows(whole: D, rows: Ints | Bools | slice, *names: str) -> D:
    """A dataclass with some rows of the arrays so named, or all in another order.

    Of a dictionary, those of every array; None stays None.
    """

    def take(x: Any) -> Any:
        if isinstance(x, dict):
            return {name: take(own) for name, own in x.items()}
        return None if x is None else x[rows]

    return replace(whole, **{name: take(getattr(whole, name)) for name in names})  # type: ignore


def alike(length: Ints) -> bool:
    """Whether all groups have the same length, so that their rows make a grid."""
    return len(length) > 0 and bool(np.all(length == length[0]))


def sort_order(major: Ints, minor: Ints) -> Ints:
    """Stable order by ``major``, then ``minor``; both non-negative.

    Keys that fit 63 bits together with their row are sorted as plain numbers, several times
    faster than an indirect sort.
    """
    bits = [max(int(x.max(initial=0)), 1).bit_length() for x in (major, minor)]
    row = len(major).bit_length()
    if sum(bits) + row > 63:
        return np.lexsort((minor, major))
    key = major << bits[1]
    key |= minor
    if np.all(key[1:] >= key[:-1]):
        return np.arange(len(major))
    key <<= row
    key |= np.arange(len(major))
    key.sort()
    key &= (1 << row) - 1
    return key


def order_lists(key: npt.NDArray[np.uint64], length: Ints) -> Ints:
    """Stable order by ``key`` within lists that stand one after the other.

    Keys are sorted as plain numbers that end in a row's place. Bits for which there is no room are
    left out at first; lists that they decide are rare, and all are sorted by them then.
    """
    start = np.cumsum(length) - length
    begin: Ints = np.repeat(start, length)
    bits = np.uint64(max(int(length.max(initial=1)) - 1, 1).bit_length())
    short = key - (key.min() if len(key) else np.uint64(0))
    cut = np.uint64(max(int(short.max(initial=0)).bit_length() + int(bits) - 64, 0))
    short >>= cut
    short <<= bits
    short |= (np.arange(len(key)) - begin).astype(np.uint64)
    by = sort_lists(short, length)
    by &= (np.uint64(1) << bits) - np.uint64(1)
    order = by.astype(np.int64)
    order += begin
    if cut:
        ordered = key[order]
        if np.any((ordered[1:] < ordered[:-1]) & (begin[1:] == begin[:-1])):
            return np.lexsort((key, begin))
    return order


def sort_lists(x: npt.NDArray[U], length: Ints) -> npt.NDArray[U]:
    """The numbers of each list in order: lists of one length as a grid, long ones one by one.

    It is done in place.
    """
    if alike(length):
        x.reshape(len(length), -1).sort(axis=1)
        return x
    start = np.cumsum(length) - length
    far = length >= LONG
    for begin, size in zip(start[far].tolist(), length[far].tolist(), strict=True):
        x[begin : begin + size].sort()
    for size in np.unique(length[~far & (length > 1)]).tolist():
        rows = start[length == size][:, None] + np.arange(size)
        x[rows] = np.sort(x[rows], axis=1)
    return x


def order_ranks(rank: AnyInts, begin: Ints) -> Ints | None:
    """The order by rank within lists, which ``begin`` at these rows; None if that needs a sort.

    Ranks that are 1, 2, 3, ... of every list tell each row's place. The first list's places can be
    filled by its own rows alone, then those of the second, and so on: if all are, ranks are these.
    """
    place = begin + rank.astype(np.int64, copy=False)
    place -= 1
    if not len(place) or place.min() < 0 or place.max() >= len(place):
        return None
    order = np.full(len(place), -1)
    order[place] = np.arange(len(place))
    return order if order.min() >= 0 else None


def falling_bits(x: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Numbers that rise as ``x``, floats or integers, falls, and are equal where it is."""
    if x.dtype.kind == "i":
        bits = x.astype(np.int64)
    else:
        bits = (x.astype(np.float64) + 0.0).view(np.int64)  # -0.0 is 0.0
        bits ^= (bits >> 63) & np.int64((1 << 63) - 1)
    falling = np.invert(bits).view(np.uint64)
    falling ^= np.uint64(1 << 63)
    return falling


def ranges(start: Ints, length: Ints) -> Ints:
    """start[0], start[0] + 1, ... for ``length[0]`` numbers, then the same for the next."""
    ends = np.cumsum(length)
    offset: Ints = np.repeat(start - (ends - length), length)
    return np.arange(len(offset)) + offset


def codes(ids: AnyInts, room: int) -> tuple[Ints, int]:
    """Ids less the smallest if that leaves room, otherwise renumbered; how many codes there are."""
    low, high = int(ids.min()), int(ids.max())
    if high - low < room and low >= -(1 << 62) and high < 1 << 62:
        return ids.astype(np.int64) - low, high - low + 1
    known, code = np.unique(ids, return_inverse=True)
    return code, len(known)


def renumber(key: Ints) -> tuple[Ints, Ints]:
    """The distinct keys in order, and the place of each row's key among them."""
    top = int(key.max(initial=0)) + 1
    if top > 16 * len(key) + 1024:
        return np.unique(key, return_inverse=True)
    there = np.bincount(key, minlength=top) > 0
    place: Ints = np.cumsum(there) - 1
    return np.flatnonzero(there), place[key]


def sum_by(group: Ints, x: Floats, groups: int) -> Floats:
    """Sum of ``x`` within each group."""
    return np.bincount(group, x, minlength=groups).astype(np.float64, copy=False)


def halves(x: Floats) -> tuple[Floats, Floats]:
    """Two numbers that add up to each ``x``: one of 26 digits, and what is left.

    Sums of each kind are exact, or as good as, so what they add up to in the end does not depend on
    the order in which parts were added.
    """
    most = float(np.abs(x).max(initial=0))
    if most == 0 or not np.isfinite(most):
        return x, np.zeros_like(x)
    step = max(2.0 ** (np.ceil(np.log2(most)) - 26), np.finfo(float).tiny)
    coarse: Floats = np.round(x / step) * step
    return coarse, x - coarse


def dot(x: Floats, y: Floats) -> float:
    """Sum of products in one thread: those of ``@`` wait for each other and change the rounding."""
    return float(np.sum(x * y))


def product_by_rows(x: Floats, y: Floats) -> Floats:
    """``x.T @ y``; where there is little to do, in steps so small that one thread does them.

    Others would wait for the next step at full speed.
    """
    out = np.zeros((y.shape[1], x.shape[1]))
    step = ALONE // max(out.size, 1)
    if step < FEWEST:
        return x.T @ y
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        out += y[rows].T @ x[rows]
    return out.T


def products_before(length: Ints, x: Floats) -> Floats:
    """Product of the earlier ``x`` of each group; groups stand one after the other.

    Each group's products are formed from its own entries alone, so no rounding leaks between
    groups: turn by turn over all groups that go on, and the few long groups one by one.
    """
    start = np.cumsum(length) - length
    out = np.ones(len(x))
    for group in np.flatnonzero(length > LONG):
        begin, end = int(start[group]), int(start[group] + length[group])
        np.multiply.accumulate(x[begin : end - 1], out=out[begin + 1 : end])
    short = np.flatnonzero(length <= LONG)
    at = start[short[np.argsort(-length[short], kind="stable")]]
    going = np.ones(len(at))
    for count in (len(short) - np.cumsum(np.bincount(length[short])))[1:-1].tolist():
        going = going[:count] * x[at[:count]]
        at = at[:count] + 1
        out[at] = going
    return out


def summable(x: Floats, most: float) -> Floats:
    """``x`` rounded to steps so fine that nothing is lost and so even that sums are exact.

    ``most`` bounds the sums of absolute values to come. What is exact does not depend on the order
    of summation, hence not on the number of threads.
    """
    step = 2.0 ** (np.ceil(np.log2(most)) - 52) if most > 0 else 1.0
    return np.round(x / step) * step


@dataclass(frozen=True)
class PairSweep:
    r"""Statistics of many pairs in many draws: :math:`|x_{aj} - x_{bj}|\, s_{ab}`, rows a and b.

    Pairs are in ``groups``: the side that they share, their other sides, and their own places. A
    group is looked at in some draws at a time, so that all that is read and written fits a cache.
    """

    number: int
    groups: list[tuple[int, Ints | slice, Ints]]

    @classmethod
    def of(cls, a: Ints, b: Ints) -> PairSweep:
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
