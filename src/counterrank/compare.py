"""Comparisons of systems: differences paired by unit, tested and corrected as one family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from counterrank.arrays import Bools, Floats
from counterrank.errors import UsageError, nearest, one_of
from counterrank.estimates import Uncertain
from counterrank.inference import (
    CORRECTIONS,
    DRAWS,
    RESAMPLES,
    TESTS,
    Permuted,
    benjamini_hochberg,
    bootstrap_test,
    detectable,
    flipped_test,
    holm,
    interval,
    permutation_test,
    resampled,
    t_test,
    tukey_hsd,
    wilcoxon,
)
from counterrank.moments import FLIPS, Draws, Flips
from counterrank.progress import Progress, quiet

FAMILIES = ("all", "measure")


@dataclass(frozen=True)
class Plan:
    """How systems are compared. ``correct=None``: max-T for permutations, otherwise Holm.

    ``family`` is what a correction spans: ``all`` comparisons shown, or those of one ``measure``.
    """

    baseline: str | None = None
    test: str = "permutation"
    correct: str | None = None
    family: str = "all"
    level: float = 0.95
    interval: str = "normal"
    draws: int = DRAWS
    resamples: int = RESAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        one_of("test", self.test, TESTS)
        one_of("correct", self.correction, CORRECTIONS)
        one_of("family", self.family, FAMILIES)
        if not 0 < self.level < 1:
            hint = f"Write {self.level / 100:g}." if 1 < self.level < 100 else ""
            raise UsageError(f"level must lie between 0 and 1, not {self.level:g}.", todo=hint)
        if self.draws < 1 or self.resamples < 1 or self.seed < 0:
            raise UsageError("draws and resamples must be at least 1, and the seed at least 0.")
        if self.correction == "maxt" and self.test not in ("permutation", "none"):
            raise UsageError(
                f"max-T needs the permutation test, not {self.test}.",
                todo="Use --correct holm or bh, or --test permutation.",
            )

    @property
    def correction(self) -> str:
        """The correction in force."""
        return self.correct or ("maxt" if self.test == "permutation" else "holm")

    def pairs(self, systems: Sequence[str]) -> list[tuple[int, int]]:
        """Each system against the baseline, or every pair."""
        if self.baseline is None:
            return [(b, a) for a, b in combinations(range(len(systems)), 2)]
        if self.baseline not in systems:
            raise UsageError(
                f'There is no system "{self.baseline}" to be the baseline.',
                found=nearest(self.baseline, systems),
                todo=f"Systems are: {', '.join(systems)}.",
            )
        base = systems.index(self.baseline)
        return [(s, base) for s in range(len(systems)) if s != base]

    @property
    def resampling(self) -> bool:
        """Whether anything needs resamples."""
        return self.test == "bootstrap" or self.interval in ("bootstrap", "bca")

    def drawn(self, systems: Sequence[str] = ()) -> Draws:
        """What is drawn while the data are read, if values per unit are not kept.

        Sign patterns are at most 10,000: each costs a pass over the units of every bucket.
        """
        self.refuse_units()
        flips = min(self.draws, FLIPS) if self.test == "permutation" and len(systems) > 1 else 0
        return Draws(
            resamples=self.resamples if self.resampling else 0,
            flips=flips,
            seed=self.seed,
            pairs=tuple(self.pairs(systems)) if flips else (),
        )

    def refuse_units(self) -> None:
        """Intervals, tests and corrections that only values per unit can give."""
        for option, word, other in (
            ("interval", self.interval == "bca" and "bca", "bootstrap, normal or t"),
            ("test", self.test == "wilcoxon" and "wilcoxon", "permutation, t or bootstrap"),
            ("correct", self.correction == "tukey" and "tukey", "maxt, holm or bh"),
        ):
            if word:
                raise UsageError(
                    f"{option}={word} needs every unit's values, and only moments are kept.",
                    todo=f'Take {option}={other}, or ask for inference="units".',
                )


@dataclass(frozen=True)
class Comparison:
    """``system`` minus ``baseline``.

    ``draws`` is the number of sign patterns or resamples behind p (0: none). ``detectable`` is the
    smallest difference found with power 0.8, before correction.
    """

    measure: str
    system: str
    baseline: str
    difference: float
    se: float
    low: float
    high: float
    lift: float | None
    p: float
    p_corrected: float
    test: str
    correction: str
    family: str
    draws: int
    detectable: float
    units: int


@dataclass(frozen=True)
class Contest:
    """One measure's side of the comparisons: estimates of all systems over the same units.

    ``scores`` are the values whose means are tested, units x systems, 0 where ``counted`` is not;
    there are none where only moments are kept. ``span`` is the range of one unit's value, where it
    has one.
    """

    measure: str
    estimates: Sequence[Uncertain]
    scores: Floats | None
    counted: Bools | None
    span: float | None

    def tested(self) -> Floats:
        """The scores of the units that count."""
        assert self.scores is not None
        assert self.counted is not None
        return self.scores[self.counted]


def compare(
    systems: Sequence[str],
    contests: Sequence[Contest],
    plan: Plan,
    progress: Progress = quiet,
    flips: Flips | None = None,
) -> list[Comparison]:
    """All comparisons of the plan, measure by measure.

    ``flips`` stand for the scores where these were not kept: the same measures and pairs.
    """
    pairs = plan.pairs(systems)
    if plan.test == "none" or not pairs or not contests:
        return []
    if any(c.scores is None for c in contests):
        plan.refuse_units()
    sides = [_sides(c, pairs, plan, progress) for c in contests]
    p = np.array([[side.p for side in row] for row in sides])
    maxt, draws = np.full(p.shape, np.nan), plan.resamples if plan.test == "bootstrap" else 0
    if plan.test == "permutation":
        tested = _permuted(contests, pairs, plan, progress, flips)
        p, maxt, draws = tested.p, tested.maxt, tested.draws
    corrected = _corrected(p, maxt, contests, pairs, plan)
    family = _family(len(contests), len(systems), len(pairs), plan)
    return [
        Comparison(
            measure=contest.measure,
            system=systems[a],
            baseline=systems[b],
            difference=side.value,
            se=side.se,
            low=side.low,
            high=side.high,
            lift=side.value / base if (base := contest.estimates[b].value) else None,
            p=float(p[m, j]),
            p_corrected=float(corrected[m, j]),
            test=plan.test,
            correction=plan.correction,
            family=family,
            draws=draws,
            detectable=detectable(side.se, level=plan.level),
            units=contest.estimates[a].n,
        )
        for m, contest in enumerate(contests)
        for j, ((a, b), side) in enumerate(zip(pairs, sides[m], strict=True))
    ]


def _permuted(
    contests: Sequence[Contest],
    pairs: list[tuple[int, int]],
    plan: Plan,
    progress: Progress,
    flips: Flips | None,
) -> Permuted:
    """By flips of the scores: now, or as they were flipped while the data were read."""
    if flips is not None:
        return flipped_test(flips, family=plan.family)
    return permutation_test(
        [c.scores for c in contests if c.scores is not None],
        pairs,
        draws=plan.draws,
        seed=plan.seed,
        family=plan.family,
        progress=progress,
    )


@dataclass(frozen=True)
class _Side:
    """What is kept of one difference: its influence values are needed no longer."""

    value: float
    se: float
    low: float
    high: float
    p: float


def _sides(
    contest: Contest, pairs: list[tuple[int, int]], plan: Plan, progress: Progress
) -> list[_Side]:
    """Each pair's difference, one at a time; resamples of the systems serve all pairs."""
    again = None
    if plan.resampling:
        again = resampled(
            contest.estimates, draws=plan.resamples, seed=plan.seed, progress=progress
        )
    tested = contest.tested() if plan.test == "wilcoxon" else np.empty(0)
    sides = []
    for a, b in pairs:
        d = contest.estimates[a] - contest.estimates[b]
        values = None if again is None else again[:, a] - again[:, b]
        low, high = interval(
            d,
            level=plan.level,
            method=plan.interval,
            resamples=values,
            span=None if contest.span is None else 2 * contest.span,
        )
        p = float("nan")
        if plan.test == "t":
            p = t_test(d)
        elif plan.test == "wilcoxon":
            p = wilcoxon(tested[:, a] - tested[:, b])
        elif plan.test == "bootstrap" and values is not None:
            p = bootstrap_test(d, values)
        sides.append(_Side(d.value, d.se, low, high, p))
    return sides


def _family(measures: int, systems: int, pairs: int, plan: Plan) -> str:
    """What the correction spans, in words."""
    if plan.correction == "tukey":
        return f"all {systems * (systems - 1) // 2} pairs, this measure"
    size = pairs * measures if plan.family == "all" else pairs
    scope = "all measures" if plan.family == "all" and measures > 1 else "this measure"
    return f"{size} comparison{'s' * (size > 1)}, {scope}"


def _corrected(
    p: Floats,
    p_maxt: Floats,
    contests: Sequence[Contest],
    pairs: list[tuple[int, int]],
    plan: Plan,
) -> Floats:
    """The whole family at once; no correction makes a p smaller."""
    if plan.correction == "none":
        return p
    if plan.correction == "maxt":
        return p_maxt
    if plan.correction == "tukey":
        hsd = np.array([tukey_hsd(c.tested(), pairs) for c in contests])
        return np.where(hsd > p, hsd, p)
    step = holm if plan.correction == "holm" else benjamini_hochberg
    if plan.family == "all":
        return step(p.ravel()).reshape(p.shape)
    return np.array([step(row) for row in p])
