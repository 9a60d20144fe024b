"""What shows only when a log's rows meet a target's: absent sessions, repeats, no overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.errors import InputError
from counterrank.logged.sessions import Sessions
from counterrank.logged.targets import Target
from counterrank.logged.weights import Weights


@dataclass(frozen=True)
class Part:
    """What one bucket yields."""

    tables: dict[tuple[str, str], Floats]
    weights: Weights
    row_again: Ints
    cell_again: list[str]
    absent: Ints
    empty: Ints
    unseen: Ints


def refuse_absent(sessions: Sessions, target: Target, missing: str) -> None:
    """Logged sessions for which the target has no list."""
    absent = target.place < 0
    name, first = target.table.name, sessions.units[int(np.argmax(absent))]
    if absent.all():
        raise InputError(
            f'"{name}" and the log have no session in common.',
            found=f"The log has {sessions.units[0]!r}, the run {target.blocks.names[0]!r}.",
            todo="A target's lists are keyed by the sessions of the log (--columns session=NAME).",
        )
    if absent.any() and missing == "error":
        raise InputError(
            f'"{name}" has no list for {absent.sum():,} of {sessions.n:,} logged sessions.',
            found=f"The first is {first!r}.",
            todo="Give each a list, leave such sessions out (--missing skip), or let them keep"
            " their logged list (--missing logged).",
        )


def refuse_faults(sessions: Sessions, target: Target, parts: Sequence[Part], disjoint: str) -> None:
    """What shows only when rows meet: repeated items, lists that share nothing with the log."""
    again = np.concatenate([part.row_again for part in parts])
    if len(again):
        raise InputError(
            f'"{sessions.log.name}" shows an item more than once in a session.',
            found=f"Found {len(again):,} such rows"
            f" (first: {sessions.blocks.caller_row(int(again.min()))}).",
            todo="Keep one row per session and item; repetitions may be sessions of their own.",
        )
    unseen = np.concatenate([part.unseen for part in parts])
    if len(unseen):
        raise InputError(
            f'"{sessions.log.name}" has rewards at ranks that the position model says nobody sees.',
            found=f"Found {len(unseen):,} such rows"
            f" (first: {sessions.blocks.caller_row(int(unseen[0]))}).",
            todo="Give a position model that reaches as deep as the log's rewards.",
        )
    twice = [where for part in parts for where in part.cell_again]
    if twice:
        raise InputError(
            f'"{target.table.name}" lists an item more than once for the same session.',
            found=f"Found {len(twice):,} such rows (first: {twice[0]}).",
            todo="Mend the list; samples of a stochastic ranker need a column draw.",
        )
    empty = np.concatenate([part.empty for part in parts])
    if len(empty) == sessions.n or (len(empty) and disjoint == "error"):
        raise InputError(
            f'"{target.table.name}" lists nothing that was logged in {len(empty):,} of'
            f" {sessions.n:,} sessions.",
            found=f"The first is {sessions.units[int(empty[0])]!r}: the log cannot tell what such"
            " a list would have earned.",
            todo="Check the item ids; if the logger drew its items by chance and logged exposure"
            " or propensity, let such sessions count 0: --disjoint zero.",
        )
