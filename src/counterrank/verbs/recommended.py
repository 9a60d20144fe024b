"""Words that recommendations share."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], longest: int = 5) -> str:
    """Names in a sentence; many are counted."""
    if len(names) > longest:
        return f"{', '.join(names[:longest])} and {len(names) - longest} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def most(share: float) -> str:
    """What the share of pairs told apart says about the sample."""
    if share >= 0.9:
        return "the sample is large enough for systems as far apart as these"
    if share >= 0.5:
        return "closer systems need more users"
    return "most of these systems are too close for this sample"
