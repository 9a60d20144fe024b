"""Valcarce et al. 2020: which measures tell recommenders apart, and whose order lasts.

Ratings are split at random into five folds. The 21 recommenders of the paper list 100 items for
every user of a fold: of all items with a test rating those that the user has not rated in the
other folds. All folds are judged together: a user counts once in each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from counterrank.api.assess_agreement import assess_agreement
from counterrank.api.assess_power import assess_power
from counterrank.api.assess_robustness import assess_robustness
from counterrank.api.evaluate import evaluate
from counterrank.assess.reduced_judgments import REDUCTIONS, SIZES
from counterrank.assess.request import NINE
from counterrank.core.arrays import Floats
from counterrank.stats.correlation import kendall_tau
from counterrank.studies.assessment_findings import (
    CUT,
    GEOMETRIC,
    ORIGINAL,
    Assessment,
    report_assessment,
)
from counterrank.studies.linear_models import Matrix, best_items
from counterrank.studies.recommenders import FAMILIES
from counterrank.studies.study import Context, Reproduction, Study

AT_HAND, STARS, FOLDS, GRADED = "movielens-100k", 4, 5, ("nDCG", "ERR")


def label_of(name: str) -> str:
    """The measure of a name: RR is RR(rel=4)@100, GRR its geometric mean."""
    plain = name.removeprefix("G")
    options = ["mean=geometric"] * (plain != name) + [f"rel={STARS}"] * (plain not in GRADED)
    return f"{plain}({','.join(options)})@{CUT}" if options else f"{plain}@{CUT}"


LABELS = {label_of(name): name for name in (*NINE, *GEOMETRIC)}


@dataclass(frozen=True)
class Fold:
    """What is learned from (users by items) and what is judged; both numbered from 0."""

    train: Matrix
    test: pl.DataFrame

    def lists(self, scores: Floats) -> dict[str, list[int]]:
        """Judged items of each test user's list, at their ranks.

        What is not judged takes a rank and is worth nothing in any measure, so it need not be kept.
        """
        single = scores.astype(np.float32)
        single[:, np.bincount(self.test["item"], minlength=scores.shape[1]) == 0] = 0
        users = self.test["user"].unique().sort().to_numpy()
        found = best_items(single, self.train, users, CUT)
        return found.join(self.test, on=["user", "item"], how="semi").to_dict(as_series=False)


def split_folds(ratings: pl.DataFrame, count: int, seed: int) -> Iterator[Fold]:
    """Every rating is in the test set of one fold, at random."""
    user, item = (ratings[c].rank("dense").to_numpy().astype(np.int64) - 1
                  for c in ("user", "item"))  # fmt: skip
    star = ratings["rating"].to_numpy().astype(float)
    fold = np.random.default_rng(seed).permutation(len(star)) % count
    for own in range(count):
        rest, held = fold != own, fold == own
        train = sp.csr_matrix(
            (star[rest], (user[rest], item[rest])), (user.max() + 1, item.max() + 1)
        )
        test = {"user": user[held], "item": item[held], "rating": star[held]}
        yield Fold(train, pl.DataFrame(test))  # fmt: skip


def choose_setting(fold: Fold, name: str, seed: int) -> int:
    """Which setting of a family has the highest nDCG on a tenth of what is learned from."""
    user, item = fold.train.nonzero()
    stars = np.asarray(fold.train[user, item]).ravel()
    inner = next(split_folds(pl.DataFrame({"user": user, "item": item, "rating": stars}), 10, seed))
    family = FAMILIES[name]
    values = []
    for setting in family.settings if len(family.settings) > 1 else ():
        run = pl.DataFrame(inner.lists(family.scores(inner.train, **setting)))
        found = evaluate(inner.test, {name: run}, measure=f"nDCG@{CUT}", test="none")
        values.append(found.estimates[0].value)
    return int(np.argmax(values)) if values else 0


def pooled_tables(
    context: Context, folds: Sequence[Fold]
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame], dict[str, Mapping[str, Any]]]:
    """Judgments and runs of all folds, each with a column fold; and the settings chosen."""
    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in FAMILIES}
    chosen = {}
    for name in context.progress(list(FAMILIES), "recommenders"):
        place = 0 if context.quick else context.step(
            f"setting-{name}", partial(choose_setting, folds[0], name, context.seed))  # fmt: skip
        family = FAMILIES[name]
        chosen[name] = family.settings[place]
        for number, fold in enumerate(folds):
            work = lambda fold=fold, f=family, s=chosen[name]: fold.lists(f.scores(fold.train, **s))  # noqa: E731
            found = context.step(f"lists-{name}-{number}", work)
            parts[name].append(pl.DataFrame(found).with_columns(fold=number))
    judged = pl.concat(fold.test.with_columns(fold=n) for n, fold in enumerate(folds))
    return judged, {name: pl.concat(own) for name, own in parts.items()}, chosen


def find_power(judged: pl.DataFrame, runs: Mapping[str, Any], draws: int, seed: int) -> Any:
    """DP of every measure from pooled folds and from each user's mean over folds; p-values.

    ``twins`` is tau of both means' orders: with values below 0.00001 raised to it, and with those
    of 0 taken for 1, as the authors' evaluator does in F1 and RR.
    """
    asked: dict[str, Any] = {"draws": draws, "resamples": 200, "seed": seed}
    found = assess_power(judged, runs, measure=[label_of(name) for name in NINE], **asked)
    units = found.by_unit()
    user = pl.col("unit").cast(pl.String).str.split("/").list.last()
    means = units.group_by(user, "system", "measure").agg(pl.col("value").mean()).sort(pl.all())
    by_user = {row.measure: row.value for row in assess_power(means, **asked).tables["power"]}
    value = pl.col("value")
    columns = {"plain": value.mean(), "raised": value.clip(1e-5).log().mean(),
               "zeros": value.replace(0.0, 1.0).clip(1e-5).log().mean()}  # fmt: skip
    orders = units.group_by("measure", "system").agg(**columns).sort("system")
    twins = {}
    for name in NINE:
        plain, *both = (orders.filter(measure=label_of(name))[c].to_numpy() for c in columns)
        twins[name] = [float(kendall_tau(plain, other)) for other in both]
    rows = {LABELS[row.measure]: asdict(row) | {"by_user": by_user[row.measure]}
            for row in found.tables["power"]}  # fmt: skip
    curves = {LABELS[curve.measure]: curve.p for curve in found.tables["curves"]}
    return {"rows": rows, "curves": curves, "twins": twins, "says": found.recommendation}


def find_taus(judged: pl.DataFrame, runs: Mapping[str, Any], seed: int) -> Any:
    """Tau of every two measures' orders, of both means."""
    found = assess_agreement(judged, runs, measure=[label_of(name) for name in NINE], mean="both",
                             draws=100, resamples=20, seed=seed)  # fmt: skip
    return [[LABELS[t.measure], LABELS[t.other], t.kendall] for t in found.tables["taus"]]


def find_robustness(
    judged: pl.DataFrame, runs: Mapping[str, Any], kind: Any, samples: int, sizes: Any, seed: int
) -> Any:
    """Under one kind of loss: areas, tau by size, and values by size averaged over systems."""
    found = assess_robustness(judged, runs, rel=STARS, mean="both", reduction=kind, sizes=sizes,
                              samples=samples, threads=1, seed=seed)  # fmt: skip
    values: dict[str, list[list[float]]] = {}
    for row in found.tables["values"]:
        values.setdefault(LABELS[row.measure], []).append(row.value)
    return {
        "areas": {LABELS[r.measure]: [r.value, r.se] for r in found.estimates if r.segment == kind},
        "curves": [[LABELS[c.measure], c.size, c.kendall] for c in found.tables["curves"]],
        "values": {name: np.mean(own, axis=0).tolist() for name, own in values.items()},
    }


def metric_assessment(context: Context) -> Reproduction:
    """Tables 2 and 3 and all figures, on MovieLens-1M if it has stars, otherwise on -100K."""
    sets, seed, quick = (
        {name: context.data(name) for name in (ORIGINAL, AT_HAND)}, context.seed, context.quick,
    )  # fmt: skip
    name = ORIGINAL if "rating" in sets[ORIGINAL].columns and not quick else AT_HAND
    folds = list(split_folds(sets[name], FOLDS, seed))[: 2 if quick else FOLDS]
    draws, samples, sizes = (500, 2, (1, 0.5, 0.1)) if quick else (100_000, 50, SIZES)
    judged, runs, chosen = pooled_tables(context, folds)
    power = context.step("power", partial(find_power, judged, runs, draws, seed))
    taus = context.step("taus", partial(find_taus, judged, runs, seed))
    losses = {
        kind: context.step(kind, partial(find_robustness, judged, runs, kind, samples, sizes, seed))
        for kind in context.progress(REDUCTIONS, "kinds of loss")
    }
    units = judged.select("user", "fold").n_unique()
    found = Assessment(
        name, chosen, power, {(a, b): t for x, y, t in taus for a, b in ((x, y), (y, x))}, losses,
        sum(map(len, runs.values())) / (len(runs) * units * CUT), sets[name]["user"].n_unique(),
    )  # fmt: skip
    protocol = (
        f"{units:,} users of {len(folds)} folds count; {samples} samples of each of {len(sizes)}"
        f" sizes; {draws:,} flips of each pair."
    )
    return report_assessment(found, sets, protocol)


STUDY = Study(
    "metric-assessment", "Which measures discriminate, and which are robust",
    "Valcarce et al. 2020: Assessing ranking metrics in top-N recommendation, Information"
    " Retrieval Journal 23, Tables 2 and 3, Figs. 1 to 14",
    (AT_HAND, ORIGINAL), 14, metric_assessment,
)  # fmt: skip
