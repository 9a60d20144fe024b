"""What ``check`` says about a funnel: what estimates of it would rest on, and what to log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from counterrank.conversions import (
    COLUMN,
    Ledger,
    Tables,
    Work,
    clicks_of_model,
    learnt,
    read,
    weighting,
)
from counterrank.errors import CounterrankError, InputError
from counterrank.trust import funnels as about
from counterrank.trust.advice import funnel_to_log
from counterrank.trust.diagnosis import Diagnosis
from counterrank.trust.sales import forecasts
from counterrank.verbs.audited import Audited
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
) -> Audited:
    """Diagnose a funnel, and how the runs at their places in ``runs`` fit it.

    Where a ctr or cvr is not given, one is fitted, as an estimate would have to.
    """
    faults: dict[int, str] = {}
    fit: dict[int, tuple[str, object]] = {}
    try:
        tables = read(table, None, predictions, rewards=rewards, columns=columns)
        ledger = Ledger.of(tables, users="table", pairs="rows")
        for place, run in runs.items():
            try:
                funnel(
                    table, [run], rewards=rewards, estimators="Naive", test="none",
                    duplicates=duplicates, columns=columns,
                )  # fmt: skip
                fit[place] = run
            except CounterrankError as error:
                faults[place] = str(error)
        told = [about.all_conversions(ledger)]
        if fit:
            told += _with_runs(
                table, list(fit.values()), predictions, ledger, rewards=rewards,
                duplicates=duplicates, columns=columns,
            )  # fmt: skip
        else:
            told += _alone(tables, ledger)
    except CounterrankError as error:
        return Audited(fault=str(error))
    return Audited(told, funnel_to_log(tables.funnel, ledger, told), "", faults)


def _with_runs(
    table: object,
    runs: list[tuple[str, object]],
    predictions: object | None,
    ledger: Ledger,
    *,
    rewards: Sequence[str],
    duplicates: str,
    columns: Mapping[str, str] | None,
) -> list[Diagnosis]:
    """What estimates of these runs would rest on."""
    lists = read(table, runs, predictions, rewards=rewards, columns=columns).runs
    given = bool(ledger.cvr) or all("cvr" in run.frame.columns for run in lists)
    ctr, cvr = (COLUMN if there else FITTED for there in (ledger.ctr is not None, given))

    def told(estimators: Sequence[str], cvr: str) -> list[Diagnosis]:
        return funnel(
            table, runs, rewards=rewards, estimators=estimators, predictions=predictions, ctr=ctr,
            cvr=cvr, test="none", duplicates=duplicates, columns=columns,
        ).diagnoses  # fmt: skip

    first = about.predictions(ledger.ctr is not None, given, FITTED)
    try:
        return [first, *told(("IPS", "DR"), cvr)]
    except InputError as error:
        return [about.uncovered(ledger.ctr is not None, str(error)), *told(("IPS",), COLUMN)]


def _alone(tables: Tables, ledger: Ledger) -> list[Diagnosis]:
    """What can be said without lists."""
    ctr, cvr = (COLUMN if x else FITTED for x in (ledger.ctr is not None, ledger.cvr))
    fitted = learnt(ledger, ctr=ctr, cvr=cvr, pairs="all", seed=0, features={})
    model = fitted.get(tables.funnel.rewards[0])
    if model is not None and ctr != COLUMN:
        ledger = replace(ledger, ctr=clicks_of_model(model, ledger))
    assert ledger.ctr is not None
    work = Work(
        ledger=ledger, measures=(weighting("CG@1"),), estimators=(), ctr=ledger.ctr, predict={},
        pairs="all",
    )  # fmt: skip
    clicked = ledger.ctr[ledger.click & ~np.isnan(ledger.ctr)]
    return [
        about.predictions(ctr == COLUMN, cvr == COLUMN, FITTED),
        about.idle_users(ledger),
        about.overlap("funnel", clicked, of="Clicked pairs"),
        *forecasts(work, fitted, ctr=ctr, cvr=cvr),
    ]
