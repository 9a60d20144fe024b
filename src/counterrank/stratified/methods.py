"""The methods that every system is judged by: holdout, IPS, SNIPS, each stratum, stratified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from counterrank.metrics import Measure
from counterrank.stats.functions_of_means import Function, geometric_ratio, ratio
from counterrank.stats.units import Key
from counterrank.stratified.stratified_value import Stratified


class Method(NamedTuple):
    """How a measure is estimated, and in which stratum, if in one."""

    estimator: str
    segment: str | None = None

    @property
    def name(self) -> str:
        """What documents call it."""
        return self.segment or self.estimator

    def keys(self, systems: Sequence[str], measure: Measure) -> tuple[Key, ...]:
        """Those of all systems by one measure."""
        label = str(measure)
        return tuple(Key(system, label, self.estimator, None, self.segment) for system in systems)


HOLDOUT, IPS, SNIPS = Method("holdout"), Method("IPS"), Method("SNIPS")
PUBLISHED, STRATIFIED, OPEN_LOOP = (
    Method("IPS-published"),
    Method("stratified"),
    Method("open loop"),
)


@dataclass(frozen=True)
class Methods:
    """All methods of some measures in ``strata``, by name.

    ``weighted`` says that there are propensities; ``published`` are the measures for which IPS is
    also there as the published code computes it.
    """

    measures: tuple[Measure, ...]
    strata: tuple[str, ...]
    weighted: bool
    published: tuple[Measure, ...]

    @property
    def within(self) -> list[Method]:
        """Each stratum by itself."""
        return [Method(HOLDOUT.estimator, name) for name in self.strata]

    @property
    def all(self) -> list[Method]:
        """All methods, in the order they are shown; one of them only some measures may have."""
        weighted = [IPS, SNIPS] * self.weighted + [PUBLISHED] * bool(self.published)
        return [HOLDOUT, *weighted, STRATIFIED, *self.within]

    def of(self, measure: Measure) -> list[Method]:
        """The methods of one measure."""
        return [own for own in self.all if own != PUBLISHED or measure in self.published]

    def columns(self, systems: int) -> int:
        """How many values of a user are held for so many systems."""
        scores = 1 + self.weighted + bool(self.published) + len(self.strata)
        return len(self.measures) * (scores * systems + 3) + len(self.strata)

    def function(self, measure: Measure, method: Method) -> Function:
        """What a value is of the means of its columns."""
        within = geometric_ratio if measure.mean == "geometric" else ratio
        return Stratified(len(self.strata), within) if method == STRATIFIED else within

    def groups(
        self, systems: Sequence[str], open_loop: bool
    ) -> Iterator[tuple[Measure, Method, tuple[Key, ...]]]:
        """The keys of all systems under each measure and method."""
        for m in self.measures:
            for method in [*self.of(m), *[OPEN_LOOP] * open_loop]:
                yield m, method, method.keys(systems, m)
