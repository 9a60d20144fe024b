"""What every model of clicks or conversions has: options, a fit per fold, and predictions of it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol, Self

import numpy as np

from counterrank.core.arguments import check_fields
from counterrank.core.arrays import Floats, Ints, dot, take_rows
from counterrank.core.errors import UsageError
from counterrank.core.labels import Value
from counterrank.core.parallel import cached_property

Weight = Literal["none", "ctr"]
STRETCH = 1 << 15  # pairs at a time, so that what is computed on the way stays in a cache
SAMPLE = 300_000  # pairs drawn for models that need rows, where there are more
LARGEST = 1 << 28  # numbers laid out for a fit: 2 GB


@dataclass(frozen=True)
class Folds:
    r"""Who predicts whom: no model is asked about a pair whose click it has seen.

    Users and items are dealt into :math:`K` groups each, :math:`h(u)` and :math:`g(i)`, by a
    shuffle of their places among the sorted ids; the last of each is the group of any unknown one.
    Pair :math:`(u, i)` is in fold :math:`h(u) + g(i) \bmod K`, and the model of a fold learns from
    the pairs of the other folds.

    ``by`` user: all items are in one group, so a user's clicks never enter a prediction for that
    user. ``by`` pair: for models that know the user. A user's clicks on items of one group are
    predicted from those on items of the other groups; an item's likewise.
    """

    by: str
    count: int
    user: Ints
    item: Ints

    @classmethod
    def deal(cls, users: int, items: int, *, by: str, folds: int, seed: int) -> Folds:
        """Groups of sizes that differ by one at most, the same for the same seed and sizes."""
        if not 2 <= folds <= max(users, 2):
            raise UsageError(
                f"folds cannot be {folds}.",
                found=f"There are {users:,} users.",
                todo="Give at least 2 and no more than there are users.",
            )
        random = np.random.default_rng([seed, 17])
        user = np.append(random.permutation(users) % folds, 0)
        item = np.append(random.permutation(items) % folds, 0)
        return cls(by, folds, user, item if by == "pair" else np.zeros_like(item))

    def of(self, user: Ints, item: Ints) -> Ints:
        """The fold of each pair."""
        return (self.user[user] + self.item[item]) % self.count

    def known(self) -> tuple[Ints, Ints]:
        """Groups of the known users and items alone."""
        return self.user[:-1], self.item[:-1]


@dataclass(frozen=True)
class Features:
    """A row of numbers for every user and item, in the order of their codes."""

    user: Floats | None = None
    item: Floats | None = None


@dataclass(frozen=True)
class Task:
    """What one fold's model learns from.

    ``user``, ``item``, ``y``, ``weight``: the rows outside the fold. With ``grid`` they are the
    clicked pairs and every other pair outside the fold has outcome 0.
    """

    user: Ints
    item: Ints
    y: Floats
    weight: Floats
    folds: Folds
    fold: int
    grid: bool
    link: str
    features: Features
    seed: int

    def outside(self, fold: int) -> Task:
        """The same for one fold's model, with the rows outside that fold."""
        t = self.folds.of(self.user, self.item) != fold
        return replace(take_rows(self, t, "user", "item", "y", "weight"), fold=fold)

    @property
    def users(self) -> int:
        """How many users there are."""
        return len(self.folds.user) - 1

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.folds.item) - 1

    @property
    def noise(self) -> float:
        """Variance of an outcome, per unit of weight."""
        if not self.grid:
            return outcome_variance(self.y, self.weight)
        share = len(self.user) / max(self.pairs, 1)
        return max(share * (1 - share), 1e-12)

    @property
    def pairs(self) -> float:
        """How many pairs are outside the fold."""
        K = self.folds.count
        users, items = (np.bincount(group, minlength=K) for group in self.folds.known())
        inside = sum(int(users[j] * items[(self.fold - j) % K]) for j in range(K))
        return float(self.users) * self.items - inside

    def examples(self, sample: int, *, weighted: bool = True) -> tuple[Ints, Ints, Floats, Floats]:
        r"""User, item, outcome and weight of the rows outside the fold, for models that need rows.

        All pairs are laid out if there are at most :math:`m` of them. Otherwise :math:`m` of the
        :math:`N` pairs are drawn with replacement, whatever their click, and those drawn that were
        not clicked weigh :math:`N / m` beside all clicked ones, which weigh 1. So every pair counts
        once on average, and whether a pair was clicked changes nothing about the other rows. Where
        they may not be ``weighted``, those drawn are all, clicked or not.
        """
        if not self.grid:
            return self.user, self.item, self.y, self.weight
        pairs = self.users * self.items
        drawn = np.arange(pairs)
        if pairs > sample:
            drawn = np.sort(np.random.default_rng([self.seed, 23]).integers(0, pairs, sample))
        clicked = np.sort(self.user * self.items + self.item)
        place = np.minimum(np.searchsorted(clicked, drawn), max(len(clicked) - 1, 0))
        user, item = np.divmod(drawn, self.items)
        outside = self.folds.of(user, item) != self.fold
        is_click = clicked[place] == drawn if len(clicked) else np.zeros(len(drawn), bool)
        if not weighted:
            y = is_click[outside].astype(np.float64)
            return user[outside], item[outside], y, np.ones(len(y))
        user, item = user[outside & ~is_click], item[outside & ~is_click]
        y = np.append(np.ones(len(clicked)), np.zeros(len(user)))
        weight = np.append(np.ones(len(clicked)), np.full(len(user), pairs / len(drawn)))
        return np.append(self.user, user), np.append(self.item, item), y, weight


def outcome_variance(y: Floats, weight: Floats) -> float:
    """Variance of a weighted outcome per unit of weight: what uneven weights add is in it."""
    total = max(float(weight.sum()), 1e-300)
    average = dot(weight, y) / total
    return max(dot(weight**2, (y - average) ** 2) / total, 1e-12)


@dataclass(frozen=True)
class Effects:
    r"""Score :math:`\eta_{ui} = a_u + b_i + \langle p_u, q_i \rangle` of one fold's model.

    The last entry of each is the unknown user or item; ``item`` holds the intercept.
    """

    user: Floats
    item: Floats
    user_factors: Floats | None = None
    item_factors: Floats | None = None

    def only(self, users: Ints) -> Effects:
        """The same for some of the users."""
        return take_rows(self, users, "user", "user_factors")

    def score(self, user: Ints, item: Ints) -> Floats:
        """The score of each pair."""
        return self.user[user] + self.item[item] + self.products(user, item)

    def products(self, user: Ints, item: Ints) -> Floats | float:
        """The product of the factors of each pair; 0 where there are none."""
        if self.user_factors is None or self.item_factors is None:
            return 0.0
        products: Floats = np.einsum("nd,nd->n", self.user_factors[user], self.item_factors[item])
        return products


class PairScores(Protocol):
    """One fold's model: a score for each pair of places of users and items."""

    def only(self, users: Ints) -> Self:
        """The same for some of the users."""
        ...

    def score(self, user: Ints, item: Ints) -> Floats:
        """The score of each pair."""
        ...


class PairModel(Value):
    """A frozen dataclass; its label says all its options."""

    weight: Weight
    reads_features: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self, self.name)

    @property
    def knows_users(self) -> bool:
        """Whether a user's own clicks on other items enter a prediction."""
        return True

    def link(self, link: str) -> str:
        """The link of its scores, given the one that outcomes ask for."""
        return link

    @abstractmethod
    def fit(self, task: Task) -> PairScores:
        """The scores of one fold's model, an entry for the unknown last."""

    def validate_binary(self, task: Task) -> None:
        """Refuse outcomes that are not 0 or 1, which only ``rates`` can model."""
        if task.link != "logit":
            raise UsageError(
                f'"{self}" takes conversions of 0 and 1.',
                found="This reward has other values.",
                todo="Use rates for it.",
            )


@dataclass(frozen=True)
class FittedModel:
    """The models of all folds. ``link`` makes a mean of a score: "logit" or "identity"."""

    label: str
    link: str
    folds: Folds
    effects: tuple[PairScores, ...]

    def only(self, users: Ints) -> FittedModel:
        """The same for some of the users, under their places among these."""
        rows = np.append(users, -1)  # the unknown one stays the last
        effects = tuple(e.only(rows) for e in self.effects)
        return replace(self, folds=take_rows(self.folds, rows, "user"), effects=effects)

    def at(self, user: Ints, item: Ints) -> Floats:
        """The prediction for each pair, by the model that has not seen it; -1 is unknown."""
        out = np.empty(len(user))
        for begin in range(0, len(user), STRETCH):
            s = slice(begin, begin + STRETCH)
            out[s] = self._at(user[s], item[s])
        return out

    def _at(self, user: Ints, item: Ints) -> Floats:
        h, g = self.folds.user, self.folds.item
        user, item = _known(user, len(h)), _known(item, len(g))
        if self._tables is None:
            return inverse_link(self._by_fold("score", user, item), self.link)
        a, b = self._tables
        score = a.reshape(-1)[user * a.shape[1] + g[item] if a.shape[1] > 1 else user]
        score += b.reshape(-1)[item * b.shape[1] + h[user]]
        if self.effects[0].user_factors is not None:  # type: ignore[attr-defined]
            score += self._by_fold("products", user, item)
        return inverse_link(score, self.link)

    def _by_fold(self, what: str, user: Ints, item: Ints) -> Floats:
        """The ``score`` of each pair, or its ``products``, by the model of its fold."""
        fold, out = self.folds.of(user, item), np.empty(len(user))
        for k, e in enumerate(self.effects):
            here = np.flatnonzero(fold == k)
            out[here] = getattr(e, what)(user[here], item[here])
        return out

    @cached_property
    def _tables(self) -> tuple[Floats, Floats] | None:
        """User scores by group of item, and item scores by group of user: one gather each."""
        h, g, K = self.folds.user, self.folds.item, self.folds.count
        added = [e for e in self.effects if isinstance(e, Effects)]
        if len(added) < K:
            return None
        a, b = np.stack([e.user for e in added]), np.stack([e.item for e in added])
        groups = np.arange(K if self.folds.by == "pair" else 1)
        by_user = a[(h[:, None] + groups) % K, np.arange(len(h))[:, None]]
        by_item = b[(np.arange(K) + g[:, None]) % K, np.arange(len(g))[:, None]]
        return by_user, by_item

    def within(self, fold: int, user: Ints, item: Ints) -> Floats:
        """What one fold's model says of any pair."""
        return inverse_link(self.effects[fold].score(user, item), self.link)


def validate_layout(label: str, rows: int, wide: int) -> None:
    """Refuse a table of features that is too large to be laid out."""
    if rows * wide > LARGEST:
        raise UsageError(
            f'"{label}" would have to lay out {rows:,} pairs with {wide:,} numbers each.',
            found=f"That is {rows * wide * 8 / 1e9:.1f} GB.",
            todo="Give fewer features, or draw fewer pairs: logistic(sample=100000).",
        )


def inverse_link(score: Floats, link: str) -> Floats:
    r"""The mean a score stands for: :math:`1 / (1 + e^{-\eta})`, or the score itself."""
    if link == "identity":
        return score
    out = np.negative(score)
    np.clip(out, -700, 700, out=out)
    np.exp(out, out=out)
    out += 1
    return np.reciprocal(out, out=out)


def logit(p: float | Floats) -> Floats:
    """The score of a probability."""
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.log(p) - np.log1p(-p)


def _known(code: Ints, size: int) -> Ints:
    """Codes with the unknown one, -1, as the last."""
    if len(code) == 0 or code.min() >= 0:
        return code
    return np.where(code < 0, size - 1, code)
