r"""Random weights and signs that are a pure function of seed, id and draw.

So they are the same in whatever part, order or process a unit comes along. Each id has a stream of
64-bit numbers by SplitMix64 (Steele, Lea and Flood 2014), which starts at a mix of seed and id; a
number holds the weights of 4 draws or the signs of 64.

The bootstrap draws every cluster Poisson(1) times: resample :math:`b` has :math:`\sum_g w_{gb} n_g`
units and sums :math:`\sum_g w_{gb} S_g` (Hanley and MacGibbon 2006; Chamandy et al. 2012). The
permutation test flips signs: :math:`\sum_u s_{ub} x_u`. Both add up over parts of the units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

import numpy as np
import numpy.typing as npt

from counterrank.core.arrays import Floats, Ints
from counterrank.core.merge import first
from counterrank.data.ids import GOLDEN, Hashes, mix64

A = TypeVar("A", bound=np.unsignedinteger)

Small = npt.NDArray[np.uint8]

WEIGHTS, SIGNS = 1, 2  # streams of one seed that have nothing to do with each other
# How many of the 65,536 numbers of 16 bits give weight 0, 1, 2, ...: within 1.5 of Poisson's
# probabilities, and such that mean and variance are exactly 1.
POISSON = (24110, 24108, 12055, 4018, 1006, 201, 32, 5, 1)
UNITS, DRAWS = 2048, 1024  # weights or signs held at a time
FLIPS = 10_000  # sign patterns where units are too many to keep
_WEIGHT = np.repeat(np.arange(len(POISSON), dtype=np.uint8), POISSON)


def poisson_weights(ids: Hashes, draws: range, seed: int) -> Small:
    """How often each id is drawn, draws x ids: independent, as good as Poisson(1)."""
    quarters = _numbers(ids, draws, seed, WEIGHTS, 4).view("<u2")
    found: Small = _WEIGHT[_asked(quarters, draws, 4)]
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
    """How many ``resamples`` and sign ``flips`` are drawn while the data are read (0: none)."""

    resamples: int = 0
    flips: int = 0
    seed: int = 0


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
            weights = poisson_weights(ids[some], patterns, draws.seed).astype(float)
            sums[patterns.start - wanted.start : patterns.stop - wanted.start] += weights @ rows
    return sums


@dataclass(frozen=True, eq=False)
class Flips:
    """``sums`` of flipped values, draws x measures x systems.

    ``observed`` and ``squares`` are the sums of differences and of their squares, measures x
    pairs. ``pairs`` has the places of two systems in each row.
    """

    sums: Floats
    observed: Floats
    squares: Floats
    pairs: Annotated[Ints, first]

    @classmethod
    def of(cls, scores: Floats, ids: Hashes, pairs: Ints, *, draws: int, seed: int) -> Flips:
        """Of one part: units x measures x systems, 0 for a unit that a measure does not count."""
        units, measures, systems = scores.shape
        # the same shift for all systems of a unit changes no difference, and keeps digits
        centred = scores - scores.mean(axis=2, keepdims=True)
        flat = centred.reshape(units, measures * systems)
        sums = np.zeros((draws, measures * systems))
        for begin in range(0, units, UNITS):
            some = slice(begin, begin + UNITS)
            for patterns in _blocks(range(draws)):
                heads = signs(ids[some], patterns, seed).astype(float)
                sums[patterns.start : patterns.stop] -= 2 * (heads @ flat[some])
        sums += flat.sum(axis=0)
        difference = scores[:, :, pairs[:, 0]] - scores[:, :, pairs[:, 1]]
        return cls(
            sums.reshape(draws, measures, systems),
            difference.sum(axis=0),
            np.sum(difference**2, axis=0),
            pairs,
        )


def _blocks(draws: range) -> list[range]:
    return [draws[start : start + DRAWS] for start in range(0, len(draws), DRAWS)]
