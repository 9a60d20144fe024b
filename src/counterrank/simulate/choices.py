"""Random numbers: one stream for each purpose, so that one choice never shifts another."""

from __future__ import annotations

import numpy as np

from counterrank.core.arrays import Floats, Ints

# fmt: off
PURPOSES = (
    "day", "context", "user", "factor", "arm", "policy", "set", "list", "earlier set",
    "earlier list", "patience", "click", "like", "leave", "dwell", "conversion", "revenue", "draws",
)
# fmt: on


def stream(seed: int, purpose: str, part: int = 0) -> np.random.Generator:
    """The random numbers of a sample for one purpose; ``part`` counts blocks of sessions."""
    return np.random.Generator(np.random.SFC64([seed, PURPOSES.index(purpose), part]))


def chosen(u: Floats, chance: Floats, row: Ints) -> Ints:
    """One choice for each uniform number, by the probabilities in its row of ``chance``."""
    upto = np.cumsum(chance, axis=1)[:, :-1]
    choice = np.zeros(len(u), np.int64)
    for limit in upto.T:
        choice += u >= limit[row]
    return choice
