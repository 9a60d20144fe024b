"""What ``strata`` holds runs against: judgments with propensities, cut into strata."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank import schema
from counterrank.checks import no_missing
from counterrank.errors import InputError, UsageError, nearest
from counterrank.hits import Pool
from counterrank.pool import pooled
from counterrank.ranking import Measure
from counterrank.schema import Input, Named, Table
from counterrank.stratified import CUTS, Layout, Propensities, Strata, by_values
from counterrank.stratified import cut as cut_into
from counterrank.stratified.propensities import (
    RULES,
    from_column,
    from_popularity,
    from_table,
    item_numbers,
    read_feedback,
    read_propensities,
)
from counterrank.tables import opened
from counterrank.verbs.strata_open import open_pool


@dataclass(frozen=True, eq=False)
class Truth:
    """What every run is held against."""

    inputs: tuple[Input, ...]
    layout: Layout
    propensities: Propensities
    open: Pool | None


@dataclass(frozen=True)
class Asked:
    """What was asked for, beside the columns ``there`` are in the judgments.

    Words of an option come before columns of the same name.
    """

    strata: int | None
    cut: str
    propensity: object
    feedback: object
    open_loop: object
    columns: Named
    there: tuple[str, ...] = ()

    def column(self, word: object) -> str | None:
        """The column of the judgments that a word names, by itself or by its role."""
        if not isinstance(word, str) or word in (*CUTS, *RULES):
            return None
        named = word if word in self.there else self.columns.get(word, word)
        if named in self.there and self.columns.get(word) == named:
            self.columns.met.add(word)
        return named if named in self.there else None

    @property
    def own(self) -> list[str]:
        """Columns to read beside user, item and rating."""
        named = [self.column(word) for word in (self.cut, self.propensity)]
        return [name for name in dict.fromkeys(named) if name is not None]


def truth(judgments: object, measures: Sequence[Measure], no_relevant: str, asked: Asked) -> Truth:
    """Read the judgments, give each its propensity and its stratum."""
    table = schema.judgments(judgments, columns=asked.columns, own=asked.own)
    pool, opened_pool = pooled(table), None
    known, inputs = _propensities(pool, table, asked)
    if asked.open_loop is not None:
        read, opened_pool = open_pool(asked.open_loop, asked.columns)
        inputs.append(read)
    for m in measures:
        for own in [pool] if opened_pool is None else [pool, opened_pool]:
            m.refuse(own)
            _refuse_blank(m, own, no_relevant, "judged" if own is pool else "open-loop")
    published = measures if known.source == "published" else ()
    layout = Layout.of(pool, _strata(pool, table, known, asked), known.value, published)
    return Truth((table.input(), *inputs), layout, known, opened_pool)


def columns_of(judgments: object) -> tuple[str, ...]:
    """The columns there are to cut by."""
    name = schema.label(judgments, "the judgments")
    return tuple(opened(judgments, trec=schema.QRELS, name=name).columns())


def _strata(pool: Pool, table: Table, known: Propensities, asked: Asked) -> Strata:
    if asked.cut in CUTS:
        assert known.value is not None
        bins = 2 if asked.strata is None else asked.strata
        return cut_into(known.value, known.item, bins=bins, how=asked.cut)
    name = asked.column(asked.cut)
    if name is None:
        raise UsageError(
            f'cut cannot be "{asked.cut}".',
            found=nearest(asked.cut, [*CUTS, *asked.there]),
            todo=f"It takes {', '.join(CUTS)}, or a column: {', '.join(asked.there)}.",
        )
    if asked.strata is not None:
        raise UsageError(
            f'The values of "{name}" are the strata: their number cannot be chosen.',
            todo="Leave --strata out, or cut by propensity: --cut width.",
        )
    roles = {"user": pool.units.gather(pool.unit), "item": pool.items}
    column = roles.get(name, pl.Series(pool.rating))
    column = pool.more[name] if name in pool.more.columns else column
    no_missing(column.alias(name).to_frame(), name, table.name)
    return by_values(column.alias(name))


def _propensities(pool: Pool, table: Table, asked: Asked) -> tuple[Propensities, list[Input]]:
    """The propensity of each judgment, and the tables it came from."""
    given = asked.propensity
    if given is None or (isinstance(given, str) and given in RULES):
        return _popular(pool, asked)
    if asked.feedback is not None:
        raise UsageError(
            "Feedback is counted only for propensities from popularity.",
            todo="Leave --feedback out, or ask for --propensity popularity.",
        )
    column = asked.column(given)
    if column is not None:
        return from_column(pool, column, table.name), []
    if isinstance(given, str) and not os.path.exists(given) and "*" not in given:
        raise UsageError(
            f'propensity cannot be "{given}".',
            found=nearest(given, [*RULES, *asked.there]) or "It is neither a column nor a file.",
            todo=f"It takes {', '.join(RULES)}, a column of the judgments, or a table's path.",
        )
    read, frame = read_propensities(given, asked.columns)
    return from_table(pool, frame, read.name), [read]


def _popular(pool: Pool, asked: Asked) -> tuple[Propensities, list[Input]]:
    """By popularity; where that was not asked for, feedback without a power law has no IPS."""
    inputs, counts = [], None
    if asked.feedback is not None:
        read, counts = read_feedback(asked.feedback, asked.columns)
        inputs = [read]
    try:
        return from_popularity(pool, str(asked.propensity or "popularity"), counts), inputs
    except InputError as error:
        if asked.propensity is not None or asked.cut in CUTS:
            raise
        return Propensities(None, item_numbers(pool)[1], "none", missing=str(error)), inputs


def _refuse_blank(m: Measure, pool: Pool, no_relevant: str, whose: str) -> None:
    """Nothing to find at all, or for some where that is an error."""
    blank = ~m.defined(pool)
    if blank.all():
        raise InputError(
            f"None of {pool.n:,} {whose} users has anything to find for {m}.",
            found=f"The greatest rating is {pool.top:g}.",
            todo="Check rel= against the ratings.",
        )
    if no_relevant == "error" and blank.any():
        raise InputError(
            f"{blank.sum():,} of {pool.n:,} {whose} users have nothing to find for {m}.",
            found=f"The first is {pool.units[int(np.argmax(blank))]!r}.",
            todo="Check rel= against the ratings, or leave such users out (--no-relevant skip).",
        )
