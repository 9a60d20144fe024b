"""How large simulations are: a share of full size with every change, all of it by a make target.

``COUNTERRANK_FULL=1`` asks for full size, as ``make simulate`` does.
"""

from __future__ import annotations

import os
from math import sqrt

FULL = bool(os.environ.get("COUNTERRANK_FULL"))
Z = 3.0


def replications(full: int, by_day: int) -> int:
    """How many."""
    return full if FULL else by_day


def near(share: float, due: float, count: int, also: float = 0.0) -> bool:
    """Whether a share of so many is as due, but for its Monte Carlo error and what may be also."""
    return abs(share - due) <= max(also, Z * sqrt(due * (1 - due) / count))
