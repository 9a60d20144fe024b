"""Per-unit values as evidence of robustness: users can go missing, judgments are not known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats
from counterrank.hits import Pool
from counterrank.meta.values import Mean, Values


@dataclass(frozen=True, eq=False)
class Told:
    """``forms`` are the measures: where each stands among the values, and its mean."""

    values: Values
    forms: tuple[tuple[int, Mean], ...]

    @property
    def pool(self) -> Pool:
        """The users; of their judgments nothing is known."""
        units = self.values.units
        return Pool(units, units.clear(), np.ones(len(units), np.int64), np.zeros(0), 0.0)

    @property
    def value(self) -> Floats:
        """The value of each measure of each system: measures x systems."""
        value: Floats = self.under(np.ones((1, len(self.values.units))))[:, 0]
        return value

    def under(self, weights: Floats) -> Floats:
        r"""The same under other weights of the users (draws x users): measures x draws x systems.

        Each value is :math:`g(\sum_u w_u c_u / \sum_u w_u)` over the users that have one.
        """
        out = []
        for place, mean in self.forms:
            x = mean.scores(self.values.x[:, place])
            there = ~np.isnan(x)
            # Not a matrix product: its last digits would depend on the number of threads.
            total = np.einsum("du,su->ds", weights, np.where(there, x, 0))
            base = np.einsum("du,su->ds", weights, there.astype(float))
            none = np.full(total.shape, np.nan)
            out.append(mean.finish(np.divide(total, base, out=none, where=base > 0)))
        return np.stack(out)
