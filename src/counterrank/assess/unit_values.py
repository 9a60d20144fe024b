"""Per-unit values of systems and measures, and their sums under resampled users.

Every question about a measure starts from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats, summable
from counterrank.core.errors import UsageError, nearest
from counterrank.core.parallel import Progress, quiet
from counterrank.data.ids import hash_ids
from counterrank.data.schema import Input
from counterrank.diagnostics.diagnostic import Diagnostic, graded
from counterrank.metrics.registry import geometric_twin, known_measure
from counterrank.stats.draws import POISSON, Draws, resample
from counterrank.stats.permutation import Keep, at_once
from counterrank.stats.plan import Plan


@dataclass(frozen=True)
class Average:
    """How a measure's per-unit values become one number, and which way is better.

    ``floor`` is that of a geometric mean; an arithmetic one has none.
    """

    floor: float | None = None
    sign: int = 1

    @classmethod
    def of(cls, label: str) -> Average:
        """As the label says. A label that is no measure's is averaged plainly, higher is better."""
        m = known_measure(label)
        if m is None:
            return cls()
        return cls(m.floor if m.mean == "geometric" else None, 1 if m.better == "higher" else -1)

    def scores(self, x: Floats) -> Floats:
        """Values whose plain mean puts systems in the measure's order, the best highest."""
        return self.sign * (x if self.floor is None else np.log(np.maximum(x, self.floor)))

    def finish(self, mean: Floats) -> Floats:
        """The measure's value from the mean of ``scores``."""
        value: Floats = self.sign * mean
        return value if self.floor is None else np.exp(value)


@dataclass(frozen=True, eq=False)
class Values:
    """``x`` is systems x measures x units; NaN marks a unit left out for a system and measure."""

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    units: pl.Series
    x: Floats
    inputs: tuple[Input, ...]

    def place(self, label: str) -> int:
        """Where the measure of a label stands."""
        name = str(known_measure(label) or label)
        there = {known.lower(): place for place, known in enumerate(self.measures)}
        if name in self.measures:
            return self.measures.index(name)
        if name.lower() not in there:
            raise UsageError(
                f'There are no values of "{name}".',
                found=nearest(name, self.measures),
                todo=f"There are: {', '.join(self.measures)}.",
            )
        return there[name.lower()]

    def only(self, labels: Sequence[str]) -> Values:
        """Some of the measures."""
        places = list(dict.fromkeys(self.place(label) for label in labels))
        names = tuple(self.measures[place] for place in places)
        return replace(self, measures=names, x=self.x[:, places])

    def shared(self, m: int) -> Bools:
        """Units that all systems have a value for, in measure ``m``."""
        shared: Bools = np.all(~np.isnan(self.x[:, m]), axis=0)
        if not shared.any():
            raise UsageError(f"The systems share no unit for {self.measures[m]}.")
        return shared

    def scores(self, m: int) -> Floats:
        """Units x systems: their means order the systems as measure ``m`` does, best highest.

        A unit that some system has no value for is 0 in every column.
        """
        x = Average.of(self.measures[m]).scores(self.x[:, m].T)
        x[~self.shared(m)] = 0
        return np.ascontiguousarray(x)

    def totals(self) -> Floats:
        """The value of every measure (rows) for every system, over the units all systems have."""
        return np.array(
            [
                Average.of(label).finish(self.scores(m)[self.shared(m)].mean(axis=0))
                for m, label in enumerate(self.measures)
            ]
        )

    def with_geometric(self) -> Values:
        """Each arithmetic mean of values that are not negative, and its geometric twin behind all.

        The twin reads the same values; only their mean differs.
        """
        twins = {m: geometric_twin(label) for m, label in enumerate(self.measures)}
        new = [m for m, twin in twins.items() if twin and twin not in self.measures]
        new = [m for m in new if not (self.x[:, m] < 0).any()]
        return replace(
            self,
            measures=(*self.measures, *(twins[m] for m in new)),
            x=np.concatenate([self.x, self.x[:, new]], axis=1),
        )

    def frame(self) -> pl.DataFrame:
        """As a table: unit, system, measure, value. What is left out has no row."""
        parts = [
            pl.DataFrame({"unit": self.units, "value": self.x[s, m]})
            .filter(pl.col("value").is_not_nan())
            .select("unit", system=pl.lit(system), measure=pl.lit(label), value="value")
            for s, system in enumerate(self.systems)
            for m, label in enumerate(self.measures)
        ]
        return pl.concat(parts)


# Of four things in perfect order, both orders included, 2 in 24 would be so by chance; of five, 2
# in 120. Below five no rank correlation reaches 95 %.
FEWEST = 5


def enough_units(units: int) -> Diagnostic:
    """Resampling needs some 30 units; with fewer than 10 it is no guide."""
    text = f"Tests and resampling rest on {units:,} unit{'s' * (units != 1)}."
    if units < 30:
        text += " So few say little about the next ones: collect more before choosing."
    return Diagnostic("sample size", "units", float(units), 30.0, graded(units, 30, 10), text)


def enough(things: int, what: str) -> Diagnostic:
    """A rank correlation of fewer than five things cannot reach 95 % even if it is perfect."""
    text = f"The answer rests on {things:,} {what if things != 1 else what.removesuffix('s')}."
    if things < FEWEST:
        text += f" Below {FEWEST} even a perfect order may be chance: add {what}."
    return Diagnostic(what, "input", float(things), float(FEWEST), graded(things, FEWEST, 2), text)


BLOCK = 250  # resamples in a piece of work


def all_pairs(systems: int) -> list[tuple[int, int]]:
    """Every pair, the later system first, as in an evaluation."""
    return [(b, a) for a, b in combinations(range(systems), 2)]


def resample_users(
    units: pl.Series,
    columns: Iterable[Floats],
    reduce: Callable[[list[Floats]], Floats],
    plan: Plan,
    *,
    progress: Progress = quiet,
    keep: Keep = at_once,
) -> Floats:
    """``reduce`` of each resample's sums (one array per measure, draws x columns), all draws.

    A user's weights depend on seed and id alone. Sums are those of as many users as there are,
    however many a resample has. They are exact before that, so the number of threads changes
    nothing.
    """
    largest = len(POISSON) - 1  # weight
    exact = [summable(c, largest * float(np.abs(c).sum(axis=0).max())) for c in columns]
    cuts = np.cumsum([c.shape[1] for c in exact])[:-1]
    matrix = np.hstack([np.ones((len(units), 1)), *exact])
    del exact
    ids, draws = hash_ids(units), Draws(plan.resamples, 0, plan.seed)

    def block(start: int) -> Floats:
        wanted = range(start, min(start + BLOCK, plan.resamples))
        sums = resample(matrix, ids, draws, wanted)
        share = len(units) / np.maximum(sums[:, :1], 1)
        return reduce(np.split(sums[:, 1:] * share, cuts, axis=1))

    steps = progress(range(0, plan.resamples, BLOCK), "resampling users")
    return np.concatenate([keep(f"users-{b}", lambda b=b: block(b)) for b in steps])  # type: ignore[misc]
