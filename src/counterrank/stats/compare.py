"""Two keys of a table of units compared, paired by unit: difference, lift and p, as one family."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from counterrank.core.arrays import Floats, Ints, divide
from counterrank.core.parallel import Progress, one_blas_thread, quiet
from counterrank.stats.estimates import Estimate, quantile, student_tail
from counterrank.stats.functions_of_means import ON_LOGS
from counterrank.stats.inference import (
    benjamini_hochberg,
    bootstrap_test,
    critical_value,
    detectable,
    differences,
    fieller,
    holm,
    largest_t,
    t_test,
    wilcoxon,
)
from counterrank.stats.moments import Block, Moments, Pair, Table, keys_of, places_of, tested_values
from counterrank.stats.plan import Plan
from counterrank.stats.units import Functions, Key, Units

if TYPE_CHECKING:
    from counterrank.stats.corner_bounds import CornerBounds
    from counterrank.stats.permutation import Permuted

NONE = float("nan")


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
    questions, levels = list(map(plan.question, groups)), plan.levels(groups)
    ups = [-1 if group[0][0].measure in lower else 1 for group in groups]
    with one_blas_thread():
        rest = functions, plan
        numbers = [
            _numbers(table.over(*keys), keys, group, *rest, level, up, spans or {}, bounds)
            for keys, group, level, up in zip(
                map(keys_of, groups), groups, levels, ups, strict=True
            )
        ]
        tested = _permuted(table, groups, plan, progress) if plan.test == "permutation" else None
    p, draws = [np.array(own.pop("p")) for own in numbers], None
    if tested is not None:
        p, draws = list(tested.p), tested.draws or None
    elif plan.test == "bootstrap":
        draws = plan.resamples
    by_flips = tested.maxt if tested is not None and plan.correction == "maxt" else None
    corrected = _corrected(p, questions, plan) if by_flips is None else list(by_flips)
    mine = [group for group, own in zip(groups, questions, strict=True) if own == questions[0]]
    words = (family or family_words)(sum(map(len, mine)), len(mine))
    made = {"level": plan.level, "test": plan.test, "correction": plan.correction}
    made |= {"family": words, "draws": draws}
    told: dict[str, Any] = {name: repeat(value) for name, value in made.items()}
    grave = {key: VERDICTS.index(state) for key, state in (verdicts or {}).items()}
    found: list[Comparison] = []
    for group, own, one, whole in zip(groups, numbers, p, corrected, strict=True):
        a, b = zip(*group, strict=True)
        worst = [VERDICTS[max(grave.get(x, 0), grave.get(y, 0))] for x, y in group]
        claims = [
            claim_of(low, high, lower=key.measure in lower, verdict=verdict)
            for low, high, key, verdict in zip(*_widest(own), a, worst, strict=True)
        ]
        columns = told | own | {name: map(attrgetter(name), a) for name in Key._fields}
        columns |= {"baseline": (key.system for key in b), "claim": claims, "verdict": worst}
        columns |= {"p": one.tolist(), "p_corrected": whole.tolist()}
        found += map(Comparison, *(columns[name] for name in FIELDS))
    return found


FIELDS = tuple(f.name for f in fields(Comparison))
VERDICTS = ("pass", "caution", "fail")


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


# What a comparison has of its own, but for p; the optional of them are None where they are missing.
NUMBERS = (
    "difference se units low high family_low family_high lift lift_low lift_high lift_family_low"
    " lift_family_high selected_difference selected_low selected_high detectable p bound_low"
    " bound_high lift_bound_low lift_bound_high"
).split()
OPTIONAL = {"lift", *(name for name in NUMBERS if "selected" in name or "bound" in name)}


def _widest(own: Mapping[str, list[Any]]) -> list[list[float]]:
    """The low and the high ends of the intervals that decide."""
    both = (zip(own[f"family_{end}"], own[f"bound_{end}"], strict=True) for end in ("low", "high"))
    return [[whole if bound is None else bound for whole, bound in ends] for ends in both]


def _numbers(
    view: Units | Block,
    keys: Sequence[Key],
    group: Sequence[Pair],
    functions: Functions,
    plan: Plan,
    level: float,
    up: int,
    spans: Mapping[Key, float],
    bounds: CornerBounds | None,
) -> dict[str, list[Any]]:
    """The `NUMBERS` of all pairs of a group; p is missing where flips will give it.

    ``level`` is that of the group's part of the family, ``up`` -1 where less is better. They are
    made from products of influence values, where no more is needed.
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
    union = plan.union_width(critical, level, len(group), freedom)
    columns = (
        d.value, d.se, np.full(len(a), estimates[0].n), *ends, *whole[:2], *lift, *whole[2:],
        *_selected(estimates, a, b, d.bias, largest, plan.level, up),
        detectable(freedom, level=plan.level) * d.se, p,
        *_bounded(bounds, group, estimates, both, union, whole),
    )  # fmt: skip
    return {
        name: [None if x != x else x for x in own.tolist()] if name in OPTIONAL else own.tolist()
        for name, own in zip(NUMBERS, columns, strict=True)
    }


def _bounded(
    bounds: CornerBounds | None,
    group: Sequence[Pair],
    estimates: Sequence[Estimate],
    places: Sequence[tuple[int, int]],
    width: float,
    whole: Sequence[Floats],
) -> Floats:
    """Ends of the second intervals, of differences and lifts; they hold the family's as well.

    That the position model is right is no corner where views contradict it. What is no total of
    rewards (nDCG of a log) has none.
    """
    if bounds is None or group[0][0] not in bounds.own:
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
