r"""Paired permutation tests for all pairs of systems and all measures at once.

Under the null hypothesis two systems' values of a unit could be swapped, which flips the sign of
their difference. The flipped sum of a pair is linear in the signs, so one product of random signs
:math:`S` (draws x units) with the matrix of values :math:`X` (units x systems) gives every pair's
statistic as a difference of two columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats, Ints, summable
from counterrank.core.parallel import Progress, quiet
from counterrank.stats.draws import Flips

DRAWS = 100_000
CELLS = 1 << 24  # signs, or statistics, held at a time
SMALL = 1 << 31  # products up to this many terms are cheap in double precision
# A flipped sum this close to the observed one (in standard deviations) is a tie, and ties count.
# It is above the rounding of the product and far below what a draw of signs can tell.
TIE = {np.float64: 1e-9, np.float32: 2e-5}

Keep = Callable[[str, Callable[[], Floats]], Floats]  # a piece of work by name: kept, or done now


def at_once(name: str, work: Callable[[], Floats], /) -> Floats:
    """Nothing is kept."""
    return work()


@dataclass(frozen=True)
class Permuted:
    """Two-sided p-values, measures x pairs. ``maxt`` is corrected for the family by max-T.

    ``draws`` is the number of sign patterns; ``exact`` says they were all there are.
    """

    p: Floats
    maxt: Floats
    draws: int
    exact: bool


def permutation_test(
    values: Sequence[Floats],
    pairs: Sequence[tuple[int, int]],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    family: str = "all",
    precision: str = "auto",
    progress: Progress = quiet,
    keep: Keep = at_once,
) -> Permuted:
    """Test the difference of means for each pair in each measure.

    ``values`` holds one matrix (units x systems) per measure, all over the same units; a unit
    without a value for a measure is 0 in every column. ``family`` is what max-T corrects for:
    ``all`` pairs and measures, or the pairs within each ``measure``. ``keep`` may hold the counts
    of each block of flips, which are the same whether computed now or taken from it. ``precision``
    is ``double``, whose sums are the same on any number of threads, or ``auto``: single where the
    product is large, whose last digits depend on them.
    """
    values = _informative(values)
    units = len(values[0])
    exact = units < 64 and 2**units <= draws
    total = 2**units if exact else draws
    wide = precision == "double" or total * units * sum(x.shape[1] for x in values) <= SMALL
    kind = np.float64 if wide else np.float32
    matrices, observed = zip(*(_columns(x, pairs, kind) for x in values), strict=True)
    matrix, cuts = np.hstack(matrices), np.cumsum([part.shape[1] for part in matrices])[:-1]
    counts = np.zeros((2, len(values), len(pairs)))
    rng = np.random.default_rng(seed)
    chunk = max(1, min(total, CELLS // max(units, len(pairs) * len(values))))
    for start in progress(range(0, total, chunk), "permuting"):
        rows = min(chunk, total - start)
        bits = b"" if exact else rng.bytes(rows * _width(units))  # drawn in order, kept or not

        def count(start: int = start, rows: int = rows, bits: bytes = bits) -> Floats:
            heads = _all_flips(start, rows, units) if exact else _flips(bits, rows, units)
            return _reached(_signs(heads, matrix.dtype) @ matrix, observed, cuts, family)

        counts += keep(f"flips-{start}", count)
    more = 0 if exact else 1  # the observed pattern is one of all, or is added to the drawn ones
    single, largest = (counts + more) / (total + more)
    return Permuted(single, largest, total, exact)


def flipped_test(flips: Flips, *, family: str = "all") -> Permuted:
    """The same test from sums that were flipped inside the engine."""
    draws = len(flips.sums)
    left, right = flips.pairs.T
    columns = [
        _Pairs.of(left, right, total, np.sqrt(squares), np.float64)
        for total, squares in zip(flips.observed, flips.squares, strict=True)
    ]
    counts = np.zeros((2, *flips.observed.shape))
    cuts = np.arange(1, len(columns)) * flips.sums.shape[2]
    chunk = max(1, CELLS // max(1, flips.observed.size))
    for start in range(0, draws, chunk):
        some = flips.sums[start : start + chunk]
        counts += _reached(some.reshape(len(some), -1), columns, cuts, family)
    single, largest = (counts + 1) / (draws + 1)
    return Permuted(single, largest, draws, exact=False)


def _reached(sums: Floats, columns: Sequence[_Pairs], cuts: Ints, family: str) -> Floats:
    """How many flips reach each observed statistic (measures x pairs): its own, and the largest."""
    z = [c.standardised(s) for c, s in zip(columns, np.split(sums, cuts, axis=1), strict=True)]
    top = [x.max(axis=1) for x in z]
    if family == "all":
        top = [np.max(top, axis=0)] * len(z)
    single, largest = [], []
    for c, x, most in zip(columns, z, top, strict=True):
        single.append(np.count_nonzero(x >= c.bar, axis=0))
        largest.append(len(most) - np.searchsorted(np.sort(most), c.bar))
    return np.array([single, largest], float)


def _informative(values: Sequence[Floats]) -> list[Floats]:
    """Without the units on which all systems agree: no flip of theirs changes anything."""
    differ = np.any([x.max(axis=1) != x.min(axis=1) for x in values], axis=0)
    return [x[differ] if differ.any() else x[:1] for x in values]


@dataclass(frozen=True)
class _Pairs:
    """How to read a measure's statistics off flipped sums: a pair is two columns of them.

    ``bar`` is the observed statistic less the rounding that must not decide ties.
    """

    left: Ints
    right: Ints
    norm: Floats
    bar: Floats

    @classmethod
    def of(
        cls, left: Ints, right: Ints, total: Floats, norm: Floats, kind: type[np.floating]
    ) -> _Pairs:
        """``total`` is the sum of a pair's differences, ``norm`` the root of their squares."""
        norm = np.where(norm > 0, norm, np.inf)
        observed = np.abs(total) / norm
        bar = observed - TIE[kind] * (1 + observed)
        return cls(left, right, norm.astype(kind), bar.astype(kind))

    def standardised(self, sums: Floats) -> Floats:
        """|flipped sum| / norm for each draw and pair; the norm is the same under every flip."""
        z = sums[:, self.left]
        z -= sums[:, self.right]
        np.abs(z, out=z)
        z /= self.norm
        return z


def _columns(
    x: Floats, pairs: Sequence[tuple[int, int]], kind: type[np.floating]
) -> tuple[Floats, _Pairs]:
    """One measure's part of the matrix, and the pairs in its product.

    Values less their unit's mean, which is all a pair needs.
    """
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    centred = x - x.mean(axis=1, keepdims=True)  # same shift for all systems: no pair changes
    difference = x[:, a] - x[:, b]
    norm = np.sqrt(np.sum(difference**2, axis=0))
    size = np.sqrt(np.sum(centred**2, axis=0))
    # A pair much closer than its columns are large would drown in their single-precision
    # rounding: its difference becomes a column of its own, against a column of zeros.
    close = (norm < 0.1 * (size[a] + size[b])) & (kind is np.float32)
    matrix = np.hstack([centred, difference[:, close], np.zeros((len(x), 1))])
    left, right = a.copy(), b.copy()
    left[close] = centred.shape[1] + np.arange(close.sum())
    right[close] = matrix.shape[1] - 1
    found = _Pairs.of(left, right, difference.sum(axis=0), norm, kind)
    if kind is np.float64:
        matrix = summable(matrix, float(np.abs(matrix).sum(axis=0).max()))
    return matrix.astype(kind, copy=False), found


def _signs(heads: np.typing.NDArray[np.uint8], kind: np.dtype[np.floating]) -> Floats:
    """1 for tails, -1 for heads."""
    signs: Floats = heads.astype(kind)
    signs *= -2
    signs += 1
    return signs


def _width(units: int) -> int:
    """Bytes that hold one bit for each unit."""
    return -(-units // 8)


def _flips(bits: bytes, rows: int, units: int) -> np.typing.NDArray[np.uint8]:
    """Random heads and tails, one bit each."""
    grid = np.frombuffer(bits, np.uint8).reshape(rows, _width(units))
    return np.unpackbits(grid, axis=1, count=units)


def _all_flips(start: int, rows: int, units: int) -> np.typing.NDArray[np.uint8]:
    """Patterns ``start`` to ``start + rows`` of all there are."""
    pattern = np.arange(start, start + rows)[:, None] >> np.arange(units)
    return (pattern & 1).astype(np.uint8)
