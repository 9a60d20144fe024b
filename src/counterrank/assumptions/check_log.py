"""What ``check`` says about a log: its audits, how rankers fit it, and what to log next time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from counterrank import logs
from counterrank.data.runs import RunTables
from counterrank.diagnostics.advice import to_log
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.diagnostics.table_reports import Findings
from counterrank.engine import Buckets, Engine, bucketed
from counterrank.errors import CounterrankError
from counterrank.exposure import ByContext, Exposure
from counterrank.logged import Asked, Basis, Given, Known, settled
from counterrank.logs import Log
from counterrank.tables import opened
from counterrank.verbs.log_passes import audits_of, looked_at


def check_log(
    table: object,
    targets: Mapping[int, tuple[str, object]],
    weigh: Callable[..., Any],
    *,
    rewards: Sequence[str],
    model: Exposure | ByContext | None,
    contexts: Sequence[str],
    views: str,
    columns: Mapping[str, str] | None,
    users: int,
    engine: Engine,
) -> Findings:
    """Audit a log of so many ``users``, and weigh the rankers at their places in ``targets``.

    ``weigh`` estimates what rankers would have earned by this log.
    """
    there = opened(table, trec=(), name="").columns()
    known = list(contexts) or [name for name in ("context",) if name in there]
    by = [] if model is None or model.column is None else [model.column]
    try:
        door = logs.log_door(table, rewards=rewards, contexts=[*known, *by], columns=columns)
        with bucketed(engine, {"log": door}, by="session", ids=("session", "item")) as held:
            log, basis, diagnoses = _audits(held, model, views, users)
    except CounterrankError as error:
        return Findings(fault=str(error))
    faults: dict[int, str] = {}
    if model is None and not log.has("propensity"):
        diagnoses.append(_untold())
        targets = {}
    for place, target in targets.items():
        try:
            result = weigh(
                [target], rewards=log.rewards, position_bias=model, views=views, contexts=known
            )
            diagnoses += [d for d in result.diagnoses if d.subject != "log"]
        except CounterrankError as error:
            faults[place] = str(error)
    return Findings(diagnoses, to_log(log, basis, diagnoses), "", faults)


def _audits(
    held: Buckets, model: Exposure | ByContext | None, views: str, users: int | None
) -> tuple[Log, Basis, list[Diagnosis]]:
    """The log, what its rows say of views, and the audits by its first reward."""
    given, gaps = Given(RunTables({}), RunTables({})), "allow" if views == "rows" else "error"
    asked = Asked(given, gaps, "order", "whole" if held.whole else "part")
    log = given.log(held.heads)
    shared = looked_at(held, asked, log)
    basis = settled(Basis("rank", views, model), shared)
    known = Known(asked, shared, basis, {})
    count = users if log.has("user") else None
    return log, basis, audits_of(held, known, basis, log.rewards[0], users=count)


def _untold() -> Diagnosis:
    text = (
        "No position model was given and no propensity logged, so no ranker can be weighed. Give"
        " one, as in --position-bias log2, or learn it: counterrank exposure LOG --out pbm.json."
    )
    return Diagnosis("position model", "log", 0.0, 1.0, "caution", text)
