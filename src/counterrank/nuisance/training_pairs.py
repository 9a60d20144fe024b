"""Clicks and conversions of pairs of user and item as arrays: what every model learns from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Bools, Floats, Ints, sort_order
from counterrank.core.errors import InputError, one_of

PAIRS = ("all", "rows")


@dataclass(frozen=True)
class Pairs:
    """Rows in order of user and item; codes are places among the sorted ids.

    ``click`` is 0 or 1; ``conversion`` is only known where it is 1, and 0 elsewhere. With ``kind``
    "all" a pair without a row was not clicked; with "rows" it could not have been. ``ctr`` is there
    where it was given, not to be fitted.
    """

    user: Ints
    item: Ints
    click: Bools
    conversion: Floats
    users: int
    items: int
    kind: str
    ctr: Floats | None = None

    @property
    def count(self) -> int:
        """How many pairs there are, those without a row among them."""
        return self.users * self.items if self.kind == "all" else len(self.user)

    @property
    def clicked(self) -> tuple[Ints, Ints, Floats]:
        """User, item and conversion of the clicked pairs."""
        z = self.click
        return self.user[z], self.item[z], self.conversion[z]


def training(
    user: Ints,
    item: Ints,
    click: Floats,
    conversion: Floats,
    *,
    users: int,
    items: int,
    pairs: str = "all",
    ctr: Floats | None = None,
) -> Pairs:
    """The pairs in order of their codes: the order of rows changes nothing, not even a last bit."""
    one_of("pairs", pairs, PAIRS)
    user, item = user.astype(np.int64), item.astype(np.int64)
    order = sort_order(user, item)
    z = click[order] > 0
    if not z.any():
        refuse_unclicked(len(z))
    y = np.where(z, conversion[order], 0.0)
    given = None if ctr is None else ctr[order]
    return Pairs(user[order], item[order], z, y, users, items, pairs, given)


def refuse_unclicked(rows: int) -> None:
    """A table without clicks."""
    raise InputError(
        "No pair was clicked, so there is nothing to learn clicks and conversions from.",
        found=f"The table has {rows:,} rows.",
        todo="Give a table with clicks, or predictions in columns ctr and cvr.",
    )
