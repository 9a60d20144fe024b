"""What every estimator of a target's value has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterrank.aggregate import Function
from counterrank.arrays import Floats
from counterrank.errors import UsageError
from counterrank.logged.functions import First, PerView
from counterrank.logged.rows import Rows
from counterrank.text import Value

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

    @abstractmethod
    def columns(self, rows: Rows) -> list[Floats]:
        """Sums per session."""

    def function(self) -> Function:
        """How the means of the columns make the value per session."""
        return First()

    def views(self, rows: Rows) -> Floats:
        """Views per session of the ranker that is estimated."""
        return rows.views

    def table(self, rows: Rows, per: str) -> Floats:
        """The columns side by side; a value per impression also needs the views."""
        views = [self.views(rows)] if per == "impression" else []
        return np.column_stack([*self.columns(rows), *views])

    def combined(self, per: str) -> Function:
        """The function of the means of ``table``."""
        return PerView(self.function()) if per == "impression" else self.function()


@dataclass(frozen=True)
class Clipped(Estimator):
    """An estimator whose inverse exposures are cut at ``clip``."""

    clip: float = float("inf")

    def __post_init__(self) -> None:
        if isinstance(self.clip, str) or not self.clip > 0:
            raise UsageError(
                f"{self.name}(clip=...) needs a number above 0.", found=f'Got "{self.clip}".'
            )
