"""What to do with users and rows that do not fit: one word per question."""

from __future__ import annotations

from dataclasses import dataclass

from counterrank.core.errors import one_of

TIES = ("id", "id32", "file", "expected")


@dataclass(frozen=True)
class Policies:
    """The defaults never shrink the denominator.

    ``missing``: judged users without a list. ``no_relevant``: users with nothing to find.
    ``unjudged``: listed users without judgments. ``duplicates``: an item twice in a list.
    ``ties``: the order of equal scores.
    """

    missing: str = "zero"
    no_relevant: str = "zero"
    unjudged: str = "ignore"
    duplicates: str = "error"
    ties: str = "id"

    def __post_init__(self) -> None:
        one_of("missing", self.missing, ("zero", "skip", "error"))
        one_of("no_relevant", self.no_relevant, ("zero", "skip", "error"))
        one_of("unjudged", self.unjudged, ("ignore", "error"))
        one_of("duplicates", self.duplicates, ("error", "first"))
        one_of("ties", self.ties, TIES)
