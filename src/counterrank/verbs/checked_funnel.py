"""What ``check`` says about a funnel: what estimates of it would rest on, and what to log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from counterrank.conversions import (
    COLUMN,
    FUNNEL,
    Census,
    Chances,
    Rules,
    counted,
    counts,
    doors,
    few_clicks,
    given,
    learnt,
    recorded,
    refuse_both,
)
from counterrank.diagnostics.advice import funnel_to_log
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.diagnostics.table_reports import Findings
from counterrank.engine import Buckets, Engine, bucketed
from counterrank.errors import CounterrankError, InputError
from counterrank.funnels import prediction
from counterrank.trust import funnels as about
from counterrank.trust.sales import forecasts
from counterrank.verbs.funnel import funnel

FITTED = "rates"  # stands in for predictions that nobody gave


def checked_funnel(
    table: object,
    runs: Mapping[int, tuple[str, object]],
    predictions: object | None,
    *,
    rewards: Sequence[str],
    duplicates: str,
    columns: Mapping[str, str] | None,
    engine: Engine,
) -> Findings:
    """Diagnose a funnel, and how the runs at their places in ``runs`` fit it.

    Where a ctr or cvr is not given, one is fitted, as an estimate would have to.
    """
    faults: dict[int, str] = {}
    fit: dict[int, tuple[str, object]] = {}
    try:
        opened = doors(table, None, predictions, rewards=rewards, columns=columns)
        with bucketed(engine, opened, by="user", ids=("user", "item")) as buckets:
            refuse_both(buckets.heads)
            census = counted(buckets.mapped(partial(counts, users="table"), "counting users"))
            census.refuse()
            there, wanted = given(buckets.heads), tuple(census.earned)
            ctr = "ctr" in there
            cvr = any(prediction(reward, wanted) in there for reward in wanted)
            for place, run in runs.items():
                try:
                    funnel(
                        table, [run], rewards=rewards, estimators="Naive", test="none",
                        duplicates=duplicates, columns=columns, engine=engine,
                    )  # fmt: skip
                    fit[place] = run
                except CounterrankError as error:
                    faults[place] = str(error)
            told = [about.all_conversions(census)]
            if fit:
                told += _with_runs(
                    table, list(fit.values()), predictions, ctr, cvr, rewards=rewards,
                    duplicates=duplicates, columns=columns, engine=engine,
                )  # fmt: skip
            else:
                told += _alone(buckets, census, ctr, cvr, engine)
    except CounterrankError as error:
        return Findings(fault=str(error))
    logged, clicks_only = opened[FUNNEL].source.columns(), census.clicks == census.rows
    return Findings(told, funnel_to_log(logged, told, clicks_only=clicks_only, ctr=ctr), "", faults)


def _with_runs(
    table: object,
    runs: list[tuple[str, object]],
    predictions: object | None,
    ctr: bool,
    cvr: bool,
    *,
    rewards: Sequence[str],
    duplicates: str,
    columns: Mapping[str, str] | None,
    engine: Engine,
) -> list[Diagnosis]:
    """What estimates of these runs would rest on."""
    lists = list(doors(table, runs, None, rewards=rewards, columns=columns).values())[1:]
    told_all = cvr or all(
        door.roles.column("cvr", there) in there
        for door, there in ((door, door.source.columns()) for door in lists)
    )
    clicks, sales = (COLUMN if there else FITTED for there in (ctr, told_all))

    def told(estimators: Sequence[str], cvr: str) -> list[Diagnosis]:
        return funnel(
            table, runs, rewards=rewards, estimators=estimators, predictions=predictions,
            ctr=clicks, cvr=cvr, test="none", duplicates=duplicates, columns=columns,
            engine=engine,
        ).diagnoses  # fmt: skip

    first = about.predictions(ctr, told_all, FITTED)
    try:
        return [first, *told(("IPS", "DR"), sales)]
    except InputError as error:
        return [about.uncovered(ctr, str(error)), *told(("IPS",), COLUMN)]


def _alone(
    buckets: Buckets, census: Census, has_ctr: bool, has_cvr: bool, engine: Engine
) -> list[Diagnosis]:
    """What can be said without lists."""
    ctr, cvr = (COLUMN if x else FITTED for x in (has_ctr, has_cvr))
    rules = Rules("table", "all", census)
    record = recorded(buckets, rules, engine, ctr=ctr, cvr=cvr)
    assert record is not None
    fitted = learnt(record, census, ctr=ctr, cvr=cvr, pairs="all", seed=0, features={})
    clicked = record.only(record.click)
    p = clicked.ctr
    if ctr != COLUMN:
        p = next(iter(fitted.values())).ctr(clicked.unit, clicked.item)
    assert p is not None
    idle = buckets.mapped(partial(few_clicks, rules=rules), "counting clicks")
    return [
        about.predictions(has_ctr, has_cvr, FITTED),
        about.idle_users(census.known, np.sum(idle, axis=0)),
        about.overlap("funnel", Chances.of(p, "units"), of="Clicked pairs"),
        *forecasts(record, rules, fitted, ctr=ctr, cvr=cvr),
    ]
