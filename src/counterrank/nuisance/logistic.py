r"""Logistic regression on features of users and items.

.. math:: \eta_{ui} = \mu + x_u^\top \beta + x_i^\top \gamma \; (+ \, x_u^\top \Gamma x_i)

with :math:`\lambda / 2` times the squared coefficients as penalty; features are standardised. It
knows a user by features alone, so it is cross-fitted by user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import InputError, UsageError, brief
from counterrank.data.ids import positions
from counterrank.data.schema import Table
from counterrank.nuisance.base import (
    SAMPLE,
    Effects,
    PairModel,
    Task,
    Weight,
    logit,
    validate_layout,
)


@dataclass(frozen=True)
class Logistic(PairModel):
    r"""``terms``: main, or crossed with :math:`\Gamma`; ``l2``: :math:`\lambda`; ``sample``.

    ``sample``: pairs drawn where there are more.
    """

    name: ClassVar[str] = "logistic"
    reads_features: ClassVar[bool] = True
    terms: Literal["main", "crossed"] = "main"
    l2: float = 1.0
    sample: int = SAMPLE
    weight: Weight = "none"

    @property
    def knows_users(self) -> bool:
        """Users with the same features are alike."""
        return False

    def refuse_no_features(self) -> NoReturn:
        """There is nothing it could learn from."""
        raise UsageError(
            f'"{self}" needs features.',
            todo="Give some of users or of items (--user-features PATH, --item-features PATH;"
            " user_features=..., item_features=...), or use rates.",
        )

    def fit(self, task: Task) -> Effects:
        """By scikit-learn, on all pairs or a weighted sample of them."""
        self.validate_binary(task)
        x = _standardise(task.features.user, task.users)
        v = _standardise(task.features.item, task.items)
        if x.shape[1] + v.shape[1] == 0:
            self.refuse_no_features()
        user, item, y, weight = task.examples(self.sample)
        mu, coefficients = self._solve(self._design(x, v, user, item), y, weight)
        main = x.shape[1] + v.shape[1]
        a = np.append(x @ coefficients[: x.shape[1]], 0.0)
        b = mu + np.append(v @ coefficients[x.shape[1] : main], 0.0)
        if self.terms == "main":
            return Effects(a, b)
        w = coefficients[main:].reshape(x.shape[1], v.shape[1])
        none = np.zeros((1, v.shape[1]))
        return Effects(a, b, np.vstack([x @ w, none]), np.vstack([v, none]))

    def _design(self, x: Floats, v: Floats, user: Ints, item: Ints) -> Floats:
        """A row of numbers for each pair."""
        wide = x.shape[1] + v.shape[1]
        wide += x.shape[1] * v.shape[1] if self.terms == "crossed" else 0
        validate_layout(str(self), len(user), wide)
        columns = [x[user], v[item]]
        if self.terms == "crossed":
            columns.append((x[user][:, :, None] * v[item][:, None, :]).reshape(len(user), -1))
        return np.hstack(columns)

    def _solve(self, design: Floats, y: Floats, weight: Floats) -> tuple[float, Floats]:
        """Intercept and coefficients; outcomes that are all alike have no coefficients."""
        if len(np.unique(y)) < 2:
            share = (float(weight @ y) + 0.5) / (float(weight.sum()) + 1)  # half a row from 0 or 1
            return float(logit(share)), np.zeros(design.shape[1])
        fitted = _scikit()(C=1 / self.l2, max_iter=2000)
        fitted.fit(design, y, sample_weight=weight)
        return float(fitted.intercept_[0]), np.asarray(fitted.coef_[0], np.float64)


def _scikit() -> Any:
    """The regression of scikit-learn, or a message how to get it."""
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise UsageError(
            "The model logistic needs scikit-learn, which is not installed.",
            todo="Run pip install 'counterrank[models]', or use rates or factors.",
        ) from None
    return LogisticRegression


def _standardise(x: Floats | None, size: int) -> Floats:
    """Columns of mean 0 and variance 1; those that do not vary are left out."""
    if x is None:
        return np.zeros((size, 0))
    if x.ndim != 2 or len(x) != size or not np.isfinite(x).all():
        raise UsageError(
            "Features must be a table of finite numbers with a row per user or item.",
            found=f"Expected {size:,} rows, got an array of shape {x.shape}.",
        )
    spread = x.std(axis=0)
    varies = spread > 0
    out: Floats = (x[:, varies] - x[:, varies].mean(axis=0)) / spread[varies]
    return out


VALUES = 100  # a text column may have; each becomes a column of its own


@dataclass(frozen=True)
class Encoded:
    """``numbers``: a row per id, ``names``: its columns; a text column has one per value.

    ``constant``: columns of the table that were left out, as they say the same of everyone.
    """

    numbers: Floats
    names: tuple[str, ...]
    constant: tuple[str, ...]


def encode_features(table: Table, of: str, ids: pl.Series) -> Encoded:
    """The features of these ids, in their order; ``of`` is user or item."""
    frame = table.frame[_rows(table, of, ids)]
    names: list[str] = []
    columns: list[Floats] = []
    constant: list[str] = []
    for feature in frame.drop(of):
        if feature.n_unique() < 2:
            constant.append(feature.name)
        elif feature.dtype == pl.String:
            values = _values(feature, of, table.name)
            names += [f"{feature.name}={value}" for value in values]
            columns += [(feature == value).cast(pl.Float64).to_numpy() for value in values]
        else:
            names.append(feature.name)
            columns.append(feature.to_numpy())
    if not columns:
        raise InputError(
            f'"{table.name}" tells no {of} from another.',
            found=f"Every column is constant: {', '.join(constant[:12])}.",
            todo=f"Give a column in which {of}s differ, or leave the table out.",
        )
    return Encoded(np.column_stack(columns), tuple(names), tuple(constant))


def _rows(table: Table, of: str, ids: pl.Series) -> pl.Series:
    """The row of each id, or a message about those that have none."""
    plain = ids.cast(pl.String) if isinstance(ids.dtype, pl.Categorical) else ids
    place = positions(plain, table.frame[of])
    lost = np.flatnonzero(place < 0)
    if len(lost):
        raise InputError(
            f'"{table.name}" has no row for {len(lost):,} of {len(ids):,} {of}s that count.',
            found=f"The first is {brief(plain[int(lost[0])])}; the table begins with"
            f" {brief(table.frame[of][0])}.",
            todo=f"Give every {of} of the funnel and of the lists a row, or use rates.",
        )
    return pl.Series(place)


def _values(feature: pl.Series, of: str, table: str) -> list[str]:
    values = feature.unique().sort().to_list()
    if len(values) > VALUES:
        raise InputError(
            f'Column "{feature.name}" of "{table}" has too many values for a feature.',
            found=f"Found {len(values):,} for {len(feature):,} {of}s; at most {VALUES} are taken"
            f" (first: {brief(values[0])}).",
            todo="Put rare values together, or leave the column out.",
        )
    return values
