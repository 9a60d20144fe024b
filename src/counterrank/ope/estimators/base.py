"""What every estimator of a target's value has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from counterrank.core.arrays import Floats
from counterrank.core.errors import UsageError
from counterrank.core.labels import Value
from counterrank.ope.importance_weights import Rows
from counterrank.stats.functions_of_means import Function, PerView, mean

PER = ("session", "impression")


class Estimator(Value, ABC):
    """A value: it prints as its label and parses back. ``formula`` is what it computes.

    ``needs`` says what it cannot do without: a reward ``model``, or one of the rewards to come
    (``future``); target ``lists`` of whole ranks; logged ``propensity``, of whole ``slates``; a
    target whose ``chances`` may be multiplied, whose lists are ``filled`` as deep as the log's.
    """

    formula: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()
    total: ClassVar[str] = "yes"  # whether its value is what a ranker earns
    about: ClassVar[str] = "reward"  # or weights: then it diagnoses others, whatever the reward

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

    def __post_init__(self) -> None:
        if isinstance(self.clip, str) or not self.clip > 0:
            raise UsageError(
                f"{self.name}(clip=...) needs a number above 0.", found=f'Got "{self.clip}".'
            )
