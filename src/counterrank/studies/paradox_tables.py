"""Tables 1 to 5 of Jadidinejad et al. 2021: two treatments, then two models on each data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from counterrank.api.evaluate import evaluate
from counterrank.api.strata import strata
from counterrank.studies.closed_loop import (
    liked,
    named_models,
    numbered,
    score_tables,
    shape_of,
    split_ratings,
)
from counterrank.studies.study import SURE, Cell, Claim, ComparedTable, Context, State, spread

METHODS = {
    "Holdout": ("holdout", None),
    "IPS": ("IPS-published", None),
    "Stratified": ("stratified", None),
    "Q1": ("holdout", "Q1"),
    "Q2": ("holdout", "Q2"),
}
OPEN = "Open loop"


@dataclass(frozen=True)
class PrintedPair:
    """Two models on one of several data sets: nDCG of both, ratings and items by method."""

    table: str
    sets: Sequence[str]
    models: tuple[str, str]
    rows: Mapping[str, tuple[str, str, str, str]]


PAIRS = (
    PrintedPair("Table 2", ("movielens-1m", "movielens-100k"), ("BPR-10", "WMF-10"), {
        "Holdout": ("0.373*", "0.369", "200,018", "3,449"),
        "IPS": ("0.207*", "0.204", "200,018", "3,449"),
        "Stratified": ("0.344", "0.351*", "200,018", "3,449"),
        "Q1": ("0.339", "0.350*", "197,600", "3,445"),
        "Q2": ("0.695*", "0.418", "2,418", "4"),
    }),
    PrintedPair("Table 3", ("netflix",), ("MMMF-100", "MF-50"), {
        "Holdout": ("0.269*", "0.263", "121,460", "3,962"),
        "IPS": ("0.246", "0.245", "121,460", "3,962"),
        "Stratified": ("0.239", "0.241*", "121,460", "3,962"),
        "Q1": ("0.236", "0.242*", "109,452", "3,944"),
        "Q2": ("0.271*", "0.229", "12,008", "18"),
    }),
    PrintedPair("Table 4", ("yahoo-r3",), ("BPR-40", "MF-40"), {
        "Holdout": ("0.270*", "0.266", "62,341", "1,000"),
        "IPS": ("0.238", "0.239", "62,341", "1,000"),
        "Stratified": ("0.249", "0.256*", "62,341", "1,000"),
        "Q1": ("0.218", "0.250*", "57,467", "995"),
        "Q2": ("0.622*", "0.330", "4,874", "5"),
        OPEN: ("0.169", "0.172*", "54,000", "1,000"),
    }),
    PrintedPair("Table 5", ("coat",), ("GMF-20", "SVD-20"), {
        "Holdout": ("0.245", "0.244", "1,392", "286"),
        "IPS": ("0.235", "0.237", "1,392", "286"),
        "Stratified": ("0.227", "0.230", "1,392", "286"),
        "Q1": ("0.199", "0.215*", "1,301", "281"),
        "Q2": ("0.612*", "0.434", "91", "5"),
        OPEN: ("0.248", "0.264*", "1,392", "286"),
    }),
)  # fmt: skip


def worked_tables() -> ComparedTable:
    """Table 1 by Eq. 4: kidney stones from counts and from rounded rates, models from Table 2."""
    cures = {"A": ((81, 87), (192, 263)), "B": ((234, 270), (55, 80))}
    sizes = [sum(own[q][1] for own in cures.values()) for q in (0, 1)]
    rows = []
    for name, own in cures.items():
        exact, rounded = (
            sum(n * rate(x / of) for n, (x, of) in zip(sizes, own, strict=True)) / sum(sizes)
            for rate in (float, lambda x: round(x, 2))
        )
        printed = {"A": "0.832", "B": "0.782"}[name]
        rows.append((f"1a, treatment {name}", Cell(printed, f"{rounded:.3f}"), f"{exact:.4f}"))
    shares = np.array([197_600, 2_418]) / 200_018
    for name, of_stratum, printed in (
        ("A", (0.339, 0.695), "0.344"),
        ("B", (0.350, 0.418), "0.351"),
    ):
        rows.append((f"1b, model {name}", Cell(printed, f"{shares @ of_stratum:.3f}"), "-"))
    return ComparedTable(
        "Table 1: expected outcomes by Eq. 4", ("what", "from rounded rates", "from counts"), rows,
        "The models of Table 1b are those of Table 2, whose stratified row is printed beside.",
    )  # fmt: skip


def pair_values(parts: Mapping[str, pl.DataFrame], pair: PrintedPair, seed: int) -> Any:
    """By method: nDCG of both models, p of their difference (paired t), ratings and items."""
    parts = numbered(parts)
    closed, shape = parts["train"], shape_of(pl.concat(parts.values()))
    sizes = sorted({int(name.split("-")[1]) for name in pair.models})
    chosen = [own for own in named_models(sizes) if own[0] in pair.models]
    train, test = split_ratings(closed, seed)
    asked: dict[str, Any] = {
        "measure": "nDCG", "no_relevant": "skip", "baseline": pair.models[1], "correct": "none",
    }  # fmt: skip
    found = strata(liked(test), score_tables(train, shape, chosen), feedback=closed,
                   propensity="published", cut="width", **asked)  # fmt: skip
    sizes_of = {s.name: (s.ratings, s.items) for s in found.strata}
    whole = (len(test), test["item"].n_unique())
    rows = {name: [*_both(found, pair, *key), *sizes_of.get(name, whole)]
            for name, key in METHODS.items()}  # fmt: skip
    if "test" in parts:
        random = evaluate(liked(parts["test"]), score_tables(closed, shape, chosen), **asked)
        counts = len(parts["test"]), parts["test"]["item"].n_unique()
        rows[OPEN] = [*_both(random, pair, "", None), *counts]
    return rows


def _both(found: Any, pair: PrintedPair, estimator: str, stratum: str | None) -> list[float]:
    """Values of both models under one method, and the p of their difference."""

    def mine(row: Any) -> bool:
        return (row.estimator in (estimator, None) or not estimator) and row.segment == stratum

    value = {row.system: row.value for row in found.estimates if mine(row)}
    (p,) = (row.p for row in found.comparisons if mine(row))
    return [value[pair.models[0]], value[pair.models[1]], p]


def at_hand(context: Context, pair: PrintedPair) -> tuple[str, dict[str, pl.DataFrame]] | None:
    """The first of its data sets that is there, with stars: its name and its parts."""
    for name in pair.sets:
        if context.has(name):
            data = context.data(name)
            parts = data if isinstance(data, dict) else {"train": data}
            if "rating" in parts["train"].columns:
                return name, {p: parts[p] for p in ("train", "test") if p in parts}
    return None


def pair_tables(context: Context, splits: int) -> tuple[list[ComparedTable], list[Claim]]:
    """Tables 2 to 5 as far as data are at hand, and whether each instance of the paradox is one."""
    tables, claims = [], []
    for pair in PAIRS:
        if (there := at_hand(context, pair)) is None:
            continue
        name, parts = there
        seeds = context.progress(range(context.seed, context.seed + splits), f"{pair.table}")
        each = [
            context.step(f"{pair.table}-{name}-{seed}", partial(pair_values, parts, pair, seed))
            for seed in seeds
        ]
        found = {method: np.array([one[method] for one in each], float) for method in each[0]}
        tables.append(_pair_table(name, pair, found, splits))
        claims.append(_pair_claim(name, pair, found))
    return tables, claims


def _pair_table(name: str, pair: PrintedPair, found: Mapping[str, Any], splits: int) -> Any:
    rows = []
    for method, own in found.items():
        printed = pair.rows.get(method, ("-",) * 4)
        rows.append((method, *(Cell(printed[k], *spread(own[:, k])) for k in (0, 1)),
                     float(np.median(own[:, 2])),
                     *(Cell(printed[k - 1], f"{own[:, k].mean():,.0f}")
                       for k in (3, 4))))  # fmt: skip
    other = "" if name == pair.sets[0] else f" The paper's numbers are of {pair.sets[0]}."
    return ComparedTable(
        f"{pair.table}: nDCG of {' and '.join(pair.models)}, {name}",
        ("method", *pair.models, "p", "ratings", "items"), rows,
        f"Mean of {splits} splits ± standard error over them; p of the difference, paired over"
        f" users, is the median of the splits. * is the paper's 5 %.{other}",
    )  # fmt: skip


def _pair_claim(name: str, pair: PrintedPair, found: Mapping[str, Any]) -> Claim:
    """The paradox: the first is ahead by holdout, the second in Q1 and by the stratified score.

    It holds if what the paper prints as significant (*) is so here.
    """
    toward = {"Holdout": 1, "Q1": -1, "Stratified": -1}
    gaps = {m: sign * np.mean(found[m][:, 0] - found[m][:, 1]) for m, sign in toward.items()}
    sure = {m: float(np.median(found[m][:, 2])) < SURE for m in toward}
    starred = [m for m in toward if "*" in "".join(pair.rows[m][:2])]
    state: State = "cannot be told here"
    if min(gaps.values()) > 0 and all(sure[m] for m in starred):
        state = "holds"
    if any(gaps[m] <= 0 and sure[m] for m in toward):
        state = "does not hold"
    told = ", ".join(f"{m} {np.mean(found[m][:, 0]):.3f} and {np.mean(found[m][:, 1]):.3f}"
                     + " (sure)" * sure[m] for m in toward)  # fmt: skip
    first, second = pair.models
    return Claim(
        f"{first} is ahead of {second} by holdout, behind in Q1 and stratified"
        f" ({pair.table}, {name}).", state, f"{first} and {second}: {told}.",
        ", ".join(" and ".join(pair.rows[m][:2]) for m in toward),
        ", ".join(" and ".join(f"{x:.3f}" for x in found[m].mean(axis=0)[:2]) for m in toward),
    )  # fmt: skip
