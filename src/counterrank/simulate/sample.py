"""A sample of a world: log, runs, judgments and truth, in memory or while they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, partial
from typing import Annotated, Any, Literal

import polars as pl
from polars.io.plugins import register_io_source

from counterrank.core.arguments import Between, check_fields, one_of
from counterrank.core.errors import UsageError
from counterrank.core.labels import Value
from counterrank.core.parallel import Progress
from counterrank.simulate import sample_tables as tables
from counterrank.simulate.latent import REWARDS
from counterrank.simulate.rankers import RANKERS, SPECIALISTS
from counterrank.simulate.sample_tables import TableParts
from counterrank.simulate.sessions import SimulatedSessions, sessions
from counterrank.simulate.truth import Known
from counterrank.simulate.world import World
from counterrank.version import __version__

Count = Annotated[int, Between(1, 2**31 - 1)]
Views = Literal["observed", "latent", "viewed_only"]
Given = Literal["candidates", "context"]
Stochastic = Literal["exposure", "draws"]


@dataclass(frozen=True)
class Sample:
    """What a platform wrote down, and what it could not know."""

    log: pl.DataFrame
    runs: dict[str, pl.DataFrame]
    judgments: pl.DataFrame
    truth: dict[str, dict[str, Known]]


@dataclass(frozen=True, kw_only=True)
class SamplePlan:
    """How much of a world is sampled, and what is written down. See ``platform``."""

    world: World
    sessions: Count = 2000
    seed: Annotated[int, Between(0, 2**31 - 1)] = 0
    views: Views = "observed"
    given: Given = "candidates"
    stochastic: Stochastic = "exposure"
    draws: Count = 20
    runs: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name in self.runs or ():
            one_of("runs", name, self.world.rankers)
        elsewhere = [n for n, r in self.world.rankers.items() if r.own_generator]
        wanted = [n for n in elsewhere if n in self.world.loggers or n in (self.runs or ())]
        if wanted and self.given == "candidates":
            raise UsageError(
                f"{wanted[0]} draws candidates of its own, so nothing about it can be given the"
                " session's candidates.",
                todo='Use given="context" (--given context).',
            )

    @property
    def targets(self) -> list[str]:
        """The rankers whose runs are written."""
        if self.runs is not None:
            return list(self.runs)
        free = self.given == "context"
        return [n for n, r in self.world.rankers.items() if free or not r.own_generator]

    @cached_property
    def who(self) -> SimulatedSessions:
        """The sessions."""
        return sessions(self.world, self.sessions, self.seed)

    def table(self, name: str) -> TableParts:
        """The log, the judgments of the users who came, or the run of a ranker."""
        if name == "log":
            return TableParts(self.who.blocks, partial(tables.log_block, self))
        if name == "judgments":
            return tables.judgment_parts(self)
        ranker = self.world.rankers[name]
        if self.stochastic == "draws" and (ranker.stochastic or self.given == "context"):
            return TableParts(self.who.blocks, partial(tables.draw_run_block, self, ranker))
        cells = tables.run_cells(self, ranker)
        return TableParts(self.who.blocks, partial(tables.run_block, self, cells))


def platform(
    world: World | None = None,
    *,
    sessions: int = 2000,
    seed: int = 0,
    views: Views = "observed",
    given: Given = "candidates",
    stochastic: Stochastic = "exposure",
    draws: int = 20,
    runs: Sequence[str] | None = None,
) -> Sample:
    """Sample a platform whose truth is known.

    ``world`` is the platform, ``seed`` that of the sample. ``views``: observed (a column
    ``viewed``), latent (all shown rows, views unknown) or viewed_only. ``given`` says what
    exposures and propensities are conditional on, the session's candidates or its context alone;
    ``two_stage``, which draws its own candidates, has a run only given the context. Rankers that
    are not deterministic have a run of exact exposures, or (``stochastic="draws"``) of sampled
    lists, ``draws`` per session. ``runs`` names the rankers to write; all by default.

    >>> from counterrank.simulate import World, platform
    >>> sample = platform(World(trust=0.3), sessions=100, seed=1)
    >>> sample.log.height
    1000
    """
    plan = SamplePlan(
        world=world or World(),
        sessions=sessions,
        seed=seed,
        views=views,
        given=given,
        stochastic=stochastic,
        draws=draws,
        runs=runs,
    )
    return Sample(
        log=plan.table("log").whole(),
        runs={name: plan.table(name).whole() for name in plan.targets},
        judgments=plan.table("judgments").whole(),
        truth=plan.world.truth(),
    )


def stream_table(plan: SamplePlan, name: str, progress: Progress) -> pl.LazyFrame:
    """A table of a plan, lazily; its columns are those of a plan that costs nothing."""
    blocks, small = plan.table(name), replace(plan, sessions=1).table(name)
    word = f"run {name}" if name in plan.world.rankers else name

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

    return register_io_source(made, schema=small.part(0).schema)


def truth_document(plan: SamplePlan) -> dict[str, Any]:
    """Truth over all days and by day, the position bias, and every choice that was made."""
    world = plan.world
    return {
        "kind": "simulate",
        "truth": {
            name: {reward: asdict(known) for reward, known in rewards.items()}
            for name, rewards in world.truth().items()
        },
        "by_day": [
            {"day": day, "ranker": name, "reward": reward, **asdict(known)}
            for day in range(world.days)
            for name, rewards in world.truth(day=day).items()
            for reward, known in rewards.items()
        ],
        "position_bias": _position_bias(world),
        "rankers": {name: {**RANKERS, **SPECIALISTS}[name] for name in world.rankers},
        "rewards": list(REWARDS),
        "world": _options(world),
        "sample": {
            name: getattr(plan, name)
            for name in ("sessions", "seed", "views", "given", "stochastic", "draws")
        },
        "provenance": {"version": __version__},
    }


def _position_bias(world: World) -> list[dict[str, Any]]:
    """c(r), once for all contexts or once for each."""
    rows = world.position_bias.tolist()
    if not world.reading.by_context:
        return [{"context": None, "weights": rows[0]}]
    return [{"context": x, "weights": row} for x, row in enumerate(rows)]


def _options(world: World) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, Value):
            return str(value)
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        return dict(value) if hasattr(value, "items") else value

    return {field.name: plain(getattr(world, field.name)) for field in fields(world)}
