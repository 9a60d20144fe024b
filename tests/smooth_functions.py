"""Plain functions of means as the old moments take them; goes with them."""

from __future__ import annotations

from dataclasses import dataclass

from counterrank.aggregate import Function
from counterrank.arrays import Floats
from counterrank.stats import functions


@dataclass(frozen=True)
class Smooth(Function):
    """A plain function of means, with its gradient."""

    of: functions.Function

    def finish(self, means: Floats) -> Floats:
        return self.of(means)

    def gradient(self, means: Floats) -> Floats:
        return functions.gradient(self.of, means)
