"""The work of ``strata`` on one bucket where values per user are not kept: sums are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats
from counterrank.data.runs import RunTables
from counterrank.engine import Bucket
from counterrank.moments import Draws
from counterrank.policies import Policies
from counterrank.stratified.totals import Totals
from counterrank.verbs.strata_parts import Piece, piece
from counterrank.verbs.strata_truth import Ground


@dataclass(frozen=True, eq=False)
class Condensed:
    """Sums of all users, measure by measure, and a ``piece`` of those whom messages name.

    ``open`` are the sums of the open loop. ``weights`` and ``judged`` are summed over users.
    """

    piece: Piece
    totals: tuple[Totals, ...]
    open: tuple[Totals, ...]
    weights: Floats | None
    judged: Floats

    def __add__(self, other: Condensed) -> Condensed:
        """Those of both parts."""
        weights = self.weights
        if weights is not None and other.weights is not None:
            weights = weights + other.weights
        return Condensed(
            Piece.merged([self.piece, other.piece]).named(),
            tuple(a + b for a, b in zip(self.totals, other.totals, strict=True)),
            tuple(a + b for a, b in zip(self.open, other.open, strict=True)),
            weights,
            self.judged + other.judged,
        )


def condensed(
    ground: Ground,
    policies: Policies,
    runs: RunTables,
    open_runs: RunTables,
    draws: Draws,
    bucket: Bucket,
) -> Condensed:
    """Everything of one bucket, summed."""
    own = piece(ground, policies, runs, open_runs, bucket)
    known, weights = own.feedback, own.feedback.weights
    rows = known.rows * own.there(policies.missing)
    totals = [
        Totals.of(each, rows, known.users.units, draws) for each in own.faces(ground, policies)
    ]
    opened: list[Totals] = []
    if own.open is not None:
        units = own.open.units
        opened = [
            Totals.of([face], np.zeros((0, len(units))), units, draws)
            for face in own.open_faces(ground, policies)
        ]
    return Condensed(
        own.named(),
        tuple(totals),
        tuple(opened),
        None if weights is None else weights.sum(axis=-1),
        np.array([s.judged[s.present].sum() for s in own.systems]),
    )
