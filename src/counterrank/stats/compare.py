"""Two keys of a table of units compared, paired by unit: difference, lift and p, as one family."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.core.errors import UsageError, nearest
from counterrank.core.parallel import Progress, quiet
from counterrank.stats.draws import FLIPS, Draws
from counterrank.stats.functions_of_means import ON_LOGS
from counterrank.stats.inference import (
    RESAMPLES,
    benjamini_hochberg,
    bootstrap_test,
    detectable,
    differences,
    holm,
    interval,
    ratios,
    t_test,
    wilcoxon,
)
from counterrank.stats.moments import Block, Moments, Pair, Table, keys_of, places_of, tested_values
from counterrank.stats.units import Estimate, Functions, Key, Units

if TYPE_CHECKING:
    from counterrank.stats.permutation import Permuted

NONE = float("nan")


@dataclass(frozen=True)
class Plan:
    """How values are made sure of and compared. ``correct`` auto: max-T for permutations, or Holm.

    ``family`` is what a correction spans: ``all`` comparisons shown, or those of one ``measure``.
    """

    baseline: str | None = None
    test: str = "permutation"
    correct: str = "auto"
    family: str = "all"
    level: float = 0.95
    interval: str = "t"
    draws: int = 100_000
    resamples: int = RESAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        if self.correction == "maxt" and self.test not in ("permutation", "none"):
            raise UsageError(
                f"max-T needs the permutation test, not {self.test}.",
                todo="Use --correct holm or bh, or --test permutation.",
            )

    @property
    def correction(self) -> str:
        """The correction in force."""
        if self.correct != "auto":
            return self.correct
        return "maxt" if self.test == "permutation" else "holm"

    @property
    def resampling(self) -> bool:
        """Whether anything needs resamples."""
        return self.test == "bootstrap" or self.interval in ("bootstrap", "bca")

    def pairs(self, systems: Sequence[str]) -> list[tuple[str, str]]:
        """Each system against the baseline, or every pair."""
        if self.baseline is None:
            return [(b, a) for a, b in combinations(systems, 2)]
        if self.baseline not in systems:
            raise UsageError(
                f'There is no system "{self.baseline}" to be the baseline.',
                found=nearest(self.baseline, systems),
                todo=f"Systems are: {', '.join(systems)}.",
            )
        return [(s, self.baseline) for s in systems if s != self.baseline]

    def drawn(self, inference: str = "units") -> Draws:
        """What is drawn beside values per ``units``, or beside their ``moments``.

        Signs are drawn while the data are read only where values are not held; then at most 10,000
        patterns, as each costs a pass over the units of every partition.
        """
        resamples = self.resamples if self.resampling else 0
        if inference == "units":
            return Draws(resamples, 0, self.seed)
        self.refuse_units()
        flips = min(self.draws, FLIPS) if self.test == "permutation" else 0
        return Draws(resamples, flips, self.seed)

    def refuse_units(self) -> None:
        """Refuse intervals and tests that only values per unit can give."""
        for option, word, other in (
            ("interval", self.interval == "bca" and "bca", "bootstrap, normal or t"),
            ("test", self.test == "wilcoxon" and "wilcoxon", "permutation, t or bootstrap"),
        ):
            if word:
                raise UsageError(
                    f"{option}={word} needs every unit's values, and only moments are kept.",
                    todo=f'Take {option}={other}, or ask for inference="units".',
                )

    def protocol(self, **drawn: Any) -> dict[str, Any]:
        """How values were made sure of and compared; ``drawn`` is what a verb says of its draws."""
        plain = {"interval": self.interval, "level": self.level, "test": self.test}
        own = {"correction": self.correction, **drawn}
        return {**plain, **own, "seed": self.seed, "baseline": self.baseline}

    def ends(self, e: Estimate, span: float | None = None) -> tuple[float, float]:
        """The interval of an estimate; ``span`` is the range of one unit's value, if it has one."""
        return interval(e, level=self.level, method=self.interval, resamples=e.resamples, span=span)


@dataclass  # a hundred systems have 200,000 of them, and freezing takes half the time of each
class Comparison:
    """``system`` minus ``baseline`` and over it; the same row in every verb.

    ``claim`` is what it shows: better, worse or cannot_tell. ``verdict`` is whether to believe it.
    ``draws`` is the number of sign patterns or resamples behind p (None: none were drawn).
    ``detectable`` is the smallest difference found with power 0.8, before correction. ``lift`` is
    the difference over the baseline's value, None where that is 0.
    """

    system: str
    measure: str
    reward: str | None
    estimator: str
    segment: str | None
    baseline: str
    difference: float
    se: float
    low: float
    high: float
    lift: float | None
    lift_low: float
    lift_high: float
    level: float
    p: float
    p_corrected: float
    test: str
    correction: str
    family: str
    draws: int | None
    detectable: float
    units: int
    claim: str
    verdict: str

    method = Key.method


def compare(
    table: Table,
    groups: Sequence[Sequence[Pair]],
    functions: Functions,
    plan: Plan,
    *,
    spans: Mapping[Key, float] | None = None,
    family: Callable[[int, int], str] | None = None,
    lower: Collection[str] = (),
    verdicts: Mapping[Key, str] | None = None,
    progress: Progress = quiet,
) -> list[Comparison]:
    """Every pair, corrected as one family; a group is over the units that all its keys have.

    ``spans`` are the ranges of one unit's value, where it has one. ``family`` says in words what a
    correction spans, from the number of comparisons and of groups. Of measures in ``lower``, less
    is better. ``verdicts`` say how far each key can be believed; a pair, as far as both.
    """
    groups = [group for group in groups if group]
    if plan.test == "none" or not groups:
        return []
    if isinstance(table, Moments):
        plan.refuse_units()
    sides = [
        _sides(table.over(*keys), keys, group, functions, plan, spans or {})
        for group, keys in zip(groups, map(keys_of, groups), strict=True)
    ]
    p, draws = [np.array([side.p for side in row]) for row in sides], 0
    if plan.test == "permutation":
        tested = _permuted(table, groups, plan, progress)
        p, draws = list(tested.p), tested.draws
    elif plan.test == "bootstrap":
        draws = plan.resamples
    corrected = list(tested.maxt) if plan.correction == "maxt" else _corrected(p, plan)
    size = sum(map(len, groups)) if plan.family == "all" else len(groups[0])
    least, correction = detectable(1.0, level=plan.level), plan.correction
    words = (family or family_words)(size, len(groups) if plan.family == "all" else 1)
    made = (plan.test, correction, words, draws or None)
    believed = verdicts or {}
    return [
        Comparison(
            a.system, a.measure, a.reward, a.estimator, a.segment, b.system,
            side.difference, side.se, side.low, side.high,
            side.difference / side.base if side.base else None, side.lift_low - 1,
            side.lift_high - 1, plan.level, own, whole, *made, least * side.se, side.units,
            claim_of(side.difference, whole, plan.level, lower=a.measure in lower),
            max((believed.get(key, "pass") for key in (a, b)), key=VERDICTS.index),
        )
        for group, row, ps, wholes in zip(groups, sides, p, corrected, strict=True)
        for (a, b), side, own, whole in zip(group, row, ps.tolist(), wholes.tolist(), strict=True)
    ]  # fmt: skip


VERDICTS = ("pass", "caution", "fail")


def claim_of(difference: float, p: float, level: float, *, lower: bool) -> str:
    """What a comparison shows: its sign, where the corrected p is below 1 - level."""
    if not p <= 1 - level + 1e-12 or not difference:
        return "cannot_tell"
    return "better" if (difference > 0) != lower else "worse"


def family_words(size: int, groups: int) -> str:
    """What a correction spans, in words."""
    scope = "all measures" if groups > 1 else "this measure"
    return f"{size} comparison{'s' * (size > 1)}, {scope}"


class _Side(NamedTuple):
    """What remains of one pair, whose influence values are needed no longer.

    ``p`` is missing where flips will give it.
    """

    difference: float
    se: float
    units: int
    base: float
    low: float
    high: float
    lift_low: float
    lift_high: float
    p: float


def _sides(
    view: Units | Block,
    keys: Sequence[Key],
    group: Sequence[Pair],
    functions: Functions,
    plan: Plan,
    spans: Mapping[Key, float],
) -> list[_Side]:
    """All pairs of a group: from products of influence values, where no more is needed."""
    direct = plan.interval in ("normal", "t") and plan.test in ("permutation", "t")
    if not direct or functions[keys[0]] in ON_LOGS:
        return [_side(view, pair, functions, plan, spans) for pair in group]
    estimates = [view.estimate(key, functions[key]) for key in keys]
    place = {key: number for number, key in enumerate(keys)}
    a, b = (np.array([place[pair[side]] for pair in group]) for side in (0, 1))
    d, lift = differences(estimates, a, b), ratios(estimates, a, b)
    ends = (end for x in (d, lift) for end in x.ends(plan.level, plan.interval))
    base = np.array([e.value for e in estimates])[b]
    p = d.p if plan.test == "t" else np.full(len(a), NONE)
    columns = (
        d.value, d.se, np.full(len(a), estimates[0].n), base, *ends, p,
    )  # fmt: skip
    return list(map(_Side, *(x.tolist() for x in columns)))


def _side(
    view: Units | Block,
    pair: Pair,
    functions: Functions,
    plan: Plan,
    spans: Mapping[Key, float],
) -> _Side:
    a, b = (view.estimate(key, functions[key]) for key in pair)
    d = a - b
    span = spans.get(pair[0])
    ends = plan.ends(d, None if span is None else 2 * span)
    lift = (NONE, NONE) if plan.interval == "bernstein" else plan.ends(a / b)
    p = NONE
    if plan.test == "t":
        p = t_test(d)
    elif plan.test == "wilcoxon":
        assert isinstance(view, Units)
        p = wilcoxon(view.columns[pair[0]][0] - view.columns[pair[1]][0])
    elif plan.test == "bootstrap" and d.resamples is not None:
        p = bootstrap_test(d, d.resamples)
    return _Side(d.value, d.se, d.n, b.value, *ends, *lift, p)


def _corrected(p: Sequence[Floats], plan: Plan) -> list[Floats]:
    """The whole family at once, or each group by itself; no correction makes a p smaller."""
    if plan.correction == "none":
        return list(p)
    step = holm if plan.correction == "holm" else benjamini_hochberg
    if plan.family == "measure":
        return [step(x) for x in p]
    return np.split(step(np.concatenate(p)), np.cumsum([len(x) for x in p])[:-1])


def _permuted(
    table: Table, groups: Sequence[Sequence[Pair]], plan: Plan, progress: Progress
) -> Permuted:
    """One product of signs and values for all pairs and groups; or as flipped while reading."""
    from counterrank.stats.permutation import flipped_test, permutation_test

    if isinstance(table, Moments):
        assert table.flips is not None
        return flipped_test(table.flips, family=plan.family)
    return permutation_test(
        [tested_values(table, keys_of(group)) for group in groups],
        [(int(a), int(b)) for a, b in places_of(groups)],
        draws=plan.draws,
        seed=plan.seed,
        family=plan.family,
        progress=progress,
    )
