"""Three sentences at the end: which measure outlives the loss of judgments, and what costs it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterrank.inference.intervals import normal_quantile
from counterrank.meta.areas import areas, one
from counterrank.meta.reductions import SAYS
from counterrank.meta.robustness import Track


def advice(tracks: Sequence[Track], labels: Sequence[str], level: float) -> tuple[str, str, str]:
    """The most robust measure and who is not separated from it; the least; where it is weak."""
    area = _areas(tracks, len(labels))
    best, worst = int(np.argmax(area)), int(np.argmin(area))
    others = [m for m in range(len(labels)) if m != best]
    near = [m for m in others if not apart(tracks, best, m, len(labels), level)]
    weak = _weakness(tracks, labels, best, level)
    if not others:
        return (
            f"{labels[best]} has an area under the curve of tau of {area[best]:.3f}.",
            "No other measure was assessed, so whether one does better is not known.",
            weak,
        )
    if len(near) == len(others):
        return (
            "The measures are not separated: the area under the curve of tau goes from"
            f" {area[worst]:.3f} to {area[best]:.3f}.",
            "Choose by what the measure means, not by its robustness on these data.",
            weak,
        )
    first = (
        f"For these users and systems {labels[best]} keeps the order best when judgments are"
        f" missing: its area under the curve of tau is {area[best]:.3f}"
    )
    if near:
        first += f"; not separated from it: {', '.join(labels[m] for m in near)}"
    second = (
        f"Least robust is {labels[worst]} ({area[worst]:.3f}): what it prefers on these judgments"
        " it may not prefer on others."
    )
    return f"{first}.", second, weak


def apart(tracks: Sequence[Track], m: int, other: int, measures: int, level: float) -> bool:
    """Whether two areas differ by more than the Monte Carlo explains; samples are paired.

    One measure is compared with all others, so the level is divided among them.
    """
    gap = areas(tracks, one(m, measures) - one(other, measures))
    far = normal_quantile(1 - (1 - level) / (2 * max(measures - 1, 1)))
    return bool(abs(gap.value) > max(far * gap.se, 1e-12))


def _weakness(tracks: Sequence[Track], labels: Sequence[str], best: int, level: float) -> str:
    """The kind of loss that costs the best measure most, and who withstands it better."""
    each = [_areas([track], len(labels)) for track in tracks]
    place = min(range(len(tracks)), key=lambda k: each[k][best])
    own, track = each[place], tracks[place]
    text = f"{labels[best]} is weakest where {SAYS[track.kind]} ({own[best]:.3f})"
    rival = int(np.argmax(own))
    if rival != best and apart([track], rival, best, len(labels), level):
        text += f"; if that is your worry, take {labels[rival]} ({own[rival]:.3f})"
    return f"{text}; a robust order need not be significant, which assess power tells."


def _areas(tracks: Sequence[Track], measures: int) -> list[float]:
    return [areas(tracks, one(m, measures)).value for m in range(measures)]
