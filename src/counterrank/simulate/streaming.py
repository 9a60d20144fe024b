"""Tables that are made while they are written, so that memory does not grow with the sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl
from polars.io.plugins import register_io_source

from counterrank.progress import Progress
from counterrank.simulate.sample import Blocks, Plan


def log(plan: Plan, progress: Progress) -> pl.LazyFrame:
    """The log of a plan, lazily."""
    return _lazy(plan, plan.log(), _small(plan).log(), progress, "log")


def run(plan: Plan, name: str, progress: Progress) -> pl.LazyFrame:
    """The run of a ranker, lazily."""
    return _lazy(plan, plan.run(name), _small(plan).run(name), progress, f"run {name}")


def _small(plan: Plan) -> Plan:
    return replace(plan, sessions=1)


def _lazy(
    plan: Plan, blocks: Blocks, sample: Blocks, progress: Progress, word: str
) -> pl.LazyFrame:
    def made(
        columns: list[str] | None, where: pl.Expr | None, rows: int | None, batch: int | None
    ) -> Iterator[pl.DataFrame]:
        left = rows
        for part in progress(plan.who.blocks, word):
            frame = blocks(part)
            if where is not None:
                frame = frame.filter(where)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield frame if columns is None else frame.select(columns)
            if left == 0:
                return

    return register_io_source(made, schema=sample(0).schema)
