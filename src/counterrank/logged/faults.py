"""What shows only when a log's rows meet a target's: absent sessions, repeats, no overlap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from counterrank.errors import InputError, in_order


@dataclass(frozen=True)
class Tally:
    """How many rows or sessions are so, and which is the first."""

    count: int = 0
    first: str = ""

    def __add__(self, other: Tally) -> Tally:
        first = min((t.first for t in (self, other) if t.count), key=in_order, default="")
        return Tally(self.count + other.count, first)


@dataclass(frozen=True)
class Faults:
    """What was found of one target.

    ``absent`` sessions have no list, ``empty`` ones a list with nothing that was logged; ``again``
    are logged rows that repeat an item, ``unseen`` rewarded ones that nobody can have seen;
    ``twice`` are listed ones that repeat an item. ``strange`` is a session of the run.
    """

    absent: Tally = field(default_factory=Tally)
    empty: Tally = field(default_factory=Tally)
    again: Tally = field(default_factory=Tally)
    unseen: Tally = field(default_factory=Tally)
    twice: Tally = field(default_factory=Tally)
    strange: str = ""

    def __add__(self, other: Faults) -> Faults:
        return Faults(
            self.absent + other.absent,
            self.empty + other.empty,
            self.again + other.again,
            self.unseen + other.unseen,
            self.twice + other.twice,
            min(filter(None, (self.strange, other.strange)), key=in_order, default=""),
        )


def refuse_absent(name: str, found: Faults, sessions: int, missing: str) -> None:
    """Logged sessions for which the target has no list."""
    absent = found.absent
    if absent.count == sessions:
        raise InputError(
            f'"{name}" and the log have no session in common.',
            found=f"The log has {absent.first}, the run {found.strange or 'none'}.",
            todo="A target's lists are keyed by the sessions of the log (--columns session=NAME).",
        )
    if absent.count and missing == "error":
        raise InputError(
            f'"{name}" has no list for {absent.count:,} of {sessions:,} logged sessions.',
            found=f"The first is {absent.first}.",
            todo="Give each a list, leave such sessions out (--missing skip), or let them keep"
            " their logged list (--missing logged).",
        )


def refuse_faults(log: str, name: str, found: Faults, sessions: int, disjoint: str) -> None:
    """What shows only when rows meet: repeated items, lists that share nothing with the log."""
    if found.again.count:
        raise InputError(
            f'"{log}" shows an item more than once in a session.',
            found=f"Found {found.again.count:,} such rows (first: {found.again.first}).",
            todo="Keep one row per session and item; repetitions may be sessions of their own.",
        )
    if found.unseen.count:
        raise InputError(
            f'"{log}" has rewards at ranks that the position model says nobody sees.',
            found=f"Found {found.unseen.count:,} such rows (first: {found.unseen.first}).",
            todo="Give a position model that reaches as deep as the log's rewards.",
        )
    if found.twice.count:
        raise InputError(
            f'"{name}" lists an item more than once for the same session.',
            found=f"Found {found.twice.count:,} such rows (first: {found.twice.first}).",
            todo="Mend the list; samples of a stochastic ranker need a column draw.",
        )
    empty = found.empty
    if empty.count == sessions or (empty.count and disjoint == "error"):
        raise InputError(
            f'"{name}" lists nothing that was logged in {empty.count:,} of {sessions:,} sessions.',
            found=f"The first is {empty.first}: the log cannot tell what such"
            " a list would have earned.",
            todo="Check the item ids; if the logger drew its items by chance and logged exposure"
            " or propensity, let such sessions count 0: --disjoint zero.",
        )


def summed(found: Iterable[Faults]) -> Faults:
    """Those of all buckets."""
    return sum(found, start=Faults())
