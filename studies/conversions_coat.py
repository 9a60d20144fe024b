"""Clicks and conversions on Coat: how far naive, IPS and DR estimates are off, as Markdown.

    python studies/conversions_coat.py --data ../shared/data/coat

A rated coat counts as clicked, four stars and more as a conversion; ratings of coats drawn at random
are the truth. Settings follow Saito (RecSys 2020) and the authors' code: users with at least 2
conversions in the self-selected ratings and 1 to 9 in the random ones; 70 % of all pairs train the
recommenders, the clicks among the other 30 % are what the estimators see. Unlike there, the
recommenders are plain ones of our own, whose scores are those of the right users and items.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from counterrank.propensity import fitted, training

CUTS = (5, 10, 50)
ESTIMATORS = ("naive", "IPS", "DR")


@dataclass(frozen=True)
class Coat:
    """Users x items: clicked and converted in the self-selected and in the random ratings."""

    click: np.ndarray
    bought: np.ndarray
    shown: np.ndarray
    liked: np.ndarray


def read(folder: Path) -> Coat:
    """The ratings as tables of users and items, of the users kept."""
    tables = []
    for part in ("train", "test"):
        frame = pl.read_parquet(folder / f"{part}.parquet")
        stars = np.zeros((290, 300))
        stars[frame["user"].to_numpy(), frame["item"].to_numpy()] = frame["rating"].to_numpy()
        tables += [stars > 0, stars >= 4]
    click, bought, shown, liked = tables
    few = liked.sum(axis=1)
    kept = (bought.sum(axis=1) >= 2) & (few >= 1) & (few <= 9)
    return Coat(*(x[kept] for x in tables))


def recommenders(bought: np.ndarray, clicked: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Scores of all pairs by plain models, trained on conversions or on clicks."""
    from sklearn.decomposition import NMF

    found = {}
    for name, x in (("bought", bought.astype(float)), ("clicked", clicked.astype(float))):
        found[f"popular {name}"] = np.tile(x.sum(axis=0), (len(x), 1))
        left, values, right = np.linalg.svd(x, full_matrices=False)
        for size in (2, 5, 10, 20):
            found[f"SVD {name} {size}"] = (left[:, :size] * values[:size]) @ right[:size]
        for l2 in (5.0, 20.0, 100.0):
            inverse = np.linalg.inv(x.T @ x + l2 * np.eye(x.shape[1]))
            weights = -inverse / np.diag(inverse)
            np.fill_diagonal(weights, 0)
            found[f"EASE {name} {l2:g}"] = x @ weights
        length = np.maximum(np.linalg.norm(x, axis=0), 1e-9)
        alike = (x.T @ x) / np.outer(length, length)
        np.fill_diagonal(alike, 0)
        found[f"item kNN {name}"] = x @ alike
        length = np.maximum(np.linalg.norm(x, axis=1), 1e-9)
        alike = (x @ x.T) / np.outer(length, length)
        np.fill_diagonal(alike, 0)
        found[f"user kNN {name}"] = alike @ x
        for size in (3, 8):
            nmf = NMF(size, init="random", random_state=seed, max_iter=2000, tol=1e-3)
            found[f"NMF {name} {size}"] = nmf.fit_transform(x) @ nmf.components_
    return found


def ranked(score: np.ndarray, seed: int) -> np.ndarray:
    """Items in order for every user; equal scores by chance."""
    noise = np.random.default_rng(seed).random(score.shape)
    return np.lexsort((noise, -score), axis=1)


def published(value: np.ndarray, order: np.ndarray) -> dict[str, float]:
    """Per user a share of the total, clipped to [0, 1]; DCG weighs 1, then 1 / log2 r."""
    v = np.take_along_axis(value, order, axis=1)
    total = v.sum(axis=1)
    rank = np.arange(1, v.shape[1] + 1)
    dcg = 1 / np.maximum(np.log2(rank), 1.0)
    out = {}
    for name, c in (("DCG", dcg), ("Recall", np.ones(len(rank)))):
        for k in CUTS:
            share = (v * c * (rank <= k)).sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(total == 0, 0.0, np.clip(share / total, 0, 1))
            out[f"{name}@{k}"] = float(share.mean())
    return out


def defined(value: np.ndarray, order: np.ndarray) -> dict[str, float]:
    """The slides' definition: mean over users of value times 1 / log2(1 + r), or times 1."""
    v = np.take_along_axis(value, order, axis=1)
    rank = np.arange(1, v.shape[1] + 1)
    out = {}
    for name, c in (("DCG", 1 / np.log2(1 + rank)), ("Recall", np.ones(len(rank)))):
        for k in CUTS:
            out[f"{name}@{k}"] = float((v * c * (rank <= k)).sum(axis=1).mean())
    return out


def values(coat: Coat, seen: np.ndarray, *, ctr: str, cvr: str, seed: int) -> dict[str, np.ndarray]:
    """The value of every pair under each estimator, from the clicks seen."""
    users, items = seen.shape
    u, i = np.nonzero(seen)
    y = coat.bought[u, i].astype(float)
    pairs = training(u, i, np.ones(len(u)), y, users=users, items=items)
    model = fitted(pairs, ctr=ctr, cvr=cvr, seed=seed)
    user, item = np.divmod(np.arange(users * items), items)
    p = model.ctr(user, item).reshape(seen.shape)
    h = model.cvr(user, item).reshape(seen.shape)
    z = seen.astype(float)
    return {
        "naive": z * coat.bought,
        "IPS": z * coat.bought / p,
        "DR": h + z * (coat.bought - h) / p,
    }


def errors(coat: Coat, seed: int, *, ctr: str, cvr: str) -> dict[tuple[str, str, str], float]:
    """Relative root mean squared error over recommenders: by form, estimator and measure."""
    train = np.random.default_rng(seed).random(coat.click.shape) < 0.7
    estimates = values(coat, coat.click & ~train, ctr=ctr, cvr=cvr, seed=seed)
    # Random coats are 16 of 300; to speak of all pairs on one scale, the definition's truth weighs
    # them by 300 / 16 and its estimates by the share of clicks that were seen.
    truth = {"published": coat.liked.astype(float), "defined": coat.liked * (300 / 16)}
    scale = {"published": 1.0, "defined": 1 / 0.3}
    found: dict[tuple[str, str, str], list[float]] = {}
    lists = recommenders(coat.bought & train, coat.click & train, seed)
    for score in lists.values():
        order = ranked(score, seed)
        for form, measure in (("published", published), ("defined", defined)):
            true = measure(truth[form], order)
            for name, value in estimates.items():
                grown = value * scale[form] if name == "naive" else value
                for label, x in measure(grown, order).items():
                    off = x / true[label] - 1
                    found.setdefault((form, name, label), []).append(off)
    return {key: float(np.sqrt(np.mean(np.square(x)))) for key, x in found.items()}


def main() -> None:
    """Print a table per form."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/coat"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--ctr", default="factors")
    parser.add_argument("--cvr", default="factors(weight=ctr)")
    given = parser.parse_args()
    coat = read(given.data)
    print(f"{len(coat.click)} users, {int(coat.click.sum()):,} clicks; ", end="")
    print(f"ctr by {given.ctr}, cvr by {given.cvr}, {given.seeds} seeds.\n")
    runs = [errors(coat, seed, ctr=given.ctr, cvr=given.cvr) for seed in range(given.seeds)]
    labels = [f"{name}@{k}" for name in ("DCG", "Recall") for k in CUTS]
    for form in ("published", "defined"):
        print(f"| {form} | " + " | ".join(labels) + " |")
        print("|---|" + "---|" * len(labels))
        for name in ESTIMATORS:
            cells = []
            for label in labels:
                x = np.array([run[form, name, label] for run in runs])
                cells.append(f"{x.mean():.3f} ({x.std() / np.sqrt(len(x)):.3f})")
            print(f"| {name} | " + " | ".join(cells) + " |")
        print()


if __name__ == "__main__":
    main()
