"""The 21 recommenders of Valcarce et al. 2020, section 5.3: ratings in, scores of all pairs out.

``r`` is users by items, sparse, 0 where nothing is rated; :math:`r_{ui}` are its entries,
:math:`I_u` what a user rated and :math:`V_u` the user's ``k`` nearest by the cosine of ratings.
An item with the score 0 is not recommended. Each family has a few settings to choose among.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from counterrank.core.arrays import Floats
from counterrank.studies.descent import fit_factors, weighted_factors
from counterrank.studies.linear_models import Matrix, nearest_rows

DAMPING = 25.0  # ratings at the mean that biases are drawn to it by


def at_random(r: Matrix) -> Floats:
    """Any order is as likely as any other."""
    scores: Floats = np.random.default_rng(0).random(r.shape)
    return scores


def most_rated(r: Matrix) -> Floats:
    """Number of ratings of the item."""
    return np.tile(np.asarray((r > 0).sum(axis=0), float), (r.shape[0], 1))


def pseudo_feedback(r: Matrix, form: str, k: int) -> Floats:
    r"""What neighbours rated, weighed as terms of feedback documents are (Valcarce et al. 2016).

    With :math:`p_V(i) = \sum_{v \in V_u} r_{vi} / \sum_{v \in V_u, j} r_{vj}` and :math:`p_C`, the
    same over all users: Rocchio :math:`m_i = \sum_{v \in V_u} r_{vi} / k`, RSV
    :math:`m_i (p_V - p_C)` (without :math:`p_C` it would order as Rocchio does), CHI2
    :math:`(p_V - p_C)^2 / p_C`, KLD :math:`p_V \ln (p_V / p_C)`.
    """
    total = (neighbours(r, k) @ r).toarray()
    some = total > 0
    p, c = total / np.maximum(total.sum(axis=1, keepdims=True), 1), in_collection(r)
    forms: dict[str, Callable[[], Floats]] = {
        "Rocchio": lambda: total / k,
        "RSV": lambda: total / k * (p - c),
        "CHI2": lambda: (p - c) ** 2 / c,
        "KLD": lambda: p * np.log(np.where(some, p / c, 1)),
    }
    return np.where(some, forms[form](), 0)


def neighbours(r: Matrix, k: int) -> Matrix:
    """1 for each user's nearest, users by users."""
    return (nearest_rows(row_cosines(r), k) > 0).astype(float)


def row_cosines(x: Matrix) -> Floats:
    """Cosine of every two rows, 0 with itself."""
    scaled = sp.diags(1 / np.maximum(np.sqrt(x.multiply(x).sum(axis=1).A1), 1e-12)) @ x
    found: Floats = (scaled @ scaled.T).toarray()
    np.fill_diagonal(found, 0)
    return found


def in_collection(r: Matrix) -> Floats:
    """Each item's share of all ratings, above 0."""
    total = np.asarray(r.sum(axis=0)).ravel()
    share: Floats = np.maximum(total, 1e-3) / total.sum()
    return share


def language_models(r: Matrix, smooth: float) -> Floats:
    r""":math:`p(i|v) = (1 - \lambda) r_{vi} / \sum_j r_{vj} + \lambda p_C(i)`, users by items."""
    own = r.toarray() / np.maximum(np.asarray(r.sum(axis=1)), 1)
    mixed: Floats = (1 - smooth) * own + smooth * in_collection(r)
    return mixed


def relevance_model_1(r: Matrix, k: int, smooth: float) -> Floats:
    r""":math:`\sum_{v \in V_u} p(i|v) \prod_{j \in I_u} p(j|v)` (RM1, Parapar et al. 2013)."""
    p, near = language_models(r, smooth), neighbours(r, k).toarray() > 0
    likely = np.where(near, (r > 0) @ np.log(p).T, -np.inf)
    weight = np.exp(likely - np.maximum(likely.max(axis=1, keepdims=True), -1e300))
    scores: Floats = weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300) @ p
    return scores


def relevance_model_2(r: Matrix, k: int, smooth: float) -> Floats:
    r""":math:`\ln p(i) \prod_{j \in I_u} \sum_{v \in V_u} p(i|v) p(v) p(j|v) / p(i)`, all
    :math:`p(i)` and :math:`p(v)` alike (RM2, Parapar et al. 2013)."""
    p, near = language_models(r, smooth).astype(np.float32), neighbours(r, k)
    scores = np.zeros(r.shape)
    for u in np.flatnonzero(np.diff(near.indptr)):
        own = p[near[u].indices]
        scores[u] = np.log(own[:, r[u].indices].T @ own).sum(axis=0)
    return scores


def likely_neighbours(r: Matrix, by: str, k: int, smooth: float) -> Floats:
    r"""Sum of ratings weighed by similarity, by language models (LM-WSR, Valcarce et al. 2016).

    :math:`s_{uv} = \sum_{i} r_{ui} \ln (1 + \frac{1 - \lambda}{\lambda} p(i|v) / p_C(i))` orders
    users v as the likelihood of u's ratings under v's smoothed model does. By items, the same of
    the matrix turned.
    """
    x = r if by == "user" else r.T.tocsr()
    own = sp.diags(1 / np.maximum(np.asarray(x.sum(axis=1)).ravel(), 1)) @ x
    ratio = (own @ sp.diags((1 - smooth) / smooth / in_collection(x))).log1p()
    similar = (x @ ratio.T).toarray()
    np.fill_diagonal(similar, 0)
    near = nearest_rows(similar, k)
    scores: Floats = (near @ r if by == "user" else r @ near.T).toarray()
    return scores


def cosine_neighbours(r: Matrix, by: str, k: int, shrink: float) -> Floats:
    r""":math:`b_{ui} + \sum_{v \in V_u} s_{uv} (r_{vi} - b_{vi})`, not divided by the weights.

    NNCosNgr of Cremonesi et al. 2010: :math:`s = \frac{n}{n + shrink} \cos` with n common ratings,
    b the mean and both biases. By items, the same with :math:`s_{ij} (r_{uj} - b_{uj})`.
    """
    x, rated = (r, r > 0) if by == "user" else (r.T.tocsr(), (r > 0).T.tocsr())
    common = (rated.astype(float) @ rated.T.astype(float)).toarray()
    near = nearest_rows(row_cosines(x) * common / (common + shrink), k)
    base = biases(r)
    apart = r - (r > 0).multiply(base).tocsr()
    scores: Floats = base + (near @ apart if by == "user" else apart @ near.T).toarray()
    return scores


def biases(r: Matrix) -> Floats:
    """The mean rating, an item's and a user's distance from it, each drawn towards 0."""
    rated = (r > 0).astype(float)
    mean = r.sum() / r.nnz
    item = np.asarray((r - mean * rated).sum(axis=0)).ravel()
    item /= np.asarray(rated.sum(axis=0)).ravel() + DAMPING
    user = np.asarray((r - mean * rated - rated @ sp.diags(item)).sum(axis=1)).ravel()
    user /= np.asarray(rated.sum(axis=1)).ravel() + DAMPING
    base: Floats = mean + user[:, None] + item
    return base


def sparse_linear(r: Matrix, k: int, l1: float, l2: float, rounds: int = 20) -> Floats:
    r"""SLIM (Ning and Karypis 2011), each item from its ``k`` nearest by cosine (its fsSLIM).

    :math:`\min_{w \ge 0} \frac12 |x_j - X w|^2 + \frac{l_2}2 |w|^2 + l_1 |w|_1` by coordinates, all
    items j at once: :math:`w_a = \max(0, G_{aj} - \sum_{b \ne a} G_{ab} w_b - l_1) / (G_{aa} +
    l_2)` with :math:`G = X^T X`.
    """
    x = (r > 0).astype(float).tocsr()
    gram, items = (x.T @ x).toarray(), r.shape[1]
    near = np.argsort(-row_cosines(x.T.tocsr()), axis=1)[:, :k]
    among = gram[near[:, :, None], near[:, None, :]]
    wanted, weight = np.take_along_axis(gram, near, axis=1), np.zeros(near.shape)
    for a in [*range(near.shape[1])] * rounds:
        others = np.einsum("jb,jb->j", among[:, a], weight) - among[:, a, a] * weight[:, a]
        weight[:, a] = np.maximum(wanted[:, a] - others - l1, 0) / (among[:, a, a] + l2)
    column = np.repeat(np.arange(items), near.shape[1])
    linear = sp.csr_matrix((weight.ravel(), (near.ravel(), column)), (items, items))
    scores: Floats = (x @ linear).toarray()
    return scores


def hitting_time(r: Matrix, steps: int) -> Floats:
    r"""Minus the mean number of steps from an item to the user on the graph of ratings.

    :math:`H(x) = 1 + \sum_y p_{xy} H(y)`, 0 at the user, iterated so often (Yin et al. 2012).
    """
    from_user, from_item = (
        sp.diags(1 / np.maximum(np.asarray(x.sum(axis=1)).ravel(), 1)) @ x for x in (r, r.T.tocsr())
    )
    users = np.zeros((r.shape[0], r.shape[0]), np.float32)  # nodes x users asked for
    from_user, from_item = from_user.astype(np.float32), from_item.astype(np.float32)
    for _ in range(steps):
        items = 1 + from_item @ users
        users = 1 + from_user @ items
        np.fill_diagonal(users, 0)
    known = np.asarray(r.sum(axis=0)).ravel() > 0
    return np.where(known, -(1 + from_item @ users).T, 0)


def rating_factors(r: Matrix, size: int, epochs: int) -> Floats:
    """Predicted stars by factors with biases (SVD, Takács et al. 2009)."""
    return fit_factors(r.toarray(), size, loss="stars", rate=0.005, epochs=epochs, l2=0.02)


def pair_factors(r: Matrix, size: int, rate: float) -> Floats:
    """Factors that put what is rated above the rest (BPRMF, Rendle et al. 2009)."""
    return fit_factors(r.toarray(), size, loss="bpr", rate=rate, epochs=60, l2=0.005)


def confident_factors(r: Matrix, size: int, rest: float) -> Floats:
    """Factors of rated or not, weighted (WRMF, Hu et al. 2008)."""
    return weighted_factors(r.toarray(), size, rest=rest, rounds=6)


def pure_svd(r: Matrix, size: int) -> Floats:
    """Singular value decomposition of the ratings, absent ones as 0 (Cremonesi et al. 2010)."""
    left, values, right = svds(r.astype(float), k=size, random_state=0)
    scores: Floats = (left * values) @ right
    return scores


def dirichlet_topics(r: Matrix, size: int) -> Floats:
    """Latent Dirichlet allocation: a user is a mixture of topics, a topic one of items."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(size, max_iter=10, random_state=0)
    mixture = model.fit_transform(r)
    scores: Floats = mixture @ (model.components_ / model.components_.sum(axis=1, keepdims=True))
    return scores


def likely_topics(r: Matrix, size: int, rounds: int = 40) -> Floats:
    r""":math:`p(i|u) = \sum_z p(z|u) p(i|z)` by EM (PLSA, Hofmann 2004).

    .. math:: p(z|u) \propto p(z|u) \sum_i \frac{r_{ui}}{p(i|u)} p(i|z), \qquad
              p(i|z) \propto p(i|z) \sum_u \frac{r_{ui}}{p(i|u)} p(z|u)
    """
    rng, (user, item) = np.random.default_rng(0), r.nonzero()
    p, q = (
        x / x.sum(axis=1, keepdims=True)
        for x in (rng.random((r.shape[0], size)) + 1, rng.random((size, r.shape[1])) + 1)
    )
    for _ in range(rounds):
        guess = np.einsum("nz,zn->n", p[user], q[:, item])
        ratio = sp.csr_matrix((np.asarray(r[user, item]).ravel() / guess, (user, item)), r.shape)
        p, q = p * (ratio @ q.T), q * (ratio.T @ p).T
        p, q = (x / np.maximum(x.sum(axis=1, keepdims=True), 1e-12) for x in (p, q))
    scores: Floats = p @ q
    return scores  # fmt: skip


def likely_items(r: Matrix, prior: float) -> Floats:
    r"""UIR-Item (Wang et al. 2006) with Bayes' smoothing; :math:`c` counts users, n of them.

    .. math:: \ln p(i) \prod_{j \in I_u} \frac{c_{ij} + \mu\, c_j / n}{c_i + \mu}, \qquad
              p(i) \propto c_i
    """
    x = (r > 0).astype(float).tocsr()
    both, count = (x.T @ x).toarray(), np.maximum(np.asarray(x.sum(axis=0)).ravel(), 1e-3)
    likely = np.log(both + prior * count[:, None] / x.shape[0]) - np.log(count + prior)
    return np.where(count >= 1, x @ likely + np.log(count), 0)


@dataclass(frozen=True)
class Family:
    """A recommender and the settings it is tried with; the first is taken where none is tried."""

    scores: Callable[..., Floats]
    settings: Sequence[Mapping[str, Any]] = ({},)


def _several(common: Mapping[str, Any], **tried: Sequence[Any]) -> list[dict[str, Any]]:
    """Settings that differ in one option."""
    ((name, values),) = tried.items()
    return [{**common, name: value} for value in values]


NEAR = (100, 50, 200)
FAMILIES: dict[str, Family] = {
    "Random": Family(at_random),
    "Popularity": Family(most_rated),
    **{
        form: Family(pseudo_feedback, _several({"form": form}, k=NEAR))
        for form in ("CHI2", "KLD", "RSV", "Rocchio")
    },
    "RM1": Family(relevance_model_1, _several({"k": 100}, smooth=(0.5, 0.1, 0.9))),
    "RM2": Family(relevance_model_2, _several({"k": 100}, smooth=(0.1, 0.5))),
    **{
        f"LM-WSR-{short}": Family(likely_neighbours, _several({"by": by, "smooth": 0.5}, k=NEAR))
        for short, by in (("UB", "user"), ("IB", "item"))
    },
    **{
        f"NNCosNgr-{short}": Family(cosine_neighbours, _several({"by": by, "shrink": 50.0}, k=NEAR))
        for short, by in (("UB", "user"), ("IB", "item"))
    },
    "SLIM": Family(sparse_linear, _several({"k": 50, "l1": 1.0}, l2=(50.0, 10.0, 200.0))),
    "HT": Family(hitting_time, _several({}, steps=(15, 5))),
    "SVD": Family(rating_factors, _several({"epochs": 20}, size=(20, 50))),
    "PureSVD": Family(pure_svd, _several({}, size=(20, 10, 50))),
    "BPRMF": Family(pair_factors, _several({"size": 30}, rate=(0.02, 0.01))),
    "WRMF": Family(confident_factors, _several({"size": 20}, rest=(0.1, 0.03))),
    "LDA": Family(dirichlet_topics, _several({}, size=(20, 50))),
    "PLSA": Family(likely_topics, _several({}, size=(20, 50))),
    "UIR-Item": Family(likely_items, _several({}, prior=(1000.0, 100.0, 10000.0))),
}
