"""Everything inference needs of one part of the units, in one go; parts add up."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

import numpy as np

from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import UsageError
from counterrank.data.ids import Hashes
from counterrank.moments.resamples import Resamples
from counterrank.stats.draws import Flips
from counterrank.stats.moments import Root as Moments

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Draws:
    """How many ``resamples`` and sign ``flips`` are drawn beside the moments (0: none).

    ``pairs`` are the places of the systems that flips compare.
    """

    resamples: int = 0
    flips: int = 0
    seed: int = 0
    pairs: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Sums:
    """What is known of columns without their values."""

    moments: Moments
    resamples: Resamples | None = None
    flips: Flips | None = None

    def drawn(self, draws: int) -> Floats:
        """Means of the columns in each of the resamples that were drawn inside the engine."""
        found = 0 if self.resamples is None else len(self.resamples.n)
        if self.resamples is None or found < draws:
            raise UsageError(
                "Without values per unit, resamples must be drawn while the data are read.",
                found=f"{found:,} were drawn, {draws:,} are asked for.",
                todo='Ask for a bootstrap in the call itself, or for inference="units".',
            )
        return self.resamples.means[:draws]

    def __add__(self, other: Sums) -> Sums:
        """Of both parts together."""
        resamples, flips = self.resamples, self.flips
        if resamples is not None and other.resamples is not None:
            resamples += other.resamples
        if flips is not None and other.flips is not None:
            flips += other.flips
        return Sums(self.moments + other.moments, resamples, flips)


def laid(widths: Mapping[Name, int]) -> dict[Name, slice]:
    """Where each name's columns stand when all are put side by side."""
    ends = accumulate(widths.values())
    return {name: slice(end - widths[name], end) for name, end in zip(widths, ends, strict=True)}


def summed(
    columns: Floats,
    ids: Hashes,
    draws: Draws,
    *,
    cluster: Ints | None = None,
    scores: Floats | None = None,
) -> Sums:
    """The sums of one part: units x columns, and hashes of the units' ids.

    With ``cluster`` (a number from 0 for each unit) ``ids`` are those of the clusters, by number;
    all units of a cluster must be in this part. ``scores`` (units x measures x systems, 0 for a
    unit that a measure does not count) are what flips test, for units without clusters.
    """
    assert len(ids) == (len(columns) if cluster is None else cluster.max(initial=-1) + 1)
    resamples = flips = None
    if draws.resamples:
        resamples = Resamples.of(columns, ids, cluster, draws=draws.resamples, seed=draws.seed)
    if draws.flips and scores is not None:
        assert cluster is None
        pairs = np.array(draws.pairs, np.int64).reshape(-1, 2)
        flips = Flips.of(scores, ids, pairs, draws=draws.flips, seed=draws.seed)
    return Sums(Moments.of(columns, cluster), resamples, flips)
