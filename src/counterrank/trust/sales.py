"""What the numbers of each run rest on, where they come from clicks and conversions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from counterrank.conversions import (
    COLUMN,
    Asked,
    Key,
    Record,
    Rules,
    Sold,
    VarianceRatio,
    chosen,
)
from counterrank.diagnostics import weights
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.estimates import Uncertain
from counterrank.ope.estimators.base import Clipped
from counterrank.ope.estimators.ips import MeanWeight
from counterrank.propensity import Nuisance, calibrated, clicks_calibrated, overlap
from counterrank.trust import funnels as about
from counterrank.trust.propensities import click_model, click_overlap, conversion_model


def sales(
    done: Sold, found: Mapping[Key, Uncertain], asked: Asked, level: float
) -> list[Diagnosis]:
    """By the first measure and reward, except clipping and the contest of DR and IPS."""
    reward = asked.rewards[0]
    first = str(asked.measures[0])
    out = [about.idle_users(done.users, done.idle)]
    for system, part in done.runs.items():
        out.append(about.lists(system, part.coverage))
        out.append(about.conversions(system, reward, part))
        out.append(about.support(system, part.weights, asked.pairs))
        weight = found.get((system, first, str(MeanWeight()), reward))
        if weight is not None:
            out += [
                about.overlap(system, part.ctr),
                about.mean_weight(system, weight),
                weights.effective_size(system, part.weights, weights.FUNNEL_WORDS),
                weights.largest_weight(system, part.weights, weights.FUNNEL_WORDS, part.heaviest),
                weights.tail(system, part.weights, weights.FUNNEL_WORDS),
            ]
        for e in asked.estimators:
            if isinstance(e, Clipped) and not isinstance(e, MeanWeight) and e.clip < float("inf"):
                kept = found[system, first, str(MeanWeight(clip=e.clip)), reward]
                out.append(about.clipping(system, str(e), kept))
        if all((system, first, label, reward) in found for label in ("DM", "DR")) and weight:
            dm, dr = (found[system, first, label, reward] for label in ("DM", "DR"))
            out.append(about.direct(system, dm, dr - dm))
        for m, each in product(asked.measures, asked.rewards):
            ratio = found.get((system, str(m), str(VarianceRatio()), each))
            if ratio is not None and m.form == "total":
                what = str(m) if len(asked.rewards) == 1 else f"{m} of {each}"
                out.append(about.doubly_robust(system, what, ratio, level))
    return out


def forecasts(
    record: Record,
    rules: Rules,
    models: Mapping[str, Nuisance],
    *,
    ctr: str,
    cvr: str,
    floor: float = 0.0,
) -> list[Diagnosis]:
    """Whether predicted clicks and conversions come true, where that can be seen.

    A given ctr shows it only if the funnel holds all pairs that could be clicked; a cvr, if clicked
    pairs can be weighed by 1/ctr to stand for all. Of very many clicks, those of some users tell.
    """
    model = next(iter(models.values()), None)
    told = []
    if model is not None and ctr != COLUMN:
        told.append(click_model(clicks_calibrated(model), ctr))
        told.append(click_overlap(overlap(model)))
    elif record.ctr is not None and rules.visible:
        all_ = record.only(record.held)
        p = np.maximum(record.ctr[record.held], floor)
        if not np.isnan(p).any():
            found = calibrated(all_.unit, all_.item, all_.click.astype(float), p)
            told.append(click_model(found, ctr))
    clicked = record.only(record.click)
    if rules.share < 1:
        clicked = clicked.only(chosen(clicked.units, rules.share)[clicked.unit])
    told += _conversions(clicked, models, ctr=ctr, cvr=cvr, floor=floor)
    return [replace(d, subject="funnel") for d in told]


def _conversions(
    clicked: Record, models: Mapping[str, Nuisance], *, ctr: str, cvr: str, floor: float
) -> list[Diagnosis]:
    """Predicted conversions of clicked pairs, each weighed by 1/ctr."""
    p = clicked.ctr
    if ctr != COLUMN:
        p = next(iter(models.values())).ctr(clicked.unit, clicked.item)
    if p is None:
        return []
    told = []
    for reward, y in clicked.reward.items():
        h = clicked.cvr.get(reward)
        if cvr != COLUMN:
            h = models[reward].cvr(clicked.unit, clicked.item)
        if h is None:
            continue
        kept = ~np.isnan(h) & ~np.isnan(p)
        if kept.any():
            weight = 1 / np.maximum(p[kept], floor)
            found = calibrated(clicked.unit[kept], clicked.item[kept], y[kept], h[kept], weight)
            named = cvr if len(clicked.reward) == 1 else f"{cvr}, {reward}"
            told.append(conversion_model(found, named))
    return told
