r"""Past offline figures against past online ones (Jeunen et al. 2024, section 6).

A case is one system in one experiment (or on one day). Against the control of the experiment, the
offline and the online figure have an effect. Over the cases, effects correlate, or values where no
control is named (Pearson's :math:`r`, Kendall's :math:`\tau`). An effect is called where its
two-sided normal p is at most :math:`\alpha`; what is true is what the experiment calls, or all
effects where they are known to be real. Then

* sensitivity: share of true effects that the offline measure calls, in the right direction;
* type II: share it does not call; type III: share it calls in the wrong direction;
* type I: share it calls of the effects that the experiment does not;
* mean p: of the null that the effect is at most 0 in the direction the experiment found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from counterrank.assess.case_correlation import Correlation, correlate
from counterrank.core.arrays import Bools, Floats
from counterrank.core.errors import CounterrankError, UsageError
from counterrank.ope.estimators import estimator
from counterrank.stats.correlation import kendall_tau
from counterrank.stats.inference import SMALLEST

ALL = "all"  # rewards together


@dataclass(frozen=True)
class OnlineRow:
    """One offline measure against one online metric. ``value`` is Pearson's r of ``correlated``.

    There are so many ``groups`` of cases: experiments or days. Shares are of the true ``effects``
    (``type_1``: of the ``nulls``). ``clip`` is the estimator's.
    """

    measure: str
    reward: str
    clip: float | None
    value: float
    low: float
    high: float
    level: float
    p: float
    kendall: float
    cases: int
    groups: int
    correlated: str
    sign_agreement: float
    sensitivity: float
    type_1: float
    type_2: float
    type_3: float
    mean_p: float
    effects: int
    nulls: int


@dataclass(frozen=True)
class SystemRow:
    """One system's offline values against its online ones, over days: the control's (R_0) too.

    ``value`` is Pearson's r. What all days share, such as the season, makes it large by itself.
    """

    system: str
    measure: str
    reward: str
    value: float
    low: float
    high: float
    p: float
    kendall: float
    cases: int


@dataclass(frozen=True)
class CaseRow:
    """One system in one experiment: offline and online values and effects."""

    experiment: str
    system: str
    measure: str
    reward: str
    offline: float
    online: float
    effect: float
    effect_se: float
    online_effect: float
    online_effect_se: float


@dataclass(frozen=True, eq=False)
class Cases:
    """One offline measure beside one online metric; NaN where something is not known.

    ``offline`` and ``online`` are values, ``effect`` and ``online_effect`` differences from the
    control with their standard errors ``se`` and ``online_se``. ``series`` says that experiments
    are days; ``correlated`` whether effects or values correlate. ``control`` is the name of the
    control of a log, and its offline and online values by day.
    """

    measure: str
    reward: str
    experiment: tuple[str, ...]
    system: tuple[str, ...]
    offline: Floats
    online: Floats
    effect: Floats
    se: Floats
    online_effect: Floats
    online_se: Floats
    series: bool = field(default=False, kw_only=True)
    correlated: str = field(default="values", kw_only=True)
    control: tuple[str, Floats, Floats] | None = field(default=None, kw_only=True)

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """What correlates; rewards together have no scale of their own."""
        if self.correlated == "effects" and self.reward != ALL:
            return self.effect, self.online_effect
        return self.offline, self.online

    @cached_property
    def correlation(self) -> Correlation:
        """Of the offline side with the online side."""
        return correlate(*self.sides, self.experiment, self.system, series=self.series)

    @property
    def p(self) -> Floats:
        """Two-sided p of each offline effect."""
        return two_sided(self.effect, self.se)

    @property
    def known(self) -> Bools:
        """Cases with both effects."""
        return ~np.isnan(self.effect) & ~np.isnan(self.online_effect)

    @property
    def same_sign(self) -> Bools:
        """Cases whose effects go in the same direction."""
        return np.equal(np.sign(self.effect), np.sign(self.online_effect))

    def true(self, alpha: float, truth: str) -> Bools:
        """Effects taken as real: those the experiment calls, or all that are known."""
        p = two_sided(self.online_effect, self.online_se)
        return self.known & (self.online_effect != 0 if truth == "all" else p <= alpha)

    def right(self, alpha: float) -> Bools:
        """Effects the offline measure calls, in the direction the experiment found."""
        return (self.p <= alpha) & self.same_sign

    def score(self, alpha: float) -> Floats:
        """Of each effect 1 if it is called rightly, -1 if it is called the wrong way round."""
        called, right = self.p <= alpha, self.right(alpha)
        return right.astype(float) - (called & ~right)


def online_row(cases: Cases, level: float, truth: str) -> OnlineRow:
    """All figures of one measure; NaN where the cases cannot say."""
    alpha = 1 - level + 1e-12
    found, (x, y) = cases.correlation, cases.sides
    low, high = found.ends(level)
    toward = np.sign(cases.online_effect) * cases.effect
    true = cases.true(alpha, truth)
    null = cases.known & ~true
    tested = not np.isnan(cases.se[cases.known]).any()
    called, right = cases.p <= alpha, cases.right(alpha)
    nan = float("nan")
    return OnlineRow(
        measure=cases.measure,
        reward=cases.reward,
        clip=_clip(cases.measure),
        value=found.r,
        low=low,
        high=high,
        level=level,
        p=found.p,
        kendall=float(kendall_tau(x, y, missing="skip")) if np.isfinite(found.r) else nan,
        cases=found.cases if np.isfinite(found.r) else len(x),
        groups=found.groups,
        correlated=cases.correlated,
        sign_agreement=_share(cases.same_sign, true),
        sensitivity=_share(right, true) if tested else nan,
        type_1=_share(called, null) if tested else nan,
        type_2=_share(~called, true) if tested else nan,
        type_3=_share(called & ~right, true) if tested else nan,
        mean_p=float(one_sided(toward, cases.se)[true].mean()) if tested and true.any() else nan,
        effects=int(true.sum()),
        nulls=int(null.sum()),
    )


def system_rows(cases: Sequence[Cases], level: float) -> list[SystemRow]:
    """Each system of a log by itself, the control first."""
    rows = []
    for c in cases:
        if c.control is None:
            continue
        name, *own = c.control
        days, who = tuple(dict.fromkeys(c.experiment)), np.array(c.system)
        sides = {name: own} | {
            arm: [c.offline[who == arm], c.online[who == arm]] for arm in dict.fromkeys(c.system)
        }
        for system, (x, y) in sides.items():
            found = correlate(x, y, days, (system,) * len(days), series=c.series)
            tau = float(kendall_tau(x, y)) if np.isfinite(found.r) else float("nan")
            numbers = found.r, *found.ends(level), found.p, tau
            rows.append(SystemRow(system, c.measure, c.reward, *numbers, len(days)))
    return rows


def case_rows(cases: Sequence[Cases]) -> list[CaseRow]:
    """Every case of every measure."""
    return [
        CaseRow(e, s, c.measure, c.reward, *map(float, row))
        for c in cases
        for e, s, *row in zip(
            c.experiment, c.system, c.offline, c.online, c.effect, c.se, c.online_effect,
            c.online_se, strict=True,
        )
    ]  # fmt: skip


def offline_figures(cases: Sequence[Cases]) -> pl.DataFrame:
    """The offline values: unit (the experiment and the reward), system, measure, value."""
    rows = [
        (f"{e}/{c.reward}" if c.reward else e, s, c.measure, float(v))
        for c in cases
        for e, s, v in zip(c.experiment, c.system, c.offline, strict=True)
    ]
    return pl.DataFrame(rows, schema=["unit", "system", "measure", "value"], orient="row")


def pool_rewards(cases: Sequence[Cases]) -> list[Cases]:
    """Effects on several rewards together; their values are on different scales."""
    if len({c.reward for c in cases}) < 2:
        return []
    pools = []
    for label in dict.fromkeys(c.measure for c in cases):
        mine = [c for c in cases if c.measure == label]
        blank = np.full(sum(len(c.offline) for c in mine), np.nan)
        effects = (
            np.concatenate([getattr(c, name) for c in mine])
            for name in ("effect", "se", "online_effect", "online_se")
        )
        when, who = sum((c.experiment for c in mine), ()), sum((c.system for c in mine), ())
        pools.append(Cases(label, ALL, when, who, blank, blank, *effects, series=mine[0].series))
    return pools


def choose_sides(asked: str, cases: Sequence[Cases]) -> list[Cases]:
    """What correlates: ``auto`` takes effects where there are any, and values otherwise."""
    effects = any(c.known.any() for c in cases)
    if asked == "effects" and not effects:
        raise UsageError(
            "There are no effects to correlate.",
            todo="Name the control (--baseline), or take values: --correlate values.",
        )
    word = asked if asked != "auto" else "effects" if effects else "values"
    return [replace(c, correlated=word) for c in cases]


def choose_truth(asked: str, cases: Sequence[Cases]) -> str:
    """Which effects are real: ``auto`` takes those the experiment calls, where that is known."""
    known = not any(np.isnan(c.online_se[~np.isnan(c.online_effect)]).any() for c in cases)
    if asked == "online" and not known:
        raise UsageError(
            "Online effects without standard errors cannot be told from chance.",
            todo="Give a column online_se, or say that all effects are real: --truth all.",
        )
    return asked if asked != "auto" else "online" if known else "all"


def two_sided(difference: Floats, se: Floats) -> Floats:
    r""":math:`2 \Phi(-|d| / se)`; a difference of 0 has p 1."""
    return np.minimum(2 * one_sided(np.abs(difference), se), 1.0)


def one_sided(difference: Floats, se: Floats) -> Floats:
    r""":math:`\Phi(-d / se)`, the p of a difference of at most 0; never 0."""
    from scipy.special import ndtr

    small = np.maximum(se, np.finfo(float).tiny)  # an effect without spread is sure
    with np.errstate(over="ignore"):
        p: Floats = np.maximum(ndtr(-difference / small), SMALLEST / 2)
    return np.where((difference == 0) & (se == 0), 1.0, p)


def _share(part: Bools, whole: Bools) -> float:
    return float(part[whole].mean()) if whole.any() else float("nan")


def _clip(label: str) -> float | None:
    """The clip of an estimator; a measure of the user's own has none."""
    try:
        return getattr(estimator(label), "clip", None)
    except CounterrankError:
        return None
