"""Clicks and conversions on Coat: how far naive, IPS and DR estimates are off, as Markdown.

    python studies/conversions_coat.py --data ../shared/data/coat

A rated coat counts as clicked, four stars and more as a conversion; ratings of coats drawn at
random are the truth. Settings follow Saito (RecSys 2020) and the authors' code: users with at least
2 conversions in the self-selected ratings and 1 to 9 in the random ones; 70 % of all pairs train
the recommenders, the clicks among the other 30 % are what the estimators see. Unlike there, the
recommenders are plain ones of our own, whose scores are those of the right users and items, and
the models of clicks and conversions predict out of fold.

In each cell: relative root mean squared error over the recommenders, its standard error over seeds,
the mean relative error, and Kendall's tau between estimates and truth. Published measures are
shares of a user's total, cut to 0 to 1.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import kendalltau

import counterrank as cr

CUTS = (5, 10, 50)
ESTIMATORS = ("Naive", "IPS", "DM", "DR")
BETTER = "error of DR less that of IPS"
TRUTH = "relative standard error of the truth over users"
FORMS = {"Published": ("DCG", "Recall"), "": ("DCG", "Hits")}
MEASURES = tuple(
    f"{form}{name}@{k}" for form, names in FORMS.items() for name in names for k in CUTS
)


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
    bought, liked = tables[1].sum(axis=1), tables[3].sum(axis=1)
    kept = (bought >= 2) & (liked >= 1) & (liked <= 9)
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


def table(click: np.ndarray, bought: np.ndarray) -> pl.DataFrame:
    """Clicked pairs as a table."""
    u, i = np.nonzero(click)
    y = bought[u, i].astype(np.int64)
    return pl.DataFrame({"user": u, "item": i, "click": np.ones(len(u), np.int64), "conversion": y})


def ranking(score: np.ndarray, seed: int) -> pl.DataFrame:
    """Every user's order of all items; equal scores by chance."""
    noise = np.random.default_rng(seed).random(score.shape)
    order = np.lexsort((noise, -score), axis=1)
    users, items = score.shape
    rank = np.tile(np.arange(1, items + 1), users)
    return pl.DataFrame(
        {"user": np.repeat(np.arange(users), items), "item": order.ravel(), "rank": rank}
    )


def valued(
    seen: pl.DataFrame,
    runs: dict[str, pl.DataFrame],
    labels: tuple[str, ...],
    *,
    ctr: str = "column",
    cvr: str = "column",
    seed: int = 0,
) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Value and standard error of every recommender: by measure, estimator and recommender."""
    result = cr.funnel(
        seen, runs, measure=MEASURES, estimator=labels, users="all", test="none",
        ctr=ctr, cvr=cvr, seed=seed,
    )  # fmt: skip
    return {(x.measure, x.estimator, x.system): (x.value, x.se) for x in result.estimates}


def errors(
    coat: Coat, seed: int, *, ctr: str, cvr: str
) -> dict[tuple[str, str], tuple[float, float, float]]:
    """By measure and estimator: relative root mean squared error, mean, and tau with the truth."""
    train = np.random.default_rng(seed).random(coat.click.shape) < 0.7
    scores = recommenders(coat.bought & train, coat.click & train, seed)
    runs = {name: ranking(score, seed) for name, score in scores.items()}
    true = valued(table(coat.shown, coat.liked), runs, ("Naive",))
    seen = table(coat.click & ~train, coat.bought)
    found = valued(seen, runs, ESTIMATORS, ctr=ctr, cvr=cvr, seed=seed)
    out = {}
    for measure in MEASURES:
        # Shares need no scale. Otherwise 16 random coats of 300 stand for all, and the clicks that
        # were seen for all clicks.
        share = "Published" in measure
        truth, se = np.array([true[measure, "Naive", run] for run in runs]).T
        out[measure, TRUTH] = float(np.mean(se / truth)), 0.0, 0.0
        for name in ESTIMATORS:
            grown = 1 / 0.3 if name == "Naive" and not share else 1.0
            value = grown * np.array([found[measure, name, run][0] for run in runs])
            off = value / (truth * (1 if share else 300 / 16)) - 1
            tau = float(kendalltau(value, truth).statistic)
            out[measure, name] = float(np.sqrt(np.mean(off**2))), float(off.mean()), tau
        out[measure, BETTER] = out[measure, "DR"][0] - out[measure, "IPS"][0], 0.0, 0.0
    return out


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
    for form, names in FORMS.items():
        labels = [f"{form}{name}@{k}" for name in names for k in CUTS]
        print("| | " + " | ".join(labels) + " |")
        print("|---|" + "---|" * len(labels))
        for name in (*ESTIMATORS, BETTER, TRUTH):
            cells = []
            for label in labels:
                x = np.array([run[label, name] for run in runs])
                error = x[:, 0].std() / np.sqrt(len(x))
                cell = f"{x[:, 0].mean():.3f} ({error:.3f})"
                if name in ESTIMATORS:
                    cell += f", {x[:, 1].mean():+.2f}, {x[:, 2].mean():+.2f}"
                cells.append(cell)
            print(f"| {name} | " + " | ".join(cells) + " |")
        print()


if __name__ == "__main__":
    main()
