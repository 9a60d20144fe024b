"""What learning gives: a model, the table behind it, and what both rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from counterrank.core.errors import InputError
from counterrank.position.learn.curve import Curve, Parameter
from counterrank.position.learn.misfit import Misfit
from counterrank.position.learn.request import LearnRequest
from counterrank.position.model_file import PositionModel
from counterrank.position.models import ByContext, Exposure


@dataclass(frozen=True)
class RankRow:
    """One rank: its value in the table with interval, the model's, and the rows behind it."""

    system: str
    measure: str
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
class CurveBasis:
    """The rows behind a curve. ``moved`` are items shown at several ranks; ``by`` the clusters."""

    rows: int
    sessions: int
    clusters: int
    by: str
    items: int
    moved: int


@dataclass(frozen=True, eq=False)
class LearnedCurve:
    """A table of ranks, the model fitted to it, and what tells whether to believe them.

    ``gaps`` is the share of sessions that skip a rank, ``going_on`` how often users look further
    after a click, relative to after none.
    """

    curve: Curve
    model: Exposure
    parameters: list[Parameter]
    basis: CurveBasis
    misfit: Misfit | None = None
    balance: tuple[float, float] | None = None
    gaps: float | None = None
    going_on: float | None = None

    def rows(self, request: LearnRequest, context: str = "") -> list[RankRow]:
        """Rank by rank."""
        c, method, level = self.curve, request.method, request.level
        ranks = np.arange(1, len(c.value) + 1)
        columns = (c.value, c.se, *c.interval(level), self.model.at(ranks), c.shown, c.clicks)
        return [
            RankRow(
                method, f"c({rank})", context, rank, value, se, low, high, level, model,
                int(shown), clicks,
            )
            for rank, value, se, low, high, model, shown, clicks in zip(
                ranks.tolist(), *(column.tolist() for column in columns), strict=True
            )
        ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Learned:
    """``model`` is what estimators take, ``whole`` the curve of all rows, by the method that ran.

    Where the request has ``by``, there is a curve for each value of that column in ``parts``, and
    ``model`` is by context: its default, for values not listed, is the curve of all rows.
    ``refused`` are values too thin to have their own, with the reason.
    """

    request: LearnRequest
    model: PositionModel
    whole: LearnedCurve
    parts: Mapping[str, LearnedCurve]
    refused: Mapping[str, str]

    @classmethod
    def of(
        cls,
        request: LearnRequest,
        curves: Mapping[str | None, LearnedCurve],
        refused: Mapping[str, str],
    ) -> Learned:
        """From the curve of all rows (None) and those of values; refuse if no value has one."""
        whole, by = curves[None], request.by
        parts = {value: curve for value, curve in curves.items() if value is not None}
        if by is not None and not parts:
            value, why = next(iter(refused.items()))
            raise InputError(
                f'No value of "{by}" has a curve of its own.',
                found=f'For "{value}": {why}',
                todo="Learn one curve for all rows, or log more.",
            )
        models = {value: part.model for value, part in parts.items()}
        model = whole.model if by is None else ByContext(by, models, whole.model)
        return cls(request, model, whole, parts, refused)

    def curves(self) -> list[tuple[str, LearnedCurve]]:
        """All rows first (context ""), then each value."""
        return [("", self.whole), *self.parts.items()]
