"""A target ranker's lists beside the log: which sessions it has, and what it would expose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import Ints, ranges
from counterrank.core.faults import DataError, Fault
from counterrank.data.blocks import Blocks
from counterrank.data.ids import positions
from counterrank.logged.basis import Basis
from counterrank.logged.cells import Cells, mean_of_draws, ordered, raced
from counterrank.logged.sessions import Sessions
from counterrank.order import by_rank, by_score
from counterrank.schema import Table


@dataclass(frozen=True)
class Target:
    """A run whose rows stand session by session; ``place`` of each logged session, or -1."""

    table: Table
    blocks: Blocks
    place: Ints
    scores: str = "order"

    @classmethod
    def of(cls, table: Table, units: pl.Series, *, scores: str = "order") -> Target:
        """The run beside the sessions of the log; ``scores`` order items, or weigh a draw."""
        blocks = Blocks.of(table.frame, ascending=True, unit="session")
        return cls(table, blocks, positions(units, blocks.names), scores)

    @property
    def stochastic(self) -> bool:
        """Whether it has no single list per session."""
        given = {"draw", "exposure", "propensity"} & set(self.table.frame.columns)
        return bool(given) or self.scores == "plackett_luce"

    def tied(self) -> int:
        """Rows whose score another row of their list has, too."""
        frame = self.table.frame
        keys = [name for name in ("session", "draw", "score") if name in frame.columns]
        return int(frame.select(keys).is_duplicated().sum())

    def cells(self, sessions: Sessions, basis: Basis, begin: int, end: int) -> Cells:
        """The cells of sessions ``begin`` to ``end`` of the log."""
        place = self.place[begin:end]
        there = np.flatnonzero(place >= 0)
        length = self.blocks.length[place[there]]
        rows = self._rows(place[there], length)
        session = np.repeat(there, length)
        item = sessions.items.codes(rows["item"])
        predicted = rows["predicted"].to_numpy() if "predicted" in rows.columns else None
        if self.table.order == "exposure" and not basis.by_rank:
            e = rows["exposure"].to_numpy()
            return ordered(Cells(session, item, e, np.zeros(len(e), np.int64), predicted))
        if self.scores == "plackett_luce":
            curves = basis.curves[sessions.context[begin:end][there] % len(basis.curves)]
            e = raced(rows["score"].to_numpy().astype(float), length, curves)
            return ordered(Cells(session, item, e, np.zeros(len(e), np.int64), predicted))
        rank = self._ranks(rows, length)
        if basis.by_rank:
            chance = "propensity" in rows.columns
            e = rows["propensity"].to_numpy() if chance else np.ones(len(rank))
        else:
            e = basis.at(rank, sessions.context[begin:end][session])
        if "draw" not in rows.columns:
            return ordered(Cells(session, item, e, rank, predicted))
        return mean_of_draws(
            Cells(session, item, e, rank if basis.by_rank else np.zeros_like(rank), predicted),
            rows["draw"],
            sessions.items.size,
        )

    def _rows(self, place: Ints, length: Ints) -> pl.DataFrame:
        """Their rows, without a copy where they stand together."""
        if len(place) and place[-1] - place[0] == len(place) - 1 and np.all(np.diff(place) == 1):
            return self.blocks.rows(int(place[0]), int(place[-1]) + 1)
        return self.blocks.frame[ranges(self.blocks.start[place], length)]

    def _ranks(self, rows: pl.DataFrame, length: Ints) -> Ints:
        """Ranks as given or by score, within each list."""
        if "draw" in rows.columns:
            group = pl.DataFrame({"list": np.repeat(np.arange(len(length)), length)})
            group = group.with_columns(rows["draw"])
            by = group.select(pl.arg_sort_by("list", "draw")).to_series().to_numpy()
            size = group.group_by("list", "draw").len().sort("list", "draw")["len"]
            length, rows = size.cast(pl.Int64).to_numpy(), rows[by]
        else:
            by = None
        if self.table.order == "score":
            order = by_score(
                rows["score"].to_numpy(), length, ties="id",
                text=lambda chosen: rows["item"].gather(chosen).cast(pl.String),
            )  # fmt: skip
        elif by is None and _rising(rank := rows["rank"].to_numpy(), length):
            return rank
        else:
            order = by_rank(rows["rank"].to_numpy(), length)
        if len(order.repeated) and "propensity" not in rows.columns:
            place, many = int(order.repeated[0]), len(order.repeated)
            first = {name: rows[name][place] for name in ("session", "item")}
            what, name = "rank twice in target", self.table.name
            raise DataError(Fault(what, name, "rank", many, rows.height, first))
        if by is None:
            return order.rank
        rank = np.empty_like(order.rank)
        rank[by] = order.rank
        return rank


def _rising(rank: Ints, length: Ints) -> bool:
    """Whether ranks rise within each list, so that none repeats."""
    rises = rank[1:] > rank[:-1]
    rises[np.cumsum(length)[:-1] - 1] = True
    return bool(rises.all())
