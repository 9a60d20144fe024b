r"""A fitted model: one score per fold, user and item, and the link that makes it a mean."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterrank.core.arrays import Floats, Ints
from counterrank.core.parallel import cached_property
from counterrank.nuisance.folds import Folds

STEP = 1 << 15  # pairs predicted at a time


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
        """Those of some users."""
        factors = None if self.user_factors is None else self.user_factors[users]
        return replace(self, user=self.user[users], user_factors=factors)


@dataclass(frozen=True)
class FittedModel:
    """The models of all folds. ``link`` is "logit" or "identity"."""

    label: str
    link: str
    folds: Folds
    effects: tuple[Effects, ...]

    def only(self, users: Ints) -> FittedModel:
        """The same for some of the users, under their places among these."""
        kept = np.append(users, -1)  # the unknown one stays the last
        return replace(
            self,
            folds=replace(self.folds, user=self.folds.user[kept]),
            effects=tuple(e.only(kept) for e in self.effects),
        )

    def at(self, user: Ints, item: Ints) -> Floats:
        """The prediction for each pair, by the model that has not seen it; -1 is unknown."""
        out = np.empty(len(user))
        for begin in range(0, len(user), STEP):
            s = slice(begin, begin + STEP)
            out[s] = self._at(user[s], item[s])
        return out

    def _at(self, user: Ints, item: Ints) -> Floats:
        """One stretch of pairs, short enough for what is computed on the way to stay in a cache."""
        h, g = self.folds.user, self.folds.item
        user, item = _known(user, len(h)), _known(item, len(g))
        a, b = self._tables
        score = a.reshape(-1)[user * a.shape[1] + g[item] if a.shape[1] > 1 else user]
        score += b.reshape(-1)[item * b.shape[1] + h[user]]
        if self.effects[0].user_factors is not None:
            score += self._products(self.folds.of(user, item), user, item)
        return inverse_link(score, self.link)

    def within(self, fold: int, user: Ints, item: Ints) -> Floats:
        """What one fold's model says of any pair."""
        e = self.effects[fold]
        score: Floats = e.user[user] + e.item[item]
        if e.user_factors is not None and e.item_factors is not None:
            score = score + np.einsum("nd,nd->n", e.user_factors[user], e.item_factors[item])
        return inverse_link(score, self.link)

    @cached_property
    def _tables(self) -> tuple[Floats, Floats]:
        """User scores by group of item, and item scores by group of user: one gather each."""
        h, g, K = self.folds.user, self.folds.item, self.folds.count
        a, b = np.stack([e.user for e in self.effects]), np.stack([e.item for e in self.effects])
        groups = np.arange(K if self.folds.by == "pair" else 1)
        by_user = a[(h[:, None] + groups) % K, np.arange(len(h))[:, None]]
        by_item = b[(np.arange(K) + g[:, None]) % K, np.arange(len(g))[:, None]]
        return by_user, by_item

    def _products(self, fold: Ints, user: Ints, item: Ints) -> Floats:
        """Products of factors, each pair by the model of its fold."""
        out = np.zeros(len(user))
        for k, e in enumerate(self.effects):
            here = np.flatnonzero(fold == k)
            if e.user_factors is not None and e.item_factors is not None:
                p, q = e.user_factors[user[here]], e.item_factors[item[here]]
                out[here] = np.einsum("nd,nd->n", p, q)
        return out


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
