"""What the numbers of each run rest on, where they come from clicks and conversions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from counterrank.conversions import COLUMN, GRID, Key, Valued, VarianceRatio, Work
from counterrank.estimates import Estimate
from counterrank.logged import Clipped, MeanWeight
from counterrank.propensity import Nuisance, calibrated, clicks_calibrated, overlap
from counterrank.trust import funnels as about
from counterrank.trust.diagnosis import Diagnosis
from counterrank.trust.propensities import click_model, click_overlap, conversion_model


def sales(
    done: Mapping[str, Valued], found: Mapping[Key, Estimate], work: Work, level: float
) -> list[Diagnosis]:
    """By the first measure and reward, except clipping and the contest of DR and IPS."""
    reward = next(iter(work.ledger.reward))
    first = str(work.measures[0])
    out = [about.idle_users(work.ledger)]
    for system, part in done.items():
        out.append(about.lists(system, part.coverage))
        out.append(about.conversions(system, reward, part))
        out.append(about.support(system, part.weights, work.pairs))
        weight = found.get((system, first, str(MeanWeight()), reward))
        if weight is not None:
            out += [
                about.overlap(system, part.ctr),
                about.mean_weight(system, weight),
                about.effective_size(system, part.weights),
                about.heaviest(system, part.weights, weight),
                about.tail(system, part.weights),
            ]
        for e in work.estimators:
            if isinstance(e, Clipped) and not isinstance(e, MeanWeight) and e.clip < float("inf"):
                kept = found[system, first, str(MeanWeight(clip=e.clip)), reward]
                out.append(about.clipping(system, str(e), kept))
        if all((system, first, label, reward) in found for label in ("DM", "DR")) and weight:
            dm, dr = (found[system, first, label, reward] for label in ("DM", "DR"))
            out.append(about.direct(system, dm, dr - dm))
        for m, each in product(work.measures, work.ledger.reward):
            ratio = found.get((system, str(m), str(VarianceRatio()), each))
            if ratio is not None and m.form == "total":
                what = str(m) if len(work.ledger.reward) == 1 else f"{m} of {each}"
                out.append(about.doubly_robust(system, what, ratio, level))
    return out


def forecasts(work: Work, models: Mapping[str, Nuisance], *, ctr: str, cvr: str) -> list[Diagnosis]:
    """Whether predicted clicks and conversions come true, where that can be seen.

    A given ctr shows it only if the funnel holds all pairs that could be clicked; a cvr, if clicked
    pairs can be weighed by 1/ctr to stand for all.
    """
    ledger = work.ledger
    unit, z = ledger.pool.unit, ledger.click
    model = next(iter(models.values()), None)
    told = []
    if model is not None and ctr != COLUMN:
        told.append(click_model(clicks_calibrated(model), ctr))
        told.append(click_overlap(overlap(model)))
    elif ledger.ctr is not None:
        own = ledger.held & ~np.isnan(work.ctr)
        whole = ledger.complete if work.pairs == "all" else len(own) <= GRID
        if own.all() and whole:
            found = calibrated(unit[own], ledger.item[own], z[own].astype(float), work.ctr[own])
            told.append(click_model(found, ctr))
    for reward, y in ledger.reward.items():
        h = ledger.cvr.get(reward)
        if cvr != COLUMN:
            h = np.full(len(z), np.nan)
            h[z] = models[reward].cvr(unit[z], ledger.item[z])
        if h is None:
            continue
        kept = z & ~np.isnan(h) & ~np.isnan(work.ctr)
        if kept.any():
            found = calibrated(unit[kept], ledger.item[kept], y[kept], h[kept], 1 / work.ctr[kept])
            named = cvr if len(ledger.reward) == 1 else f"{cvr}, {reward}"
            told.append(conversion_model(found, named))
    return [replace(d, subject="funnel") for d in told]
