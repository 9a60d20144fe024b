"""What the numbers of a funnel rest on: predictions that come true, lists that clicks speak for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from counterrank.conversions.click_models import ClickChances, ClickModels, gather_pairs
from counterrank.conversions.conversion_estimators import VarianceRatio
from counterrank.conversions.funnel_arrays import (
    FunnelPairs,
    FunnelTotals,
    count_funnel,
    few_clicks,
)
from counterrank.conversions.funnel_pass import FunnelContributions
from counterrank.conversions.request import (
    COLUMN,
    FUNNEL,
    FunnelInputs,
    FunnelRequest,
    funnel_request,
    predicted_columns,
    reward_columns,
)
from counterrank.core.arrays import Floats
from counterrank.core.errors import CounterrankError, InputError
from counterrank.data.funnels import prediction
from counterrank.diagnostics import funnel_checks as about
from counterrank.diagnostics import weights
from counterrank.diagnostics.diagnostic import Diagnostic, Findings, limited
from counterrank.diagnostics.funnel_checks import click_model, click_overlap, conversion_model
from counterrank.diagnostics.judged_lists import coverage
from counterrank.diagnostics.weights import FUNNEL_WORDS as WORDS
from counterrank.engine import Engine, Partitions
from counterrank.nuisance.calibration import calibration, click_calibration, overlap
from counterrank.ope.estimators.doubly_robust import DM, DR
from counterrank.ope.estimators.ips import Clipped, MeanWeight
from counterrank.results.result import Result
from counterrank.stats.compare import Plan
from counterrank.stats.units import Estimate, Key

FITTED = "rates"  # stands in for predictions that nobody gave


def diagnose_lists(request: FunnelRequest, contributions: FunnelContributions) -> list[Diagnostic]:
    """By the first measure and reward, except clipping and the contest of DR and IPS."""
    functions = request.functions()
    reward, first = request.rewards[0], str(request.measures[0])
    out = [about.idle_users(contributions.users, contributions.few_clicks)]
    for system, own in contributions.lists.items():

        def of(label: object, measure: str = first, reward: str = reward) -> Key:
            return Key(system, measure, str(label), reward)  # noqa: B023

        def estimate(key: Key) -> Estimate:
            return contributions.units.estimate(key, functions[key])

        out.append(coverage(system, own.coverage, missing="zero", who="users"))
        out.append(about.conversions(system, reward, own.conversions[reward]))
        out.append(about.funnel_support(system, own.weights, request.pairs))
        weighted = of(MeanWeight()) in functions
        if weighted:
            of_weights = [
                about.smallest_ctr(system, own.ctr.count, own.ctr.smallest, own.ctr.median),
                weights.mean_weight(system, estimate(of(MeanWeight())), WORDS),
                weights.effective_size(system, own.weights, WORDS),
                weights.largest_weight(system, own.weights, WORDS, own.heaviest_user),
                weights.tail(system, own.weights, WORDS),
            ]
            out += limited(of_weights, request.needs_ctr, "IPS")
        for e in request.computed:
            if isinstance(e, Clipped) and not isinstance(e, MeanWeight) and e.clip < float("inf"):
                left = estimate(of(MeanWeight(clip=e.clip)))
                out.append(weights.clipping(system, str(e), left, WORDS, errs=e.errs))
        both = of(DM()), of(DR())
        if weighted and set(both) <= functions.keys():
            shared = contributions.units.over(*both)
            dm, dr = (shared.estimate(key, functions[key]) for key in both)
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
) -> list[Diagnostic]:
    """Whether predicted clicks and conversions come true, where that can be seen.

    A given ctr shows it only if the funnel holds all pairs that could be clicked; a cvr, if clicked
    pairs can be weighed by 1/ctr to stand for all. Of very many clicks, those of some users tell.
    """
    if pairs is None:
        return []
    out: list[Diagnostic] = []
    model = next(iter(models.by_reward.values()), None)
    if model is not None and request.ctr != COLUMN:
        out.append(click_model(click_calibration(model), str(request.ctr)))
        out.append(click_overlap(overlap(model)))
    elif pairs.ctr is not None and totals.tests_ctr(request):
        rows = pairs.select(pairs.has_row)
        assert rows.ctr is not None
        p = np.maximum(rows.ctr, request.floor)
        if not np.isnan(p).any():
            given = calibration(rows.unit, rows.item, rows.click.astype(float), p)
            out.append(click_model(given, COLUMN))
    clicked = pairs.select(pairs.click).of_some_users(totals.looked_at)
    out = limited(out, request.needs_ctr, "IPS")
    out += limited(_conversions(request, clicked, models), request.needs_cvr, "DR")
    return [replace(d, subject="funnel") for d in out]


def ctr_of(request: FunnelRequest, clicked: FunnelPairs, models: ClickModels) -> Floats | None:
    """The ctr of clicked pairs: by the model that was fitted, or as given."""
    if request.ctr == COLUMN:
        return clicked.ctr
    return next(iter(models.by_reward.values())).ctr(clicked.unit, clicked.item)


def _conversions(
    request: FunnelRequest, clicked: FunnelPairs, models: ClickModels
) -> Iterator[Diagnostic]:
    """Predicted conversions of clicked pairs, each weighed by 1/ctr."""
    p = ctr_of(request, clicked, models)
    for reward, y in clicked.reward.items():
        h = clicked.cvr.get(reward)
        if request.cvr != COLUMN:
            h = models.by_reward[reward].cvr(clicked.unit, clicked.item)
        if p is None or h is None:
            continue
        known = ~np.isnan(h) & ~np.isnan(p)
        if known.any():
            weight = 1 / np.maximum(p[known], request.floor)
            user, item = clicked.unit[known], clicked.item[known]
            label = str(request.cvr) if len(clicked.reward) == 1 else f"{request.cvr}, {reward}"
            yield conversion_model(calibration(user, item, y[known], h[known], weight), label)


def check_funnel(
    table: object,
    runs: Mapping[int, tuple[str, object]],
    predictions: object | None,
    estimate: Callable[..., Result],
    *,
    rewards: Sequence[str],
    columns: Mapping[str, str] | None,
    engine: Engine,
) -> Findings:
    """Diagnose a funnel, and how the runs at their places in ``runs`` fit it.

    ``estimate`` says what runs would have sold by this funnel. Where a ctr or cvr is not given,
    one is fitted, as an estimate would have to.
    """
    faults: dict[int, str] = {}
    fit: list[tuple[str, object]] = []
    rewards = reward_columns(rewards)
    try:
        alone = FunnelInputs.of(table, None, predictions, rewards=rewards, columns=columns)
        with engine.open(alone.tables) as data:
            there = predicted_columns(data.heads)
            ctr, cvr = "ctr" in there, any(prediction(r, rewards) in there for r in rewards)
            request = funnel_request(
                rewards=rewards,
                measures=["DCG@10"],
                estimators=["Naive"],
                plan=Plan(),
                users="table",
                ctr=COLUMN if ctr else FITTED,
                cvr=COLUMN if cvr else FITTED,
            )
            request, totals = count_funnel(request.with_tables({}, data.heads), data)
            for place, run in runs.items():
                try:
                    estimate([run], estimator="Naive")
                    fit.append(run)
                except CounterrankError as error:
                    faults[place] = str(error)
            conversions = totals.conversions[rewards[0]]
            diagnostics = [about.conversions("funnel", rewards[0], conversions, totals.clicks)]
            if fit:
                inputs = FunnelInputs.of(table, fit, None, rewards=rewards, columns=columns)
                with_predictions = partial(estimate, predictions=predictions)
                diagnostics += _with_runs(inputs, fit, with_predictions, ctr, cvr)
            else:
                diagnostics.append(about.predictions(ctr, cvr, FITTED))
                diagnostics += _alone(data, request, totals, engine.memory_budget)
    except CounterrankError as error:
        return Findings(fault=str(error))
    logged = alone.tables.schemas[FUNNEL].source.columns()
    clicks_only = totals.clicks == totals.rows
    to_log = about.funnel_to_log(logged, diagnostics, clicks_only=clicks_only, ctr=ctr)
    return Findings(diagnostics, to_log, "", faults)


def _with_runs(
    inputs: FunnelInputs,
    runs: list[tuple[str, object]],
    estimate: Callable[..., Result],
    ctr: bool,
    cvr: bool,
) -> list[Diagnostic]:
    """What estimates of these runs would rest on."""
    lists = [inputs.tables.schemas[name] for name in inputs.names]
    columns = [(schema.roles, schema.source.columns()) for schema in lists]
    all_cvr = cvr or all(roles.column("cvr", there) in there for roles, there in columns)
    clicks, conversions = (COLUMN if given else FITTED for given in (ctr, all_cvr))

    def diagnose(estimators: Sequence[str], cvr: str) -> list[Diagnostic]:
        return estimate(runs, estimator=estimators, ctr=clicks, cvr=cvr).diagnostics

    try:
        return [about.predictions(ctr, all_cvr, FITTED), *diagnose(("IPS", "DR"), conversions)]
    except InputError as error:
        return [about.cvr_coverage(ctr, str(error)), *diagnose(("IPS",), COLUMN)]


def _alone(
    data: Partitions, request: FunnelRequest, totals: FunnelTotals, budget: int | None
) -> list[Diagnostic]:
    """What can be said without lists."""
    pairs = gather_pairs(data, request, totals, budget)
    assert pairs is not None
    models = ClickModels.fit(pairs, request, totals, {})
    p = ctr_of(request, pairs.select(pairs.click), models)
    assert p is not None
    chances = ClickChances.of(p, hold=True)
    clicks = data.reduce(partial(few_clicks, request, totals), "counting clicks")
    return [
        about.idle_users(totals.users, clicks),
        about.smallest_ctr(
            "funnel", chances.count, chances.smallest, chances.median, of="Clicked pairs"
        ),
        *diagnose_predictions(request, totals, pairs, models),
    ]
