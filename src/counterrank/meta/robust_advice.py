"""Three sentences at the end: which measure outlives the loss of judgments, and what costs it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterrank.meta.areas import Area, areas, one
from counterrank.meta.reductions import AT_RANDOM, SAYS
from counterrank.meta.robustness import Track

FAR = 1.96  # Monte Carlo errors between two areas that are told apart


def advice(tracks: Sequence[Track], labels: Sequence[str]) -> list[str]:
    """The most robust measure and who is not separated from it, the least, what costs most."""
    whole = [areas(tracks, one(m, len(labels))) for m in range(len(labels))]
    best = max(range(len(labels)), key=lambda m: whole[m].value)
    worst = min(range(len(labels)), key=lambda m: whole[m].value)
    near = [m for m in range(len(labels)) if m != best and not apart(tracks, best, m, len(labels))]
    kinds = [(areas([t], one(best, len(labels))), t.kind) for t in tracks]
    lowest, kind = min(kinds, key=lambda pair: pair[0].value)
    return [_first(labels, best, whole[best], near), _second(labels, worst, whole), _third(
        labels[best], kind, lowest, len(tracks)
    )]  # fmt: skip


def difference(tracks: Sequence[Track], m: int, other: int, measures: int) -> Area:
    """How much larger the area of one measure is than that of another, on the same samples."""
    return areas(tracks, one(m, measures) - one(other, measures))


def apart(tracks: Sequence[Track], m: int, other: int, measures: int) -> bool:
    """Whether two areas differ by more than the sampling explains."""
    gap = difference(tracks, m, other, measures)
    return bool(abs(gap.value) > max(FAR * gap.se, np.finfo(float).eps * 64))


def _first(labels: Sequence[str], best: int, area: Area, near: list[int]) -> str:
    text = (
        f"On data like these use {labels[best]}: it keeps the order of the systems best when"
        f" judgments are missing (area {area.value:.3f}, 1 is an order that never changes)"
    )
    if not near:
        return f"{text}, and every other measure is separated from it."
    names = ", ".join(labels[m] for m in near)
    return f"{text}; not separated from it: {names}."


def _second(labels: Sequence[str], worst: int, whole: list[Area]) -> str:
    if len(labels) == 1:
        return "No other measure was assessed, so nothing says whether another would do better."
    return (
        f"Least robust is {labels[worst]} ({whole[worst].value:.3f}): with fewer judgments it may"
        " prefer other systems than with all of them."
    )


def _third(label: str, kind: str, area: Area, kinds: int) -> str:
    lost = f"What costs {label} most is {SAYS[kind]} ({area.value:.3f})" if kinds > 1 else (
        f"Only {SAYS[kind]} was tried"
    )  # fmt: skip
    rest = (
        "which chance would not do, so ask who is absent from your judgments"
        if kind not in AT_RANDOM
        else "which more judgments would mend"
    )
    return f"{lost}, {rest}; a robust order need not be a true or a significant one: see power."
