"""How systems are compared, for verbs that are not ported yet: see `counterrank.stats.compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from counterrank.core.errors import UsageError, nearest, one_of
from counterrank.moments import FLIPS, Draws
from counterrank.stats.corrections import CORRECTIONS
from counterrank.stats.intervals import RESAMPLES
from counterrank.stats.permutation import DRAWS
from counterrank.stats.tests import TESTS

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
        """Intervals and tests that only values per unit can give."""
        for option, word, other in (
            ("interval", self.interval == "bca" and "bca", "bootstrap, normal or t"),
            ("test", self.test == "wilcoxon" and "wilcoxon", "permutation, t or bootstrap"),
        ):
            if word:
                raise UsageError(
                    f"{option}={word} needs every unit's values, and only moments are kept.",
                    todo=f'Take {option}={other}, or ask for inference="units".',
                )
