"""Saito 2020, the semi-synthetic experiment: clicks and conversions of known chances on MovieLens.

Conversion rates come from a factorisation of the ratings, click rates from one of rated or not,
raised to a power. Clicks and conversions are drawn, so what recommenders would bring is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from counterrank.api.assess_accuracy import assess_accuracy
from counterrank.api.funnel import funnel
from counterrank.core.arrays import Floats, Ints
from counterrank.studies.descent import LOSSES, event_chances, rank_factors
from counterrank.studies.study import Claim, ComparedTable, Context, State, holds

NOISE = (0.0, 0.1, 0.3, 0.5, 1.0)  # half-width of what is added to the true conversion rate
POWERS = (0.5, 1.0)
CUT, HELD_OUT = 10, 0.3
BIASED = 4.0  # standard errors, of a dozen cases


def true_chances(ratings: pl.DataFrame, steps: int, seed: int) -> tuple[Floats, Floats]:
    r"""CTR and CVR of all pairs; :math:`cvr = 0.1 + 0.9 (2^{r - 1} - 1) / (2^4 - 1)`."""
    user, item = (ratings[c].to_numpy() - 1 for c in ("user", "item"))
    stars, shape = ratings["rating"].to_numpy().astype(float), (user.max() + 1, item.max() + 1)
    rated = np.zeros(shape)
    rated[user, item] = 1

    def of_rated(rng: np.random.Generator) -> tuple[Ints, Ints, Floats, Floats]:
        at = rng.integers(len(user), size=256)
        return user[at], item[at], stars[at], np.ones(256)

    def of_all(rng: np.random.Generator) -> tuple[Ints, Ints, Floats, Floats]:
        u, i = rng.integers(shape[0], size=256), rng.integers(shape[1], size=256)
        return u, i, rated[u, i], np.ones(256)

    r = np.clip(event_chances(of_rated, shape, steps=steps, seed=seed, link="identity"), 1, 5)
    ctr = event_chances(of_all, shape, steps=steps, seed=seed)
    return ctr, 0.1 + 0.9 * (2 ** (r - 1) - 1) / (2**4 - 1)


def one_draw(ctr: Floats, cvr: Floats, seed: int, epochs: int) -> list[dict[str, Any]]:
    """Rows of ``assess accuracy``: a recommender for each loss, every estimator, one repetition."""
    rng = np.random.default_rng(seed)
    click, bought = rng.random(ctr.shape) < ctr, rng.random(ctr.shape) < cvr
    train = rng.random(ctr.shape) >= HELD_OUT
    seen = np.nonzero(click & ~train)
    table = pl.DataFrame(
        {"user": seen[0], "item": seen[1], "click": 1, "conversion": bought[seen].astype(int)}
    )
    pairs = np.nonzero(click & bought & train)
    runs, truth = {}, {}
    gain = 1 / np.log2(np.arange(2, CUT + 2))
    users = np.arange(len(ctr))[:, None]
    for loss in LOSSES:
        scores = rank_factors(pairs, ctr.shape, loss=loss, size=20, l2=0.0001, epochs=epochs)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :CUT]
        truth[loss] = float((cvr[users, order] @ gain).mean())
        u, i = np.repeat(users.ravel(), CUT), order.ravel()
        rank = np.tile(np.arange(1, CUT + 1), len(ctr))
        runs[loss] = pl.DataFrame({"user": u, "item": i, "rank": rank})
    listed = pl.concat([run.select("user", "item") for run in runs.values()]).unique()
    u, i = listed["user"].to_numpy(), listed["item"].to_numpy()
    rows = []
    for noise in NOISE:
        shift = rng.uniform(-noise, noise, len(ctr))  # one for each user, as published
        given = {"ctr": HELD_OUT * ctr[u, i], "cvr": np.clip(cvr[u, i] + shift[u], 0, 1)}
        every = ("Naive", "IPS", "DM", "DR") if noise == 0 else ("DM", "DR")
        guesses = listed.with_columns(**{key: pl.Series(x) for key, x in given.items()})
        found = funnel(
            table, runs, predictions=guesses, measure=f"DCG@{CUT}", estimator=every, users="all",
            test="none", estimand="if-clicked",
        )  # fmt: skip
        rows += [
            {"system": x.system, "estimator": named(x.estimator, noise), "repetition": seed,
             "estimate": x.value, "truth": truth[x.system]}
            for x in found.estimates
        ]  # fmt: skip
    return rows


def named(estimator: str, noise: float) -> str:
    """An estimator with the noise of its model."""
    return f"{estimator}, noise {noise:g}" if estimator in ("DM", "DR") else estimator


def semi_synthetic(context: Context) -> tuple[ComparedTable, Sequence[Claim]]:
    """Relative RMSE by power of the CTR and noise of the CVR, and what theory says of them."""
    steps, repetitions, epochs = (1000, 3, 2) if context.quick else (5000, 10, 10)
    ratings = context.data("movielens-100k")
    ctr, cvr = true_chances(ratings, steps, context.seed)
    rows, found = [], {}
    for power in POWERS:
        draws = [
            context.step(f"semi-{power:g}-{seed}", partial(one_draw, ctr**power, cvr, seed, epochs))
            for seed in context.progress(range(repetitions), f"semi-synthetic, power {power:g}")
        ]  # fmt: skip
        for x in assess_accuracy(pl.DataFrame(list(chain(*draws)))).tables["accuracy"]:
            found[power, x.measure] = x
            spread = f"{x.mean_rmse:.3f} ± {x.mean_rmse_se:.3f}"
            rows.append((f"{power:g}", x.measure, spread, f"{x.bias:+.3f}", x.variance**0.5))
    table = ComparedTable(
        "Semi-synthetic: DCG@10 on MovieLens-100K, CTR known",
        ("power of CTR", "estimator", "relative RMSE", "bias", "sd"), rows,
        "No figures are printed in the slides. The model of conversions is the true rate plus one"
        " uniform shift for each user, of this half-width.",
    )  # fmt: skip
    return table, [_unbiased(found, repetitions), _less_varied(found)]


def _unbiased(found: Any, repetitions: int) -> Claim:
    """With the true CTR neither has a bias beyond chance; can be told if Naive's bias is seen."""
    t = dict.fromkeys(("IPS", "DR", "Naive"), 0.0)
    for (_, label), x in found.items():
        name, own = label.partition(",")[0], abs(x.bias) / (x.variance / repetitions) ** 0.5
        t[name] = max(t.get(name, 0.0), own)
    largest = max(t["IPS"], t["DR"])
    state: State = "does not hold" if largest >= BIASED else "cannot be told here"
    state = "holds" if largest < BIASED <= t["Naive"] else state
    return Claim("IPS and DR are unbiased if the CTR is right (semi-synthetic).", state,
                 f"The largest bias is {largest:.1f} standard errors of one system's mean; that of"
                 f" Naive, by the same measure, {t['Naive']:.0f}. Beyond {BIASED:g} is no"
                 " chance.")  # fmt: skip


def _less_varied(found: Any) -> Claim:
    """DR varies less than IPS while its model is near enough: 0 <= h <= 2 cvr."""
    less = {k: x.variance < found[k[0], "IPS"].variance for k, x in found.items()
            if k[1].startswith("DR")}  # fmt: skip
    some = ", ".join(f"{name} at power {p:g}" for (p, name), own in less.items() if not own)
    why = f"In {sum(less.values())} of {len(less)} cases; not: {some or 'none'}."
    return Claim("In most cases DR varies less than IPS (semi-synthetic).",
                 holds(2 * sum(less.values()) > len(less)), why)  # fmt: skip
