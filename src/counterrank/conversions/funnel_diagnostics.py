"""What the numbers of a funnel rest on: predictions that come true, lists that data speak for."""

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
    few_observed,
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
from counterrank.diagnostics.funnel_checks import EVENTS
from counterrank.diagnostics.judged_lists import coverage
from counterrank.diagnostics.weights import FUNNEL_WORDS, SALES_WORDS
from counterrank.engine import Engine, Partitions
from counterrank.nuisance.calibration import calibration, calibrations, click_calibrations, overlap
from counterrank.ope.estimators.doubly_robust import DM, DR
from counterrank.ope.estimators.ips import Clipped, MeanWeight
from counterrank.results.result import Result
from counterrank.stats.plan import Plan
from counterrank.stats.units import Estimate, Key

FITTED = "rates"  # stands in for predictions that nobody gave


def diagnose_lists(request: FunnelRequest, contributions: FunnelContributions) -> list[Diagnostic]:
    """By the first measure and reward, except clipping and the contest of DR and IPS."""
    functions = contributions.functions(request)
    reward, first = request.rewards[0], str(request.measures[0])
    event, words = EVENTS[request.chance], SALES_WORDS if request.shows else FUNNEL_WORDS
    out = [about.idle_users(contributions.users, contributions.few_observed, event)]
    if request.estimand.basis == "listing":
        out.append(about.listed_ctr())
    for system, own in contributions.lists.items():

        def of(label: object, measure: str = first, reward: str = reward) -> Key:
            return Key(system, measure, str(label), reward)  # noqa: B023

        def estimate(key: Key) -> Estimate:
            return contributions.units.estimate(key, functions[key])

        out.append(coverage(system, own.coverage, missing="zero", who="users"))
        out.append(about.conversions(system, reward, own.conversions[reward]))
        missing, where = own.weights.unknown, f"items {event.nobody}"
        if request.pairs == "rows":
            missing, where = own.weights.unlogged, "pairs that the funnel does not hold"
        out.append(weights.support(system, own.weights, words, missing=missing, where=where))
        weighted = of(MeanWeight()) in functions
        if weighted:
            chances = own.chance.count, own.chance.smallest, own.chance.median
            of_weights = [
                about.smallest_chance(system, *chances, event, words.nothing),
                weights.mean_weight(system, estimate(of(MeanWeight())), words),
                weights.effective_size(system, own.weights, words),
                weights.largest_weight(system, own.weights, words, own.heaviest_user),
                weights.tail(system, own.weights, words),
            ]
            out += limited(of_weights, request.dividing)
        for e in request.computed:
            if isinstance(e, Clipped) and not isinstance(e, MeanWeight) and e.clip < float("inf"):
                left = estimate(of(MeanWeight(clip=e.clip)))
                told = e.tells and request.measures[0].form == "total"
                out.append(weights.clipping(system, e, left, words, told=told))
        both = of(DM()), of(DR())
        if weighted and set(both) <= functions.keys():
            shared = contributions.units.over(*both)
            dm, dr = (shared.estimate(key, functions[key]) for key in both)
            out.append(about.direct(system, dm, dr - dm))
        for m, name in product(request.measures, request.rewards):
            key = of(VarianceRatio(), str(m), name)
            if key in functions:
                what = str(m) if len(request.rewards) == 1 else f"{m} of {name}"
                ratio = about.doubly_robust(system, what, estimate(key), request.plan.level)
                out += limited([ratio], [e for e in request.needs_cvr if e.weighs])
        alone = len(request.rewards) == 1
        for name, e in product(request.rewards, request.estimators):
            value = estimate(of(e, first, name))
            tail = weights.heavy_tail(system, str(e), name, value, "users", alone=alone, cut="")
            out.append(tail)
    if (model := request.measures[0].model).error is not None:
        from counterrank.ope.curve_error import known_curve

        deepest = max((own.deepest for own in contributions.lists.values()), default=1)
        ranks = min(deepest, request.limit or deepest)
        out.append(known_curve("funnel", [model], ranks, "another"))
    return out


def diagnose_predictions(
    request: FunnelRequest, totals: FunnelTotals, pairs: FunnelPairs | None, models: ClickModels
) -> list[Diagnostic]:
    """Whether predictions come true, where that can be seen.

    A given chance shows it only if the funnel holds all pairs that could be clicked, or shown; a
    predicted outcome, if observed pairs can be weighed by 1/chance to stand for all. Of very many
    rows, those of some users tell. Each concerns the estimators that read it.
    """
    out = [] if totals.events is None else [about.events_used(totals.events)]
    if pairs is None:
        return out
    event = EVENTS[request.chance]
    chances: list[Diagnostic] = []
    if request.chance_model != COLUMN:
        model, label = models.of_chance(request), str(request.chance_model)
        chances += about.chance_model(click_calibrations(model), label, event)
        chances.append(about.event_overlap(overlap(model), event))
        chances.append(about.hidden_liking(event, label))
    elif pairs.chance(request) is not None and totals.tests_chance(request):
        rows = pairs.select(pairs.has_row)
        given = rows.chance(request)
        assert given is not None
        p = np.maximum(given, request.floor)
        if not np.isnan(p).any() and request.views == "observed":
            fits = calibrations(rows.unit, rows.item, rows.observed.astype(float), p)
            chances += about.chance_model(fits, COLUMN, event)
    out += limited(chances, request.dividing)
    observed = pairs.select(pairs.observed).of_some_users(totals.looked_at)
    out += limited(_outcomes(request, observed, models), request.needs_cvr)
    return [replace(d, subject="funnel") for d in out]


def chance_of(request: FunnelRequest, observed: FunnelPairs, models: ClickModels) -> Floats | None:
    """The chance of observed pairs: by the model that was fitted, or as given."""
    if request.chance_model == COLUMN:
        return observed.chance(request)
    return models.of_chance(request).ctr(observed.unit, observed.item)


def _outcomes(
    request: FunnelRequest, observed: FunnelPairs, models: ClickModels
) -> Iterator[Diagnostic]:
    """Predicted outcomes of observed pairs, each weighed by 1/chance."""
    p, user, item = chance_of(request, observed, models), observed.unit, observed.item
    ctr: Floats | None = np.ones(len(user))
    if request.shows:
        ctr = observed.ctr if request.ctr == COLUMN else models.clicks.ctr(user, item)
    for reward, y in observed.reward.items():
        h = observed.cvr.get(reward)
        if request.cvr != COLUMN:
            h = models.by_reward[reward].cvr(user, item)
        if p is None or h is None or ctr is None or request.views == "latent":
            continue
        known = ~np.isnan(h) & ~np.isnan(p) & ~np.isnan(ctr)
        if known.any():
            weight = 1 / np.maximum(p[known], request.floor)
            label = str(request.cvr) if len(observed.reward) == 1 else f"{request.cvr}, {reward}"
            fit = calibration(user[known], item[known], y[known], (ctr * h)[known], weight)
            yield about.outcome_model(fit, label, EVENTS[request.chance])


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
            cvr = any(prediction(r, rewards) in there for r in rewards)
            seen = "shown" not in there or "exposure" in there  # a ctr is that of what is seen
            ctr = "ctr" in there and seen
            request = funnel_request(
                rewards=rewards,
                measures=["DCG@10"],
                estimators=["IPS", "DR"],
                plan=Plan(),
                estimand="if-clicked",
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
    p = chance_of(request, pairs.select(pairs.click), models)
    assert p is not None
    chances = ClickChances.of(p, hold=True)
    clicks = data.reduce(partial(few_observed, request, totals), "counting clicks")
    event = EVENTS["ctr"]
    return [
        about.idle_users(totals.users, clicks, event),
        about.smallest_chance(
            "funnel", chances.count, chances.smallest, chances.median, event, "", of="Clicked pairs"
        ),
        *diagnose_predictions(request, totals, pairs, models),
    ]
