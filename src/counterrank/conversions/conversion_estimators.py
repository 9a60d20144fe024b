r"""Estimators of conversions (Saito 2020), and measures: the weight of each rank.

For a listed pair: click :math:`z`, conversion :math:`y`, ctr :math:`p`, predicted cvr :math:`h`,
weight of the rank :math:`c`. IPS, SNIPS, DM, DR and SNDR are those of `counterrank.ope`: a click is
a view. Weights that judged measures know (DCG, CG, P, RBP) are read from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from counterrank.conversions.variance import pair_gain, variance_ratio
from counterrank.core.arrays import Floats, Ints, divide, sum_by
from counterrank.core.errors import UsageError
from counterrank.core.labels import Registry, Value
from counterrank.metrics import ARP, CG, DCG, RBP, Measure, P, Recall
from counterrank.ope.estimators.clipped_weight import Weighted
from counterrank.ope.estimators.doubly_robust import DM, DR, SNDR
from counterrank.ope.estimators.ips import IPS, SNIPS, Clipped, Estimator, MeanWeight
from counterrank.position import Flat, Jarvelin, PositionModel
from counterrank.position.models import KINDS
from counterrank.stats.functions_of_means import Function, mean
from counterrank.stats.units import Columns

DEFAULTS = ("DCG@10",)


@dataclass(frozen=True)
class ConversionMeasure:
    r"""A measure of conversions: :math:`\frac1{|U|} \sum_u \sum_i cvr_{ui}\, c(rank_{ui})`.

    ``model`` is :math:`c`, times ``scale``. ``form`` is ``total``, or ``share``: each user's sum is
    divided by the user's conversions over all items and cut to 0 to 1, as in the published
    experiment. ``lists``: it makes sense for lists of ``some`` items, or only of ``all``.
    """

    label: str
    model: PositionModel
    scale: float = 1.0
    form: str = "total"
    lists: str = "some"
    better: str = "higher"

    def __str__(self) -> str:
        return self.label

    @property
    def depth(self) -> int | None:
        """The deepest rank that counts; None: all."""
        return None if self.form == "share" else self.model.k

    def at(self, rank: Ints) -> Floats:
        """The weight of each rank."""
        return self.scale * self.model.at(rank)

    def of_rows(self, rank: Ints) -> Floats:
        """The weight of every row: looked up, as there are far fewer ranks than rows."""
        deepest = int(rank.max(initial=0))
        if deepest > len(rank) + 1024:
            return self.at(rank)
        weight: Floats = np.append(0.0, self.at(np.arange(1, deepest + 1)))[rank]
        return weight


@dataclass(frozen=True)
class PublishedDCG(Value):
    """The published experiment's: a share of the user's conversions, by Jarvelin's weights."""

    k: int | None = None
    curve: ClassVar[type[PositionModel]] = Jarvelin


@dataclass(frozen=True)
class PublishedRecall(PublishedDCG):
    """The same by equal weights."""

    curve: ClassVar[type[PositionModel]] = Flat


weights_of: Registry[Any] = Registry(
    "a measure of conversions",
    (Measure, PositionModel, PublishedDCG),
    (DCG, CG, Recall, P, RBP, ARP, PublishedDCG, PublishedRecall, *KINDS),
    only=lambda kind: getattr(kind, "conversions", "some") != "",
)


def conversion_measure(label: object) -> ConversionMeasure:
    """The measure a label stands for: ``DCG@10``, ``CG@5``, ``ARP``, ``power(eta=1)``, ..."""
    if isinstance(label, ConversionMeasure):
        return label
    m = weights_of(label)
    if isinstance(m, PositionModel):
        return ConversionMeasure(str(m), m)
    if isinstance(m, PublishedDCG):
        share = ConversionMeasure(str(m), m.curve(k=m.k), form="share", lists="all")
        return share if m.k else _without_cut(m)
    model, scale = m.rank_weights()
    for option in fields(m):
        plain = m if option.name == "k" else replace(m, **{option.name: option.default})
        if plain != m and plain.rank_weights() == (model, scale):
            raise UsageError(
                f"{m.name}({option.name}=...) changes no weight of a rank.",
                todo=f"Write {m.name}@10, or log2@10.",
            )
    if m.conversions == "all" and m.k is not None:
        raise UsageError(
            f"{m.name} looks at whole rankings and has no cut-off.", todo=f"Write {m.name}."
        )
    found = ConversionMeasure(str(m), model, scale, lists=m.conversions, better=m.better)
    return found if model != Flat() else _without_cut(m)


def _without_cut(m: Value) -> ConversionMeasure:
    raise UsageError(f"{m.name} needs a cut-off.", todo=f"Write {m.name}@10.")


@dataclass(frozen=True)
class ClickedRows(Weighted):
    r"""Listed pairs that were clicked, for one reward and one measure: what estimators read.

    A click is to a listed pair what a view is to a shown row: it happened with probability ``e0``
    (the ctr :math:`p`), and only then is ``reward`` :math:`y` known. ``e`` is :math:`c(rank)`,
    ``q`` the predicted cvr :math:`h`. Per list: ``views`` :math:`\sum_i c(rank_i)` and ``direct``
    :math:`\sum_i h_i\, c(rank_i)` over all that is listed, clicked or not.
    """

    lists: int
    unit: Ints
    reward: Floats
    e: Floats
    e0: Floats
    q: Floats
    views: Floats
    direct: Floats
    place: Floats = field(default_factory=lambda: np.empty(0))
    memo: dict[tuple[str, float], Floats] = field(default_factory=dict)

    @classmethod
    def none(cls) -> ClickedRows:
        """Those of no lists at all."""
        x = np.empty(0)
        return cls(0, np.empty(0, np.int64), x, x, x, x, x, x)

    @property
    def n(self) -> int:
        """Number of lists."""
        return self.lists

    @property
    def seen(self) -> Floats:  # type: ignore[override]
        """All rows were clicked."""
        return np.ones(len(self.unit))

    def total(self, x: Floats) -> Floats:
        """Sum of ``x`` over the clicked pairs of each list."""
        return sum_by(self.unit, x, self.lists)


@dataclass(frozen=True)
class Naive(Estimator):
    r""":math:`\frac1{|U|} \sum_u \sum_i z y c`: what was not clicked counts as not wanted."""

    name: ClassVar[str] = "Naive"
    tables: ClassVar[tuple[str, ...]] = ("funnel",)
    weighs: ClassVar[bool] = False
    trust: ClassVar[int] = -1
    formula: ClassVar[str] = "1/|U| sum z y c"

    def columns(self, rows: Weighted) -> list[Floats]:
        return [rows.total(rows.reward * rows.e)]


@dataclass(frozen=True)
class VarianceRatio(Estimator):
    r"""Variance of DR over that of IPS, estimated from the clicks: below 1, DR is the steadier.

    .. math:: g_u = \sum_i \frac zp\, h (2 y - h) \left(\frac1p - 1\right) c^2

    See `counterrank.conversions.variance`.
    """

    name: ClassVar[str] = "VarianceRatio"
    weighs: ClassVar[bool] = False
    formula: ClassVar[str] = "variance of DR over that of IPS"
    needs: ClassVar[frozenset[str]] = frozenset({"model"})

    def columns(self, rows: Weighted) -> list[Floats]:
        w = rows.inverse(float("inf"))
        x = rows.total(rows.reward * rows.e * w)
        return [x, x**2, rows.total(w * pair_gain(w, rows.reward, rows.q, rows.e))]

    def function(self) -> Function:
        return variance_ratio


FORMULAS: dict[type[Estimator], str] = {
    IPS: "1/|U| sum z y c min(clip, 1/ctr)",
    SNIPS: "(sum z y c w / sum z c w) * sum c / |U|, w = min(clip, 1/ctr)",
    DM: "1/|U| sum h c",
    DR: "1/|U| sum (h + z (y - h) w) c, w = min(clip, 1/ctr)",
    SNDR: "DM + (sum z (y - h) c w / sum z c w) * sum c / |U|, w = min(clip, 1/ctr)",
}
conversion_estimator: Registry[Estimator] = Registry(
    "an estimator", Estimator, (Naive, *FORMULAS), only=lambda kind: "funnel" in kind.tables
)


def add_diagnostic_estimators(
    wanted: Sequence[Estimator], *, has_ctr: bool
) -> tuple[Estimator, ...]:
    """The estimators asked for, and what diagnostics them where the ctr is known."""
    out = list(wanted)
    if has_ctr:
        out += [MeanWeight(), *(MeanWeight(clip=e.clip) for e in wanted if isinstance(e, Clipped))]
        out += [VarianceRatio(), DR()] if any("model" in e.needs for e in wanted) else []
    return tuple(dict.fromkeys(out))


def measure_columns(e: Estimator, m: ConversionMeasure, rows: Any, every: Any) -> Columns | None:
    """The sums per list whose means make the value; None where the measure has no such value.

    A share (the published form) is of the user's conversions over all items, which ``every`` has:
    the same rows, each of weight 1. It is cut to 0 to 1, and 0 if there are none. Both are
    `ClickedRows`, which the types of estimators of logs do not know.
    """
    columns = tuple(e.columns(rows))
    if m.form == "total" or isinstance(e, MeanWeight):
        return columns  # weights are diagnosed alike, whatever the form
    if len(columns) > 1:
        return None
    return (np.clip(divide(columns[0], e.columns(every)[0], 0.0), 0, 1),)


def function_of(e: Estimator, m: ConversionMeasure) -> Function:
    """What makes the value of the means of ``measure_columns``."""
    return mean if m.form == "share" and not isinstance(e, MeanWeight) else e.function()
