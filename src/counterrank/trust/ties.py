"""How much do tied scores decide? Their share, and the best and worst the ties allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.judged import Lists
from counterrank.ranking import Measure


def ties(
    system: str,
    lists: Lists,
    measures: Sequence[Measure],
    bracket: Callable[[int], tuple[float, float]],
    widths: list[float],
) -> Diagnosis:
    """Share of hits whose score ties with another item's.

    Above 1 % caution; if the best and the worst order differ by more than the interval of some
    measure is wide, fail: the order of ties decides more than chance does. ``bracket`` gives the
    worst and the best value of a measure by its place.
    """
    share = lists.tied_share
    text = f"{share:.1%} of the judged items listed tie with another item."
    verdict = "pass" if share <= 0.01 else "caution"
    if share > 0.01:
        wide = []
        for place, (m, width) in enumerate(zip(measures, widths, strict=True)):
            low, high = bracket(place)
            if high - low > np.nan_to_num(width):  # one user has no interval
                wide.append(f"{m} {low:.4f} to {high:.4f}")
        if wide:
            verdict = "fail"
            text += f" The order of ties decides: {', '.join(wide)}."
    return Diagnosis("ties", system, share, 0.01, verdict, text)
