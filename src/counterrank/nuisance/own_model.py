r"""A model of the user's own: any object with ``fit(X, y)`` and ``predict(X)``.

A reward model of ``estimate`` and a model of clicks or conversions of ``funnel`` are made anew for
each fold, fitted on the other folds, and asked about their own. Of a user :math:`u` and an item
:math:`i` a funnel tells it

.. math:: x_{ui} = (\hat y_i, \; \log(1 + n_i), \; x_i, \; x_u)

:math:`\hat y_i` is the shrunken mean of the item outside the fold (``rates(by=item)``) and
:math:`n_i` its number of rows there, or of clicks where all pairs count. :math:`x_i` and
:math:`x_u` are their rows in the tables of features, and average ones where they are unknown. A
user is known by features alone, so models are cross-fitted by user.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from counterrank.core.arrays import Floats, Ints, take_rows
from counterrank.core.errors import InputError, UsageError, brief, first_line
from counterrank.nuisance.base import (
    SAMPLE,
    PairModel,
    PairScores,
    Task,
    Weight,
    validate_layout,
)
from counterrank.nuisance.rates import Rates

Predict = Callable[[Floats], Floats]


class Regressor(Protocol):
    """What is asked of a model: to fit, and to predict."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803 - scikit-learn's name
        """Learn from features and outcomes."""
        ...

    def predict(self, X: Any) -> Any:  # noqa: N803
        """One prediction per row of features."""
        ...


class Classifier(Protocol):
    """A model of outcomes 0 and 1."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
        """Learn from features and outcomes."""
        ...

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The chance of each outcome per row of features, that of 1 last."""
        ...


Model = Regressor | Classifier | Callable[[], Regressor | Classifier]


@dataclass(frozen=True)
class OwnModel(PairModel):
    """``given``: an object, which is copied, or a class or function that makes one.

    ``option``: where it was given; ``methods``: those of which it must have one, best first.
    """

    given: Any
    option: str = "model"
    methods: tuple[str, ...] = ("predict_proba", "predict")
    weight: Weight = "none"
    reads_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        new = self.new() if callable(self.given) or hasattr(self.given, "fit") else None
        if not hasattr(new, "fit") or not any(hasattr(new, name) for name in self.methods):
            raise UsageError(
                f"{self.option} cannot be {brief(self.given)}.",
                found=f"It has no fit, or no {' or '.join(self.methods)}.",
                todo="Give one of our labels, an object with these methods, or its class.",
            )

    def __str__(self) -> str:
        return type(self.new()).__name__

    @property
    def knows_users(self) -> bool:
        """By features alone."""
        return False

    def link(self, link: str) -> str:
        """It predicts means, not scores."""
        return "identity"

    def new(self) -> Any:
        """One that has learned nothing."""
        makes = isinstance(self.given, type) or not hasattr(self.given, "fit")
        if makes and callable(self.given):
            return self._try(self.given)
        return deepcopy(self.given)

    def learn(self, X: Floats, y: Floats, weight: Floats, *, binary: bool = False) -> Predict:  # noqa: N803
        """What it predicts once fitted; weights are left out where its ``fit`` takes none."""
        model = self.new()
        able = [name for name in self.methods if hasattr(model, name)]
        if not binary and "predict" not in able:
            raise UsageError(
                f"{self} predicts chances, and outcomes are not 0 and 1.",
                todo="Give it a method predict.",
            )
        asked = getattr(model, able[0] if binary else "predict")
        options = {"sample_weight": weight} if self.weighs(model) else {}
        self._try(model.fit, X, y, **options)

        def predict(X: Floats) -> Floats:  # noqa: N803
            found = np.asarray(self._try(asked, X), np.float64)
            means = found[:, -1] if found.ndim == 2 and found.shape[1] > 1 else found.ravel()
            if means.shape != (len(X),) or not np.isfinite(means).all():
                raise InputError(
                    f"{self}.{asked.__name__} must give a finite number for every row.",
                    found=f"Of {len(X):,} rows it gave an array of shape {found.shape} with"
                    f" {np.count_nonzero(~np.isfinite(found)):,} that are not finite.",
                    todo="Mend it, or name one of our models.",
                )
            return means

        return predict

    @staticmethod
    def weighs(model: Any) -> bool:
        """Whether its ``fit`` takes ``sample_weight``."""
        return "sample_weight" in inspect.signature(model.fit).parameters

    def _try(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What the user's code returns; what it raises becomes a message."""
        try:
            return call(*args, **options)
        except Exception as error:
            raise UsageError(
                f"The model that {self.option} was given raised an error.",
                found=f"{getattr(call, '__qualname__', call)}: {type(error).__name__}:"
                f" {first_line(error)}",
                todo="Mend it, or name one of our models.",
            ) from error

    def fit(self, task: Task) -> PairScores:
        """On the rows outside the fold; of all pairs, on a sample where they are too many."""
        rates, binary = Rates(by="item").fit(task), task.link == "logit"
        user, item, y, weight = task.examples(SAMPLE, weighted=self.weighs(self.new()))
        if not len(y) or (binary and len(np.unique(y)) < 2):  # nothing to tell apart
            return rates
        rows = np.append(np.bincount(task.item, minlength=task.items), 0)
        of_item = _with_average(task.features.item, task.items)
        of_item = np.column_stack([rates.item, np.log1p(rows), of_item])
        of_user = _with_average(task.features.user, task.users)
        validate_layout(str(self), len(y), of_item.shape[1] + of_user.shape[1])
        X = np.hstack([of_item[item], of_user[user]])
        predict = self.learn(X, y, weight, binary=binary)
        half = 0.5 / ((task.pairs if task.grid else len(y)) + 1)
        return OwnScores(str(self), of_user, of_item, predict, half if binary else None)


@dataclass(frozen=True)
class OwnScores:
    """What one fold's model predicts from the features of a user and of an item.

    ``least`` is the smallest chance, and 1 - ``least`` the largest: no finite number of rows tells
    that something never happens. None: outcomes are not 0 and 1.
    """

    label: str
    user: Floats
    item: Floats
    predict: Predict
    least: float | None

    def only(self, users: Ints) -> OwnScores:
        """The same for some of the users."""
        return take_rows(self, users, "user")

    def score(self, user: Ints, item: Ints) -> Floats:
        """The prediction for each pair."""
        if not len(user):
            return np.empty(0)
        y = self.predict(np.hstack([self.item[item], self.user[user]]))
        if self.least is None:
            return y
        if (wrong := (y < 0) | (y > 1)).any():
            raise InputError(
                f"{self.label} must predict chances, between 0 and 1.",
                found=f"Found {wrong.sum():,} of {len(y):,} pairs with others (first:"
                f" {y[int(np.argmax(wrong))]:.4g}).",
                todo="Give it a method predict_proba, or have predict stay between 0 and 1.",
            )
        return np.clip(y, self.least, 1 - self.least)


def _with_average(x: Floats | None, size: int) -> Floats:
    """Features of all, and average ones for whoever is unknown."""
    if x is None:
        return np.zeros((size + 1, 0))
    return np.vstack([x, x.mean(axis=0)])
