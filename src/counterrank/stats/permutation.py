r"""Paired permutation tests for all pairs of systems and all measures at once.

Under the null hypothesis two systems' values of a unit could be swapped, which flips the sign of
their difference. Flips are not drawn one by one: unit :math:`i` has a random code :math:`c_i`, and
flip :math:`j = 0, \dots, 2^k - 1` turns the units whose code shares an odd number of bits with
:math:`j`. Two such flips after each other are a third and :math:`j = 0` turns nothing, so they are
a group, and

.. math:: p = \#\{j: T(g_j x) \ge T(x)\} / 2^k

is at most :math:`\alpha` with a chance of at most :math:`\alpha`, whatever the statistic :math:`T`,
the largest of a family too (Hoeffding 1952; Hemerik and Goeman 2018). More flips are further cosets
:math:`g_j h_b` with random :math:`h_b`, the group itself among them. All :math:`2^k` sums come from
one count by code and one transform (`stats.draws.Flips`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats, Ints, PairSweep, divide
from counterrank.core.parallel import Progress, quiet
from counterrank.data.ids import Hashes
from counterrank.stats.draws import Flips, flip_codes, signs, sum_by_code

LEAST, MOST = 14, 17  # bits of a code; more flips are cosets
WORK = 1 << 25  # statistics that cost next to nothing beside reading the values
SMALL = 1 << 24  # so many statistics are cheap in double precision
DIGIT = 5  # bits transformed at a time
# A flipped sum this close to the observed one (in standard deviations) is a tie, and ties count.
# It is above the rounding of sums and far below what flips can tell.
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


def flips_for(comparisons: int) -> int:
    r"""How many flips, where nobody says: :math:`2^{17}`, for many comparisons down to 2^14."""
    bits = (WORK // max(comparisons, 1)).bit_length() - 1
    return 1 << min(max(bits, LEAST), MOST)


def permutation_test(
    values: Sequence[Floats],
    pairs: Sequence[tuple[int, int]],
    *,
    ids: Hashes | None = None,
    draws: int | None = None,
    seed: int = 0,
    family: str = "all",
    progress: Progress = quiet,
    keep: Keep = at_once,
) -> Permuted:
    """Test the difference of means for each pair in each measure.

    ``values`` holds one matrix (units x systems) per measure, all over the same units; a unit
    without a value for a measure is 0 in every column. ``ids`` are hashes of the units' ids, or
    else their places count. At least ``draws`` flips are made, in powers of two. ``family`` is
    what max-T corrects for: ``all`` pairs and measures, or the pairs within each ``measure``.
    ``keep`` may hold the counts of each coset, which are the same whether computed now or taken
    from it.
    """
    ids = np.arange(len(values[0]), dtype=np.uint64) if ids is None else ids
    wanted = flips_for(len(pairs) * len(values)) if draws is None else draws
    code, bits, exact = _coded(values, ids, wanted, seed)
    flips = Flips.of(values, np.array(pairs, np.int64).reshape(-1, 2), code, bits)
    cosets = 1 if exact else -(-wanted >> bits)
    counts = np.zeros((2, len(values), len(pairs)))
    for coset in progress(range(cosets), "permuting"):

        def count(coset: int = coset) -> Floats:
            if not coset:
                return reached(flips, flips.sums, family)
            heads = signs(ids, range(63 + coset, 64 + coset), seed)[0]  # the code has the first 64
            return reached(flips, sum_by_code(values, code, bits, 1 - 2.0 * heads), family)

        counts += keep(f"flips-{coset}", count)
    total = cosets << bits
    single, largest = counts / total
    return Permuted(single, largest, total, exact)


def flipped_test(flips: Flips, *, family: str = "all") -> Permuted:
    """The same test from sums by code that were made inside the engine."""
    total = flips.sums.shape[2]
    single, largest = reached(flips, flips.sums, family) / total
    return Permuted(single, largest, total, exact=False)


def _coded(values: Sequence[Floats], ids: Hashes, wanted: int, seed: int) -> tuple[Ints, int, bool]:
    """Codes, their bits, and whether they make all the flips there are.

    That is where each unit that a flip can change has a bit of its own.
    """
    differ = np.any([x.max(axis=1) != x.min(axis=1) for x in values], axis=0)
    many, code = int(differ.sum()), np.zeros(len(ids), np.int64)
    if many > MOST or 1 << many > wanted:
        bits = min((wanted - 1).bit_length(), MOST)
        return flip_codes(ids, bits, seed), bits, False
    code[differ] = 1 << np.arange(many)
    return code, many, True


def reached(flips: Flips, sums: Floats, family: str) -> Floats:
    """How many flips reach each observed statistic (measures x pairs): its own, and the largest.

    ``sums`` are by code, of the group itself or of another coset.
    """
    measures, count = flips.squares.shape
    statistics = [_Statistics.of(flips, m) for m in range(measures)]
    flipped = [transform(x) for x in sums]
    single, tops = np.zeros((measures, count)), np.zeros((measures, sums.shape[2]))
    for m, (own, table) in enumerate(zip(statistics, flipped, strict=True)):
        for part in own:
            kind = part.scale.dtype
            found = table.astype(kind, copy=False), part.scale, tops[m].astype(kind), part.bar
            single[m, part.place] = part.pairs.raise_top(*found)
            np.maximum(tops[m], found[2], out=tops[m])
    if family == "all":
        tops[:] = tops.max(axis=0)
    largest = np.zeros((measures, count))
    for m, own in enumerate(statistics):
        ordered = np.sort(tops[m])
        for part in own:
            largest[m, part.place] = len(ordered) - np.searchsorted(ordered, part.bar)
    return np.stack([single, largest])


@dataclass(frozen=True)
class _Statistics:
    """Some pairs of a measure, read off flipped sums: |difference of two| x ``scale``.

    ``bar`` is the observed statistic less the rounding that must not decide ties.
    """

    place: Ints
    pairs: PairSweep
    scale: Floats
    bar: Floats

    @classmethod
    def of(cls, flips: Flips, m: int) -> list[_Statistics]:
        """All pairs; in single precision where these are many, but for those that hardly differ.

        A pair much closer than its columns are large would drown in their rounding.
        """
        a, b = flips.pairs.T
        total, size = flips.sums[m].sum(axis=1), np.sqrt(flips.sizes[m])
        norm = np.sqrt(flips.squares[m])
        close = norm < 0.1 * (size[a] + size[b])
        if flips.sums.shape[2] * flips.squares.size <= SMALL:
            close[:] = True
        found = []
        for own, kind in ((close, np.float64), (~close, np.float32)):
            place = np.flatnonzero(own)
            scale = divide(1.0, norm[place], 0.0)
            observed = np.abs(total[a[place]] - total[b[place]]) * scale
            bar = observed - TIE[kind] * (1 + observed)
            pairs = PairSweep.of(a[place], b[place])
            found.append(cls(place, pairs, scale.astype(kind), bar.astype(kind)))
        return found


def transform(sums: Floats) -> Floats:
    r"""The Walsh-Hadamard transform of rows: :math:`\sum_c (-1)^{|c \wedge j|} x_c` for every j.

    As products with small matrices of signs, some bits at a time.
    """
    rows, width = sums.shape
    bits, done = width.bit_length() - 1, 0
    while done < bits:
        step = min(DIGIT, bits - done)
        place = np.arange(1 << step)
        turn = 1.0 - 2.0 * (np.bitwise_count(place[:, None] & place) & 1)
        done += step
        if done < bits:
            sums = turn @ sums.reshape(-1, 1 << step, width >> done)
        else:  # one product, not one for each of many columns
            sums = sums.reshape(-1, 1 << step) @ turn
    return sums.reshape(rows, width)
