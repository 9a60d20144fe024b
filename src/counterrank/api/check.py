"""``check``: every table through its schema, all faults in one report, then the diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from counterrank.api import verb as v
from counterrank.core.parallel import quiet

if TYPE_CHECKING:
    from counterrank.results.result import Result


@v.verb
def check(
    *table: v.TablesByName,
    measure: v.Measures = (),
    duplicates: v.Duplicates = "error",
    reward: v.Several = (),
    position_bias: v.PositionBias = None,
    context: v.Several = (),
    views: v.Views = "auto",
    columns: v.Columns = None,
    progress: v.Bar = quiet,
    **where: Unpack[v.Where],
) -> Result:
    """Report on tables, on how they fit together, and on what estimates of them would rest on.

    A table with a rating is judgments, one with a rank or score a run. One with a session and a
    reward is a log: it is audited, with rankers by session if some are given. One with user, click
    and conversion is a funnel: it is diagnosed as by ``funnel``, with runs and a table of predicted
    ctr or cvr if some are given. ``reward``,
    ``position_bias``, ``context`` and ``views`` are as in ``estimate``; a column named context is
    taken for one. ``memory`` sends what needs more to disk, ``engine`` to Spark.

    The result has a report of each table in ``tables["tables"]``, and in ``tables["to_log"]`` what
    should have been logged, most useful first.
    """
    from counterrank.api.estimate import estimate
    from counterrank.api.evaluate import evaluate
    from counterrank.api.funnel import funnel
    from counterrank.conversions.funnel_diagnostics import check_funnel
    from counterrank.data.runs import named_tables
    from counterrank.data.schema import ColumnNames, Input
    from counterrank.diagnostics.diagnostic import Findings
    from counterrank.diagnostics.table_reports import (
        check_runs,
        look_at,
        report_table,
        usable,
        validate_looks,
    )
    from counterrank.judged.request import parse_measures
    from counterrank.ope.log_check import check_log
    from counterrank.position import position_bias as as_model
    from counterrank.results.result import Result

    alone = len(table) == 1 and isinstance(table[0], (Mapping, list))
    given = list(named_tables(table[0] if alone else table))
    paid, within = v.as_list(reward), v.as_list(context)
    labels = parse_measures(v.as_list(measure) or v.MEASURES)
    model = None if position_bias is None else as_model(position_bias)
    named = ColumnNames.of(columns)
    asked: dict[str, Any] = {"columns": named, "engine": v.engine_for(where, given)}
    alike: dict[str, Any] = {"duplicates": duplicates, **asked}
    seen = [look_at(name, own, rewards=paid, columns=named) for name, own in given]
    validate_looks(seen, named, [*paid, *within])
    reports = [
        report_table(look, duplicates=duplicates, engine=asked["engine"], progress=progress)
        for look in seen
    ]
    findings: list[Findings] = []

    def note(place: int, found: Findings) -> None:
        """Take over what was found about the table at a place, and about those beside it."""
        findings.append(found)
        reports[:] = found.note(reports, place)

    def those(kind: str) -> dict[int, tuple[str, object]]:
        return {place: given[place] for place in usable(reports, kind)}

    for place, (_, own) in those("log").items():
        found = check_log(
            own,
            those("target"),
            partial(estimate, own, estimator="IPS", test="none", **asked),
            rewards=paid,
            model=model,
            contexts=within,
            views=views,
            users=reports[place].users,
            **asked,
        )
        note(place, found)
    for place, (_, own) in those("funnel").items():
        guess = next((table for _, table in those("predictions").values()), None)
        sell = partial(funnel, own, reward=paid, test="none", **alike)
        note(place, check_funnel(own, those("run"), guess, sell, rewards=paid, **asked))
    for place, (_, own) in those("judgments").items():
        judge = partial(evaluate, own, measure=labels, test="none", **alike)
        note(place, check_runs(those("run"), judge))
    return Result(
        kind="check",
        estimates=[],
        comparisons=[],
        diagnostics=[d for found in findings for d in found.diagnostics],
        protocol={},
        inputs=tuple(
            Input(r.table, r.rows, look.schema.source.sha256() if look.schema else None)
            for r, look in zip(reports, seen, strict=True)
            if not r.fault
        ),
        tables={"tables": reports, "to_log": [line for f in findings for line in f.to_log]},
    )
