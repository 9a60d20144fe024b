"""A log as arrays: one impression is one item shown at one rank, and what came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints, keep_freed_memory, renumber, sum_by
from counterrank.core.merge import by_key, padded
from counterrank.data.ids import code_rows
from counterrank.engine.partitions import Partition
from counterrank.position.learn.request import LOG, LearnRequest


@dataclass(frozen=True)
class Impressions:
    """One entry per row. ``item`` is a code of context and item: what may differ in relevance.

    ``cluster`` is the user where one is logged, otherwise the session: what is independent.
    ``keys`` are context and item by their code, ``swapped`` the rank that was swapped with rank 1.
    """

    session: Ints
    cluster: Ints
    item: Ints
    rank: Ints
    reward: Floats
    viewed: Floats | None
    by: str
    keys: pl.DataFrame
    swapped: Ints | None = None

    @property
    def depth(self) -> int:
        """The deepest rank."""
        return int(self.rank.max(initial=0))

    @property
    def clusters(self) -> int:
        """Number of clusters; their codes need not all occur after a filter."""
        return len(renumber(self.cluster)[0])

    def only(self, keep: Bools | Ints) -> Impressions:
        """The rows that are kept."""
        return replace(
            self, session=self.session[keep], cluster=self.cluster[keep], item=self.item[keep],
            rank=self.rank[keep], reward=self.reward[keep],
            viewed=None if self.viewed is None else self.viewed[keep],
            swapped=None if self.swapped is None else self.swapped[keep],
        )  # fmt: skip

    def per_rank(self, x: Floats | None = None) -> Floats:
        """Sum of ``x``, or number of rows, at ranks 1, 2, ... to the deepest."""
        ones = np.ones(len(self.rank)) if x is None else x
        return sum_by(self.rank - 1, ones, self.depth)

    @cached_property
    def cells(self) -> RankCells:
        """Which rows show one item at one rank; several steps look at them."""
        depth = self.depth + 1
        known, of = renumber(self.item * depth + self.rank)
        return RankCells(known // depth, known % depth, of)


@dataclass(frozen=True)
class RankCells:
    """One entry per item and rank at which it was shown; ``of`` is the cell of each row."""

    item: Ints
    rank: Ints
    of: Ints


def impressions(
    frame: pl.DataFrame,
    *,
    reward: str | None,
    context: Sequence[str] = (),
    swapped: str | None = None,
) -> Impressions:
    """The arrays of a log that its schema has let pass; views and depth need no reward.

    Where users are logged, a session is one of its user: the same number elsewhere is another.
    """
    keep_freed_memory()
    by = "user" if "user" in frame.columns else "session"
    session, cluster = (code_rows(frame.select(column)) for column in ("session", by))
    names = list(dict.fromkeys([*context, "item"]))  # an item may be named as its own context
    item = code_rows(frame.select(names))
    first = np.zeros(int(item.max(initial=-1)) + 1, np.int64)
    first[item[::-1]] = np.arange(frame.height)[::-1]
    return Impressions(
        session=session if by == "session" else _within(session, cluster),
        cluster=cluster,
        item=item,
        rank=frame["rank"].to_numpy().astype(np.int64, copy=False),
        reward=np.zeros(frame.height) if reward is None else frame[reward].to_numpy().astype(float),
        viewed=frame["viewed"].to_numpy() if "viewed" in frame.columns else None,
        by=by,
        keys=_keys(frame[first], names),
        swapped=None if swapped is None else frame[swapped].cast(pl.Int64).to_numpy(),
    )


def _keys(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Columns that name an item, as whole numbers or text, under names of their own."""
    return frame.select(
        key(pl.col(name), frame.schema[name]).alias(f"key {n}") for n, name in enumerate(columns)
    )


def key(column: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """A column by which items are told apart."""
    return column if kind.is_integer() else column.cast(pl.String)


def _within(session: Ints, user: Ints) -> Ints:
    """Sessions told apart by user; as they are where none has two users."""
    owner = np.zeros(int(session.max(initial=0)) + 1, np.int64)
    owner[session] = user
    if np.array_equal(owner[session], user):
        return session
    return renumber(session * (int(user.max()) + 1) + user)[1]


Groups = dict[str | None, Impressions]


def impressions_by_group(request: LearnRequest, part: Partition) -> Groups:
    """All rows of a partition (None), and those of each value that a curve is asked for."""
    return part.cached("impressions", lambda: _grouped(request, part[LOG].frame))


def _grouped(request: LearnRequest, frame: pl.DataFrame) -> Groups:
    if request.ranks is not None:
        frame = frame.filter(pl.col("rank") <= request.ranks)
    data = impressions(
        frame, reward=request.reward, context=request.context, swapped=request.swapped
    )
    if request.by is None or not frame.height:
        return {None: data}
    text = frame[request.by].cast(pl.String)  # as models by context compare values
    code = code_rows(text.to_frame())
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(code[order]) > 0))
    rows = np.split(order, starts[1:])
    values = text.gather(order[starts]).to_list()
    return {None: data} | {v: data.only(at) for v, at in zip(values, rows, strict=True)}


DEEPEST = 2000  # beyond, the covariance of all ranks no longer fits well in memory


@dataclass(frozen=True)
class RankStatistics:
    """Counts of a log; ``shown`` are rows at rank 1, 2, ..., ``sums`` what else a method adds up.

    ``low`` and ``high`` bound the rewards; ``viewed`` says whether views were logged.
    """

    by: str
    viewed: bool
    rows: int
    sessions: int
    clusters: int
    deepest: Annotated[int, max]
    low: Annotated[float, min]
    high: Annotated[float, max]
    shown: Annotated[Floats, padded]
    sums: Annotated[dict[str, Floats], by_key(padded)]

    @classmethod
    def of(cls, data: Impressions, sums: dict[str, Floats]) -> RankStatistics:
        """The counts of some rows."""
        clipped = np.minimum(data.rank, DEEPEST + 1)
        return cls(
            by=data.by,
            viewed=data.viewed is not None,
            rows=len(data.rank),
            sessions=len(renumber(data.session)[0]),
            clusters=data.clusters,
            deepest=data.depth,
            low=float(data.reward.min(initial=np.inf)),
            high=float(data.reward.max(initial=-np.inf)),
            shown=np.bincount(clipped, minlength=1)[1:].astype(float),
            sums=sums,
        )

    @property
    def scale(self) -> float:
        """What rewards are divided by to lie between 0 and 1."""
        return max(self.high, 1.0)


def counts(group: Ints, x: Floats | None = None) -> Floats:
    """Sum of ``x``, or number, at 0, 1, ...; a rank beyond the deepest is not looked at."""
    near = group <= DEEPEST
    if not near.all():
        group, x = group[near], None if x is None else x[near]
    return sum_by(group, np.ones(len(group)) if x is None else x, 1)
