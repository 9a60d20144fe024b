"""Three sentences at the end: which measure outlives the loss of judgments, and what costs it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterrank.meta.areas import areas, one
from counterrank.meta.reductions import SAYS
from counterrank.meta.robustness import Track

FAR = 1.96  # Monte Carlo errors between two areas that are told apart


def advice(tracks: Sequence[Track], labels: Sequence[str]) -> tuple[str, str, str]:
    """The most robust measure and who is not separated from it; the least; where it is weak."""
    area = _areas(tracks, len(labels))
    best, worst = int(np.argmax(area)), int(np.argmin(area))
    first = (
        f"On data like these {labels[best]} keeps the order of the systems best when judgments are"
        f" missing: its area under the curve of tau is {area[best]:.3f}"
    )
    near = [m for m in range(len(labels)) if m != best and not apart(tracks, best, m, len(labels))]
    if near:
        first += f"; not separated from it: {', '.join(labels[m] for m in near)}"
    second = (
        f"Least robust is {labels[worst]} ({area[worst]:.3f}): what it prefers on these judgments"
        " it may not prefer on others."
        if len(labels) > 1
        else "No other measure was assessed, so whether one does better is not known."
    )
    return f"{first}.", second, _weakness(tracks, labels, best)


def apart(tracks: Sequence[Track], m: int, other: int, measures: int) -> bool:
    """Whether two areas differ by more than the sampling explains; samples are paired."""
    gap = areas(tracks, one(m, measures) - one(other, measures))
    return bool(abs(gap.value) > max(FAR * gap.se, 1e-12))


def _weakness(tracks: Sequence[Track], labels: Sequence[str], best: int) -> str:
    """The kind of loss that costs the best measure most, and who withstands it better."""
    each = [_areas([track], len(labels)) for track in tracks]
    place = min(range(len(tracks)), key=lambda k: each[k][best])
    own, track = each[place], tracks[place]
    text = f"{labels[best]} is weakest where {SAYS[track.kind]} ({own[best]:.3f})"
    rival = int(np.argmax(own))
    if rival != best and apart([track], rival, best, len(labels)):
        text += f"; if that is your worry, take {labels[rival]} ({own[rival]:.3f})"
    return f"{text}; a robust order need not be significant, which assess power tells."


def _areas(tracks: Sequence[Track], measures: int) -> list[float]:
    return [areas(tracks, one(m, measures)).value for m in range(measures)]
