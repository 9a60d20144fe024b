"""What learning gives: a model, the table behind it, and what both rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from counterrank.exposure.learn.curve import Curve
from counterrank.exposure.learn.fit import Parameter
from counterrank.exposure.learn.misfit import Misfit
from counterrank.exposure.models import Exposure
from counterrank.exposure.saved import KIND, Model, to_json


@dataclass(frozen=True)
class RankRow:
    """One rank: its value in the table with interval, the model's, and the rows behind it."""

    context: str
    rank: int
    value: float
    se: float
    low: float
    high: float
    level: float
    model: float
    units: int
    rewards: float


@dataclass(frozen=True)
class Basis:
    """The rows behind a curve. ``moved`` are items shown at several ranks; ``by`` the clusters."""

    rows: int
    sessions: int
    clusters: int
    by: str
    items: int
    moved: int


@dataclass(frozen=True, eq=False)
class Learnt:
    """``model`` is what estimators take; ``table()`` what was seen, rank by rank.

    With ``parts`` there is one result per value of the column ``by``, and ``model`` is by context:
    its default, for values not listed, is the curve of all rows. ``refused`` are values too thin
    to have their own, with the reason.
    """

    model: Model
    method: str
    family: str
    level: float
    curve: Curve
    own: Exposure
    parameters: list[Parameter]
    basis: Basis
    misfit: Misfit | None = None
    balance: tuple[float, float] | None = None
    gaps: float | None = None
    going_on: float | None = None
    by: str | None = None
    parts: Mapping[str, Learnt] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def table(self) -> list[RankRow]:
        """Rank by rank; with contexts, all rows first (context "") and then each value."""
        low, high = self.curve.interval(self.level)
        ranks = np.arange(1, len(low) + 1)
        model = self.own.at(ranks)
        own = [
            RankRow(
                "", int(r), float(self.curve.value[n]), float(self.curve.se[n]), float(low[n]),
                float(high[n]), self.level, float(model[n]), int(self.curve.shown[n]),
                float(self.curve.clicks[n]),
            )
            for n, r in enumerate(ranks)
        ]  # fmt: skip
        for value, part in self.parts.items():
            own += [RankRow(**(asdict(row) | {"context": value})) for row in part.table()]
        return own

    def to_dict(self) -> dict[str, Any]:
        """The document that ``--out`` writes and ``position_bias`` reads."""
        everything = {"": self, **self.parts}
        return {
            "kind": KIND,
            "model": to_json(self.model),
            "label": str(self.model),
            "estimates": [
                {"system": self.method, "measure": f"c({row.rank})", **asdict(row)}
                for row in self.table()
            ],
            "comparisons": [],
            "parameters": [
                {"context": value, **asdict(p)}
                for value, part in everything.items()
                for p in part.parameters
            ],
            "basis": [
                {"context": value, **asdict(part.basis)} for value, part in everything.items()
            ],
            "refused": [{"context": v, "reason": why} for v, why in self.refused.items()],
        }
