"""How values are made sure of and compared, and what of them decides."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from counterrank.core.errors import UsageError, nearest
from counterrank.stats.draws import FLIPS, Draws
from counterrank.stats.estimates import Estimate, quantile
from counterrank.stats.inference import RESAMPLES, interval
from counterrank.stats.moments import Pair
from counterrank.stats.units import Key


@dataclass(frozen=True)
class Rule:
    """What decides: ``decide_by`` (a measure or reward; empty: the first) must reach ``min_lift``.

    Others guard: they must not lose more than their ``margin``, ``guard`` has those of some. Where
    ``others`` are only shown, none guard but these. All are shares of the baseline's value.
    """

    decide_by: str = ""
    min_lift: float = 0.0
    margin: float = 0.02
    guard: tuple[tuple[str, float], ...] = ()
    others: Literal["guard", "show"] = "guard"

    def validate(self, names: Collection[str]) -> Rule:
        """Itself, unless it names what is not there, or what decides as a guard."""
        for name in (self.decide_by, *dict(self.guard)):
            if name and name not in names:
                raise UsageError(
                    f'"{name}" is not measured, so it can neither decide nor guard.',
                    found=nearest(name, list(names)),
                    todo=f"There are: {', '.join(names)}.",
                )
        if self.decide_by and self.decide_by in dict(self.guard):
            raise _both(self.decide_by)
        return self

    def decides(self, keys: Sequence[Key], estimator: str) -> dict[str, Any]:
        """What decides and what guards among keys of the whole: a part of the protocol."""
        own = [key for key in keys if key.estimator == estimator] or list(keys)
        own = [key for key in own if key.estimator == own[0].estimator]
        self.validate(dict.fromkeys(x for key in own for x in (key.measure, key.reward) if x))
        lead = next(k for k in own if self.decide_by in ("", k.measure, k.reward))
        margins, guards = dict(self.guard), {}
        for key in own:
            named = [margins[x] for x in (key.measure, key.reward) if x in margins]
            same = (key.measure, key.reward) == (lead.measure, lead.reward)
            if same and named:
                raise _both(next(x for x in (key.measure, key.reward) if x in margins))
            if not same and (named or self.others == "guard"):
                guards[key.measure, key.reward] = named[0] if named else self.margin
        return {
            "measure": lead.measure,
            "reward": lead.reward,
            "estimator": lead.estimator,
            "min_lift": self.min_lift,
            "margin": self.margin,
            "guards": [{"measure": m, "reward": r, "margin": x} for (m, r), x in guards.items()],
        }


def _both(name: str) -> UsageError:
    return UsageError(
        f'"{name}" decides, so it cannot guard.',
        todo="Leave it out of the guards, or let another one decide (--decide-by).",
    )


@dataclass(frozen=True)
class Plan:
    """How values are made sure of and compared. ``correct`` auto: max-T for permutations, or Holm.

    ``family`` is what a correction spans: the comparisons of one ``measure`` (of one reward, by one
    estimator), which is one question, or ``all`` that are shown.
    """

    baseline: str | None = None
    test: str = "permutation"
    correct: str = "auto"
    family: str = "measure"
    level: float = 0.95
    interval: str = "t"
    draws: int | None = None
    resamples: int = RESAMPLES
    seed: int = 0
    rule: Rule = Rule()

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

        Flips are made while the data are read only where values are not held; then at most 2^14,
        as every partition has a table of so many sums.
        """
        resamples = self.resamples if self.resampling else 0
        if inference == "units":
            return Draws(resamples, 0, self.seed)
        self.refuse_units()
        flips = min(self.draws or FLIPS, FLIPS) if self.test == "permutation" else 0
        return Draws(resamples, flips, self.seed)

    def refuse_units(self) -> None:
        """Refuse intervals and tests that only values per unit can give."""
        for option, word, other in (
            ("interval", "bca", "bootstrap, normal or t"),
            ("test", "wilcoxon", "permutation, t or bootstrap"),
        ):
            if getattr(self, option) == word:
                raise UsageError(
                    f"{option}={word} needs every unit's values, and only moments are kept.",
                    todo=f'Take {option}={other}, or ask for inference="units".',
                )

    def protocol(self, **drawn: Any) -> dict[str, Any]:
        """How values were made sure of and compared; ``drawn`` is what a verb says of its draws."""
        plain = {"interval": self.interval, "level": self.level, "test": self.test}
        own = {"correction": self.correction, **drawn}
        return {**plain, **own, "seed": self.seed, "baseline": self.baseline}

    def ends(
        self, e: Estimate, span: float | None = None, level: float | None = None
    ) -> tuple[float, float]:
        """The interval of an estimate; ``span`` is the range of one unit's value, if it has one.

        At another ``level``, that of a family, Student's takes the place of the normal one.
        """
        method = "t" if level is not None and self.interval == "normal" else self.interval
        level = self.level if level is None else level
        return interval(e, level=level, method=method, resamples=e.resamples, span=span)

    def width(self, freedom: float) -> float:
        """Standard errors in half an interval."""
        return quantile(self.level, "normal" if self.interval == "normal" else "t", freedom)

    def question(self, group: Sequence[Pair]) -> tuple[str | None, ...]:
        """What a correction spans: groups of the same question are one family."""
        return () if self.family == "all" else group[0][0][1:]

    def levels(self, groups: Sequence[Sequence[Pair]]) -> list[float]:
        """Each group's part of its family's level.

        Sets of t that are symmetric hold together at least as often as if independent (Royen 2014).
        """
        questions = list(map(self.question, groups))
        return [self.level ** (1 / questions.count(own)) for own in questions]

    def union_width(self, critical: float, level: float, count: int, freedom: float) -> float:
        r"""Standard errors at each end of a union over corners, of ``count`` candidates at once.

        A union misses a truth on one side (`stats.corner_bounds`), so of the two-sided ``critical``
        value and :math:`z_{1 - \alpha / m}` the smaller does, and not less than one alone has.
        """
        one_sided = quantile(1 - 2 * (1 - level) / count, "t", freedom)
        return max(self.width(freedom), min(critical, one_sided))
