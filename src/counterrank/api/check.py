"""``check``: every table through its schema, all faults in one report, then the diagnoses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from counterrank.api.estimate import estimate
from counterrank.api.evaluate import evaluate
from counterrank.api.funnel import funnel
from counterrank.conversions.funnel_diagnoses import check_funnel
from counterrank.core.parallel import Progress, quiet
from counterrank.data.runs import named_tables
from counterrank.diagnostics.diagnosis import Findings
from counterrank.diagnostics.table_reports import check_runs, refuse_several, report_table, usable
from counterrank.engine import Engine
from counterrank.engine import engine as engine_of
from counterrank.metrics import DEFAULTS, Measure
from counterrank.ope.diagnoses import check_log
from counterrank.position import ByContext, Exposure
from counterrank.position import position_bias as as_model
from counterrank.results.result import Result


def check(
    tables: Mapping[str, object] | Sequence[object] | object,
    *,
    measures: Sequence[str | Measure] | None = None,
    duplicates: str = "error",
    rewards: str | Sequence[str] = (),
    position_bias: str | Path | Exposure | ByContext | None = None,
    contexts: str | Sequence[str] = (),
    views: str = "auto",
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Result:
    """Report on tables, on how they fit together, and on what estimates of them would rest on.

    A table with a rating is judgments, one with a rank or score a run. One with a session and a
    reward is a log: it is audited, with rankers by session if some are given. One with user, click
    and conversion is a funnel: it is diagnosed as by ``funnel``, with runs and a table of predicted
    ctr or cvr if some are given. ``rewards``,
    ``position_bias``, ``contexts`` and ``views`` are as in ``estimate``; a column named context is
    taken for one. ``engine`` says where tables too large for memory go: to disk or to Spark.

    The result has a report of each table in ``tables["tables"]``, and in ``tables["to_log"]`` what
    should have been logged, most useful first.
    """
    given = list(named_tables(tables))
    paid = [rewards] if isinstance(rewards, str) else list(rewards)
    asked: dict[str, Any] = {
        "columns": columns, "engine": engine_of(engine, [table for _, table in given]),
    }  # fmt: skip
    alike: dict[str, Any] = {"duplicates": duplicates, **asked}
    reports = [
        report_table(name, table, rewards=paid, progress=progress, **alike) for name, table in given
    ]
    refuse_several(reports)
    findings: list[Findings] = []

    def note(place: int, found: Findings) -> None:
        """Take over what was found about the table at a place, and about those beside it."""
        findings.append(found)
        reports[:] = found.note(reports, place)

    def those(kind: str) -> dict[int, tuple[str, object]]:
        return {place: given[place] for place in usable(reports, kind)}

    for place, (_, table) in those("log").items():
        found = check_log(
            table,
            those("target"),
            partial(estimate, table, estimators=("IPS",), test="none", **asked),
            rewards=paid,
            model=None if position_bias is None else as_model(position_bias),
            contexts=[contexts] if isinstance(contexts, str) else list(contexts),
            views=views,
            users=reports[place].users,
            **asked,
        )
        note(place, found)
    for place, (_, table) in those("funnel").items():
        guess = next((table for _, table in those("predictions").values()), None)
        sell = partial(funnel, table, rewards=paid, test="none", **alike)
        note(place, check_funnel(table, those("run"), guess, sell, rewards=paid, **asked))
    for place, (_, table) in those("judgments").items():
        judge = partial(evaluate, table, measures=measures or DEFAULTS, test="none", **alike)
        note(place, check_runs(those("run"), judge))
    return Result(
        kind="check",
        estimates=[],
        comparisons=[],
        diagnoses=[d for found in findings for d in found.diagnoses],
        protocol={},
        inputs=(),
        tables={"tables": reports, "to_log": [line for f in findings for line in f.to_log]},
    )
