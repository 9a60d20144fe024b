r"""Robustness of measures: does the order of systems outlive the loss of judgments?

Follows Valcarce et al. 2020, section 4.2. All systems are evaluated on reduced judgments, many
times for each size where chance decides what is lost. The tau of each order with the order on all
judgments says how much of it is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, mapped
from counterrank.meta.reduced import Evidence
from counterrank.meta.reductions import OF_USERS, Reductions
from counterrank.meta.told import Told
from counterrank.progress import Progress, quiet
from counterrank.stats.correlation import kendall_tau

Kept = Callable[[str, Callable[[], Floats]], Floats]
"""Returns what is stored under a name, or computes and stores it."""


@dataclass(frozen=True, eq=False)
class Track:
    """One kind of loss at falling ``sizes``. Everything is by size, then measures x samples.

    ``values`` are measures x samples x systems, and ``tau`` is that of their order with the order
    on all judgments.
    """

    kind: str
    sizes: tuple[float, ...]
    values: tuple[Floats, ...]
    tau: tuple[Floats, ...]


def tracks(
    evidence: Evidence | Told,
    kinds: Sequence[str],
    sizes: Sequence[float],
    *,
    samples: int,
    seed: int,
    threads: int = 1,
    stored: Kept = lambda name, compute: compute(),
    progress: Progress = quiet,
) -> list[Track]:
    """Every kind of loss at every size; ``stored`` keeps finished pieces."""
    reductions = Reductions(evidence.pool, seed)
    full = evidence.value
    pieces = [(kind, size) for kind in kinds for size in sizes]
    found: dict[tuple[str, float], Floats] = {}
    for kind, size in progress(pieces, "reducing judgments"):
        number = reductions.samples(kind, size, samples)

        def compute(kind: str = kind, size: float = size, number: int = number) -> Floats:
            return _values(evidence, reductions, kind, size, number, threads)

        found[kind, size] = stored(f"{kind}-{size!r}", compute)
    return [
        Track(
            kind,
            tuple(sizes),
            tuple(found[kind, size] for size in sizes),
            tuple(_taus(full, found[kind, size]) for size in sizes),
        )
        for kind in kinds
    ]


def _taus(full: Floats, reduced: Floats) -> Floats:
    """Tau of each sample's order with the full one; 0 where a side sees no difference."""
    return np.nan_to_num(kendall_tau(full[:, None], reduced, missing="skip"), nan=0.0)


def _values(
    evidence: Evidence | Told,
    reductions: Reductions,
    kind: str,
    size: float,
    samples: int,
    threads: int,
) -> Floats:
    """All samples of one piece: measures x samples x systems."""
    if kind in OF_USERS:  # what is said of a user does not change: all samples in one product
        rows = [reductions.kept(kind, size, sample) for sample in range(samples)]
        return evidence.under(np.stack(rows).astype(float))
    assert isinstance(evidence, Evidence)  # per-unit values have no judgments to lose
    judged = evidence

    def one(sample: int) -> Floats:
        return judged.only(reductions.kept(kind, size, sample)).value

    return np.stack(mapped(one, range(samples), threads), axis=1)
