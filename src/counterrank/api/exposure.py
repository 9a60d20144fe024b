"""``exposure``: learn from a log how likely each rank is to be seen."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, Unpack

from counterrank.api import verb as v
from counterrank.core.parallel import quiet

if TYPE_CHECKING:
    from counterrank.position.learn.learned import Learned
    from counterrank.position.learn.request import LearnRequest
    from counterrank.results.result import Result


@v.verb
def exposure(
    log: v.Table,
    *,
    method: Literal["auto", "views", "depth", "harvest", "swap", "em"] = "auto",
    reward: str | None = None,
    model: Literal["table", "power", "geometric", "beta_geometric", "log2"] = "table",
    context: v.Several = (),
    by: str | None = None,
    level: v.Level = 0.95,
    ranks: v.Count | None = None,
    length: v.Count | None = None,
    swapped: str | None = None,
    columns: v.Columns = None,
    progress: v.Bar = quiet,
    **where: Unpack[v.Where],
) -> Result:
    """Learn a position model from a log: session, item, rank, a reward, optionally viewed, user.

    ``method``: ``views`` (share of rows viewed), ``depth`` (deepest view per session), ``harvest``
    (items that change rank), ``swap`` (ranks at random), ``em`` (relevance and rank together);
    ``auto`` takes views where they were logged, depth where only viewed rows
    seem to have been, and harvests otherwise. ``model`` is ``table`` or a
    family fitted to it. An item keeps its relevance within a ``context``, such as the query.
    ``memory`` sends a log that needs more to disk, ``engine`` to a Spark cluster.

    The estimates of the result are one row per rank (and value of ``by``), measured as
    ``exposure@RANK``; ``tables["ranks"]`` has the rows behind them; ``result.model`` is the
    model, ready for ``position_bias``, and ``result.learned`` has the curves with their covariance.
    """
    from counterrank.data.schema import ColumnNames, validate_columns
    from counterrank.diagnostics.diagnostic import worst
    from counterrank.diagnostics.position_models import position
    from counterrank.position.learn.pipeline import learn
    from counterrank.position.learn.request import LearnRequest
    from counterrank.position.model_file import KIND
    from counterrank.results.result import Result
    from counterrank.results.rows import as_row

    within = tuple(v.as_list(context))
    request = LearnRequest(method, reward, within, by, ranks, length, swapped, model, level)
    names = ColumnNames.of(columns)
    tables = request.tables(log, names)
    validate_columns(tables.schemas.values())
    with v.engine_for(where, log).open(tables, progress) as partitions:
        learned = learn(request, partitions)
        protocol = _protocol(request, learned) | partitions.protocol()
    asked, diagnostics = learned.request, position(learned)
    rows = [row for value, curve in learned.curves() for row in curve.rows(asked, value)]
    told = {"estimator": asked.method, "verdict": worst(diagnostics)}
    return Result(
        kind=KIND,
        estimates=[
            as_row(row, measure=f"exposure@{row.rank}", segment=row.context or None, **told)
            for row in rows
        ],
        comparisons=[],
        diagnostics=diagnostics,
        protocol=protocol,
        inputs=tuple(partitions.inputs.values()),
        tables={**_tables(learned), "ranks": rows},
        notes={"learned": learned, "model": learned.model},
    )


def _protocol(request: LearnRequest, learned: Learned) -> dict[str, Any]:
    """What was asked, and what the numbers are."""
    asked = {name: getattr(request, name) for name in ("by", "ranks", "length", "swapped")}
    return {
        "method": learned.request.method,
        "family": request.model,
        "reward": learned.request.reward,
        "level": request.level,
        "context": list(request.context),
        **asked,
        "interval": f"delta method, clustered by {learned.whole.basis.by}",
        "scale": "share of rank 1" if learned.whole.curve.relative else "chance of being seen",
    }


def _tables(learned: Learned) -> dict[str, Any]:
    """What only this document has; ``model`` is what is read back."""
    from counterrank.position.model_file import error_to_json, to_json

    curves = learned.curves()
    return {
        "model": to_json(learned.model),
        "covariance": error_to_json(learned.model),
        "label": str(learned.model),
        "parameters": [
            {"context": value, **asdict(parameter)}
            for value, curve in curves
            for parameter in curve.parameters
        ],
        "basis": [{"context": value, **asdict(curve.basis)} for value, curve in curves],
        "refused": [{"context": v, "reason": why} for v, why in learned.refused.items()],
    }
