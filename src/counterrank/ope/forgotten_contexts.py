r"""How strong a hidden cause is that we know: each context, as if it had been forgotten.

A row's chance given all contexts :math:`x` and given all but one, :math:`x_{-j}`, are told by the
means of :math:`k = 1/e_0 - 1` over logged rows of the same item (at the same rank, where chances
are by rank): rows are logged as often as they are likely, so the mean of :math:`1/e_0` is one over
the chance without :math:`x_j`. Odds are :math:`1/k`, so the odds factor of forgetting is

.. math:: \Gamma_j = \max\left(\frac{\bar k(x)}{\bar k(x_{-j})},
                               \frac{\bar k(x_{-j})}{\bar k(x)}\right),

of which 95 % of the rows have at most what is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import polars as pl

from counterrank.core.arrays import divide
from counterrank.data.ids import number_rows
from counterrank.engine.partitions import Partitions, on_some
from counterrank.ope.log import Sessions
from counterrank.ope.setting import Basis, Setting

MOSTLY = 0.95  # of the rows


def _add_up(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    keys = [c for c in parts[0].columns if c not in ("rows", "k")]
    return pl.concat(parts).group_by(keys).agg(pl.col("rows", "k").sum()).sort(keys)


@dataclass(frozen=True)
class ChanceSums:
    """Rows, and the sum of :math:`k`, by context, item and rank."""

    cells: Annotated[pl.DataFrame, _add_up]

    @classmethod
    def of(cls, basis: Basis, sessions: Sessions) -> ChanceSums:
        """Those of some sessions; rows that could not be shown say nothing."""
        e0 = sessions.column(basis.logged, 0, sessions.n)
        rank = sessions.column("rank", 0, sessions.n)
        cells = pl.DataFrame(
            {
                "context": np.repeat(sessions.context, sessions.blocks.length),
                "item": sessions.items.lookup(sessions.item),
                "rank": np.asarray(rank if basis.by_rank else np.zeros_like(rank), np.int64),
                "rows": np.ones(len(e0), np.int64),
                "k": divide(1.0, e0, 1.0) - 1,
            }
        )
        return cls(_add_up([cells.filter(pl.Series(e0 > 0))]))


def forget_contexts(log: Partitions, setting: Setting) -> dict[str, float]:
    """The odds factor of forgetting each context, and all of them."""
    contexts = setting.totals.combinations
    if not contexts.width:
        return {}
    work = partial(on_some, setting.sessions, partial(ChanceSums.of, setting.basis))
    cells = log.reduce(work, "looking at contexts").cells
    rest = {name: [c for c in contexts.columns if c != name] for name in contexts.columns}
    if contexts.width > 1:
        rest["all contexts"] = []
    return {name: _forgotten(cells, contexts, kept) for name, kept in rest.items()}


def _forgotten(cells: pl.DataFrame, contexts: pl.DataFrame, kept: list[str]) -> float:
    """The odds factor that most rows stay within where only the columns ``kept`` are known."""
    number = np.zeros(contexts.height, np.int64)
    if kept:
        number = number_rows(contexts.select(kept))[0]
    within = cells.with_columns(context=pl.Series(number)[cells["context"]])
    coarse = within.select(pl.col("rows", "k").sum().over("context", "item", "rank"))
    rows = cells["rows"].to_numpy().astype(float)
    k = divide(cells["k"].to_numpy(), rows)
    other = divide(coarse["k"].to_numpy(), coarse["rows"].to_numpy())
    high, low = np.maximum(k, other), np.minimum(k, other)
    gamma = np.where(high == 0, 1.0, divide(high, low, np.inf))  # 1 where both are certain
    order = np.argsort(gamma, kind="stable")
    reached = np.cumsum(rows[order]) >= MOSTLY * rows.sum()
    return float(gamma[order][np.argmax(reached)])
