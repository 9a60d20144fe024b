"""Which evaluation orders recommenders as open-loop feedback does? Coat, as Markdown.

    python studies/simpson.py --coat ../shared/data/coat --seen kept

After Table 6 of Jadidinejad et al. (2021), with simple recommenders of our own. Closed loop: a
random 80/20 split of the self-selected ratings; open loop: the same recommenders trained on all of
them and judged by the ratings of random coats. Relevant is a rating of 4 or 5; propensities and
strata are those of the paper's code. Items a user rated in training stay in the lists, as published
(``kept``), or are taken out of lists and judgments (``removed``).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from rating_models import SETS

import counterrank as cr
from counterrank.core.arrays import Bools

MEASURES = ("nDCG@10", "nDCG@100", "nDCG")


def runs(
    train: pl.DataFrame, users: int, items: int, seen: str, models: str
) -> dict[str, pl.DataFrame]:
    """Every model's scores of all items, or of those that the user did not rate in training."""
    ratings = np.zeros((users, items))
    ratings[train["user"], train["item"]] = train["rating"]
    user, item = np.nonzero((ratings == 0) | (seen == "kept"))
    return {
        name: pl.DataFrame({"user": user, "item": item, "score": model(ratings)[user, item]})
        for name, model in SETS[models]()
    }


def split(ratings: pl.DataFrame, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """80 % to train, 20 % to test, without users and items that training does not know."""
    order = np.random.default_rng(seed).permutation(len(ratings))
    cut = int(0.8 * len(ratings))
    train, test = ratings[order[:cut]], ratings[order[cut:]]
    known: Bools = (
        test["user"].is_in(train["user"].implode()) & test["item"].is_in(train["item"].implode())
    ).to_numpy()
    return train, test.filter(known)


def liked(ratings: pl.DataFrame) -> pl.DataFrame:
    """Relevant or not."""
    return ratings.with_columns(rating=(pl.col("rating") >= 4).cast(pl.Int8))


def main() -> None:
    """Print taus, tests and paradoxes of each split."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coat", type=Path, default=Path("../shared/data/coat"))
    parser.add_argument("--seen", choices=("kept", "removed"), default="kept")
    parser.add_argument("--models", choices=tuple(SETS), default="closed")
    parser.add_argument("--splits", type=int, default=3)
    given = parser.parse_args()
    closed_loop = pl.read_parquet(given.coat / "train.parquet").select("user", "item", "rating")
    open_loop = pl.read_parquet(given.coat / "test.parquet").select("user", "item", "rating")
    users, items = (int(closed_loop[name].max()) + 1 for name in ("user", "item"))
    if given.seen == "removed":
        open_loop = open_loop.join(closed_loop, on=["user", "item"], how="anti")
    everything = runs(closed_loop, users, items, given.seen, given.models)
    print(f"{len(everything)} recommenders. Kendall's tau with the open loop (standard error).\n")
    lines, against, found = [], [], []
    for seed in range(given.splits):
        train, test = split(closed_loop, seed)
        closed = cr.strata(
            liked(test),
            runs(train, users, items, given.seen, given.models),
            open_loop=liked(open_loop),
            open_run=everything,
            measure=MEASURES,
            propensity="published",
            cut="width",
            no_relevant="skip",
            feedback=closed_loop,
            test="none",
        )
        for label in MEASURES:
            rows = [row for row in closed.agreement if row.measure == label]
            if not lines:
                lines.append("| split | measure | " + " | ".join(r.estimator for r in rows) + " |")
                lines.append("|---|---|" + "---|" * len(rows))
                against.append(lines[0])
                against.append(lines[1])
            cells = [f"{r.kendall:.3f} ({r.se:.3f})" for r in rows]
            lines.append(f"| {seed + 1} | {label} | " + " | ".join(cells) + " |")
            cells = [f"{r.p:.3f}, {r.t_one_sided:.3f}" for r in rows]
            against.append(f"| {seed + 1} | {label} | " + " | ".join(cells) + " |")
        head = closed.strata[-1]
        found.append(
            f"Split {seed + 1}: {head.name} holds {head.items} items and {head.share:.1%} of the"
            f" feedback; {closed.audit.tested:,} pairs and measures, {len(closed.paradoxes)} proven"
            f" paradoxes, {closed.audit.unproven:,} more flip in the estimates."
        )
        found += [f"- {p.sentence}" for p in closed.paradoxes[:3]]
    print("\n".join(lines))
    print("\nAgainst holdout: two-sided p over users; one-sided p of the published test.\n")
    print("\n".join(against))
    print()
    print("\n".join(found))


if __name__ == "__main__":
    main()
