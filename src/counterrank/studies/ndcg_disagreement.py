"""How often DCG and nDCG order recommenders differently (Jeunen et al. 2024, appendix, Fig. 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr

from counterrank.api.assess_agreement import assess_agreement
from counterrank.api.evaluate import evaluate
from counterrank.core.arrays import Floats
from counterrank.report.charts import Figure, scatter
from counterrank.stats.inference import holm
from counterrank.studies.linear_models import Ease, Kunn, Places, best_items, interaction_matrix
from counterrank.studies.study import (
    Cell,
    Claim,
    ComparedTable,
    Context,
    Difference,
    Reproduction,
    Study,
    holds,
)

CUT = 100
LABELS = (f"DCG@{CUT}", f"nDCG@{CUT}")
PENALTIES, NEIGHBOURS = range(500, 1601, 10), range(70, 111, 5)  # of EASE (l2), of KUNN (Ku, Ki)
SMALLER = range(50, 601, 5)  # penalties that suit the smaller data set
PEARSON, KENDALL, INVERTED = 0.6325, 0.4973, 0.2514  # as printed by the authors' code
STARS, FEWEST, ALIKE = 4, 5, 5  # of a rating, users of an item; held-out items if all have as many
TITLE = "DCG and nDCG of 192 recommenders"


@dataclass(frozen=True)
class Halves:
    """Interactions split in half for each user: what is learned from, and what is held out."""

    shape: tuple[int, int]
    train: tuple[Places, Places]
    test: pl.DataFrame

    @classmethod
    def of(cls, ratings: pl.DataFrame) -> Halves:
        """As RecPack does it: ratings of 4 or more, items of 5 users; each user's are shuffled.

        Users are numbered as they first occur, and the generator is seeded by the number.
        """
        if "rating" in ratings.columns:
            ratings = ratings.filter(pl.col("rating") >= STARS)
        ratings = ratings.filter(pl.col("user").n_unique().over("item") >= FEWEST)
        user, item = (
            ratings[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in ("user", "item")
        )
        first = np.unique(user, return_index=True)[1]
        user = np.argsort(np.argsort(first))[user]
        learned = np.zeros(len(user), bool)
        rows = np.argsort(user, kind="stable")
        for number, own in enumerate(np.split(rows, np.cumsum(np.bincount(user))[:-1])):
            np.random.RandomState(number).shuffle(own)
            learned[own[: -(-len(own) // 2)]] = True
        test = pl.DataFrame({"user": user[~learned], "item": item[~learned], "rating": 1})
        shape = int(user.max()) + 1, int(item.max()) + 1
        return cls(shape, (user[learned], item[learned]), test)


def models(halves: Halves, penalties: Sequence[int], near: Sequence[int]) -> Iterator[Any]:
    """Names and what gives each model's scores."""
    x = interaction_matrix(*halves.train, halves.shape)
    ease, kunn = Ease(x), Kunn(x)
    for l2 in penalties:
        yield f"EASE({l2})", partial(ease.scores, l2)
    items = {k: kunn.item_part(k) for k in near}
    for ku in near:
        users = kunn.user_part(ku)
        for ki in near:
            yield f"KUNN({ku},{ki})", partial(np.add, users, items[ki])


def values_of(
    context: Context, name: str, halves: Halves, penalties: Sequence[int], near: Sequence[int]
) -> dict[str, Floats]:
    """Of every model DCG and nDCG of each user (measures x users)."""
    x = interaction_matrix(*halves.train, halves.shape)
    users = halves.test["user"].unique().sort().to_numpy()

    def work(scores: Any) -> list[list[float]]:
        run = best_items(scores(), x, users, CUT)
        units = evaluate(halves.test, {"model": run}, measure=LABELS, test="none").by_unit()
        found = (units.filter(measure=label).sort("unit")["value"] for label in LABELS)
        return [value.round(7).to_list() for value in found]

    number = len(penalties) + len(near) ** 2
    steps = zip(context.progress(range(number), name), models(halves, penalties, near), strict=True)
    return {
        model: np.array(context.step(f"{name}-{model}", partial(work, scores)))
        for _, (model, scores) in steps
    }


def dcg_agreement(values: dict[str, Floats], draws: int, seed: int) -> Any:
    """Pearson, Kendall and inversions of DCG and nDCG, with an interval over users."""
    stacked = np.stack(list(values.values()))  # models x measures x users
    count, _, users = stacked.shape
    table = pl.DataFrame(
        {
            "unit": np.tile(np.arange(users), 2 * count),
            "system": np.repeat(list(values), 2 * users),
            "measure": np.tile(np.repeat(LABELS, users), count),
            "value": stacked.ravel(),
        }
    )
    found = assess_agreement(table, measure=LABELS, draws=draws, resamples=200, seed=seed)
    return found.tables["agreement"][0]


def sure_pairs(values: dict[str, Floats], level: float = 0.05) -> dict[str, float]:
    r"""Pairs that DCG and nDCG order differently, and those of them that are sure.

    Of each pair and measure the paired differences of users give :math:`z = \bar d / se`; Holm's
    correction is over all pairs and both measures. Sure is what both call, in opposite directions.
    """
    stacked = np.stack(list(values.values()), axis=1)  # measures x models x users
    left, right = np.array(list(combinations(range(stacked.shape[1]), 2))).T
    users, signs, tails = stacked.shape[2], [], []
    for own in stacked:
        mean, spread = own.mean(axis=1), np.cov(own)
        gap = mean[left] - mean[right]
        variance = spread[left, left] + spread[right, right] - 2 * spread[left, right]
        signs.append(np.sign(gap))
        tails.append(2 * ndtr(-np.abs(gap) / np.sqrt(np.maximum(variance, 1e-300) / users)))
    alone, corrected = np.array(tails), holm(np.concatenate(tails)).reshape(2, -1)
    turned = signs[0] * signs[1] < 0
    family = np.array([name.partition("(")[0] for name in values])
    across = family[left] != family[right]
    return {
        "pairs": len(left),
        "across families": int(across.sum()),
        "inverted": int(turned.sum()),
        "inverted across families": int((turned & across).sum()),
        "both sure": int((turned & (alone <= level).all(axis=0)).sum()),
        "both sure, corrected": int((turned & (corrected <= level).all(axis=0)).sum()),
    }


def as_many_each(halves: Halves, seed: int) -> Halves:
    """The same with equally many held-out items of each user, others left out."""
    test = halves.test.sample(fraction=1, shuffle=True, seed=seed)
    test = test.filter(pl.len().over("user") >= ALIKE).group_by("user").head(ALIKE)
    return Halves(halves.shape, halves.train, test.select("user", "item", "rating"))


def ndcg_disagreement(context: Context) -> Reproduction:
    """The paper's grid on each data set, a grid that suits the smaller one, and what explains."""
    step, near = (10, NEIGHBOURS[::4]) if context.quick else (1, NEIGHBOURS)
    paper, smaller = PENALTIES[::step], SMALLER[::step]
    names = ["movielens-100k"] if context.quick else ["movielens-100k", "movielens-1m"]
    halves = {name: Halves.of(context.data(name)) for name in names}
    runs = [(name, f"{name}, the paper's grid", halves[name], paper) for name in names]
    runs.append((names[0], f"{names[0]}, l2 from 50", halves[names[0]], smaller))
    alike = as_many_each(halves[names[0]], context.seed)
    runs.append((names[0], f"{names[0]}, {ALIKE} held out of each user", alike, smaller))
    rows, sure, points, inverted = [], [], [], {}
    for place, (name, title, own, penalties) in enumerate(runs):
        values = values_of(context, f"{place}-{name}", own, penalties, near)
        row, counts = dcg_agreement(values, 100, context.seed), sure_pairs(values)
        printed = (PEARSON, KENDALL, INVERTED) if title.endswith("the paper's grid") else [None] * 3
        inverted[title] = row.value
        rows.append((title, len(values), own.test["user"].n_unique(),
                     Cell(printed[0], row.pearson), Cell(printed[1], row.kendall),
                     Cell(printed[2], row.value, row.se)))  # fmt: skip
        sure.append((title, *counts.values()))
        points += [{"data": title, "model": model, "DCG": x[0].mean(), "nDCG": x[1].mean(),
                    "family": model.partition("(")[0]}
                   for model, x in values.items()]  # fmt: skip
    return _told(rows, sure, points, inverted, context.data(names[-1]))


def _told(
    rows: list[Any], sure: list[Any], points: list[Any], inverted: dict[str, float], last: Any
) -> Reproduction:
    """The findings in words."""
    original = "movielens-1m" in rows[-3][0] and "rating" in last.columns
    survive = sum(row[-1] for row in sure[:-1])
    pairs, between, turned, across = (sum(row[k] for row in sure[:-1]) for k in range(1, 5))
    equal = rows[-1][5].ours
    grid, fitted = inverted[rows[0][0]], inverted[rows[-2][0]]
    share = rows[-3][5].ours if original else None
    return Reproduction(
        tables=[
            ComparedTable(
                "Agreement of DCG@100 and nDCG@100", ("data", "models", "users", "Pearson",
                "Kendall", "inverted pairs"), rows,
                "Users are those with a held-out item; ± is the standard error over resampled"
                " users. The paper's numbers are of MovieLens-1M with its stars.",
            ),
            ComparedTable(
                "Inversions that are sure", ("data", "pairs", "between EASE and KUNN", "inverted",
                "of these between EASE and KUNN", "both sure at 5 %", "both sure after Holm"), sure,
                "Sure: DCG and nDCG both call the difference, in opposite directions; paired over"
                " users. The paper has no tests.",
            ),
        ],
        claims=[
            Claim("DCG and nDCG order a quarter of all pairs differently.",
                  holds(abs(share - INVERTED) < 0.05) if share is not None
                  else "cannot be told here",
                  "The stars of MovieLens-1M are needed for the published set-up."
                  if share is None else "On the published set-up.", f"{INVERTED:.0%}",
                  f"{min(inverted.values()):.1%} to {max(inverted.values()):.1%} elsewhere"),
            Claim("DCG and nDCG can order recommenders differently on real data.",
                  holds(turned > 0), f"{turned:,} pairs on the data here.", "yes",
                  f"{turned:,} pairs"),
            Claim("The disagreement is between the families of models.",
                  holds(across * pairs > between * turned), f"{across:,} of {turned:,} inverted"
                  " pairs are one of EASE and one of KUNN; of all pairs"
                  f" {between / pairs:.0%} are.", "by Fig. 2", f"{across / max(turned, 1):.0%}"),
            Claim("With as many held-out items for every user nothing is inverted.",
                  holds(equal == 0), "An identity, which checks the set-up: nDCG"
                  " is then DCG over one number.", "0 %", f"{equal:.1%}"),
            Claim("The inversions would survive a test of both differences, corrected.",
                  holds(2 * survive > turned), "The paper does not test them.", "-",
                  f"{survive:,} of {turned:,}"),
        ],
        differences=[
            Difference("inverted pairs, MovieLens-100K", f"{INVERTED:.1%}", f"{grid:.1%}",
                       f"data and grid: with l2 from 50 to 600 on the same data it is {fitted:.1%};"
                       " with equally many held-out items it is 0"),
            *(Difference(f"{label}, {row[0]}", row[at].paper, row[at].ours,
                         "data and grid, as in the row above")
              for row in rows[:-2] for at, label in ((3, "Pearson"), (4, "Kendall"))),
        ],
        notes=["Neighbours of KUNN that are equally near are taken as the partial sort leaves them:"
               " that moves values in the fourth digit.",
               "Without stars (the layout of pairs) MovieLens-1M counts every rating as liked."],
        figures=[
            Figure(f"scatter{n}", f"{TITLE}: {title}",
                   "Fig. 2 of the paper: a point is a model; two points that rise against each"
                   " other are ordered differently.",
                   [point for point in points if point["data"] == title],
                   scatter("DCG", "nDCG", name="model", titles=LABELS, mark="family"))
            for n, title in enumerate(dict.fromkeys(point["data"] for point in points))
        ],
    )  # fmt: skip


STUDY = Study(
    "ndcg-disagreement",
    "How often DCG and nDCG disagree",
    "Jeunen et al. 2024: On (Normalised) Discounted Cumulative Gain as an Off-Policy Evaluation"
    " Metric for Top-n Recommendation, appendix, Fig. 2.",
    ("movielens-100k", "movielens-1m"),
    16,
    ndcg_disagreement,
)
