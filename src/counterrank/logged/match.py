"""One bucket of sessions: logged rows meet the target's cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Ints


@dataclass(frozen=True)
class Match:
    """``cell`` of each logged row (-1: none); rows and cells that repeat an earlier one."""

    cell: Ints
    row_again: Ints
    cell_again: Ints


def matched(row: tuple[Ints, Ints], cell: tuple[Ints, Ints], things: int) -> Match:
    """Find each row's cell of the same session and thing (an item, or an item at a rank).

    Rows and cells are given as session and thing, things as numbers below ``things``. One sort of
    keys that hold session, thing and place, with the cells below the rows: neighbours that share
    session and thing meet.
    """
    n, m = len(row[0]), len(cell[0])
    bits = (n + m).bit_length()
    sessions = 1 + max(int(x.max(initial=0)) for x in (row[0], cell[0]))
    if sessions * things << bits >= 1 << 63:  # too wide for one number: renumber what is here
        known, code = np.unique(np.concatenate([row[1], cell[1]]), return_inverse=True)
        row, cell, things = (row[0], code[:n]), (cell[0], code[n:]), len(known)
    key = np.empty(n + m, np.int64)
    np.multiply(row[0], things, out=key[:n])
    np.multiply(cell[0], things, out=key[n:])
    key[:n] += row[1]
    key[n:] += cell[1]
    key <<= bits
    key |= np.arange(n + m)
    key.sort()
    pair = key >> bits
    met = np.flatnonzero(pair[1:] == pair[:-1])
    key &= (1 << bits) - 1
    above, below = key[met], key[met + 1]
    found = np.full(n, -1)
    joined = (above < n) & (below >= n)
    found[above[joined]] = below[joined] - n
    return Match(found, below[below < n], below[above >= n] - n)
