"""Diagnostics that a person accepts for a time, with a reason; after that they count again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from counterrank.core.errors import UsageError, brief, unknown
from counterrank.documents.requirements import Row


@dataclass(frozen=True)
class Acceptance:
    """The diagnostic ``id`` counts no longer, through the day ``until``, for a ``reason``."""

    id: str
    until: date
    reason: str

    def holds(self, today: date) -> bool:
        """Whether it does, that day included."""
        return today <= self.until


def acceptances(
    accept: Sequence[str], until: Sequence[str], reason: Sequence[str], document: Row
) -> list[Acceptance]:
    """The three together, in turn; each is needed, and the result must have the diagnostic."""
    if not len(accept) == len(until) == len(reason) or not all(map(str.strip, reason)):
        raise UsageError(
            "What is accepted needs a day until when, and a reason.",
            found=f"Given: {len(accept)} accept, {len(until)} until,"
            f" {sum(bool(text.strip()) for text in reason)} reason.",
            todo='Write all three for each: --accept ID --until 2030-01-31 --reason "...".',
        )
    there = sorted({str(d.get("id") or d["name"]) for d in document.get("diagnostics", [])})
    for id in accept:
        if id not in there:
            raise unknown(f'The result has no diagnostic "{id}" to accept.', id, there)
    return [Acceptance(*one) for one in zip(accept, map(_day, until), reason, strict=True)]


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"until must be a day, not {brief(text)}.", todo="Write it like 2030-01-31."
        ) from None


def today() -> date:
    """The day of the run; that of SOURCE_DATE_EPOCH, where it is set."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not epoch:
        return date.today()
    try:
        return datetime.fromtimestamp(int(epoch), UTC).date()
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"SOURCE_DATE_EPOCH is {brief(epoch)}, and no number of seconds since 1970."
        ) from None
