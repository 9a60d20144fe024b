"""Clicks and conversions of every pair, predicted by models that have not seen the pair."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterrank.core.arguments import one_of
from counterrank.core.arrays import Bools, Floats, Ints, sort_order
from counterrank.core.errors import InputError, UsageError
from counterrank.core.labels import Registry
from counterrank.nuisance.base import Features, FittedModel, Folds, PairModel, Task
from counterrank.nuisance.factors import Factors
from counterrank.nuisance.logistic import Logistic
from counterrank.nuisance.rates import Rates

PAIRS = ("all", "rows")
HOW = {
    "user": "by user: a user's own clicks never enter a prediction for that user",
    "pair": "by pair: the clicks of a user on a group of items never enter predictions for them",
}
pair_model: Registry[PairModel] = Registry(
    "a model of clicks or conversions", PairModel, (Rates, Logistic, Factors)
)
"""Also takes a user's `OwnModel`, which stands for itself."""


@dataclass(frozen=True)
class Pairs:
    """What models learn from: rows in order of user and item, codes of places among sorted ids.

    ``click`` is 0 or 1; ``conversion`` is only known where it is 1, and 0 elsewhere. With ``kind``
    "all" a pair without a row was not clicked; with "rows" it could not have been. ``ctr`` is there
    where it was given, not to be fitted.
    """

    user: Ints
    item: Ints
    click: Bools
    conversion: Floats
    users: int
    items: int
    kind: str
    ctr: Floats | None = None

    @property
    def count(self) -> int:
        """How many pairs there are, those without a row among them."""
        return self.users * self.items if self.kind == "all" else len(self.user)

    @property
    def clicked(self) -> tuple[Ints, Ints, Floats]:
        """User, item and conversion of the clicked pairs."""
        z = self.click
        return self.user[z], self.item[z], self.conversion[z]


def training(
    user: Ints,
    item: Ints,
    click: Floats,
    conversion: Floats,
    *,
    users: int,
    items: int,
    pairs: str = "all",
    ctr: Floats | None = None,
) -> Pairs:
    """The pairs in order of their codes: the order of rows changes nothing, not even a last bit."""
    one_of("pairs", pairs, PAIRS)
    user, item = user.astype(np.int64), item.astype(np.int64)
    order = sort_order(user, item)
    z = click[order] > 0
    validate_clicks(int(z.sum()), len(z))
    y = np.where(z, conversion[order], 0.0)
    given = None if ctr is None else ctr[order]
    return Pairs(user[order], item[order], z, y, users, items, pairs, given)


def validate_clicks(clicks: int, rows: int) -> None:
    """Refuse a table without clicks."""
    if not clicks:
        raise InputError(
            "No pair was clicked, so there is nothing to learn clicks and conversions from.",
            found=f"The table has {rows:,} rows.",
            todo="Give a table with clicks, or predictions in columns ctr and cvr.",
        )


@dataclass(frozen=True)
class Nuisance:
    """The two fitted models: ``clicks`` and ``conversions``, and what they were fitted on."""

    clicks: FittedModel
    conversions: FittedModel
    pairs: Pairs
    seed: int

    def ctr(self, user: Ints, item: Ints) -> Floats:
        """Probability of a click, out of fold; -1 stands for an unknown user or item."""
        return self.clicks.at(user, item)

    def cvr(self, user: Ints, item: Ints) -> Floats:
        """Mean conversion given a click, out of fold."""
        return self.conversions.at(user, item)

    @property
    def description(self) -> dict[str, str | int]:
        """For the protocol."""
        folds = self.clicks.folds
        return {
            "ctr": self.clicks.label,
            "cvr": self.conversions.label,
            "pairs": self.pairs.kind,
            "folds": folds.count,
            "cross-fitting": HOW[folds.by],
            "grouping": "a shuffle of the places among sorted ids",
            "seed": self.seed,
        }


def cross_fit(
    pairs: Pairs,
    *,
    ctr: str | PairModel = "rates",
    cvr: str | PairModel = "rates",
    folds: int = 5,
    seed: int = 0,
    user_features: Floats | None = None,
    item_features: Floats | None = None,
) -> Nuisance:
    """Both models, cross-fitted with the same folds.

    Folds are by user if neither model knows users, otherwise by pair. The model of conversions
    learns from clicked pairs alone; with ``weight=ctr`` each weighs 1/ctr, as given or by the model
    of clicks of the same fold, and weights average 1.
    """
    click, convert = pair_model(ctr), pair_model(cvr)
    if click.weight != "none":
        raise UsageError(
            f'"{click}" cannot be the model of clicks: weight=ctr is for conversions.',
            todo="Leave the option out.",
        )
    by = "pair" if click.knows_users or convert.knows_users else "user"
    dealing = Folds.deal(pairs.users, pairs.items, by=by, folds=folds, seed=seed)
    features = Features(user_features, item_features)
    user, item, y = pairs.clicked
    grid = pairs.kind == "all"
    shown = (user, item, np.ones(len(user)))
    if not grid:
        shown = (pairs.user, pairs.item, pairs.click.astype(np.float64))
    every = np.ones(len(shown[0]))
    clicks = _fit(click, Task(*shown, every, dealing, -1, grid, "logit", features, seed))
    given = None if pairs.ctr is None else pairs.ctr[pairs.click]
    if convert.weight == "ctr" and given is not None and np.isnan(given).any():
        raise InputError(
            f'"{convert}" weighs clicked pairs by 1/ctr.',
            found=f"{np.isnan(given).sum():,} of them have no ctr.",
            todo="Predict it for all of them, or leave weight=ctr out.",
        )
    weight = np.ones(len(y)) if given is None or convert.weight != "ctr" else 1 / given
    link = "logit" if np.all((y == 0) | (y == 1)) else "identity"
    task = Task(user, item, y, weight, dealing, -1, False, link, features, seed)
    conversions = _fit(convert, task, clicks if given is None else None)
    return Nuisance(clicks, conversions, pairs, seed)


def _fit(kind: PairModel, every: Task, clicks: FittedModel | None = None) -> FittedModel:
    """One model per fold; where the ``clicks`` of its fold are modelled, weighted by 1/ctr."""
    effects = []
    for k in range(every.folds.count):
        task = every.outside(k)
        if kind.weight == "ctr" and len(task.y):
            w = task.weight if clicks is None else 1 / clicks.within(k, task.user, task.item)
            task = replace(task, weight=w / w.mean())
        effects.append(kind.fit(task))
    return FittedModel(str(kind), kind.link(every.link), every.folds, tuple(effects))
