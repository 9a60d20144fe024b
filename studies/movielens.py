"""MovieLens-100K in folds, and the lists of every recommender on each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp
from recommenders import RECOMMENDERS, Scores

CUT = 100
SEED = 2020


def folds(ratings: pl.DataFrame, number: int = 5) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Training and test ratings: every rating is in the test set of one fold, at random."""
    fold = np.random.default_rng(SEED).permutation(ratings.height) % number
    for own in range(number):
        yield ratings.filter(pl.Series(fold != own)), ratings.filter(pl.Series(fold == own))


def lists(train: pl.DataFrame, test: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each recommender's best items for each test user.

    Candidates are the items that anyone has rated in the test set, less those the user has rated
    in the training set.
    """
    users, items = int(train["user"].max()), int(max(train["item"].max(), test["item"].max()))
    rows, columns = train["user"].to_numpy() - 1, train["item"].to_numpy() - 1
    shape = (users, items)
    ratings = sp.csr_matrix((train["rating"].to_numpy().astype(float), (rows, columns)), shape)
    banned = np.ones(shape, bool)
    banned[:, test["item"].unique().to_numpy() - 1] = False
    banned[rows, columns] = True
    asked = test["user"].unique().sort().to_numpy() - 1
    for name, recommend in RECOMMENDERS.items():
        scores = np.where(banned, -np.inf, recommend(ratings))[asked]
        yield name, _best(scores, asked)


def _best(scores: Scores, users: np.ndarray) -> pl.DataFrame:
    """The first items of each row, by score and then by item."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :CUT]
    found = np.isfinite(np.take_along_axis(scores, order, axis=1))
    columns = {
        "user": np.broadcast_to(users[:, None] + 1, order.shape),
        "item": order + 1,
        "rank": np.broadcast_to(np.arange(1, CUT + 1), order.shape),
    }
    return pl.DataFrame({k: v[found].astype(np.int32) for k, v in columns.items()})


def write(data: Path, folder: Path) -> list[Path]:
    """Test ratings and runs of all folds as files; returns the folds' folders."""
    ratings = pl.read_parquet(data / "ratings.parquet")
    made = []
    for number, (train, test) in enumerate(folds(ratings), 1):
        where = folder / f"fold{number}"
        made.append(where)
        if (where / "done").exists():
            continue
        (where / "runs").mkdir(parents=True, exist_ok=True)
        test.select("user", "item", "rating").write_parquet(where / "judgments.parquet")
        for name, best in lists(train, test):
            best.write_parquet(where / "runs" / f"{name}.parquet")
        (where / "done").touch()
    return made
