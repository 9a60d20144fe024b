"""What ``strata`` is asked: measures, policies and tests, how feedback is cut and weighed, tables.

`StrataRequest` is sent to every partition and holds no table; `StrataTables` are the schemas of the
tables, by what they are cut by.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import polars as pl

from counterrank.core.errors import UsageError, nearest
from counterrank.data import schema
from counterrank.data.checks import groups, identifiers, no_missing, shares
from counterrank.data.runs import Policies, Runs, run_schemas
from counterrank.data.schema import QRELS, ColumnNames, Roles, Schema, Table, label
from counterrank.data.sources import open_source
from counterrank.engine.partitions import Tables
from counterrank.metrics import Measure
from counterrank.stats.draws import Draws
from counterrank.stats.plan import Plan
from counterrank.stratified.propensity_strata import CUTS, RULES

JUDGMENTS, FEEDBACK, PROPENSITIES, OPEN = "judgments", "feedback", "propensities", "open"
STEPS = ("item", "select", "interact")  # of a propensity: how likely shown, and used if shown
RESAMPLES = 1000  # of the agreement with the open loop
LEAST = 4  # systems whose order says something


@dataclass(frozen=True)
class StrataRequest:
    """What is computed. ``column`` is that of the judgments which is cut by, if ``cut`` names one.

    ``propensity`` is the rule of popularity (None: the usual one, if it can be had), ``column`` or
    ``table``; ``source`` the column or what messages call the table. ``own_lists`` says that the
    systems have other lists for the open loop. ``bins`` is one of the ``numbers`` of strata that
    are tried. ``per`` is user, or item: values are then divided by how many items a user judged.
    """

    measures: tuple[Measure, ...]
    policies: Policies
    plan: Plan
    bins: int
    cut: str
    column: str
    propensity: str | None
    source: str
    open_loop: bool
    own_lists: bool
    numbers: tuple[int, ...]
    per: str = "user"

    @property
    def popular(self) -> bool:
        """Whether propensities come from popularity."""
        return self.propensity is None or self.propensity in RULES

    def draws(self, systems: int) -> Draws:
        """Resamples: those asked for, or those of the agreement with the open loop.

        Its users are others, and each must weigh as much there as here: none are drawn by group.
        """
        count = self.plan.resamples if self.plan.interval == "bootstrap" else 0
        if self.open_loop and systems >= LEAST:
            return Draws(count or RESAMPLES, seed=self.plan.seed, many=sys.maxsize)
        return Draws(resamples=count, seed=self.plan.seed)

    def family(self, size: int, groups: int) -> str:
        """What a correction spans, in words."""
        whole = self.plan.family == "all"
        which = "all measures and methods" if whole else "one measure and method"
        return f"{size} comparison{'s' * (size > 1)} by {which}"


@dataclass(frozen=True, eq=False)
class StrataTables:
    """``by_user`` and ``by_item`` are schemas of tables, by what their rows are brought together.

    ``runs`` and ``open_runs`` are the names given to tables of lists.
    """

    by_user: dict[str, Schema]
    by_item: dict[str, Schema]
    runs: dict[str, str]
    open_runs: dict[str, str]
    order: tuple[str, ...]

    @classmethod
    def of(
        cls, judged: dict[str, Schema], runs: Runs, more: Runs | None, named: ColumnNames
    ) -> StrataTables:
        """Tables of feedback, and of lists; what does not say whose it is is cut by item."""

        def lists(table: object, name: str) -> Schema:
            return schema.run_schema(table, name=name, columns=named)

        own, names = run_schemas(runs, lists)
        others, open_names = run_schemas(more, lists, "open run")
        by_item = {name: x for name, x in judged.items() if not _has_users(x)}
        by_user = {name: x for name, x in judged.items() if name not in by_item}
        schema.validate_columns((*judged.values(), *own.values(), *others.values()))
        order = (*judged, *own, *others)
        return cls({**by_user, **own, **others}, by_item, names, open_names, order)

    @property
    def tables(self) -> Tables:
        """What is cut by user."""
        return Tables(self.by_user, "user", ("user", "item"))


@dataclass(frozen=True)
class Choices:
    """How feedback is cut and weighed, as a caller says it of the ``judgments``.

    Words of an option come before columns of the same name.
    """

    strata: int | Sequence[int] | None
    cut: str
    propensity: object
    feedback: object
    columns: ColumnNames
    judgments: object

    @cached_property
    def there(self) -> list[str]:
        """The columns of the judgments."""
        name = label(self.judgments, "the judgments")
        return open_source(self.judgments, trec=QRELS, name=name).columns()

    @property
    def cut_column(self) -> str:
        """The column of the judgments whose values are the strata, if one is."""
        return "" if self.cut in CUTS else self._column(self.cut)

    @property
    def propensity_column(self) -> str:
        """The column of the judgments that holds propensities, if one does."""
        return self._column(self.propensity)

    @property
    def rule(self) -> str | None:
        """What propensities are made of, as a request has it."""
        if self.propensity is None:
            return None
        if isinstance(self.propensity, str) and self.propensity in RULES:
            return self.propensity
        return "column" if self.propensity_column else "table"

    def request(
        self,
        measures: tuple[Measure, ...],
        policies: Policies,
        plan: Plan,
        *,
        more: object,
        own: bool,
        per: str = "user",
    ) -> StrataRequest:
        """The request; ``more`` are open-loop judgments, ``own`` says that these have own lists."""
        source = self.propensity_column
        if self.rule == "table":
            source = label(self.propensity, "the propensities")
        usual = 2 if self.cut == "width" else 4  # no half of the feedback is most of it
        given = [] if self.strata is None else self.strata
        several = given if isinstance(given, (list, tuple)) else [given]
        numbers = tuple(sorted(set(several))) or (usual,)
        return StrataRequest(
            measures, policies, plan, numbers[0], self.cut, self.cut_column, self.rule, source,
            more is not None, own, numbers, per,
        )  # fmt: skip

    def schemas(self, open_loop: object) -> dict[str, Schema]:
        """The tables that lists are held against, in the order they are remembered."""
        cut, propensity = self.cut_column, self.propensity_column
        names = [name for name in dict.fromkeys((cut, propensity)) if name]
        judged = schema.judgments_schema(self.judgments, columns=self.columns, own=names)
        check = partial(_check_judged, judged.check, judged.source.name, cut, propensity)
        found = {JUDGMENTS: replace(judged, check=check)}
        if self.feedback is not None:
            found[FEEDBACK] = _by_item(self.feedback, ("item",), "the feedback", self.columns)
        if self.rule == "table":
            found[PROPENSITIES] = _by_item(self.propensity, STEPS, "the propensities", self.columns)
        if open_loop is not None:
            found[OPEN] = schema.judgments_schema(open_loop, columns=self.columns)
        return found

    def __post_init__(self) -> None:
        """Refuse words that are neither columns nor anything else, and what cannot go together."""
        given, popular = self.propensity, self.rule is None or self.rule in RULES
        if not popular and self.feedback is not None:
            raise UsageError(
                "Feedback is counted only for propensities from popularity.",
                todo="Leave --feedback out, or ask for --propensity popularity.",
            )
        nowhere = isinstance(given, str) and not os.path.exists(given) and "*" not in given
        if nowhere and self.rule == "table":
            raise UsageError(
                f'propensity cannot be "{given}".',
                found=nearest(str(given), [*RULES, *self.there])
                or "It is neither a column nor a file.",
                todo=f"It takes {', '.join(RULES)}, a column of the judgments, or a table's path.",
            )
        if self.cut in CUTS:
            return
        if not self.cut_column:
            raise UsageError(
                f'cut cannot be "{self.cut}".',
                found=nearest(self.cut, [*CUTS, *self.there]),
                todo=f"It takes {', '.join(CUTS)}, or a column: {', '.join(self.there)}.",
            )
        if self.strata is not None:
            raise UsageError(
                f'The values of "{self.cut_column}" are the strata: their number cannot be chosen.',
                todo="Leave --strata out, or cut by propensity: --cut width.",
            )

    def _column(self, word: object) -> str:
        """The column of the judgments that a word names, by itself or by its role."""
        if not isinstance(word, str) or word in (*CUTS, *RULES):
            return ""
        named = word if word in self.there else self.columns.get(word, word)
        if named in self.there and self.columns.get(word) == named:
            self.columns.met.add(word)
        return named if named in self.there else ""


def _has_users(own: Schema) -> bool:
    """Whether a table says whose rows its rows are, so that it can be cut by user."""
    there = own.source.columns()
    return own.roles.column("user", there) in there


def _by_item(
    table: object, required: tuple[str, ...], name: str, columns: Mapping[str, str] | None
) -> Schema:
    """A table of items, perhaps with users: propensities, or a row for each piece of feedback."""
    source = open_source(table, trec=QRELS, name=label(table, name))
    there = {ColumnNames.of(columns).get(role, role) for role in STEPS} & set(source.columns())
    if required == STEPS and len(there) < len(STEPS):
        required = ("item", "propensity")
    roles = Roles(source.name, required, ("user",), columns)
    return Schema(source, roles, partial(_check_items, source.name), partial(Table, source))


def _check_items(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    for column in frame.columns:
        no_missing(frame, column, name)
    frame = identifiers(frame, [key for key in ("user", "item") if key in frame.columns], name)
    if set(STEPS) <= set(frame.columns):
        for step in STEPS[1:]:
            frame = shares(frame, step, name)
        return frame.with_columns(propensity=pl.col("select") * pl.col("interact")).drop(STEPS[1:])
    return shares(frame, "propensity", name) if "propensity" in frame.columns else frame


def _check_judged(
    check: Callable[[pl.DataFrame], pl.DataFrame],
    name: str,
    cut: str,
    propensity: str,
    frame: pl.DataFrame,
) -> pl.DataFrame:
    """The checks of judgments, and those of the columns that are cut or weighed by."""
    frame = check(frame)
    if cut:
        frame = groups(frame, cut, name)
    if propensity:
        shares(frame, propensity, name)
    return frame
