"""What ``check`` says about a log: its audits, how rankers fit it, and what to log next time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from counterrank import logs
from counterrank.diagnostics.advice import to_log
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.diagnostics.table_reports import Findings
from counterrank.engine import Engine, Partition, Partitions, Tables
from counterrank.errors import CounterrankError
from counterrank.exposure import ByContext, Exposure
from counterrank.logs import Log
from counterrank.ope.basis import Basis
from counterrank.ope.log import LOG, LogTotals, Sessions, log_table, sessions_of
from counterrank.ope.log_audit import audit_log
from counterrank.tables import opened


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
        with engine.open(Tables({LOG: door}, "session", ("session", "item"))) as read:
            log, basis, diagnoses = _audits(read, model, views, users)
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
    return Findings(diagnoses, to_log(log, basis.views, diagnoses), "", faults)


def _audits(
    log: Partitions, model: Exposure | ByContext | None, views: str, users: int | None
) -> tuple[Log, Basis, list[Diagnosis]]:
    """The log's head, what its rows say of views, and the audits by its first reward."""
    gaps, head = "allow" if views == "rows" else "error", log_table(log.heads[LOG])
    totals = LogTotals.read(log, gaps)
    basis = Basis("rank", views, model).with_totals(totals)
    count = users if head.has("user") else None
    read = partial(_numbered, totals, gaps)
    return (
        head,
        basis,
        audit_log(log, totals, basis, head.rewards[0], users=count, read=read),
    )


def _numbered(totals: LogTotals, gaps: str, part: Partition) -> Sessions | None:
    sessions = sessions_of(part, gaps)
    return None if sessions is None else totals.number_sessions(sessions)


def _untold() -> Diagnosis:
    text = (
        "No position model was given and no propensity logged, so no ranker can be weighed. Give"
        " one, as in --position-bias log2, or learn it: counterrank exposure LOG --out pbm.json."
    )
    return Diagnosis("position model", "log", 0.0, 1.0, "caution", text)
