"""From a log to a position model: check that it can be told, learn the table, fit a curve.

A pass over all buckets counts, another lays out items where they matter, the estimate follows from
the sums, and a last pass adds up its influences by cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from counterrank.engine.bucket import Buckets, in_memory
from counterrank.errors import InputError, UsageError, one_of
from counterrank.exposure.by_context import ByContext
from counterrank.exposure.learn import catalogue, clustered, facts, identify, passes, solving
from counterrank.exposure.learn.clustered import Spread
from counterrank.exposure.learn.facts import Facts
from counterrank.exposure.learn.fit import FAMILIES
from counterrank.exposure.learn.learnt import Learnt
from counterrank.exposure.learn.plan import LOG, Plan
from counterrank.exposure.learn.rows import rows
from counterrank.exposure.learn.solving import Solution
from counterrank.schema import Table
from counterrank.tables import opened

METHODS = ("auto", "views", "depth", "harvest", "swap", "em")


def learn(
    frame: pl.DataFrame,
    *,
    reward: str | None,
    method: str = "auto",
    model: str = "table",
    context: Sequence[str] = (),
    by: str | None = None,
    level: float = 0.95,
    ranks: int | None = None,
    length: int | None = None,
    swapped: str | None = None,
) -> Learnt:
    """Learn a position model from a log that has passed the door and is in memory.

    ``context`` are the columns within which an item keeps its relevance, such as the query.
    ``by`` asks for one model per value of a column. ``ranks`` is the deepest rank to learn,
    ``length`` the length of lists (depth only), ``swapped`` the column that says which rank was
    swapped with rank 1 (swap only).
    """
    log = in_memory({LOG: Table(opened(frame, trec=(), name="the log"), frame)})
    plan = Plan(method, reward, tuple(context), by, ranks, length, swapped)
    return learn_from(log, plan, model=model, level=level)


def learn_from(log: Buckets, plan: Plan, *, model: str = "table", level: float = 0.95) -> Learnt:
    """The same from buckets in which clusters are whole: users, or sessions where none are."""
    plan = _settled(plan, log.heads[LOG].frame, model, level)
    everyone, parts = _facts(log, plan)
    identify.every_rank(everyone)
    if plan.method == "auto":
        plan = replace(plan, method=solving.automatic(everyone))
    solving.refuse(everyone, plan)
    solve = _items(log, plan, everyone.scale)
    whole = solve(everyone, None)
    refused: dict[str, str] = {}

    def told(value: str) -> Solution | None:
        try:
            solving.refuse(parts[value], plan)
            return solve(parts[value], value)
        except InputError as error:
            refused[value] = f"{error.wrong} {error.found}"
            return None

    solved = {value: own for value in sorted(parts) if (own := told(value)) is not None}
    done = log.mapped(partial(passes.spreads, plan, whole, solved), "Intervals")

    def finished(facts: Facts, solution: Solution, spreads: Sequence[Spread]) -> Learnt:
        return solving.finished(
            facts, solution, clustered.added(spreads), method=plan.method, model=model, level=level
        )

    found = finished(everyone, whole, [spread for spread, _ in done])
    if plan.by is None:
        return found
    curves = {
        value: finished(
            parts[value], solution, [spreads[value] for _, spreads in done if value in spreads]
        )
        for value, solution in solved.items()
    }
    return _by(found, plan.by, curves, refused)


def _settled(plan: Plan, head: pl.DataFrame, model: str, level: float) -> Plan:
    """Refuse options that make no sense, alone or together."""
    method, ranks, length = plan.method, plan.ranks, plan.length
    one_of("method", method, METHODS)
    if not 0 < level < 1:
        raise UsageError("The level must lie between 0 and 1.", found=f"Got {level:g}.")
    if length is not None and method not in ("depth", "auto"):
        raise UsageError(f"A length of lists says nothing to method {method}.")
    if plan.swapped is not None and method != "swap":
        raise UsageError(f"A column of swaps says nothing to method {method}.")
    if ranks is not None and ranks < 1:
        raise UsageError("The deepest rank to learn counts from 1.", found=f"Got {ranks}.")
    one_of("model", model, FAMILIES)
    if plan.swapped is not None:
        _refuse_text(head[plan.swapped])
    if ranks is not None and method == "depth" and "viewed" not in head.columns:
        return replace(plan, length=ranks if length is None else min(length, ranks))
    return plan


def _facts(log: Buckets, plan: Plan) -> tuple[Facts, dict[str, Facts]]:
    """Counts of all rows, and of each value's."""
    done = log.mapped(partial(passes.facts, plan), "Counting")
    values = {value for _, parts in done for value in parts}
    return facts.added([whole for whole, _ in done]), {
        value: facts.added([parts[value] for _, parts in done if value in parts])
        for value in values
    }


def _items(log: Buckets, plan: Plan, most: float) -> Callable[[Facts, str | None], Solution]:
    """What solves for all rows (None) or a value's, once items of all buckets are together."""
    head = log.heads[LOG].frame.head(0)
    kinds = rows(head, reward=None, context=plan.context).keys.dtypes
    laid = partial(
        log.exchanged, partial(passes.cells, plan, most), catalogue.schema(kinds), catalogue.HASH
    )
    if not plan.by_item:
        sizes = pl.concat(laid(catalogue.sized, "Items"))
        total = sizes.group_by(catalogue.GROUP).agg(pl.col("items", "moved").sum())
        many = {group: (items, moved) for group, items, moved in total.iter_rows()}
        return lambda facts, value: solving.counted(facts, plan, *many[value])
    # one bucket has each cell once
    whole = pl.DataFrame.clone if log.whole else catalogue.summed_up
    cells = pl.concat(laid(whole, "Items"))
    parts = {} if plan.by is None else catalogue.split(cells)
    everyone = cells if plan.by is None else catalogue.summed_up(catalogue.ungrouped(cells))
    return lambda facts, value: solving.solved(
        facts, plan, everyone if value is None else parts[value]
    )


def _by(
    everyone: Learnt, by: str, parts: Mapping[str, Learnt], refused: Mapping[str, str]
) -> Learnt:
    """One result per value of a column; values too thin are left to the curve of all rows."""
    if not parts:
        value, why = next(iter(refused.items()))
        raise InputError(
            f'No value of "{by}" has a curve of its own.',
            found=f'For "{value}": {why}',
            todo="Learn one curve for all rows, or log more.",
        )
    models = {value: part.own for value, part in parts.items()}
    whole = ByContext(by, models, everyone.own)
    return replace(everyone, model=whole, by=by, parts=parts, refused=refused)


def _refuse_text(column: pl.Series) -> None:
    """Ranks that were swapped with rank 1 are whole numbers."""
    if not column.dtype.is_integer():
        raise InputError(
            f'Column "{column.name}" must say which rank was swapped with rank 1.',
            found=f"It is of type {column.dtype}.",
            todo="Log that rank as a whole number in every row of the session.",
        )
