"""What ``check`` says about a funnel: what estimates of it would rest on, and what to log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from counterrank.conversions.click_models import ClickModels, gather_pairs
from counterrank.conversions.clicks import FunnelTotals
from counterrank.conversions.funnel_arrays import few_clicks
from counterrank.conversions.funnel_diagnoses import ctr_of, diagnose_predictions
from counterrank.conversions.funnel_pass import ClickChances
from counterrank.conversions.pipeline import count_funnel
from counterrank.conversions.request import (
    COLUMN,
    FUNNEL,
    FunnelInputs,
    FunnelRequest,
    funnel_request,
    paid,
    predicted_columns,
)
from counterrank.core.errors import CounterrankError, InputError
from counterrank.data.funnels import prediction
from counterrank.diagnostics import funnel_checks as about
from counterrank.diagnostics.diagnosis import Diagnosis, Findings
from counterrank.engine import Engine, Partitions
from counterrank.results.result import Result

FITTED = "rates"  # stands in for predictions that nobody gave


def check_funnel(
    table: object,
    runs: Mapping[int, tuple[str, object]],
    predictions: object | None,
    sell: Callable[..., Result],
    *,
    rewards: Sequence[str],
    columns: Mapping[str, str] | None,
    engine: Engine,
) -> Findings:
    """Diagnose a funnel, and how the runs at their places in ``runs`` fit it.

    ``sell`` estimates what runs would have sold by this funnel. Where a ctr or cvr is not given,
    one is fitted, as an estimate would have to.
    """
    faults: dict[int, str] = {}
    fit: list[tuple[str, object]] = []
    wanted = paid(rewards)
    try:
        alone = FunnelInputs.of(table, None, predictions, rewards=wanted, columns=columns)
        with engine.open(alone.tables) as data:
            there = predicted_columns(data.heads)
            ctr, cvr = "ctr" in there, any(prediction(r, wanted) in there for r in wanted)
            request = _request(wanted, ctr, cvr)
            request, totals = count_funnel(request, alone, data)
            for place, run in runs.items():
                try:
                    sell([run], estimators="Naive")
                    fit.append(run)
                except CounterrankError as error:
                    faults[place] = str(error)
            reward = wanted[0]
            told = [about.all_conversions(reward, totals.conversions[reward], totals.clicks)]
            if fit:
                inputs = FunnelInputs.of(table, fit, None, rewards=wanted, columns=columns)
                told += _with_runs(inputs, fit, partial(sell, predictions=predictions), ctr, cvr)
            else:
                told.append(about.predictions(ctr, cvr, FITTED))
                told += _alone(data, request, totals, engine.memory_budget)
    except CounterrankError as error:
        return Findings(fault=str(error))
    logged = alone.tables.schemas[FUNNEL].source.columns()
    clicks_only = totals.clicks == totals.rows
    return Findings(
        told, about.funnel_to_log(logged, told, clicks_only=clicks_only, ctr=ctr), "", faults
    )


def _request(rewards: Sequence[str], ctr: bool, cvr: bool) -> FunnelRequest:
    """What is given as columns, and models of the rest."""
    ctr_from, cvr_from = (COLUMN if given else FITTED for given in (ctr, cvr))
    return funnel_request(
        rewards=rewards, measures=["DCG@10"], estimators=["Naive"], users="table", ctr=ctr_from,
        cvr=cvr_from,
    )  # fmt: skip


def _with_runs(
    inputs: FunnelInputs,
    runs: list[tuple[str, object]],
    sell: Callable[..., Result],
    ctr: bool,
    cvr: bool,
) -> list[Diagnosis]:
    """What estimates of these runs would rest on."""
    lists = [inputs.tables.schemas[name] for name in inputs.names]
    all_cvr = cvr or all(
        schema.roles.column("cvr", there) in there
        for schema, there in ((schema, schema.source.columns()) for schema in lists)
    )
    clicks, conversions = (COLUMN if there else FITTED for there in (ctr, all_cvr))

    def told(estimators: Sequence[str], cvr: str) -> list[Diagnosis]:
        return sell(runs, estimators=estimators, ctr=clicks, cvr=cvr).diagnoses

    first = about.predictions(ctr, all_cvr, FITTED)
    try:
        return [first, *told(("IPS", "DR"), conversions)]
    except InputError as error:
        return [about.cvr_coverage(ctr, str(error)), *told(("IPS",), COLUMN)]


def _alone(
    data: Partitions, request: FunnelRequest, totals: FunnelTotals, budget: int | None
) -> list[Diagnosis]:
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
