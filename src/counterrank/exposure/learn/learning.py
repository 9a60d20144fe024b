"""From a log to a position model: check that it can be told, learn the table, fit a curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from counterrank.arrays import Ints, renumbered
from counterrank.errors import InputError, UsageError, one_of
from counterrank.exposure.by_context import ByContext
from counterrank.exposure.learn import identify
from counterrank.exposure.learn.curve import Curve
from counterrank.exposure.learn.depth import depth, gaps, going_on
from counterrank.exposure.learn.em import em
from counterrank.exposure.learn.fit import fit
from counterrank.exposure.learn.harvest import harvest
from counterrank.exposure.learn.learnt import Basis, Learnt
from counterrank.exposure.learn.misfit import balance, misfit
from counterrank.exposure.learn.rows import Rows, moved, rows
from counterrank.exposure.learn.swap import swap
from counterrank.exposure.learn.views import views

BY = "counterrank: by"
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
    """Learn a position model from a log that has passed the door.

    ``context`` are the columns within which an item keeps its relevance, such as the query.
    ``by`` asks for one model per value of a column. ``ranks`` is the deepest rank to learn,
    ``length`` the length of lists (depth only), ``swapped`` the column that says which rank was
    swapped with rank 1 (swap only).
    """
    one_of("method", method, METHODS)
    if not 0 < level < 1:
        raise UsageError("The level must lie between 0 and 1.", found=f"Got {level:g}.")
    if length is not None and method not in ("depth", "auto"):
        raise UsageError(f"A length of lists says nothing to method {method}.")
    if swapped is not None and method != "swap":
        raise UsageError(f"A column of swaps says nothing to method {method}.")
    if ranks is not None:
        if ranks < 1:
            raise UsageError("The deepest rank to learn counts from 1.", found=f"Got {ranks}.")
        frame = frame.filter(pl.col("rank") <= ranks)
        if method == "depth" and "viewed" not in frame.columns:
            length = ranks if length is None else min(length, ranks)

    def one(part: pl.DataFrame, how: str) -> Learnt:
        data = rows(part, reward=reward, context=context)
        pairs = None if swapped is None else _whole(part[swapped])
        how = _automatic(data) if how == "auto" else how
        curve, data = _curve(data, how, length, pairs)
        own, parameters = fit(curve, model, level=level)
        basis = Basis(
            len(data.rank), len(renumbered(data.session)[0]), data.clusters, data.by,
            len(renumbered(data.item)[0]), len(renumbered(data.item[moved(data)])[0]),
        )  # fmt: skip
        tested = how in ("harvest", "em") or (how == "swap" and pairs is None)
        return Learnt(
            own, how, model, level, curve, own, parameters, basis,
            misfit(data, curve.value) if tested and basis.moved else None,
            balance(data) if how == "swap" and pairs is None else None,
            gaps(data) if how == "depth" else None,
            going_on(data, length) if how in ("views", "depth") else None,
        )  # fmt: skip

    everyone = one(frame, method)
    return everyone if by is None else _by(everyone, frame, by, one)


def _by(
    everyone: Learnt, frame: pl.DataFrame, by: str, one: Callable[[pl.DataFrame, str], Learnt]
) -> Learnt:
    """One result per value of a column; values too thin are left to the curve of all rows."""
    parts, refused = {}, {}
    # as text, the way ByContext compares values
    frame = frame.with_columns(pl.col(by).cast(pl.String).alias(BY))
    for (value,), part in sorted(frame.partition_by(BY, as_dict=True).items()):
        try:
            parts[str(value)] = one(part, everyone.method)
        except InputError as error:
            refused[str(value)] = f"{error.wrong} {error.found}"
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


def _whole(column: pl.Series) -> Ints:
    """Ranks that were swapped with rank 1."""
    if not column.dtype.is_integer():
        raise InputError(
            f'Column "{column.name}" must say which rank was swapped with rank 1.',
            found=f"It is of type {column.dtype}.",
            todo="Log that rank as a whole number in every row of the session.",
        )
    return column.cast(pl.Int64).to_numpy()


def _automatic(data: Rows) -> str:
    """Views where they were logged; depth where rows thin out as views do; else rank changes.

    A log of viewed rows only has fewer and fewer rows as ranks go down, and no gaps.
    """
    viewed = data.viewed
    if viewed is not None and 0 < viewed.mean() < 1:
        return "views"
    rows = np.bincount(data.rank)[1:]
    deepest = np.zeros(int(data.session.max()) + 1, np.int64)
    np.maximum.at(deepest, data.session, data.rank)
    thin = rows[-1] < 0.5 * rows[0] and len(data.rank) == deepest.sum()
    return "depth" if thin else "harvest"


def _curve(data: Rows, method: str, length: int | None, swapped: Ints | None) -> tuple[Curve, Rows]:
    """The table of one method, and the rows as it took them."""
    identify.every_rank(data)
    if method == "views":
        identify.have_views(data)
        return views(data), data
    if method == "depth":
        identify.have_depth(data, length)
        return depth(data, length=length), data
    if not data.reward.any():
        raise InputError(
            f"Method {method} learns from rewards, and there are none.",
            found=f"All {len(data.rank):,} rows have reward 0, or no column was named.",
            todo="Name a reward that came back sometimes: --reward click.",
        )
    data = _scaled(data)
    if method == "swap":
        identify.enough_clicks(data.per_rank((data.reward > 0).astype(float)))
        return swap(data, swapped=swapped), data
    identify.items_move(data)
    mobile = data.only(moved(data))
    clicks = np.zeros(data.depth)
    clicks[: mobile.depth] = mobile.per_rank((mobile.reward > 0).astype(float))
    identify.enough_clicks(clicks)
    return (harvest if method == "harvest" else em)(data), data


def _scaled(data: Rows) -> Rows:
    """Rewards between 0 and 1: a common factor cancels in shares of rank 1."""
    low, high = float(data.reward.min()), float(data.reward.max())
    if low < 0:
        raise InputError(
            "Rewards below 0 cannot tell how much is seen.",
            found=f"The least is {low:g}.",
            todo="Learn from clicks or another reward that is 0 or more.",
        )
    return data if high <= 1 else replace(data, reward=data.reward / high)
