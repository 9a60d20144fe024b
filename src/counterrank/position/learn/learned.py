"""What learning gives: a model, the table behind it, and what both rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterrank.core.arrays import Floats, Ints, sort_order, sum_by
from counterrank.core.errors import InputError
from counterrank.position.learn.curve import Curve, Parameter
from counterrank.position.learn.impressions import Catalogue, ItemRows
from counterrank.position.learn.request import LearnRequest
from counterrank.position.models import ByContext, PositionBias, PositionModel

EXPECTED = 5.0  # clicks a cell must expect before its residual is trusted


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
class CurveBasis:
    """The rows behind a curve. ``moved`` are items shown at several ranks; ``by`` the clusters."""

    rows: int
    sessions: int
    clusters: int
    by: str
    items: int
    moved: int


@dataclass(frozen=True)
class Misfit:
    r"""Pearson's :math:`X^2` over cells of item and rank, and what it means in per cent.

    ``excess`` is how far click rates stray from :math:`c_k \gamma_j` beyond chance, relative to
    them; ``cells`` how many could be looked at. ``above`` compares clicks below another click with
    clicks below none, both as a multiple of what the model expects: below 1 a click ends the
    reading (a cascade), above 1 some users click on more than others.
    """

    chi2: float
    degrees: int
    p: float
    excess: float
    cells: int
    above: float


@dataclass(frozen=True, eq=False)
class LearnedCurve:
    """A table of ranks, the model fitted to it, and what tells whether to believe them.

    ``slopes`` (parameters x columns of the method) turn influences into those on the model's
    parameters. ``gaps`` is the share of sessions that skip a rank, ``going_on`` how often users
    look further after a click, relative to after none.
    """

    curve: Curve
    model: PositionModel
    parameters: list[Parameter]
    slopes: Floats
    basis: CurveBasis
    misfit: Misfit | None = None
    balance: tuple[float, float] | None = None
    gaps: float | None = None
    going_on: float | None = None

    def rows(self, request: LearnRequest, context: str = "") -> list[RankRow]:
        """Rank by rank."""
        c, level = self.curve, request.level
        ranks = np.arange(1, len(c.value) + 1)
        columns = (c.value, c.se, *c.interval(level), self.model.at(ranks), c.shown, c.clicks)
        return [
            RankRow(
                context, rank, value, se, low, high, level, model, int(shown), clicks
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
    ``refused`` are values too thin to have their own, with the reason. ``solutions`` are what the
    method found, by group, from which any row's influence follows.
    """

    request: LearnRequest
    model: PositionBias
    whole: LearnedCurve
    parts: Mapping[str, LearnedCurve]
    refused: Mapping[str, str]
    solutions: Mapping[str | None, Any]

    @classmethod
    def of(
        cls,
        request: LearnRequest,
        curves: Mapping[str | None, LearnedCurve],
        refused: Mapping[str, str],
        solutions: Mapping[str | None, Any],
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
        return cls(request, model, whole, parts, refused, solutions)

    def curves(self) -> list[tuple[str, LearnedCurve]]:
        """All rows first (context ""), then each value."""
        return [("", self.whole), *self.parts.items()]


def misfit(cell: Catalogue, c: Floats, after: Floats) -> Misfit:
    r"""Compare click rates of the same item at different ranks with one curve.

    .. math:: X^2 = \sum \frac{(C - n\mu)^2}{n \mu (1 - \mu)}, \qquad
              \delta^2 = \frac1{\sum n\mu} \sum \frac{(C - n\mu)^2 - n\mu(1-\mu)}{n\mu}

    over cells that expect at least five clicks, with :math:`\mu = c_k \hat\gamma_j`; the degrees
    of freedom are cells minus items minus ranks but one. :math:`\delta` is the root mean square
    of :math:`C / n\mu - 1` over expected clicks, less what chance adds. ``cell`` are those of items
    that moved, ``after`` the sums of `after_click`.
    """
    from scipy.special import chdtrc

    seen = c[cell.rank - 1]
    rates = after[::2] / np.maximum(after[1::2], 1e-300)
    above = float(rates[0] / rates[1]) if rates[1] > 0 else float("nan")
    expected = cell.shown * seen * item_relevance(cell, c)[cell.item]
    enough = expected >= EXPECTED
    enough &= cell.per_item(enough.astype(float))[cell.item] > 1
    item = np.unique(cell.item[enough], return_inverse=True)[1]
    items = int(item.max(initial=-1)) + 1
    degrees = int(enough.sum()) - items - (len(np.unique(cell.rank[enough])) - 1)
    if not enough.any() or degrees < 1:
        return Misfit(float("nan"), 0, float("nan"), float("nan"), int(enough.sum()), above)
    clicks, shown, seen = cell.clicks[enough], cell.shown[enough], seen[enough]
    mu = np.minimum(seen * _relevance(item, clicks, shown, seen)[item], 1 - 1e-9)
    squares = (clicks - shown * mu) ** 2
    noise = shown * mu * (1 - mu)
    chi2 = float(np.sum(squares / noise))
    # items and ranks that were fitted take their share of the noise
    over = np.sum(squares / (shown * mu)) - np.sum(1 - mu) * degrees / len(clicks)
    excess = float(np.sqrt(max(over, 0) / np.sum(shown * mu)))
    return Misfit(chi2, degrees, float(chdtrc(degrees, chi2)), excess, len(clicks), above)


def item_relevance(cell: Catalogue, c: Floats) -> Floats:
    """Each item's relevance, given what is seen."""
    return _relevance(cell.item, cell.clicks, cell.shown, c[cell.rank - 1])


def _relevance(item: Ints, clicks: Floats, shown: Floats, seen: Floats) -> Floats:
    """Maximum likelihood of each item's relevance, given what is seen: a few weighted means."""
    items = int(item.max(initial=-1)) + 1
    weight = np.ones(len(item))
    for _ in range(4):
        top, bottom = (sum_by(item, weight * x, items) for x in (clicks, shown * seen))
        gamma = top / np.maximum(bottom, 1e-300)
        weight = 1 / np.maximum(1 - seen * gamma[item], 0.01)
    return gamma


def after_click(items: ItemRows, c: Floats, gamma: Floats) -> Floats:
    """Clicks and expected clicks below rank 1: where something above was clicked, where nothing."""
    cell, data = items.catalogue, items.data
    if len(data.rank) == 0:
        return np.zeros(4)
    expected = (c[cell.rank - 1] * gamma[items.number][cell.item])[items.of]
    order = sort_order(data.session, data.rank)
    session, clicked = data.session[order], (data.reward[order] > 0).astype(float)
    before = np.cumsum(clicked) - clicked
    starts = np.flatnonzero(np.append(True, session[1:] != session[:-1]))
    start = np.repeat(before[starts], np.diff(np.append(starts, len(session))))
    after = before - start > 0
    lower = data.rank[order] > 1
    both = (data.reward[order], expected[order])
    return np.array([x[here].sum() for here in (after & lower, ~after & lower) for x in both])


def balance(cell: Catalogue) -> tuple[float, float]:
    """Whether items are spread over ranks by chance: chi-square per degree of freedom, and p.

    Only items that expect five rows at every rank are looked at; nan if there are none.
    """
    from scipy.special import chdtrc

    by_rank = cell.per_rank(cell.shown)
    big = cell.per_item(cell.shown) * by_rank.min() / by_rank.sum() >= EXPECTED
    cell = cell.only(np.flatnonzero(big))
    counts = np.zeros((cell.items.height, len(by_rank)))
    counts[cell.item, cell.rank - 1] = cell.shown
    degrees = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if degrees < 1:
        return float("nan"), float("nan")
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    chi2 = float(np.sum((counts - expected) ** 2 / expected))
    return chi2 / degrees, float(chdtrc(degrees, chi2))
