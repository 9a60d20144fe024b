"""Two recommenders in closed form, many settings of each at the cost of few: EASE and KUNN."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy.sparse as sp
from scipy.linalg import lapack

Scores = npt.NDArray[np.float32]
Matrix = Any  # users by items, sparse
Places = npt.NDArray[np.int64]


def interaction_matrix(users: Places, items: Places, shape: tuple[int, int]) -> Matrix:
    """1 where a user has an item, users by items."""
    return sp.csr_matrix((np.ones(len(users), np.float32), (users, items)), shape)


class Ease:
    r"""Items predicted from all others by ridge regression (Steck 2019).

    :math:`P = (X^T X + \lambda I)^{-1}`, weight of item i for item j
    :math:`B_{ij} = -P_{ij} / P_{jj}`, 0 on the diagonal; scores :math:`X B`. An item that a user
    has not, the only ones listed, is not touched by the diagonal: its score is
    :math:`-(X P)_{uj} / P_{jj}`.
    """

    def __init__(self, x: Matrix) -> None:
        self.x = x.toarray()
        self.gram = (x.T @ x).toarray().astype(float)

    def scores(self, l2: float) -> Scores:
        """Scores of all items that the user has not; others are not to be looked at."""
        factor, _ = lapack.dpotrf(self.gram + l2 * np.eye(len(self.gram)), lower=1)
        half, _ = lapack.dpotri(factor, lower=1)
        inverse = np.tril(half) + np.tril(half, -1).T
        found: Scores = self.x @ (-inverse / np.diag(inverse)).astype(np.float32)
        return found


class Kunn:
    r"""Users' and items' neighbours unified (Verstrepen and Goethals 2014).

    With counts :math:`c`: similarities :math:`s_{uv} = \sum_i R_{ui} R_{vi} / \sqrt{c_u c_v c_i}`
    and :math:`s_{ij} = \sum_u R_{ui} R_{uj} / \sqrt{c_i c_j c_u}`, the nearest of each kept, and
    score :math:`\sum_v s_{uv} R_{vi} / \sqrt{c_i} + \sum_j s_{ij} R_{uj} / \sqrt{c_u}`.
    """

    def __init__(self, x: Matrix) -> None:
        self.x = x
        users, items = (np.maximum(np.asarray(x.sum(axis=a)).ravel(), 1) for a in (1, 0))
        self.by_user, self.by_item = sp.diags(users**-0.5), sp.diags(items**-0.5)

    @cached_property
    def users(self) -> Any:
        """Similar users."""
        half = self.by_user @ self.x @ self.by_item
        return _no_self((half @ (self.by_user @ self.x).T).toarray())

    @cached_property
    def items(self) -> Any:
        """Similar items."""
        half = self.by_item @ self.x.T @ self.by_user
        return _no_self((half @ (self.by_item @ self.x.T).T).toarray())

    def user_part(self, k: int) -> Scores:
        """What the user's ``k`` nearest have."""
        found: Scores = (nearest_rows(self.users, k) @ self.x @ self.by_item).toarray()
        return found.astype(np.float32)

    def item_part(self, k: int) -> Scores:
        """How near each item's ``k`` nearest are to what the user has."""
        found: Scores = (self.by_user @ self.x @ nearest_rows(self.items, k).T).toarray()
        return found.astype(np.float32)


def _no_self(similarity: npt.NDArray[Any]) -> npt.NDArray[Any]:
    np.fill_diagonal(similarity, 0)
    return similarity


def nearest_rows(similarity: npt.NDArray[Any], k: int) -> Matrix:
    """The ``k`` largest entries of each row."""
    k = min(k, similarity.shape[1])
    place = np.argpartition(similarity, -k, axis=1)[:, -k:]
    value = np.take_along_axis(similarity, place, axis=1)
    row = np.repeat(np.arange(len(similarity)), k)
    return sp.csr_matrix((value.ravel(), (row, place.ravel())), similarity.shape)


def best_items(scores: Scores, seen: Matrix, users: Places, k: int) -> pl.DataFrame:
    """Each user's ``k`` best items that were not seen; an item without a score is not listed."""
    scores = scores.copy()
    scores[seen.nonzero()] = -np.inf
    scores[scores == 0] = -np.inf
    scores = scores[users]
    k = min(k, scores.shape[1])
    place = np.argpartition(scores, -k, axis=1)[:, -k:]
    value = np.take_along_axis(scores, place, axis=1)
    order = np.argsort(-value, axis=1, kind="stable")
    place = np.take_along_axis(place, order, axis=1)
    listed = np.isfinite(np.take_along_axis(value, order, axis=1))
    rank = np.broadcast_to(np.arange(1, k + 1), place.shape)
    user = np.broadcast_to(users[:, None], place.shape)
    return pl.DataFrame({"user": user[listed], "item": place[listed], "rank": rank[listed]})
