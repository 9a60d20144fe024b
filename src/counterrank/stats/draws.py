r"""Random weights and signs that are a pure function of seed, id and draw.

So they are the same in whatever part, order or process a unit comes along. Each id has a stream of
64-bit numbers by SplitMix64 (Steele, Lea and Flood 2014), which starts at a mix of seed and id; a
number holds the weights of 4 draws or the signs of 64.

The bootstrap draws every cluster Poisson(1) times: resample :math:`b` has :math:`\sum_g w_{gb} n_g`
units and sums :math:`\sum_g w_{gb} S_g` (Hanley and MacGibbon 2006; Chamandy et al. 2012). The
permutation test flips signs by a group of patterns (`Flips`). Both add up over parts of the units.
Where clusters are many they are drawn by group (`ClusterSums`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Annotated, TypeVar

import numpy as np
import numpy.typing as npt

from counterrank.core.arrays import Floats, Ints, divide, product_by_rows, sum_by
from counterrank.core.merge import first
from counterrank.data.ids import GOLDEN, Hashes, mix64

A = TypeVar("A", bound=np.unsignedinteger)

Small = npt.NDArray[np.uint8]

WEIGHTS, SIGNS, GROUPS = 1, 2, 3  # streams of one seed that have nothing to do with each other
# How many of the 65,536 numbers of 16 bits give weight 0, 1, 2, ...: within 1.5 of Poisson's
# probabilities, and such that mean and variance are exactly 1.
POISSON = (24110, 24108, 12055, 4018, 1006, 201, 32, 5, 1)
UNITS, DRAWS = 2048, 256  # weights held at a time
FLIPS = 1 << 14  # sign patterns where units are too many to keep
MANY, BITS = 25_000, 14  # clusters beyond which they are drawn in 2^14 groups
ROWS = 1 << 15  # units whose values are centred at a time
CLOSE = 1e-3  # squared differences, relative to squared values, below which products lose digits
_EDGES = np.cumsum(POISSON)[:-1].astype(np.uint16)  # from which a number gives 1, 2, ...


def poisson_weights(ids: Hashes, draws: range, seed: int) -> Small:
    """How often each id is drawn, draws x ids: independent, as good as Poisson(1)."""
    quarters = _asked(_numbers(ids, draws, seed, WEIGHTS, 4).view("<u2"), draws, 4)
    found = np.zeros(quarters.shape, np.uint8)
    for edge in _EDGES:
        found += quarters >= edge
    return found.T


def signs(ids: Hashes, draws: range, seed: int) -> Small:
    """Heads (1) and tails (0), draws x ids."""
    bits = np.unpackbits(_numbers(ids, draws, seed, SIGNS, 64).view(np.uint8), axis=1)
    return _asked(bits, draws, 64).T


def _numbers(ids: Hashes, draws: range, seed: int, stream: int, each: int) -> Hashes:
    """One number per id for every ``each`` draws: ids x numbers."""
    key = mix64(np.array([(seed * GOLDEN + stream) % 2**64], np.uint64))
    start = mix64(ids.astype(np.uint64) ^ key)  # a copy; ids need not look random
    place = np.arange(draws.start // each, -(-draws.stop // each), dtype=np.uint64)
    found = mix64(start[:, None] + (place + np.uint64(1)) * np.uint64(GOLDEN))
    return found.astype("<u8", copy=False)


def _asked(found: npt.NDArray[A], draws: range, each: int) -> npt.NDArray[A]:
    """The draws asked for among whole numbers of them."""
    begin = draws.start % each
    return found[:, begin : begin + len(draws)]


@dataclass(frozen=True)
class Draws:
    """How many ``resamples`` and sign ``flips`` are drawn while the data are read (0: none).

    More clusters than ``many`` are resampled by group.
    """

    resamples: int = 0
    flips: int = 0
    seed: int = 0
    many: int = MANY


def resample(
    columns: Sequence[Floats] | Floats, ids: Hashes, draws: Draws, wanted: range | None = None
) -> Floats:
    """Sums of each column in each resample, draws x columns; ``ids`` are of its rows.

    Columns may come as one matrix with a row for each id. ``wanted`` are some of the resamples,
    where they are not made all at once.
    """
    wanted = range(draws.resamples) if wanted is None else wanted
    whole = columns if isinstance(columns, np.ndarray) else None
    sums = np.zeros((len(wanted), len(columns) if whole is None else whole.shape[1]))
    for begin in range(0, len(ids), UNITS):
        some = slice(begin, begin + UNITS)
        rows = np.stack([x[some] for x in columns], axis=1) if whole is None else whole[some]
        for patterns in _blocks(wanted):
            weights = poisson_weights(ids[some], patterns, draws.seed).T.astype(float)
            place = slice(patterns.start - wanted.start, patterns.stop - wanted.start)
            sums[place] += product_by_rows(weights, rows)
    return sums


@dataclass(frozen=True, eq=False)
class ClusterSums:
    r"""What resamples are made of: sums of ``columns`` by cluster, the first its number of units.

    Each of more than ``draws.many`` clusters would cost a weight in every draw. So many are put
    into :math:`2^{14}` groups, by a hash of seed and id, and a group is drawn as if it were one
    cluster. Influence values of all clusters add up to 0, so of their sums by group the squares
    and cubes add up to those by cluster, on average over groups; by chance the squares are off by
    a share of :math:`\sqrt{2 / 2^{14}}`. Parts have whole clusters, and become groups as soon as
    all that are merged are too many.
    """

    ids: Hashes
    columns: tuple[Floats, ...]
    draws: Draws
    grouped: bool = False

    @classmethod
    def of(cls, ids: Hashes, columns: Sequence[Floats], draws: Draws) -> ClusterSums:
        """Clusters, or groups of them."""
        found = cls(ids, tuple(columns), draws)
        return found._by_group() if len(ids) > draws.many else found

    @classmethod
    def merge(cls, parts: Sequence[ClusterSums]) -> ClusterSums:
        """Those of all parts."""
        if any(part.grouped for part in parts):
            parts = [part._by_group() for part in parts]
        same = zip(*(part.columns for part in parts), strict=True)
        if parts[0].grouped:
            return replace(parts[0], columns=tuple(reduce(add, some) for some in same))
        columns = [np.concatenate(some) for some in same]
        return cls.of(np.concatenate([part.ids for part in parts]), columns, parts[0].draws)

    def _by_group(self) -> ClusterSums:
        if self.grouped:
            return self
        group, count = _codes(self.ids, BITS, self.draws.seed, GROUPS), 1 << BITS
        columns = tuple(sum_by(group, x, count) for x in self.columns)
        return ClusterSums(np.arange(count, dtype=np.uint64), columns, self.draws, grouped=True)

    @cached_property
    def sums(self) -> Floats:
        """Sums of the columns in each draw, draws x columns."""
        return resample(self.columns, self.ids, self.draws)

    def means(self, places: Ints) -> Floats:
        """Means of some columns in each draw."""
        return divide(self.sums[:, places], self.sums[:, :1])


@dataclass(frozen=True, eq=False)
class Flips:
    r"""Values of units summed by code: ``sums`` is measures x systems x :math:`2^k`.

    Unit :math:`i` has a code :math:`c_i` of :math:`k` bits, by seed and id. Flip :math:`j` turns
    it where :math:`c_i` and :math:`j` share an odd number of bits, so the flipped sums are the
    Walsh-Hadamard transform of the sums by code,

    .. math:: \sum_i (-1)^{|c_i \wedge j|} x_i = \sum_c (-1)^{|c \wedge j|} \sum_{i: c_i = c} x_i

    ``squares`` are sums of squared differences, measures x pairs, and ``sizes`` of squared values,
    measures x systems. ``pairs`` has the places of two systems in each row.
    """

    sums: Floats
    squares: Floats
    sizes: Floats
    pairs: Annotated[Ints, first]

    @classmethod
    def of(cls, scores: Sequence[Floats], pairs: Ints, code: Ints, bits: int) -> Flips:
        """Of one part: a matrix (units x systems) for each measure, 0 for units it leaves out."""
        squares = np.zeros((len(scores), len(pairs)))
        sizes = np.zeros((len(scores), scores[0].shape[1]))
        for m, x in enumerate(scores):
            for _, some in _centred(x, ROWS):
                squares[m] += _squares(some, pairs)
                sizes[m] += np.einsum("ij,ij->j", some, some)
        return cls(sum_by_code(scores, code, bits), squares, sizes, pairs)


def sum_by_code(
    scores: Sequence[Floats], code: Ints, bits: int, turn: Floats | None = None
) -> Floats:
    """Sums of each measure and system by the units' code, where ``turn`` may flip units first."""
    sums = np.zeros((len(scores), scores[0].shape[1], 1 << bits))
    for m, x in enumerate(scores):
        for rows, some in _centred(x, max(ROWS, 1 << bits)):
            own = some if turn is None else some * turn[rows, None]
            for s in range(own.shape[1]):
                sums[m, s] += np.bincount(code[rows], own[:, s], 1 << bits)
    return sums


def _centred(x: Floats, step: int) -> Iterator[tuple[slice, Floats]]:
    """Some units at a time, less their mean.

    The same shift for all systems of a unit changes no difference, and keeps digits.
    """
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        yield rows, x[rows] - x[rows].mean(axis=1, keepdims=True)


def flip_codes(ids: Hashes, bits: int, seed: int) -> Ints:
    """A number of so many bits for each id: uniform, the lower bits those of a shorter code."""
    return _codes(ids, bits, seed, SIGNS)


def _codes(ids: Hashes, bits: int, seed: int, stream: int) -> Ints:
    mask = np.uint64((1 << bits) - 1)
    found: Ints = (_numbers(ids, range(64), seed, stream, 64)[:, 0] & mask).astype(np.int64)
    return found


def _squares(x: Floats, pairs: Ints) -> Floats:
    """Sums of squared differences of two columns, by their products.

    These lose the digits of columns that hardly differ: such pairs are subtracted first.
    """
    a, b = pairs.T
    gram = x.T @ x
    sizes = np.diag(gram)[a] + np.diag(gram)[b]
    found: Floats = sizes - 2 * gram[a, b]
    for pair in np.flatnonzero(found < CLOSE * sizes):
        difference = x[:, a[pair]] - x[:, b[pair]]
        found[pair] = difference @ difference
    return found


def _blocks(draws: range) -> list[range]:
    return [draws[start : start + DRAWS] for start in range(0, len(draws), DRAWS)]
