"""Who was covered: the small table that says what a run's numbers rest on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Coverage:
    """Counts of one run against the judgments.

    ``covered_users`` have judgments and a list; ``unjudged_users`` have a list only.
    """

    judged_users: int
    covered_users: int
    unjudged_users: int
    rows: int
    duplicates: int

    @property
    def missing_users(self) -> int:
        """Judged users without a list."""
        return self.judged_users - self.covered_users

    @classmethod
    def merged(cls, parts: Iterable[Coverage]) -> Coverage:
        """That of all buckets: no user is in two of them."""
        return cls(*(sum(column) for column in zip(*map(astuple, parts), strict=True)))
