"""Clicks and conversions of every pair, predicted by models that have not seen the pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Bools, Floats, Ints, sort_order
from counterrank.core.errors import InputError, UsageError, one_of
from counterrank.core.labels import known_name, options, parse
from counterrank.nuisance.base import Features, PairModel, Task
from counterrank.nuisance.factors import Factors
from counterrank.nuisance.fitted_model import FittedModel, Folds, dealt
from counterrank.nuisance.logistic import Logistic
from counterrank.nuisance.rates import Rates

HOW = {
    "user": "by user: a user's own clicks never enter a prediction for that user",
    "pair": "by pair: the clicks of a user on a group of items never enter predictions for them",
}


PAIRS = ("all", "rows")


@dataclass(frozen=True)
class Pairs:
    """Rows in order of user and item; codes are places among the sorted ids.

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
    if not z.any():
        refuse_unclicked(len(z))
    y = np.where(z, conversion[order], 0.0)
    given = None if ctr is None else ctr[order]
    return Pairs(user[order], item[order], z, y, users, items, pairs, given)


def refuse_unclicked(rows: int) -> None:
    """A table without clicks."""
    raise InputError(
        "No pair was clicked, so there is nothing to learn clicks and conversions from.",
        found=f"The table has {rows:,} rows.",
        todo="Give a table with clicks, or predictions in columns ctr and cvr.",
    )


KINDS: tuple[type[PairModel], ...] = (Rates, Logistic, Factors)
MODELS: dict[str, type[PairModel]] = {kind.name: kind for kind in KINDS}


def pair_model(label: str | PairModel) -> PairModel:
    """The model a label stands for; case does not matter."""
    if isinstance(label, PairModel):
        return label
    call = parse(str(label))
    wrong = f'"{call.name}" is not a model of clicks or conversions.'
    kind = MODELS[known_name(call.name, MODELS, wrong)]
    if call.k is not None:
        raise UsageError(f'"{label}" has a cut-off, which a model of pairs does not.')
    return kind(**options(call, kind))


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
    dealing = dealt(pairs.users, pairs.items, by=by, folds=folds, seed=seed)
    features = Features(user_features, item_features)
    clicks = _clicks(click, pairs, dealing, features, seed)
    return Nuisance(clicks, _conversions(convert, pairs, clicks, features, seed), pairs, seed)


def _clicks(
    kind: PairModel, pairs: Pairs, folds: Folds, features: Features, seed: int
) -> FittedModel:
    grid = pairs.kind == "all"
    user, item, y = pairs.user, pairs.item, pairs.click.astype(np.float64)
    if grid:
        user, item, y = user[pairs.click], item[pairs.click], y[pairs.click]
    fold, w = folds.of(user, item), np.ones(len(user))
    found = []
    for k in range(folds.count):
        t = fold != k
        task = Task(user[t], item[t], y[t], w[t], folds, k, grid, "logit", features, seed)
        found.append(kind.fit(task))
    return FittedModel(str(kind), kind.link("logit"), folds, tuple(found))


def _conversions(
    kind: PairModel, pairs: Pairs, clicks: FittedModel, features: Features, seed: int
) -> FittedModel:
    user, item, y = pairs.clicked
    given = None if pairs.ctr is None else pairs.ctr[pairs.click]
    if kind.weight == "ctr" and given is not None and np.isnan(given).any():
        raise InputError(
            f'"{kind}" weighs clicked pairs by 1/ctr.',
            found=f"{np.isnan(given).sum():,} of them have no ctr.",
            todo="Predict it for all of them, or leave weight=ctr out.",
        )
    folds = clicks.folds
    link = "logit" if np.all((y == 0) | (y == 1)) else "identity"
    fold, found = folds.of(user, item), []
    for k in range(folds.count):
        t = fold != k
        w = np.ones(int(t.sum()))
        if kind.weight == "ctr":
            w = 1 / (clicks.within(k, user[t], item[t]) if given is None else given[t])
            w /= w.mean() if len(w) else 1.0
        task = Task(user[t], item[t], y[t], w, folds, k, False, link, features, seed)
        found.append(kind.fit(task))
    return FittedModel(str(kind), kind.link(link), folds, tuple(found))
