"""Two keys of a table of units compared, paired by unit: difference, lift and p, as one family."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from counterrank.core.arrays import Floats, Ints, divide
from counterrank.core.errors import UsageError, nearest
from counterrank.core.parallel import Progress, quiet
from counterrank.stats.draws import FLIPS, Draws
from counterrank.stats.estimates import Estimate, quantile, student_tail
from counterrank.stats.functions_of_means import ON_LOGS
from counterrank.stats.inference import (
    RESAMPLES,
    benjamini_hochberg,
    bootstrap_test,
    critical_value,
    detectable,
    differences,
    fieller,
    holm,
    interval,
    largest_t,
    t_test,
    wilcoxon,
)
from counterrank.stats.moments import Block, Moments, Pair, Table, keys_of, places_of, tested_values
from counterrank.stats.units import Functions, Key, Units

if TYPE_CHECKING:
    from counterrank.stats.corner_bounds import CornerBounds
    from counterrank.stats.permutation import Permuted

NONE = float("nan")


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

    def ends(
        self, e: Estimate, span: float | None = None, level: float | None = None
    ) -> tuple[float, float]:
        """The interval of an estimate; ``span`` is the range of one unit's value, if it has one.

        At another ``level``, that of a family, Student's takes the place of the normal one.
        """
        method = "t" if level is not None and self.interval == "normal" else self.interval
        level = self.level if level is None else level
        return interval(e, level=level, method=method, resamples=e.resamples, span=span)

    def question(self, group: Sequence[Pair]) -> tuple[str | None, ...]:
        """What a correction spans: groups of the same question are one family."""
        return () if self.family == "all" else group[0][0][1:]


@dataclass  # a hundred systems have 200,000 of them, and freezing takes half the time of each
class Comparison:
    """``system`` minus ``baseline`` and over it; the same row in every verb.

    ``low``, ``high`` are for this comparison alone, ``family_low``, ``family_high`` for all of its
    family at once; ``bound_low``, ``bound_high`` also allow for what the data cannot rule out of
    the assumptions, where a verb has such bounds. ``claim`` is what the widest of them show:
    better, worse or cannot_tell, which is all that a failed verdict leaves. ``verdict`` is whether
    to believe it. ``lift`` is the difference over the size of the baseline's value, None
    where that is not clear of 0, with an interval of either kind. The best of several candidates
    has ``selected_difference`` with both ends, corrected for having been picked. ``draws`` is the
    number of sign patterns or resamples behind p (None: none were drawn). ``detectable`` is the
    smallest difference found with power 0.8, before correction.
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
    family_low: float
    family_high: float
    lift: float | None
    lift_low: float
    lift_high: float
    lift_family_low: float
    lift_family_high: float
    selected_difference: float | None
    selected_low: float | None
    selected_high: float | None
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
    bound_low: float | None = None
    bound_high: float | None = None
    lift_bound_low: float | None = None
    lift_bound_high: float | None = None

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
    bounds: CornerBounds | None = None,
    progress: Progress = quiet,
) -> list[Comparison]:
    """Every pair, corrected within its family; a group is over the units that all its keys have.

    ``spans`` are the ranges of one unit's value, where it has one. ``family`` says in words what a
    correction spans, from the number of comparisons and of groups. Of measures in ``lower``, less
    is better. ``verdicts`` say how far each key can be believed; a pair, as far as both. ``bounds``
    are what assumptions may do to values.
    """
    groups = [group for group in groups if group]
    if plan.test == "none" or not groups:
        return []
    if isinstance(table, Moments):
        plan.refuse_units()
    questions = list(map(plan.question, groups))
    # sets of t that are symmetric hold together at least as often as if independent (Royen 2014)
    levels = [plan.level ** (1 / questions.count(own)) for own in questions]
    ups = [-1 if group[0][0].measure in lower else 1 for group in groups]
    sides = [
        _sides(table.over(*keys), keys, group, functions, plan, level, up, spans or {}, bounds)
        for group, keys, level, up in zip(groups, map(keys_of, groups), levels, ups, strict=True)
    ]
    p, draws = [np.array([side.p for side in row]) for row in sides], 0
    if plan.test == "permutation":
        tested = _permuted(table, groups, plan, progress)
        p, draws = list(tested.p), tested.draws
    elif plan.test == "bootstrap":
        draws = plan.resamples
    corrected = list(tested.maxt) if plan.correction == "maxt" else _corrected(p, questions, plan)
    mine = [group for group, own in zip(groups, questions, strict=True) if own == questions[0]]
    correction = plan.correction
    words = (family or family_words)(sum(map(len, mine)), len(mine))
    made = (plan.test, correction, words, draws or None)
    believed = verdicts or {}
    return [
        Comparison(
            a.system, a.measure, a.reward, a.estimator, a.segment, b.system, side.difference,
            side.se, side.low, side.high, side.family_low, side.family_high,
            _known(side.lift), side.lift_low, side.lift_high, side.lift_family_low,
            side.lift_family_high, _known(side.selected_difference), _known(side.selected_low),
            _known(side.selected_high), plan.level, own, whole, *made,
            side.detectable, side.units,
            claim_of(*side.widest, lower=a.measure in lower, verdict=verdict), verdict,
            *map(_known, side.bounds),
        )
        for group, row, ps, wholes in zip(groups, sides, p, corrected, strict=True)
        for (a, b), side, own, whole in zip(group, row, ps.tolist(), wholes.tolist(), strict=True)
        for verdict in [max((believed.get(key, "pass") for key in (a, b)), key=VERDICTS.index)]
    ]  # fmt: skip


VERDICTS = ("pass", "caution", "fail")


def _known(x: float) -> float | None:
    return None if x != x else x


def claim_of(low: float, high: float, *, lower: bool, verdict: str = "pass") -> str:
    """What a comparison shows: its sign, where the interval that decides is clear of 0.

    Numbers that fail show nothing.
    """
    if verdict == "fail" or not (low > 0 or high < 0):
        return "cannot_tell"
    return "better" if (low > 0) != lower else "worse"


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
    low: float
    high: float
    family_low: float
    family_high: float
    lift: float
    lift_low: float
    lift_high: float
    lift_family_low: float
    lift_family_high: float
    selected_difference: float
    selected_low: float
    selected_high: float
    detectable: float
    p: float
    bound_low: float
    bound_high: float
    lift_bound_low: float
    lift_bound_high: float

    @property
    def bounds(self) -> tuple[float, ...]:
        """The second intervals, of the difference and of the lift; no numbers if there are none."""
        return self[-4:]

    @property
    def widest(self) -> tuple[float, float]:
        """The interval that decides."""
        if self.bound_low == self.bound_low:
            return self.bound_low, self.bound_high
        return self.family_low, self.family_high


def _sides(
    view: Units | Block,
    keys: Sequence[Key],
    group: Sequence[Pair],
    functions: Functions,
    plan: Plan,
    level: float,
    up: int,
    spans: Mapping[Key, float],
    bounds: CornerBounds | None,
) -> list[_Side]:
    """All pairs of a group; ``level`` is that of its part of the family, ``up`` -1 for less.

    From products of influence values, where no more is needed.
    """
    estimates = [view.estimate(key, functions[key]) for key in keys]
    place = {key: number for number, key in enumerate(keys)}
    a, b = (np.array([place[pair[side]] for pair in group]) for side in (0, 1))
    d, freedom = differences(estimates, a, b), estimates[0].freedom
    largest = largest_t(estimates, a, b, d.se, seed=plan.seed)
    critical = critical_value(largest, level, freedom)
    direct = plan.interval in ("normal", "t") and functions[keys[0]] not in ON_LOGS
    both = list(zip(a, b, strict=True))
    resampled = plan.test == "bootstrap" or not direct
    apart = [estimates[i] - estimates[j] for i, j in both] if resampled else []
    if direct:
        width = quantile(plan.level, plan.interval, freedom)
        wide = max(width, critical)
        ends, family = d.ends(width), d.ends(wide)
        lift, lift_family = (fieller(estimates, a, b, d, q) for q in (width, wide))
    else:
        at = max(plan.level, 1 - 2 * float(student_tail(np.array([critical]), freedom)[0]))
        spread = [2 * spans[key] if key in spans else None for key, _ in group]
        ends, family = (_ends(plan, apart, spread, own) for own in (None, at))
        lift, lift_family = (
            _lifts_by_ratio(plan, own, keys, estimates, a, b, d.value, spans) for own in (None, at)
        )
    # where all units differ alike no spread tells how sure that is, but their number does
    sure = (d.se > 0) | (d.value == 0) | (2.0 ** -min(freedom, 1000) <= 1 - level)
    if plan.correction == "none":
        family, lift_family = ends, lift
    whole = [np.where(sure, x, NONE) for x in (*family, *lift_family[1:])]
    p = np.full(len(a), NONE)
    if plan.test == "t":
        p = d.p if direct else np.array([t_test(e) for e in apart])
    elif plan.test == "wilcoxon":
        assert isinstance(view, Units)
        first = [view.columns[key][0] for key in keys]
        p = np.array([wilcoxon(first[i] - first[j]) for i, j in both])
    elif plan.test == "bootstrap":
        p = np.array([bootstrap_test(e, e.resamples) for e in apart if e.resamples is not None])
    columns = (
        d.value, d.se, np.full(len(a), estimates[0].n), *ends, *whole[:2], *lift, *whole[2:],
        *_selected(estimates, a, b, d.bias, largest, plan.level, up),
        detectable(freedom, level=plan.level) * d.se, p,
        *_bounded(bounds, group, estimates, both, max(critical, width_of(plan, freedom)), whole),
    )  # fmt: skip
    return list(map(_Side, *(x.tolist() for x in columns)))


def width_of(plan: Plan, freedom: float) -> float:
    """Standard errors in half an interval of this plan."""
    return quantile(plan.level, "normal" if plan.interval == "normal" else "t", freedom)


def _bounded(
    bounds: CornerBounds | None,
    group: Sequence[Pair],
    estimates: Sequence[Estimate],
    places: Sequence[tuple[int, int]],
    width: float,
    whole: Sequence[Floats],
) -> Floats:
    """Ends of the second intervals, of differences and lifts; they hold the family's as well.

    That the position model is right is no corner where views contradict it.
    """
    if bounds is None:
        return np.full((4, len(group)), NONE)
    ends = np.array([
        bounds.difference(*pair, estimates[i], estimates[j], width)
        for pair, (i, j) in zip(group, places, strict=True)
    ]).T  # fmt: skip
    if bounds.holds:
        for n, pick in enumerate((np.fmin, np.fmax) * 2):
            ends[n] = np.where(np.isnan(ends[n]), NONE, pick(ends[n], whole[n]))
    return ends


def _selected(
    estimates: Sequence[Estimate],
    a: Ints,
    b: Ints,
    bias: Floats,
    largest: Floats,
    level: float,
    up: int,
) -> list[Floats]:
    """The best of several candidates against one baseline, corrected for having been picked.

    With ``up`` -1 less is better.
    """
    found = [np.full(len(a), NONE) for _ in range(3)]
    if len(set(b.tolist())) == 1 and len(largest):
        from counterrank.stats.winner import correct_winner

        place, middle, low, high = correct_winner(estimates, a, b, largest, level, up)
        three = middle, low + bias[0, place], high + bias[1, place]
        for column, x in zip(found, three, strict=True):
            column[place] = x
    return found


def _ends(
    plan: Plan, several: Sequence[Estimate], spans: Sequence[float | None], level: float | None
) -> tuple[Floats, Floats]:
    """Both ends of each interval."""
    ends = [plan.ends(e, span, level) for e, span in zip(several, spans, strict=True)]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def _lifts_by_ratio(
    plan: Plan,
    level: float | None,
    keys: Sequence[Key],
    estimates: Sequence[Estimate],
    a: Ints,
    b: Ints,
    difference: Floats,
    spans: Mapping[Key, float],
) -> tuple[Floats, Floats, Floats]:
    """Lifts by resamples or the logarithm of the ratio, where the baseline is clear of 0."""
    low, high = _ends(plan, estimates, [spans.get(key) for key in keys], level)
    clear, base = ((low > 0) | (high < 0))[b], np.array([e.value for e in estimates])[b]
    lift = np.where(clear, divide(difference, np.abs(base)), NONE)
    if plan.interval == "bernstein":
        return lift, np.full(len(a), NONE), np.full(len(a), NONE)
    ratios = [estimates[i] / estimates[j] for i, j in zip(a, b, strict=True)]
    ends = np.sign(base) * (np.array(_ends(plan, ratios, [None] * len(a), level)) - 1)
    low, high = np.where(clear, np.sort(ends, axis=0), NONE)
    return lift, low, high


def _corrected(p: Sequence[Floats], questions: Sequence[object], plan: Plan) -> list[Floats]:
    """Each family at once; no correction makes a p smaller."""
    if plan.correction == "none":
        return list(p)
    step, found = (holm if plan.correction == "holm" else benjamini_hochberg), list(p)
    for own in dict.fromkeys(questions):
        places = [n for n, question in enumerate(questions) if question == own]
        whole = step(np.concatenate([p[n] for n in places]))
        cuts = np.cumsum([len(p[n]) for n in places])[:-1]
        for n, part in zip(places, np.split(whole, cuts), strict=True):
            found[n] = part
    return found


def _permuted(
    table: Table, groups: Sequence[Sequence[Pair]], plan: Plan, progress: Progress
) -> Permuted:
    """All pairs of all groups by the same flips; or as flipped while reading."""
    from counterrank.stats.permutation import flipped_test, permutation_test

    if isinstance(table, Moments):
        assert table.flips is not None
        return flipped_test(table.flips, family=plan.family)
    return permutation_test(
        [tested_values(table, keys_of(group)) for group in groups],
        [(int(a), int(b)) for a, b in places_of(groups)],
        ids=table.cluster_hashes,
        draws=plan.draws,
        seed=plan.seed,
        family=plan.family,
        progress=progress,
    )
