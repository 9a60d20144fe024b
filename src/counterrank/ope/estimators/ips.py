r"""Importance weighting: what was earned, weighted by how much more the target would show it.

Notation and the weight itself are in `counterrank.ope.estimators.clipped_weight`. First comes what
all estimators have in common, then IPS and SNIPS.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.core.errors import UsageError
from counterrank.core.labels import Value
from counterrank.ope.estimators.clipped_weight import Rows, Weighted
from counterrank.stats.functions_of_means import (
    AfterClipping,
    Function,
    PerView,
    Range,
    mean,
    ratio,
    self_normalised,
)


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
    fills: ClassVar[bool] = False  # whether items that were never shown count as others do, not 0
    about: ClassVar[str] = "reward"  # or weights, swing: then it is for diagnostics of the others
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

    def lost(self, rows: Rows) -> list[Floats]:
        """Weight that clipping takes, session by session, and what a model predicts of it."""
        return []

    def sums(self, rows: Rows, per: str) -> list[Floats]:
        """The columns, and what clipping takes; a value per impression also needs the views."""
        views = [self.views(rows)] if self._per_view(per) else []
        return [*self.columns(rows), *self.lost(rows), *views]

    def combined(self, per: str, rewards: Range = (0.0, 1.0)) -> Function:
        """The function of the means of ``sums``; ``rewards`` of a view are in that range."""
        return PerView(self.function()) if self._per_view(per) else self.function()

    def _per_view(self, per: str) -> bool:
        """Only what is earned is divided by views: a share, or a discounted sum, is not."""
        return per == "impression" and self.about != "weights" and self.total == "yes"


@dataclass(frozen=True)
class Clipped(Estimator):
    """An estimator whose inverse exposures are cut at ``clip``.

    What that can do to the value is in the interval of those that say what they lose (``tells``).
    """

    clip: float = float("inf")
    errs: ClassVar[str] = ""  # "low" where clipping can only take away
    tells: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.clip, str) or not self.clip > 0:
            raise UsageError(
                f"{self.name}(clip=...) needs a number above 0.", found=f'Got "{self.clip}".'
            )

    def predicted(self, rows: Rows) -> Floats:
        """What a model predicts of each row, where the estimator uses one."""
        return np.zeros(len(rows.e))

    def weights(self, rows: Rows, clip: float) -> Floats:
        """What it weighs the reward of each row by."""
        return rows.weight(clip)

    def lost(self, rows: Rows) -> list[Floats]:
        """See `Estimator`; nothing where nothing is clipped, or not told."""
        if not self.tells or self.clip == float("inf"):
            return []
        lost = rows.seen * (self.weights(rows, float("inf")) - self.weights(rows, self.clip))
        return [rows.total(lost), rows.total(lost * self.predicted(rows))]

    def combined(self, per: str, rewards: Range = (0.0, 1.0)) -> Function:
        """See `Estimator`."""
        if not self.tells or self.clip == float("inf"):
            return super().combined(per, rewards)
        function = AfterClipping(self.function(), *rewards)
        return PerView(function) if self._per_view(per) else function


# estimators


@dataclass(frozen=True)
class OnPolicy(Estimator):
    r""":math:`\frac1n \sum_\tau \sum_i c_i`: what the logged ranker earned (Jeunen Eq. 2)."""

    tables = ("log",)
    trust = -2
    formula = "mean over sessions of sum_i c_i"

    def columns(self, rows: Rows) -> list[Floats]:
        return [rows.total(rows.reward)]

    def views(self, rows: Rows) -> Floats:
        return rows.total(rows.seen)


@dataclass(frozen=True)
class IPS(Clipped):
    r""":math:`\frac1n \sum_\tau \sum_i c_i w_i`: unbiased DCG (Jeunen Eqs. 8 and 9)."""

    tells = True
    errs = "low"
    trust = 1
    formula = "mean over sessions of sum_i c_i e_i min(clip, 1/e0_i)"

    def columns(self, rows: Weighted) -> list[Floats]:
        return [rows.total(rows.reward * rows.weight(self.clip))]


@dataclass(frozen=True)
class MeanWeight(Clipped):
    r""":math:`\sum_\tau \sum_i v_i w_i / \sum_\tau \sum_a e(x, a)`: 1 where the weights are right.

    Weighted views of the log over expected views of the target: exposures that are wrong, or that
    the log does not support, move it away from 1.
    """

    formula = "sum v w / sum over sessions and items of e"
    about = "weights"

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

    tells = True
    needs = frozenset({"views"})
    fills = True
    trust = 2
    formula = "sum c w / sum v w, times the target's expected views per session"

    def columns(self, rows: Weighted) -> list[Floats]:
        paid, nothing = rows.total(rows.reward * rows.weight(self.clip)), np.zeros(rows.n)
        return [nothing, rows.views, paid, rows.weighted_views(self.clip)]

    def function(self) -> Function:
        return self_normalised
