"""The closed loop of Jadidinejad et al. 2021: their 104 models, their splits, their relevance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats
from counterrank.studies.descent import fit_factors, weighted_factors
from counterrank.studies.neural_models import fit_neural

Model = Callable[[Floats], Floats]
Parts = Mapping[str, pl.DataFrame]


def named_models(sizes: Sequence[int]) -> Iterator[tuple[str, Model]]:
    """The paper's models as it sets them: 4 without a size, and 10 of each size."""
    yield "GA", lambda r: np.zeros_like(r)
    yield "MPOP", lambda r: np.tile((r > 0).sum(axis=0).astype(float), (len(r), 1))
    yield "BO", partial(fit_factors, size=1, loss="stars", rate=0.01, epochs=20, l2=0.02)
    yield "MLP", partial(fit_neural, kind="mlp")
    kinds: dict[str, dict[str, Any]] = {
        "MF": {"loss": "stars", "epochs": 20, "l2": 0.02, "bias": False},
        "SVD": {"loss": "stars", "epochs": 20, "l2": 0.02},
        "PMF-linear": {"loss": "linear", "l2": 0.001, "bias": False},
        "PMF-nonlinear": {"loss": "sigmoid", "l2": 0.001, "bias": False},
        "MMMF": {"loss": "hinge"},
        "BPR": {"loss": "bpr"},
        "WBPR": {"loss": "popular"},
    }
    for size in sizes:
        yield f"WMF-{size}", partial(weighted_factors, size=size)
        for name, options in kinds.items():
            yield f"{name}-{size}", partial(fit_factors, size=size, **options)
        for name in ("GMF", "NeuMF"):
            yield f"{name}-{size}", partial(fit_neural, size=size, kind=name.lower())


def numbered(parts: Parts) -> dict[str, pl.DataFrame]:
    """user, item, rating of every part, users and items numbered from 0 in the order of ids."""
    ids = {
        c: pl.concat([part[c].cast(pl.Int64) for part in parts.values()]).unique().sort()
        for c in ("user", "item")
    }
    return {
        name: pl.DataFrame({**{c: own.search_sorted(part[c].cast(pl.Int64)).cast(pl.Int64)
                               for c, own in ids.items()}, "rating": part["rating"]})
        for name, part in parts.items()
    }  # fmt: skip


def split_ratings(ratings: pl.DataFrame, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """80 % to train, 20 % to test, without users and items that training does not know."""
    order = np.random.default_rng(seed).permutation(len(ratings))
    cut = int(0.8 * len(ratings))
    train, test = ratings[order[:cut]], ratings[order[cut:]]
    return train, test.join(train.select("user").unique(), on="user", how="semi").join(
        train.select("item").unique(), on="item", how="semi"
    )


def liked(ratings: pl.DataFrame) -> pl.DataFrame:
    """Relevant (four stars and more) or not."""
    return ratings.select("user", "item", rating=(pl.col("rating") >= 4).cast(pl.Int8))


def score_tables(
    train: pl.DataFrame, shape: tuple[int, int], chosen: Iterable[tuple[str, Model]]
) -> dict[str, pl.DataFrame]:
    """Every model's scores of all items."""
    ratings = np.zeros(shape)
    ratings[train["user"], train["item"]] = train["rating"]
    user, item = np.divmod(np.arange(ratings.size, dtype=np.int32), np.int32(shape[1]))
    return {name: pl.DataFrame({"user": user, "item": item, "score": model(ratings).ravel()})
            for name, model in chosen}  # fmt: skip


def shape_of(ratings: pl.DataFrame) -> tuple[int, int]:
    """Users and items, numbered from 0."""
    return tuple(int(ratings[c].max()) + 1 for c in ("user", "item"))  # type: ignore
