"""Schemas of logs: what was shown and what came back, and the rankers to be judged by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from counterrank.core.errors import InputError, UsageError
from counterrank.core.faults import DataError, Fault
from counterrank.data.checks import (
    finite,
    groups,
    identifiers,
    not_negative,
    real,
    refuse_rows,
    shares,
    whole_ranks,
    zero_or_one,
)
from counterrank.data.schema import (
    TREC_RUN,
    Roles,
    Schema,
    Table,
    label,
    ordered_by,
    ranked_table,
    refuse_certain,
    refuse_played,
)
from counterrank.data.sources import open_source

ABOVE = "propensity_above"  # the chance of an item at its rank given the items above it
CHANCES = ("exposure", "propensity", ABOVE)
OPTIONAL = ("user", "viewed", *CHANCES, "policy", "day", "arm", "timestamp")
SLACK = 0.01  # of chances that should add up to 1, for rounding
USUAL = ("reward", "click", "like", "conversion", "dwell", "revenue")


@dataclass(frozen=True)
class Log(Table):
    """A log that has passed its schema. Rewards and contexts keep the names of their columns."""

    rewards: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()

    def has(self, column: str) -> bool:
        """Whether the log has this column."""
        return column in self.frame.columns


def log_schema(
    table: object,
    *,
    rewards: Sequence[str] | None = (),
    contexts: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    beside: Sequence[str] = (),
) -> Schema:
    """A log: session, item, rank, rewards; optionally user, viewed, exposure, propensity, ...

    Without ``rewards``, the columns of usual names are taken: reward, click, like and so on;
    with ``None`` it is no fault if there are none. Columns ``beside`` these are read as they are.
    """
    source = open_source(table, trec=(), name=label(table, "the log"))
    there = source.columns()
    usual = tuple(name for name in USUAL if name in there)
    if not (rewards or usual or rewards is None):
        raise InputError(
            f'"{source.name}": no reward was named.',
            found=f"Its columns are: {', '.join(there[:12])}.",
            todo='Name the column that holds what came back: --reward click (rewards=["click"]).',
        )
    rewards = tuple(dict.fromkeys(rewards or usual))
    contexts = tuple(dict.fromkeys(contexts))
    both = set(rewards) & set(contexts)
    if both:
        raise UsageError(f'Column "{min(both)}" cannot be a reward and a context.')
    own = tuple(dict.fromkeys([*rewards, *contexts, *beside]))
    roles = Roles(source.name, ("session", "item", "rank"), OPTIONAL, columns, own)
    refuse_played(rewards, roles, source.columns(), also=("viewed",))
    return Schema(
        source,
        roles,
        partial(_logged, source.name, rewards, contexts),
        partial(Log, source, rewards=rewards, contexts=contexts),
        partial(refuse_certain, "propensity"),
    )


def _logged(
    name: str, rewards: Sequence[str], contexts: Sequence[str], frame: pl.DataFrame
) -> pl.DataFrame:
    frame = identifiers(frame, ("session", "item"), name)
    frame = identifiers(frame, [c for c in ("user", "policy") if c in frame.columns], name)
    frame = whole_ranks(frame, name)
    for reward in rewards:
        frame = real(frame, reward, name)
    for column in {"viewed"} & set(frame.columns):
        frame = zero_or_one(frame, column, name)
    for column in [c for c in CHANCES if c in frame.columns]:
        frame = shares(frame, column, name)
    for column in [c for c in ("day", "arm", "timestamp", *contexts) if c in frame.columns]:
        frame = groups(frame, column, name)
        if column in ("day", "timestamp") and frame.schema[column].is_float():
            frame = real(frame, column, name)
    for reward in rewards if "viewed" in frame.columns else ():  # or views were logged wrongly
        unseen = (frame["viewed"] == 0) & (frame[reward] != 0)
        refuse_rows(frame, reward, unseen, name, "reward not viewed")
    return frame


def target_schema(
    table: object, *, name: str = "", columns: Mapping[str, str] | None = None
) -> Schema:
    """A target ranker's lists: session, item, and rank or score, or the exposure they would get.

    ``draw`` marks samples of a stochastic ranker; ``propensity`` is its chance of this item at this
    rank, ``propensity_above`` that given the items that the log has above; ``predicted`` is a
    forecast of the reward of a view.
    """
    source = open_source(table, trec=TREC_RUN, name=label(table, name or "the run"))
    optional = ("rank", "score", *CHANCES, "draw", "predicted", "system")
    roles = Roles(source.name, ("session", "item"), optional, columns)
    given = dict(columns or {})
    made = partial(ranked_table, source, given, name)
    return Schema(source, roles, partial(_aimed, source.name, given), made)


def _aimed(name: str, given: Mapping[str, str], frame: pl.DataFrame) -> pl.DataFrame:
    order = ordered_by(frame.columns, given)
    frame = identifiers(frame, ("session", "item"), name)
    if "rank" in frame.columns and order != "score":
        frame = whole_ranks(frame, name)
    if order == "score":
        frame = finite(frame, "score", name)
    for column in [c for c in CHANCES if c in frame.columns]:
        frame = not_negative(frame, column, name)
    if "predicted" in frame.columns:
        frame = real(frame, "predicted", name)
    marks = [c for c in ("draw", "system") if c in frame.columns]
    return identifiers(frame, marks, name)


def validate_chances(run: Table) -> None:
    """Refuse chances of a rank that are not those of all its items: the first rank is filled.

    Further down they may add up to less, where a list may be shorter; never to more than 1.
    """
    frame = run.frame
    for column in [c for c in ("propensity", ABOVE) if c in frame.columns]:
        if "rank" not in frame.columns or "draw" in frame.columns:
            continue
        sums = frame.group_by("session", "rank", maintain_order=True).agg(pl.col(column).sum())
        first = (sums["rank"] == 1) & (sums[column] < 1 - SLACK)
        wrong = sums.filter(first | (sums[column] > 1 + SLACK))
        if wrong.height:
            row = wrong.row(0, named=True)
            words = {"id": row["session"], "rank": row["rank"], "sum": row[column]}
            fault = Fault("chances of a rank", run.name, column, wrong.height, sums.height, words)
            raise DataError(fault)
