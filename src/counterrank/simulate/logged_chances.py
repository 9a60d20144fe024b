r"""What an honest platform writes beside each shown item: its exposure and its propensity.

``given`` says what they are conditional on.

* ``candidates``: the candidate set that the session drew. Exposure is
  :math:`\sum_r P(a, r \mid x, s)\, c(r)`; for a deterministic ranker that is :math:`c` of the rank.
  It goes with runs that rank the candidates of the same session (Jeunen et al., 2024, Eq. 9).
* ``context``: the context alone. Candidate sets are summed over as well (Eq. 6). It goes with runs
  that give their exposure per context, such as those of a ranker with its own candidates.

The two do not mix: a ratio of one and the other estimates nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.simulate.latent import Latent
from counterrank.simulate.rankers import Ranker

GIVEN = ("candidates", "context")


@dataclass(frozen=True)
class Exposures:
    """Exposure and propensity of every item under one ranker, with ``bias[x, r]`` as c(r)."""

    latent: Latent
    ranker: Ranker
    bias: Floats

    @cached_property
    def by_candidates(self) -> Floats:
        """Exposure given the candidates: contexts x sets x candidates."""
        out: Floats = np.einsum("xskr,xr->xsk", self.ranker.placed, self.bias)
        return out

    @cached_property
    def placed(self) -> Floats:
        """P(a at rank r | x): contexts x items x slots."""
        weighted = self.ranker.chance[:, :, None, None] * self.ranker.placed
        contexts, items = self.latent.quality.shape
        out = np.zeros((contexts, items, weighted.shape[3]))
        np.add.at(out, (np.arange(contexts)[:, None, None], self.latent.sets), weighted)
        return out

    @cached_property
    def by_context(self) -> Floats:
        """Exposure given the context alone: contexts x items."""
        out: Floats = np.einsum("xar,xr->xa", self.placed, self.bias)
        return out
