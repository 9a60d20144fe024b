"""One run against a pool: its lists aligned, every measure computed, facts for the diagnoses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats, workers
from counterrank.engine import aligned
from counterrank.hits import Hits, Pool
from counterrank.judged.facts import Lists
from counterrank.once import once
from counterrank.policies import Policies
from counterrank.ranking import Measure, deepest, unscaled
from counterrank.schema import Table


@dataclass(frozen=True)
class Asked:
    """What is computed of every unit: ``measures``, and ``beside`` them what diagnoses look at."""

    measures: tuple[Measure, ...]
    beside: tuple[Measure, ...]
    policies: Policies

    @property
    def both(self) -> tuple[Measure, ...]:
        """All of them."""
        return (*self.measures, *self.beside)

    @property
    def cut(self) -> int | None:
        """The deepest rank any measure looks at; None: the whole list."""
        return deepest(self.measures)


@dataclass(frozen=True)
class Truth:
    """A pool, and for which measures asked for each of its users has nothing to find."""

    pool: Pool
    asked: Asked

    @once
    def blank(self) -> Bools:
        """Measures x units, those beside included."""
        rows = [~m.defined(self.pool) for m in self.asked.both]
        return np.stack(rows) if rows else np.empty((0, self.pool.n), bool)

    @property
    def base(self) -> dict[int, Floats]:
        """What ratios of means divide by, by the place of the measure."""
        found = {m: kind.base(self.pool) for m, kind in enumerate(self.asked.measures)}
        return {m: base for m, base in found.items() if base is not None}


@dataclass(frozen=True)
class System:
    """One system's per-unit values (measures x units; NaN: left out by a policy).

    ``beside`` has those that only the diagnoses look at. ``table`` is what messages call the run;
    ``apart`` are some listed users and some judged ones, where nobody is both.
    """

    name: str
    table: str
    order: str
    values: Floats
    beside: Floats
    lists: Lists
    hits: Hits
    apart: tuple[pl.Series, pl.Series] | None


def measured(run: Table, truth: Truth, threads: int = 0) -> System:
    """Every measure of one run, before what concerns all units of the data set (`Measure.factor`).

    No policy is an error here: only all buckets together tell.
    """
    asked, pool = truth.asked, truth.pool
    ties, duplicates = asked.policies.ties, asked.policies.duplicates
    hits, seen = aligned(
        run, pool, ties=ties, duplicates=duplicates, limit=asked.cut, threads=threads
    )
    for m in asked.measures:
        m.refuse(pool)
    x = unscaled(asked.both, hits, pool, threads=threads or workers())
    leave_out(x, hits.present, truth.blank, asked.policies)
    cut = len(asked.measures)
    lists = Lists.of(hits, seen, asked.cut)
    apart = None if seen.covered_users else (_few(run.frame["user"]), _few(pool.units))
    return System(run.system, run.name, run.order, x[:cut], x[cut:], lists, hits, apart)


def leave_out(x: Floats, present: Bools, blank: Bools, policies: Policies) -> None:
    """NaN where a policy leaves a unit out; ``x`` is measures x units."""
    if policies.missing == "skip":
        x[:, ~present] = np.nan
    if policies.no_relevant == "skip":
        x[blank] = np.nan


def _few(ids: pl.Series) -> pl.Series:
    """The first three, enough for a message."""
    return ids.unique().sort().head(3)
