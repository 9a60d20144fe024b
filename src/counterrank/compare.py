"""Comparisons of systems: differences paired by unit, tested and corrected as one family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from counterrank.arrays import Bools, Floats
from counterrank.errors import UsageError, nearest, one_of
from counterrank.estimates import Estimate
from counterrank.inference import (
    CORRECTIONS,
    DRAWS,
    RESAMPLES,
    TESTS,
    Permuted,
    benjamini_hochberg,
    bootstrap_test,
    detectable,
    holm,
    intervals,
    permutation_test,
    resampled,
    t_test,
    tukey_hsd,
    wilcoxon,
)
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
            raise UsageError(f"level must lie between 0 and 1, not {self.level}.")
        if self.draws < 1 or self.resamples < 1:
            raise UsageError("draws and resamples must be at least 1.")
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


@dataclass(frozen=True)
class Comparison:
    """``system`` minus ``baseline``. ``detectable``: smallest difference found with power 0.8."""

    measure: str
    system: str
    baseline: str
    difference: float
    low: float
    high: float
    lift: float | None
    p: float
    p_corrected: float
    test: str
    correction: str
    family: str
    detectable: float
    units: int


@dataclass(frozen=True)
class Contest:
    """One measure's side of the comparisons: estimates of all systems over the same units.

    ``scores`` are the values whose means are tested, units x systems, 0 where ``counted`` is not.
    """

    measure: str
    estimates: list[Estimate]
    scores: Floats
    counted: Bools


def compare(
    systems: Sequence[str], contests: Sequence[Contest], plan: Plan, progress: Progress = quiet
) -> list[Comparison]:
    """All comparisons of the plan, measure by measure."""
    pairs = plan.pairs(systems)
    if plan.test == "none" or not pairs or not contests:
        return []
    differences = [[c.estimates[a] - c.estimates[b] for a, b in pairs] for c in contests]
    p, p_maxt = _p_values(contests, differences, pairs, plan, progress)
    corrected = _corrected(p, p_maxt, contests, pairs, plan)
    size = p.size if plan.family == "all" and plan.correction != "tukey" else len(pairs)
    scope = "all measures" if size == p.size and len(contests) > 1 else "this measure"
    rows = []
    for m, contest in enumerate(contests):
        ends = _ends(differences[m], plan)
        for j, (a, b) in enumerate(pairs):
            d, base = differences[m][j], contest.estimates[b].value
            rows.append(
                Comparison(
                    measure=contest.measure,
                    system=systems[a],
                    baseline=systems[b],
                    difference=d.value,
                    low=float(ends[j, 0]),
                    high=float(ends[j, 1]),
                    lift=d.value / base if base else None,
                    p=float(p[m, j]),
                    p_corrected=float(corrected[m, j]),
                    test=plan.test,
                    correction=plan.correction,
                    family=f"{size} comparisons, {scope}",
                    detectable=detectable(d.se, level=plan.level),
                    units=d.n,
                )
            )
    return rows


def _ends(differences: list[Estimate], plan: Plan) -> Floats:
    method = "normal" if plan.interval == "bernstein" else plan.interval
    return intervals(
        differences, level=plan.level, method=method, seed=plan.seed, draws=plan.resamples
    )


def _p_values(
    contests: Sequence[Contest],
    differences: list[list[Estimate]],
    pairs: list[tuple[int, int]],
    plan: Plan,
    progress: Progress,
) -> tuple[Floats, Floats]:
    """p of each measure and pair, and where permuted, p corrected by max-T."""
    if plan.test == "permutation":
        tested: Permuted = permutation_test(
            [c.scores for c in contests],
            pairs,
            draws=plan.draws,
            seed=plan.seed,
            family=plan.family,
            progress=progress,
        )
        return tested.p, tested.maxt
    if plan.test == "t":
        p = [[t_test(d) for d in row] for row in differences]
    elif plan.test == "wilcoxon":
        p = [
            [wilcoxon((c.scores[:, a] - c.scores[:, b])[c.counted]) for a, b in pairs]
            for c in contests
        ]
    else:
        p = []
        for row in differences:
            again = resampled(row, draws=plan.resamples, seed=plan.seed, progress=progress)
            p.append([bootstrap_test(d, x) for d, x in zip(row, again.T, strict=True)])
    return np.array(p), np.full((len(contests), len(pairs)), np.nan)


def _corrected(
    p: Floats,
    p_maxt: Floats,
    contests: Sequence[Contest],
    pairs: list[tuple[int, int]],
    plan: Plan,
) -> Floats:
    """The whole family at once."""
    if plan.correction == "none":
        return p
    if plan.correction == "maxt":
        return p_maxt
    if plan.correction == "tukey":
        return np.array([tukey_hsd(c.scores[c.counted], pairs) for c in contests])
    step = holm if plan.correction == "holm" else benjamini_hochberg
    if plan.family == "all":
        return step(p.ravel()).reshape(p.shape)
    return np.array([step(row) for row in p])
