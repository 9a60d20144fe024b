r"""What a target earns from a rank on, learnt from the log for `CascadeDR`.

The return of a row, weighted from the next rank down, is

.. math:: G_r = c_r + w_{r+1} G_{r+1}, \qquad G_{L+1} = 0

Given the items down to rank :math:`r`, its mean is what the target would earn from there on. The
model is the one of `counterrank.logged.model`: shrunken means by item, rank and context.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from counterrank.arrays import Floats
from counterrank.errors import InputError
from counterrank.logged.basis import Basis
from counterrank.logged.fitting import outcome_sums
from counterrank.logged.gather import Work
from counterrank.logged.join import Joined, Shown, at_ranks, joined, rewarded
from counterrank.logged.model import Sums
from counterrank.logged.rows import Rows
from counterrank.logged.sessions import Sessions
from counterrank.logged.targets import Target

NEARLY = 0.01  # what rounded probabilities of a rank may miss of 1


def future_sums(sessions: Sessions, basis: Basis, target: Target, work: Work) -> dict[str, Sums]:
    """What a model of one target's returns is learnt from, for each reward."""

    def of(reward: str, side: Shown) -> Floats:
        found = joined(sessions, basis, side, target, missing=work.missing)
        _refuse_parts(sessions, target, side, found, work.missing)
        return returns(rewarded(found, sessions, side, reward, None))

    return {reward: outcome_sums(sessions, basis, partial(of, reward)) for reward in work.rewards}


def returns(rows: Rows) -> Floats:
    r""":math:`G_r` of each row, from the last rank up."""
    w, G = rows.weight(float("inf")), rows.reward.copy()
    for r in range(int(rows.length.max()) - 1, 0, -1):
        here = rows.start[rows.length > r] + r - 1
        G[here] += w[here + 1] * G[here + 1]
    return G


def _refuse_parts(
    sessions: Sessions, target: Target, side: Shown, found: Joined, missing: str
) -> None:
    """An expectation over the target's items needs all of them."""
    total = at_ranks(found, found.cells.e)
    off = np.abs(total - 1) > NEARLY
    if missing == "skip":
        off &= ~np.isin(side.session, found.absent)
    if off.any():
        first = int(np.argmax(off))
        unit = sessions.units[int(side.session[first]) + side.begin]
        raise InputError(
            f'The probabilities of "{target.table.name}" do not add up to 1 at every logged rank.',
            found=f"Session {unit!r}, rank {side.rank[first]}: they add up to {total[first]:.4g}.",
            todo="CascadeDR needs every item the target may show at a rank, with its probability.",
        )
