"""A sample of a world: log, runs, judgments and truth, in memory or a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from counterrank.core.errors import UsageError, one_of
from counterrank.simulate.grades import JUDGES, judged_cells, judges, judgment_rows
from counterrank.simulate.log_blocks import VIEWS, log_block
from counterrank.simulate.logged_chances import GIVEN
from counterrank.simulate.sessions import SimulatedSessions, sessions
from counterrank.simulate.target_lists import STOCHASTIC, cells, drawn_run, run_rows
from counterrank.simulate.truth import Known
from counterrank.simulate.world import World

MOST = 2**31 - 1


@dataclass(frozen=True)
class TableParts:
    """A table in parts, each made when asked for."""

    parts: range
    part: Callable[[int], pl.DataFrame]

    def whole(self) -> pl.DataFrame:
        """All parts as one frame."""
        return pl.concat([self.part(number) for number in self.parts])


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
    sessions: int = 2000
    seed: int = 0
    views: str = "observed"
    given: str = "candidates"
    stochastic: str = "exposure"
    draws: int = 20
    runs: Sequence[str] | None = None

    def __post_init__(self) -> None:
        one_of("views", self.views, VIEWS)
        one_of("given", self.given, GIVEN)
        one_of("stochastic", self.stochastic, STOCHASTIC)
        for name, least in (("sessions", 1), ("draws", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or not least <= value <= MOST:
                raise UsageError(
                    f"{name} must be a whole number from {least} to {MOST}.", found=f"Got {value}."
                )
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

    def log(self) -> TableParts:
        """The log."""

        def part(number: int) -> pl.DataFrame:
            return log_block(
                self.world, self.who, number, seed=self.seed, views=self.views, given=self.given
            )

        return TableParts(self.who.blocks, part)

    def run(self, name: str) -> TableParts:
        """The run of a ranker."""
        ranker = self.world.rankers[name]
        drawn = self.stochastic == "draws" and (ranker.stochastic or self.given == "context")
        shared = None if drawn else cells(self.world, ranker, self.given)

        def part(number: int) -> pl.DataFrame:
            if shared is not None:
                return run_rows(self.world, self.who, number, shared, self.given)
            return drawn_run(
                self.world, self.who, number, ranker, self.given, draws=self.draws, seed=self.seed
            )

        return TableParts(self.who.blocks, part)

    def judgments(self) -> TableParts:
        """The judgments of the users who came."""
        everyone, grades = judges(self.who), judged_cells(self.world)
        parts = range(-(-len(everyone) // JUDGES))
        return TableParts(parts, lambda number: judgment_rows(everyone, grades, number))


def platform(
    world: World | None = None,
    *,
    sessions: int = 2000,
    seed: int = 0,
    views: str = "observed",
    given: str = "candidates",
    stochastic: str = "exposure",
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
        log=plan.log().whole(),
        runs={name: plan.run(name).whole() for name in plan.targets},
        judgments=plan.judgments().whole(),
        truth=plan.world.truth(),
    )
