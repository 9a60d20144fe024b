r"""Estimators of sales and of conversions if clicked, and measures: the weight of each rank.

For a listed pair: an event :math:`o` after which its outcome :math:`y` is known, the chance
:math:`p` of that event, a prediction :math:`h` of the outcome after it, the weight :math:`c` of its
rank. IPS, SNIPS, DM, DR and SNDR are those of `counterrank.ope`: the event is a view.

- Sales: the event is that the pair was shown, its chance the exposure :math:`\theta`, the outcome
  what was bought (0 without a click), :math:`h` = ctr * cvr, :math:`c` the chance that the rank is
  seen.
- If clicked (Saito 2020): the event is a click, its chance the ctr, :math:`h` = cvr, and :math:`c`
  any weight. Those that judged measures know (DCG, CG, P, RBP) are read from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from counterrank.conversions.variance import pair_gain, variance_ratio
from counterrank.core.arrays import Floats, Ints, divide, sum_by
from counterrank.core.errors import UsageError
from counterrank.core.labels import Registry, Value
from counterrank.metrics import CG, DCG, RBP, Measure, P
from counterrank.ope.estimators.clipped_weight import Weighted
from counterrank.ope.estimators.doubly_robust import DM, DR, SNDR
from counterrank.ope.estimators.ips import IPS, SNIPS, Estimator, MeanWeight
from counterrank.position import Flat, Jarvelin, PositionModel
from counterrank.position.models import KINDS, PositionBias
from counterrank.stats.functions_of_means import Function, Range, mean
from counterrank.stats.units import Columns

IF_CLICKED = ("DCG@10",)  # what is measured where nothing is named
RENAMED = {
    "recall": ("Hits", "Recall is a share of what is relevant, and a funnel divides by nothing"),
    "arp": ("RankSum", "ARP is a mean rank, and a funnel adds ranks up"),
}


@dataclass(frozen=True)
class ConversionMeasure:
    r"""A measure: :math:`\frac1{|U|} \sum_u \sum_i v_{ui}\, c(rank_{ui})`.

    :math:`v` is what a pair would sell when seen, or bring if clicked.

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
class Sales(Value):
    """What the lists would sell, from their first ``k`` items; ranks count as they are seen."""

    k: int | None = None
    name = "sales"

    def of(self, position: PositionBias) -> ConversionMeasure:
        """With the chance that a rank is seen."""
        if not isinstance(position, PositionModel):
            raise UsageError(
                f'The position model goes by "{position.column}", and lists of users have no such'
                " column.",
                todo="Give one model for all.",
            )
        most = float(position.at(np.arange(1, 1001)).max())
        if most > 1 + 1e-9:
            raise UsageError(
                "A position model gives chances of being seen, at most 1.",
                found=f"{str(position)[:60]} reaches {most:g}.",
                todo="Scale it so that no rank is above 1.",
            )
        cuts = [k for k in (self.k, position.k) if k is not None]
        model = replace(position, k=min(cuts, default=None)).with_error(position.error)
        return ConversionMeasure(str(self), model)


@dataclass(frozen=True)
class ExpectedHits(Value):
    """What the first ``k`` items would bring if they were clicked: the slides' Recall."""

    k: int | None = None
    name = "Hits"


@dataclass(frozen=True)
class RankSum(Value):
    """The sum of the ranks of what would be bought: the slides' average relevance position."""

    k: int | None = None


@dataclass(frozen=True)
class OwnRank(PositionModel):
    r""":math:`c(r) = r`: not a chance to be seen, but the place itself."""

    name = "rank"

    def weight(self, rank: Ints) -> Floats:
        return np.asarray(rank, float)


@dataclass(frozen=True)
class PublishedDCG(Value):
    """The published experiment's: a share of the user's conversions, by Jarvelin's weights."""

    k: int | None = None
    curve: ClassVar[type[PositionModel]] = Jarvelin


@dataclass(frozen=True)
class PublishedRecall(PublishedDCG):
    """The same by equal weights."""

    curve = Flat


weights_of: Registry[Any] = Registry(
    "a measure of conversions",
    (Measure, PositionModel, PublishedDCG, ExpectedHits, RankSum, Sales),
    (DCG, CG, ExpectedHits, P, RBP, RankSum, PublishedDCG, PublishedRecall, Sales, *KINDS),
    only=lambda kind: getattr(kind, "conversions", "some") != "",
)


def conversion_measure(label: object) -> ConversionMeasure:
    """The measure if clicked that a label stands for: ``DCG@10``, ``Hits@5``, ``power(eta=1)``."""
    if isinstance(label, ConversionMeasure):
        return label
    m = weight_of(label)
    if isinstance(m, Sales):
        raise UsageError(
            f"{m} is no weight of a rank: it goes by how likely a rank is seen.",
            todo="Leave --estimand if-clicked out, and give --position-bias.",
        )
    if isinstance(m, PositionModel):
        return ConversionMeasure(str(m), m)
    if isinstance(m, PublishedDCG):
        share = ConversionMeasure(str(m), m.curve(k=m.k), form="share", lists="all")
        return share if m.k else _without_cut(m)
    if isinstance(m, ExpectedHits):
        return ConversionMeasure(str(m), Flat(k=m.k)) if m.k else _without_cut(m)
    if isinstance(m, RankSum):
        if m.k is not None:
            raise UsageError(
                f"{m.name} looks at whole rankings and has no cut-off.", todo=f"Write {m.name}."
            )
        return ConversionMeasure(str(m), OwnRank(), lists="all", better="lower")
    model, scale = m.rank_weights()
    for option in fields(m):
        plain = m if option.name == "k" else replace(m, **{option.name: option.default})
        if plain != m and plain.rank_weights() == (model, scale):
            raise UsageError(
                f"{m.name}({option.name}=...) changes no weight of a rank.",
                todo=f"Write {m.name}@10, or log2@10.",
            )
    found = ConversionMeasure(str(m), model, scale, lists=m.conversions, better=m.better)
    return found if model != Flat() else _without_cut(m)


def weight_of(label: object) -> Any:
    """What a label names; a name that has another definition elsewhere is told what it is here."""
    name, _, rest = str(label).partition("@")
    if name.lower() in RENAMED:
        new, why = RENAMED[name.lower()]
        raise UsageError(
            f"In a funnel {name} is called {new}.",
            found=f"{why}: one name has one definition.",
            todo=f"Write {new}{f'@{rest}' if rest else ''}.",
        )
    return weights_of(label)


def _without_cut(m: Value) -> ConversionMeasure:
    raise UsageError(f"{m.name} needs a cut-off.", todo=f"Write {m.name}@10.")


@dataclass(frozen=True)
class ObservedRows(Weighted):
    r"""Listed pairs with an outcome, for one reward and one measure: what estimators read.

    A click, or in sales that a pair was shown, is to a listed pair what a view is to a logged row:
    it happened with probability ``e0`` :math:`p`, and only then is ``reward`` :math:`y` known.
    ``e`` is :math:`c(rank)`, ``q`` the prediction :math:`h`; ``seen`` is 1, or where only what was
    listed is known the chance that it was seen. Per list: ``views`` :math:`\sum_i c(rank_i)` and
    ``direct`` :math:`\sum_i h_i\, c(rank_i)` over all that is listed, observed or not.
    """

    lists: int
    unit: Ints
    reward: Floats
    e: Floats
    e0: Floats
    q: Floats
    seen: Floats
    views: Floats
    direct: Floats
    place: Floats = field(default_factory=lambda: np.empty(0))
    memo: dict[tuple[str, float], Floats] = field(default_factory=dict)

    @classmethod
    def none(cls) -> ObservedRows:
        """Those of no lists at all."""
        x = np.empty(0)
        return cls(0, np.empty(0, np.int64), x, x, x, x, x, x, x)

    @property
    def n(self) -> int:
        """Number of lists."""
        return self.lists

    def total(self, x: Floats) -> Floats:
        """Sum of ``x`` over the observed pairs of each list."""
        return sum_by(self.unit, x, self.lists)


@dataclass(frozen=True)
class Naive(Estimator):
    r""":math:`\frac1{|U|} \sum_u \sum_i o y c`: what was not observed counts as not wanted."""

    tables = ("funnel",)
    weighs = False
    trust = -1
    formula = "1/|U| sum o y c"

    def columns(self, rows: Weighted) -> list[Floats]:
        return [rows.total(rows.reward * rows.e)]


@dataclass(frozen=True)
class VarianceRatio(Estimator):
    r"""Variance of DR over that of IPS, estimated from what was seen: below 1, DR is the steadier.

    .. math:: g_u = \sum_i \frac op\, h (2 y - h) \left(\frac1p - 1\right) c^2

    See `counterrank.conversions.variance`.
    """

    weighs = False
    formula = "variance of DR over that of IPS"
    needs = frozenset({"model"})

    def columns(self, rows: Weighted) -> list[Floats]:
        w = rows.inverse(float("inf"))
        x = rows.total(rows.reward * rows.e * w)
        return [x, x**2, rows.total(w * pair_gain(w, rows.reward, rows.q, rows.e))]

    def function(self) -> Function:
        return variance_ratio


FORMULAS: dict[str, dict[type[Estimator], str]] = {
    "click": {
        Naive: "1/|U| sum z y c",
        IPS: "1/|U| sum z y c min(clip, 1/ctr)",
        SNIPS: "(sum z y c w / sum z c w) * sum c / |U|, w = min(clip, 1/ctr)",
        DM: "1/|U| sum h c",
        DR: "1/|U| sum (h + z (y - h) w) c, w = min(clip, 1/ctr)",
        SNDR: "DM + (sum z (y - h) c w / sum z c w) * sum c / |U|, w = min(clip, 1/ctr)",
    },
    "shown": {
        Naive: "1/|U| sum o z y c",
        IPS: "1/|U| sum o z y c min(clip, 1/theta)",
        SNIPS: "(sum o z y c w / sum o v c w) * sum c / |U|, w = min(clip, 1/theta)",
        DM: "1/|U| sum ctr cvr c",
        DR: "1/|U| sum (ctr cvr + o (z y - v ctr cvr) w) c, w = min(clip, 1/theta)",
        SNDR: "DM + (sum o (z y - v ctr cvr) c w / sum o v c w) * sum c / |U|,"
        " w = min(clip, 1/theta)",
    },
}
conversion_estimator: Registry[Estimator] = Registry(
    "an estimator", Estimator, tuple(FORMULAS["click"]), only=lambda kind: "funnel" in kind.tables
)


def measure_columns(e: Estimator, m: ConversionMeasure, rows: Any, every: Any) -> Columns | None:
    """The sums per list whose means make the value; None where the measure has no such value.

    A share (the published form) is of the user's conversions over all items, which ``every`` has:
    the same rows, each of weight 1. It is cut to 0 to 1, and 0 if there are none. Both are
    `ObservedRows`, which the types of estimators of logs do not know.
    """
    if m.form == "total" or isinstance(e, MeanWeight):
        return tuple(e.sums(rows, "session"))  # weights are diagnosed alike, whatever the form
    columns = tuple(e.columns(rows))
    if len(columns) > 1:
        return None
    return (np.clip(divide(columns[0], e.columns(every)[0], 0.0), 0, 1),)


def function_of(e: Estimator, m: ConversionMeasure, rewards: Range) -> Function:
    """What makes the value of the means of ``measure_columns``; ``rewards`` are in that range."""
    share = m.form == "share" and not isinstance(e, MeanWeight)
    return mean if share else e.combined("session", rewards)
