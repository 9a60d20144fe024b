"""Tables that are made while they are written, so that memory does not grow with the sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl
from polars.io.plugins import register_io_source

from counterrank.core.parallel import Progress
from counterrank.simulate.sample import SamplePlan, TableParts


def stream_log(plan: SamplePlan, progress: Progress) -> pl.LazyFrame:
    """The log of a plan, lazily."""
    return _lazy(plan.log(), _small(plan).log(), progress, "log")


def stream_run(plan: SamplePlan, name: str, progress: Progress) -> pl.LazyFrame:
    """The run of a ranker, lazily."""
    return _lazy(plan.run(name), _small(plan).run(name), progress, f"run {name}")


def stream_judgments(plan: SamplePlan, progress: Progress) -> pl.LazyFrame:
    """The judgments, lazily."""
    return _lazy(plan.judgments(), _small(plan).judgments(), progress, "judgments")


def _small(plan: SamplePlan) -> SamplePlan:
    """A plan whose tables have the same columns and cost nothing."""
    return replace(plan, sessions=1)


def _lazy(blocks: TableParts, sample: TableParts, progress: Progress, word: str) -> pl.LazyFrame:
    def made(
        columns: list[str] | None, where: pl.Expr | None, rows: int | None, batch: int | None
    ) -> Iterator[pl.DataFrame]:
        for number in progress(blocks.parts, word):
            frame = blocks.part(number)
            if rows is not None:
                frame = frame.head(rows)
                rows -= frame.height
            if where is not None:
                frame = frame.filter(where)
            yield frame if columns is None else frame.select(columns)
            if rows == 0:
                return

    return register_io_source(made, schema=sample.part(0).schema)
