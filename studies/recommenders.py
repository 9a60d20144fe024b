"""Recommenders of mixed families for studies: ratings in, a score for every user and item out.

The simple ones are a few lines of NumPy and SciPy; factorisations with a learning procedure come
from scikit-learn and implicit (``pip install 'counterrank[models]'``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import svds

Scores = npt.NDArray[np.floating]
Ratings = sp.csr_matrix  # users x items, as sparse as the training data
SEED = 0


def at_random(ratings: Ratings) -> Scores:
    """Any order is as likely as any other."""
    return np.random.default_rng(SEED).random(ratings.shape)


def popularity(ratings: Ratings) -> Scores:
    """Number of ratings of the item."""
    return np.tile(_binary(ratings).sum(axis=0).A1, (ratings.shape[0], 1))


def mean_rating(ratings: Ratings, damping: float) -> Scores:
    """Mean rating of the item, drawn towards that of all items."""
    number, total = _binary(ratings).sum(axis=0).A1, ratings.sum(axis=0).A1
    centre = total.sum() / number.sum()
    return np.tile((total + damping * centre) / (number + damping), (ratings.shape[0], 1))


def item_neighbours(ratings: Ratings, k: int, *, values: str, shrink: float = 0) -> Scores:
    """Sum of similarities to what the user has rated, over each item's k nearest."""
    x = _binary(ratings) if values == "binary" else ratings
    near = _nearest(_cosine(x.T.tocsr(), shrink), k)
    return (x @ near).toarray()


def user_neighbours(ratings: Ratings, k: int, *, values: str, shrink: float = 0) -> Scores:
    """What the k nearest users have rated, weighted by similarity."""
    x = _binary(ratings) if values == "binary" else ratings
    return (_nearest(_cosine(x, shrink), k).T @ x).toarray()


def ease(ratings: Ratings, l2: float) -> Scores:
    """Items predicted from all other items by ridge regression in closed form (Steck 2019)."""
    x = _binary(ratings)
    gram = (x.T @ x).toarray() + l2 * np.eye(x.shape[1])
    inverse = np.linalg.inv(gram)
    weight = -inverse / np.diag(inverse)
    np.fill_diagonal(weight, 0)
    return x @ weight


def pure_svd(ratings: Ratings, factors: int) -> Scores:
    """Truncated singular value decomposition of the ratings, absent ones as 0 (Cremonesi 2010)."""
    left, values, right = svds(ratings.astype(float), k=factors, random_state=SEED)
    return (left * values) @ right


def random_walk(ratings: Ratings, alpha: float, beta: float) -> Scores:
    """Three steps on the graph of users and items, popular ends held back (RP3beta)."""
    x = _binary(ratings)
    users = sp.diags(1 / np.maximum(x.sum(axis=1).A1, 1))
    degree = np.maximum(x.sum(axis=0).A1, 1)
    step = (users @ x).power(alpha)
    back = (sp.diags(1 / degree) @ x.T).power(alpha)
    return (step @ back @ step).toarray() / degree**beta


def nmf(ratings: Ratings, factors: int) -> Scores:
    """Factors without negative entries."""
    from sklearn.decomposition import NMF

    model = NMF(factors, init="nndsvd", max_iter=300, tol=1e-3, random_state=SEED)
    return model.fit_transform(ratings.astype(float)) @ model.components_


def topics(ratings: Ratings, factors: int) -> Scores:
    """Latent Dirichlet allocation: a user is a mixture of topics, a topic one of items."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(factors, max_iter=15, random_state=SEED)
    mixture = model.fit_transform(_binary(ratings))
    return mixture @ (model.components_ / model.components_.sum(axis=1, keepdims=True))


def factorised(ratings: Ratings, kind: str, factors: int, rounds: int) -> Scores:
    """ALS, BPR and logistic matrix factorisation of the library implicit."""
    from implicit.als import AlternatingLeastSquares
    from implicit.bpr import BayesianPersonalizedRanking
    from implicit.lmf import LogisticMatrixFactorization

    kinds = {
        "als": partial(AlternatingLeastSquares, regularization=0.1),
        "bpr": partial(BayesianPersonalizedRanking, learning_rate=0.05, regularization=0.01),
        "lmf": partial(LogisticMatrixFactorization, learning_rate=0.5, regularization=1.0),
    }
    # one thread: the updates of several would race, and a study should be the same every time
    model = kinds[kind](factors=factors, iterations=rounds, num_threads=1, random_state=SEED)
    model.fit(_binary(ratings).tocsr(), show_progress=False)
    return np.asarray(model.user_factors) @ np.asarray(model.item_factors).T


def weighted_neighbours(ratings: Ratings, kind: str, k: int) -> Scores:
    """Item neighbours on BM25 or TF-IDF weights, by the library implicit."""
    from implicit.nearest_neighbours import BM25Recommender, TFIDFRecommender

    model = {"bm25": BM25Recommender, "tfidf": TFIDFRecommender}[kind](K=k, num_threads=1)
    x = _binary(ratings)
    model.fit(x, show_progress=False)
    return (x @ model.similarity).toarray()


RECOMMENDERS: dict[str, Callable[[Ratings], Scores]] = {
    "random": at_random,
    "popularity": popularity,
    "mean-rating": partial(mean_rating, damping=25),
    "item-knn-10": partial(item_neighbours, k=10, values="binary"),
    "item-knn-100": partial(item_neighbours, k=100, values="binary"),
    "item-knn-100-ratings": partial(item_neighbours, k=100, values="ratings", shrink=20),
    "item-knn-bm25": partial(weighted_neighbours, kind="bm25", k=50),
    "item-knn-tfidf": partial(weighted_neighbours, kind="tfidf", k=50),
    "user-knn-10": partial(user_neighbours, k=10, values="binary"),
    "user-knn-50": partial(user_neighbours, k=50, values="binary"),
    "user-knn-50-ratings": partial(user_neighbours, k=50, values="ratings"),
    "user-knn-300": partial(user_neighbours, k=300, values="binary"),
    "ease-10": partial(ease, l2=10.0),
    "ease-100": partial(ease, l2=100.0),
    "ease-1000": partial(ease, l2=1000.0),
    "svd-5": partial(pure_svd, factors=5),
    "svd-20": partial(pure_svd, factors=20),
    "svd-60": partial(pure_svd, factors=60),
    "nmf-10": partial(nmf, factors=10),
    "nmf-30": partial(nmf, factors=30),
    "lda-20": partial(topics, factors=20),
    "walk": partial(random_walk, alpha=1.0, beta=0.0),
    "walk-rare": partial(random_walk, alpha=1.0, beta=0.6),
    "als-20": partial(factorised, kind="als", factors=20, rounds=15),
    "als-100": partial(factorised, kind="als", factors=100, rounds=15),
    "bpr-50": partial(factorised, kind="bpr", factors=50, rounds=100),
    "lmf-20": partial(factorised, kind="lmf", factors=20, rounds=30),
}


def _binary(ratings: Ratings) -> Ratings:
    """1 wherever there is a rating."""
    x = ratings.astype(float)
    x.data = np.ones_like(x.data)
    return x


def _cosine(x: Ratings, shrink: float) -> Scores:
    """Cosine of every pair of rows, and 0 with itself."""
    length = np.sqrt(x.multiply(x).sum(axis=1).A1)
    found = (x @ x.T).toarray() / (np.outer(length, length) + shrink + 1e-12)
    np.fill_diagonal(found, 0)
    return found


def _nearest(similarity: Scores, k: int) -> sp.csr_matrix:
    """Each column's k largest entries."""
    k = min(k, len(similarity) - 1)
    least = np.partition(similarity, -k, axis=0)[-k]
    return sp.csr_matrix(np.where(similarity >= least, similarity, 0))
