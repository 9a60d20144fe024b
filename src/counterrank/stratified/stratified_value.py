"""The stratified value (Jadidinejad et al. 2021, Eq. 4) as a function of column means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.stats.functions_of_means import Function, ratio


@dataclass(frozen=True)
class Stratified:
    r""":math:`\sum_q P_q v_q` with shares :math:`P_q = \bar n_q / \sum_q \bar n_q`.

    :math:`v_q` is the value within stratum q, :math:`n_q` a user's feedback there. The columns are
    two for each stratum, what ``within`` makes :math:`v_q` of, then all :math:`n_q`. A stratum
    where nobody has anything to find has no value and no share.
    """

    strata: int
    within: Function = ratio

    def __call__(self, m: Floats) -> Floats:
        """The value."""
        pairs, n = m[..., : 2 * self.strata], m[..., 2 * self.strata :]
        places = range(0, 2 * self.strata, 2)
        value = np.stack([self.within(pairs[..., q : q + 2]) for q in places], axis=-1)
        there = pairs[..., 1::2] != 0
        share = n / np.where(there, n, 0).sum(axis=-1, keepdims=True)
        total: Floats = np.where(there, share * value, 0).sum(axis=-1)
        return total
