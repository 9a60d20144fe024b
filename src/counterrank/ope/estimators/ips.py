r"""Importance weighting: what was earned, weighted by how much more the target would show it.

Notation: sessions :math:`\tau`, rows :math:`i`, reward :math:`c_i`, exposure :math:`e_i` under the
target and :math:`e_{0i}` under the logger, weight :math:`w_i = e_i \min(m, 1/e_{0i})` clipped at
:math:`m`, view :math:`v_i` (its probability at the logged rank where views are latent).

The arrays and the weight come first, then what all estimators have in common, then IPS and SNIPS.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from counterrank.core.arrays import Floats, Ints, products_before
from counterrank.core.errors import UsageError
from counterrank.core.labels import Value
from counterrank.stats.functions_of_means import Function, PerView, mean, ratio, self_normalised

PER = ("session", "impression")
CLIPS = (*(float(2**j) for j in range(13)), float("inf"))  # of a sweep


class Weighted(ABC):
    r"""What importance weighting reads: rows that were seen, and how much a target shows them.

    Per row: ``reward``; ``e`` and ``e0``, its chance under the target and under the logger;
    ``seen``; ``q``, the predicted reward; ``place``. Per unit: ``views``, all that the target
    shows, and ``direct``, what a model says that earns.
    """

    reward: Floats
    e: Floats
    e0: Floats
    seen: Floats
    q: Floats
    place: Floats
    views: Floats
    direct: Floats
    memo: dict[tuple[str, float], Floats]

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of units."""

    @abstractmethod
    def total(self, x: Floats) -> Floats:
        """Sum of ``x`` over the rows of each unit."""

    def inverse(self, clip: float) -> Floats:
        r""":math:`\min(m, 1 / e_{0i})`; 0 for rows that could not be seen at all."""
        sure = np.divide(1, self.e0, out=np.zeros(len(self.e0)), where=self.e0 > 0)
        return np.minimum(clip, sure)

    def weight(self, clip: float) -> Floats:
        r""":math:`w_i = e_i \min(m, 1 / e_{0i})`, the importance weight clipped at :math:`m`.

        Rows that could not be seen at all (:math:`e_0 = 0`) weigh nothing.
        """
        return self._once("weight", clip, lambda: self.e * self.inverse(clip))

    def weighted_views(self, clip: float) -> Floats:
        r""":math:`\sum_i v_i w_i` of each unit."""
        return self._once("views", clip, lambda: self.total(self.seen * self.weight(clip)))

    def _once(self, name: str, clip: float, compute: Callable[[], Floats]) -> Floats:
        """What several estimators use, computed for the first of them."""
        if (name, clip) not in self.memo:
            self.memo[name, clip] = compute()
        return self.memo[name, clip]


@dataclass(frozen=True)
class Rows(Weighted):
    r"""Logged rows, session by session, for one reward and one target.

    Per row :math:`i`: ``reward`` :math:`c_i`; ``e`` and ``e0``, the exposure of its item under
    target and logger; ``seen``, whether it was viewed, or how likely that was; ``q``, the
    predicted reward of a view; ``cell``, the target's cell it meets (-1: none), whose rank is in
    ``cell_rank`` (0: not one list); ``place``, the exposure of the 1st, 2nd, ... rank of the
    session, whatever stood there.
    Per session: ``start``, its first row; ``views``, the target's expected number of views
    :math:`\sum_a e(x, a)`; ``direct``, :math:`\sum_a e(x, a)\, \hat q(x, a)`.
    For slates, per row: ``rank``; ``future``, the predicted reward from this rank on; ``ahead``,
    its expectation over the items the target may show at this rank. ``ranks`` is the log's deepest.
    """

    start: Ints
    reward: Floats
    e: Floats
    e0: Floats
    seen: Floats
    q: Floats
    cell: Ints
    cell_rank: Ints
    place: Floats
    views: Floats
    direct: Floats
    rank: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    ranks: int = 0
    future: Floats = field(default_factory=lambda: np.empty(0))
    ahead: Floats = field(default_factory=lambda: np.empty(0))
    memo: dict[tuple[str, float], Floats] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of sessions."""
        return len(self.start)

    @property
    def length(self) -> Ints:
        """Number of rows of each session."""
        return np.diff(self.start, append=len(self.e))

    @property
    def target_rank(self) -> Ints:
        """Rank of each row's item in the target's list; 0 if it is not listed."""
        return np.append(self.cell_rank, 0)[self.cell]

    def total(self, x: Floats) -> Floats:
        """Sum of ``x`` over the rows of each session."""
        return np.add.reduceat(x, self.start)

    @property
    def session(self) -> Ints:
        """Session of each row, counted from 0."""
        return np.repeat(np.arange(self.n), self.length)

    def product(self, x: Floats) -> Floats:
        """Product of ``x`` over the rows of each session."""
        return np.multiply.reduceat(x, self.start)

    def before(self, clip: float) -> Floats:
        r""":math:`W_{r-1} = \prod_{s < r} w_s` of each row's session; 1 for the first row."""
        products = lambda: products_before(self.length, self.weight(clip))  # noqa: E731
        return self._once("before", clip, products)

    def through(self, clip: float) -> Floats:
        r""":math:`W_r = \prod_{s \le r} w_s` of each row's session."""
        return self.before(clip) * self.weight(clip)

    def by_rank(self, w: Floats) -> list[Floats]:
        """Weighted reward, weight and presence of each rank: three columns per rank."""
        grid = np.zeros((3, self.ranks, self.n))
        grid[:, self.rank - 1, self.session] = w * self.reward, w, np.ones(len(w))
        return list(grid.reshape(-1, self.n))


# what every estimator of a target's value has in common


@dataclass(frozen=True)
class Estimator(Value, ABC):
    """A value: it prints as its label and parses back. ``formula`` is what it computes.

    One of your own says in `columns` what it sums over the rows of each session (of each user's
    list, in a funnel), and in `function` what makes the value of their means, if that is not the
    mean of the only column. Without ``formula``, it is the first line of its docstring.

    ``needs`` says what it cannot do without: a reward ``model``, or one of the rewards to come
    (``future``); how many rows were seen (``views``); target ``lists`` of whole ranks; logged
    ``propensity``, of whole ``slates``; a target whose ``chances`` may be multiplied, whose lists
    are ``filled`` as deep as the log's.
    """

    formula: ClassVar[str] = ""
    needs: ClassVar[frozenset[str]] = frozenset()
    tables: ClassVar[tuple[str, ...]] = ("log", "funnel")  # whose rows it can read
    weighs: ClassVar[bool] = True  # whether it divides by chances: in a funnel, by the ctr
    total: ClassVar[str] = "yes"  # whether its value is what a ranker earns
    about: ClassVar[str] = "reward"  # or weights: then it is for diagnostics of the others
    trust: ClassVar[int] = 0  # where none is named, the one with most decides; below 0: contrast

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "formula" not in vars(cls) and cls.__doc__:
            cls.formula = cls.__doc__.strip().partition("\n")[0]

    @abstractmethod
    def columns(self, rows: Rows) -> list[Floats]:
        """Sums per session."""

    def function(self) -> Function:
        """How the means of the columns make the value per session."""
        return mean

    def views(self, rows: Rows) -> Floats:
        """Views per session of the ranker that is estimated."""
        return rows.views

    def sums(self, rows: Rows, per: str) -> list[Floats]:
        """The columns; a value per impression also needs the views."""
        return [*self.columns(rows), *([self.views(rows)] if self._per_view(per) else [])]

    def combined(self, per: str) -> Function:
        """The function of the means of ``sums``."""
        return PerView(self.function()) if self._per_view(per) else self.function()

    def _per_view(self, per: str) -> bool:
        return per == "impression" and self.about == "reward"


@dataclass(frozen=True)
class Clipped(Estimator):
    """An estimator whose inverse exposures are cut at ``clip``."""

    clip: float = float("inf")
    errs: ClassVar[str] = ""  # "low" where clipping can only take away

    def __post_init__(self) -> None:
        if isinstance(self.clip, str) or not self.clip > 0:
            raise UsageError(
                f"{self.name}(clip=...) needs a number above 0.", found=f'Got "{self.clip}".'
            )


# estimators


@dataclass(frozen=True)
class OnPolicy(Estimator):
    r""":math:`\frac1n \sum_\tau \sum_i c_i`: what the logged ranker earned (Jeunen Eq. 2)."""

    name: ClassVar[str] = "OnPolicy"
    tables: ClassVar[tuple[str, ...]] = ("log",)
    trust: ClassVar[int] = -2
    formula: ClassVar[str] = "mean over sessions of sum_i c_i"

    def columns(self, rows: Rows) -> list[Floats]:
        return [rows.total(rows.reward)]

    def views(self, rows: Rows) -> Floats:
        return rows.total(rows.seen)


@dataclass(frozen=True)
class IPS(Clipped):
    r""":math:`\frac1n \sum_\tau \sum_i c_i w_i`: unbiased DCG (Jeunen Eqs. 8 and 9)."""

    name: ClassVar[str] = "IPS"
    errs: ClassVar[str] = "low"
    trust: ClassVar[int] = 1
    formula: ClassVar[str] = "mean over sessions of sum_i c_i e_i min(clip, 1/e0_i)"

    def columns(self, rows: Weighted) -> list[Floats]:
        return [rows.total(rows.reward * rows.weight(self.clip))]


@dataclass(frozen=True)
class MeanWeight(Clipped):
    r""":math:`\sum_\tau \sum_i v_i w_i / \sum_\tau \sum_a e(x, a)`: 1 where the weights are right.

    Weighted views of the log over expected views of the target: exposures that are wrong, or that
    the log does not support, move it away from 1.
    """

    name: ClassVar[str] = "MeanWeight"
    formula: ClassVar[str] = "sum v w / sum over sessions and items of e"
    about: ClassVar[str] = "weights"

    def columns(self, rows: Weighted) -> list[Floats]:
        return [rows.weighted_views(self.clip), rows.views]

    def function(self) -> Function:
        return ratio


@dataclass(frozen=True)
class SNIPS(Clipped):
    r"""Self-normalised: :math:`\bar V \cdot \sum_\tau \sum_i c_i w_i / \sum_\tau \sum_i v_i w_i`.

    The ratio is the reward of a view under the target; :math:`\bar V`, the target's expected views
    per session, is known from its lists.
    """

    name: ClassVar[str] = "SNIPS"
    needs: ClassVar[frozenset[str]] = frozenset({"views"})
    trust: ClassVar[int] = 2
    formula: ClassVar[str] = "sum c w / sum v w, times the target's expected views per session"

    def columns(self, rows: Weighted) -> list[Floats]:
        paid, nothing = rows.total(rows.reward * rows.weight(self.clip)), np.zeros(rows.n)
        return [nothing, rows.views, paid, rows.weighted_views(self.clip)]

    def function(self) -> Function:
        return self_normalised
