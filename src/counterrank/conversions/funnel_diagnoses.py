"""What the numbers of a funnel rest on: predictions that come true, lists that clicks speak for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from counterrank.conversions.click_models import ClickModels
from counterrank.conversions.clicks import FunnelTotals
from counterrank.conversions.conversion_estimators import VarianceRatio
from counterrank.conversions.funnel_arrays import FunnelPairs
from counterrank.conversions.funnel_pass import FunnelContributions
from counterrank.conversions.request import COLUMN, FunnelRequest
from counterrank.core.arrays import Floats
from counterrank.diagnostics import funnel_checks as about
from counterrank.diagnostics import weights
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.diagnostics.funnel_checks import click_model, click_overlap, conversion_model
from counterrank.diagnostics.judged_lists import coverage
from counterrank.diagnostics.weights import FUNNEL_WORDS as WORDS
from counterrank.nuisance.calibration import calibrated, clicks_calibrated, overlap
from counterrank.ope.estimators.ips import Clipped, MeanWeight
from counterrank.stats.units import Estimate, Key


def diagnose_lists(request: FunnelRequest, found: FunnelContributions) -> list[Diagnosis]:
    """By the first measure and reward, except clipping and the contest of DR and IPS."""
    functions = request.functions()
    reward, first = request.rewards[0], str(request.measures[0])
    out = [about.idle_users(found.users, found.few_clicks)]
    for system, own in found.lists.items():

        def of(label: object, measure: str = first, reward: str = reward) -> Key:
            return Key(system, measure, str(label), reward)  # noqa: B023

        def estimate(key: Key) -> Estimate:
            return found.units.estimate(key, functions[key])

        out.append(coverage(system, own.coverage, missing="zero", who="users"))
        out.append(about.listed_conversions(system, reward, own.conversions[reward]))
        out.append(about.funnel_support(system, own.weights, request.pairs))
        weighted = of(MeanWeight()) in functions
        if weighted:
            out += [
                about.smallest_ctr(system, own.ctr.count, own.ctr.smallest, own.ctr.median),
                weights.mean_weight(system, estimate(of(MeanWeight())), WORDS),
                weights.effective_size(system, own.weights, WORDS),
                weights.largest_weight(system, own.weights, WORDS, own.heaviest_user),
                weights.tail(system, own.weights, WORDS),
            ]
        for e in request.computed:
            if isinstance(e, Clipped) and not isinstance(e, MeanWeight) and e.clip < float("inf"):
                left = estimate(of(MeanWeight(clip=e.clip)))
                out.append(weights.clipping(system, str(e), left, WORDS))
        if weighted and {of("DM"), of("DR")} <= functions.keys():
            shared = found.units.over(of("DM"), of("DR"))
            dm, dr = (shared.estimate(of(e), functions[of(e)]) for e in ("DM", "DR"))
            out.append(about.direct(system, dm, dr - dm))
        for m, name in product(request.measures, request.rewards):
            key = of(VarianceRatio(), str(m), name)
            if key in functions:
                what = str(m) if len(request.rewards) == 1 else f"{m} of {name}"
                level = request.plan.level
                out.append(about.doubly_robust(system, what, estimate(key), level))
    return out


def diagnose_predictions(
    request: FunnelRequest, totals: FunnelTotals, pairs: FunnelPairs | None, models: ClickModels
) -> list[Diagnosis]:
    """Whether predicted clicks and conversions come true, where that can be seen.

    A given ctr shows it only if the funnel holds all pairs that could be clicked; a cvr, if clicked
    pairs can be weighed by 1/ctr to stand for all. Of very many clicks, those of some users tell.
    """
    if pairs is None:
        return []
    out = []
    model = next(iter(models.by_reward.values()), None)
    if model is not None and request.ctr != COLUMN:
        out.append(click_model(clicks_calibrated(model), request.ctr))
        out.append(click_overlap(overlap(model)))
    elif pairs.ctr is not None and totals.tests_ctr(request):
        rows = pairs.select(pairs.has_row)
        assert rows.ctr is not None
        p = np.maximum(rows.ctr, request.floor)
        if not np.isnan(p).any():
            found = calibrated(rows.unit, rows.item, rows.click.astype(float), p)
            out.append(click_model(found, request.ctr))
    clicked = pairs.select(pairs.click).of_some_users(totals.looked_at)
    out += _conversions(request, clicked, models)
    return [replace(d, subject="funnel") for d in out]


def ctr_of(request: FunnelRequest, clicked: FunnelPairs, models: ClickModels) -> Floats | None:
    """The ctr of clicked pairs: by the model that was fitted, or as given."""
    if request.ctr == COLUMN:
        return clicked.ctr
    return next(iter(models.by_reward.values())).ctr(clicked.unit, clicked.item)


def _conversions(
    request: FunnelRequest, clicked: FunnelPairs, models: ClickModels
) -> Iterator[Diagnosis]:
    """Predicted conversions of clicked pairs, each weighed by 1/ctr."""
    p = ctr_of(request, clicked, models)
    for reward, y in clicked.reward.items() if p is not None else ():
        h = clicked.cvr.get(reward)
        if request.cvr != COLUMN:
            h = models.by_reward[reward].cvr(clicked.unit, clicked.item)
        if p is None or h is None:
            continue
        known = ~np.isnan(h) & ~np.isnan(p)
        if known.any():
            weight = 1 / np.maximum(p[known], request.floor)
            user, item = clicked.unit[known], clicked.item[known]
            found = calibrated(user, item, y[known], h[known], weight)
            label = request.cvr if len(clicked.reward) == 1 else f"{request.cvr}, {reward}"
            yield conversion_model(found, label)
