r"""Random weights and signs that are a pure function of seed, id and draw.

So they are the same in whatever part, order or process a unit comes along. Each id has a stream of
64-bit numbers by SplitMix64 (Steele, Lea and Flood 2014), which starts at a mix of seed and id; a
number holds the weights of 4 draws or the signs of 64.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

A = TypeVar("A", bound=np.unsignedinteger)

Hashes = npt.NDArray[np.uint64]
Small = npt.NDArray[np.uint8]

GOLDEN = 0x9E3779B97F4A7C15
WEIGHTS, SIGNS = 1, 2  # streams of one seed that have nothing to do with each other
# How many of the 65,536 numbers of 16 bits give weight 0, 1, 2, ...: within 1.5 of Poisson's
# probabilities, and such that mean and variance are exactly 1.
POISSON = (24110, 24108, 12055, 4018, 1006, 201, 32, 5, 1)
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


def mixed(x: Hashes) -> Hashes:
    """SplitMix64's finaliser, in place."""
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _numbers(ids: Hashes, draws: range, seed: int, stream: int, each: int) -> Hashes:
    """One number per id for every ``each`` draws: ids x numbers."""
    key = mixed(np.array([(seed * GOLDEN + stream) % 2**64], np.uint64))
    start = mixed(ids.astype(np.uint64) ^ key)  # a copy; ids need not look random
    place = np.arange(draws.start // each, -(-draws.stop // each), dtype=np.uint64)
    found = mixed(start[:, None] + (place + np.uint64(1)) * np.uint64(GOLDEN))
    return found.astype("<u8", copy=False)


def _asked(found: npt.NDArray[A], draws: range, each: int) -> npt.NDArray[A]:
    """The draws asked for among whole numbers of them."""
    begin = draws.start % each
    return found[:, begin : begin + len(draws)]
