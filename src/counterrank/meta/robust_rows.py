"""The rows of a robustness result: areas, curves of tau, and the values behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from counterrank.arrays import Floats
from counterrank.meta.areas import areas, one
from counterrank.meta.robustness import Track


@dataclass(frozen=True)
class AreaRow:
    """``value`` is the area under one measure's curve of tau: its mean over sizes.

    The reduction ``all`` is the mean over all kinds of loss. ``se`` and interval are those of the
    Monte Carlo; they are for these users and systems, not for others.
    """

    reduction: str
    measure: str
    value: float
    se: float
    low: float
    high: float
    level: float


@dataclass(frozen=True)
class TauRow:
    """Mean tau of one measure at one size; the share ``level`` of samples lies in the band."""

    reduction: str
    measure: str
    size: float
    tau: float
    se: float
    low: float
    high: float
    level: float
    samples: int


@dataclass(frozen=True)
class ValueRow:
    """What one system scores as judgments go missing: mean and band over samples, by size."""

    reduction: str
    measure: str
    system: str
    size: list[float]
    value: list[float]
    low: list[float]
    high: list[float]


def area_rows(tracks: Sequence[Track], labels: Sequence[str], level: float) -> Iterator[AreaRow]:
    """Over all kinds first, then each kind by itself."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    for kind, own in [("all", tracks), *((track.kind, [track]) for track in tracks)]:
        for m, label in enumerate(labels):
            a = areas(own, one(m, len(labels)))
            low, high = a.value - z * a.se, a.value + z * a.se
            yield AreaRow(kind, label, a.value, a.se, low, high, level)


def tau_rows(tracks: Sequence[Track], labels: Sequence[str], level: float) -> Iterator[TauRow]:
    """Every curve, from all judgments down to the fewest."""
    for track in tracks:
        for m, label in enumerate(labels):
            for size, tau in zip(track.sizes, track.tau, strict=True):
                x = tau[m]
                se = float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else 0.0
                low, high = _band(x, level)
                yield TauRow(track.kind, label, size, float(x.mean()), se, low, high, level, len(x))


def value_rows(
    tracks: Sequence[Track], labels: Sequence[str], systems: Sequence[str], level: float
) -> Iterator[ValueRow]:
    """Absolute values, as in the paper's Fig. 4 but for each system."""
    for track in tracks:
        means = [np.mean(x, axis=1) for x in track.values]
        ends = [np.quantile(x, [(1 - level) / 2, (1 + level) / 2], axis=1) for x in track.values]
        for m, label in enumerate(labels):
            for s, system in enumerate(systems):
                yield ValueRow(
                    track.kind,
                    label,
                    system,
                    list(track.sizes),
                    [float(x[m, s]) for x in means],
                    [float(x[0, m, s]) for x in ends],
                    [float(x[1, m, s]) for x in ends],
                )


def _band(x: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(x, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
