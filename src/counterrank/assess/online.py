r"""Past offline figures against past online ones (Jeunen et al. 2024, section 6).

A case is one system in one experiment (or on one day). Over the cases, offline and online values
correlate (Pearson's :math:`r` with Student's test, Kendall's :math:`\tau`). Against the control of
the experiment, both have an effect. An effect is called where its two-sided normal p is at most
:math:`\alpha`; what is true is what the experiment calls, or all effects where they are known to
be real. Then

* sensitivity: share of true effects that the offline measure calls, in the right direction;
* type II: share it does not call; type III: share it calls in the wrong direction;
* type I: share it calls of the effects that the experiment does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats
from counterrank.core.errors import CounterrankError, UsageError
from counterrank.core.format import in_a_sentence
from counterrank.ope.estimators import estimator
from counterrank.stats.correlation import dependent_correlations, kendall_tau, pearson
from counterrank.stats.estimates import normal_quantile

ALL = "all"  # rewards together


@dataclass(frozen=True)
class OnlineRow:
    """One offline measure against one online metric. ``value`` is Pearson's r, ``p`` Student's.

    Shares are of the true ``effects`` (``type_1``: of the ``nulls``). ``clip`` is the estimator's.
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
    sign_agreement: float
    sensitivity: float
    type_1: float
    type_2: float
    type_3: float
    mean_p: float
    effects: int
    nulls: int


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
    control with their standard errors ``se`` and ``online_se``.
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
        same: Bools = np.sign(self.effect) == np.sign(self.online_effect)
        return same

    @property
    def correlation(self) -> float:
        """Pearson's correlation of offline and online values; not a number below three cases."""
        return pearson(self.offline, self.online) if len(self.online) > 2 else float("nan")

    def true(self, alpha: float, truth: str) -> Bools:
        """Effects taken as real: those the experiment calls, or all that are known."""
        p = two_sided(self.online_effect, self.online_se)
        sure: Bools = self.online_effect != 0 if truth == "all" else p <= alpha
        return self.known & sure

    def right(self, alpha: float) -> Bools:
        """Effects the offline measure calls, in the direction the experiment found."""
        right: Bools = (self.p <= alpha) & self.same_sign
        return right


def online_row(cases: Cases, level: float, truth: str) -> OnlineRow:
    """All figures of one measure; NaN where the cases cannot say."""
    alpha = 1 - level + 1e-12
    r, n = cases.correlation, len(cases.offline)
    low, high = fisher(r, n, level)
    true = cases.true(alpha, truth)
    null = cases.known & ~true
    tested = not np.isnan(cases.se[cases.known]).any()
    called, right = cases.p <= alpha, cases.right(alpha)
    nan = float("nan")
    return OnlineRow(
        measure=cases.measure,
        reward=cases.reward,
        clip=_clip(cases.measure),
        value=r,
        low=low,
        high=high,
        level=level,
        p=student(r, n),
        kendall=float(kendall_tau(cases.offline, cases.online)) if np.isfinite(r) else nan,
        cases=n,
        sign_agreement=_share(cases.same_sign, true),
        sensitivity=_share(right, true) if tested else nan,
        type_1=_share(called, null) if tested else nan,
        type_2=_share(~called, true) if tested else nan,
        type_3=_share(called & ~right, true) if tested else nan,
        mean_p=float(cases.p[true].mean()) if tested and true.any() else nan,
        effects=int(true.sum()),
        nulls=int(null.sum()),
    )


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
        pools.append(Cases(label, ALL, when, who, blank, blank, *effects))
    return pools


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
    r""":math:`2 \Phi(-|d| / se)`; a difference of 0 has p 1, another without spread p 0."""
    from scipy.special import ndtr

    flat = (se == 0) & ~np.isnan(difference)
    z = np.abs(difference) / np.where(flat, 1.0, se)
    p: Floats = np.where(flat, (difference == 0).astype(float), 2 * ndtr(-z))
    return p


def student(r: float, n: int) -> float:
    r"""Two-sided p of :math:`t = r \sqrt{(n - 2) / (1 - r^2)}` with :math:`n - 2` freedoms."""
    from scipy.special import stdtr

    if np.isnan(r):
        return float("nan")
    if abs(r) == 1:
        return 0.0
    return float(2 * stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / (1 - r**2))))


def fisher(r: float, n: int, level: float) -> tuple[float, float]:
    r"""Interval of a correlation: :math:`\tanh(\mathrm{artanh}\, r \pm z / \sqrt{n - 3})`."""
    if np.isnan(r) or n < 4:
        return float("nan"), float("nan")
    centre = np.arctanh(np.clip(r, -1 + 1e-15, 1 - 1e-15))
    half = normal_quantile(0.5 + level / 2) / np.sqrt(n - 3)
    return float(np.tanh(centre - half)), float(np.tanh(centre + half))


def _share(part: Bools, whole: Bools) -> float:
    return float(part[whole].mean()) if whole.any() else float("nan")


def _clip(label: str) -> float | None:
    """The clip of an estimator; a measure of the user's own has none."""
    try:
        return getattr(estimator(label), "clip", None)
    except CounterrankError:
        return None


def recommend_online(
    cases: Sequence[Cases], rows: Sequence[OnlineRow], level: float, truth: str
) -> list[str]:
    """Who follows the online metric, who calls its effects, and which of them to use."""
    follows, leader = _who_follows(cases, rows, level)
    calls, caller = _who_calls(cases, rows, level, truth)
    if leader and caller:
        use = (
            f"Use {leader}: it follows best and calls most."
            if leader == caller
            else f"Use {leader} to follow a level over time and {caller} to call a winner."
        )
    elif leader or caller:
        use = f"Use {leader or caller} on data like these."
    else:
        use = "Choose by other grounds, or collect more experiments: these speak for no measure."
    return [follows, calls, use]


def _who_follows(
    cases: Sequence[Cases], rows: Sequence[OnlineRow], level: float
) -> tuple[str, str]:
    """The highest correlation with the first metric, and the measures not told apart from it."""
    reward = rows[0].reward
    mine = [(c, r) for c, r in zip(cases, rows, strict=True) if r.reward == reward]
    mine = [(c, r) for c, r in mine if np.isfinite(r.value)]
    if not mine:
        return "The cases are too few, or too much alike, to correlate.", ""
    mine.sort(key=lambda pair: (-round(pair[1].value, 6), _clipping(pair[1])))
    best, row = mine[0]
    if row.value <= 0:
        return f"No measure follows the online metric: the highest r is {row.value:.2f}.", ""
    tied = [c.measure for c, r in mine[1:] if not _separated(best, c, level, len(mine) - 1)]
    name = f"online {reward}" if reward else "the online metric"
    text = (
        f"{row.measure} follows {name} most closely: r = {row.value:.2f}"
        f" (p = {row.p:.2g}, {row.cases} cases), Kendall's tau {row.kendall:.2f}"
    )
    text += f"; not separated from it: {in_a_sentence(tied)}." if tied else "."
    if row.p > 1 - level:
        return f"{text[:-1]}; even this may be chance.", ""
    return text, row.measure if len(tied) < len(mine) - 1 or len(mine) == 1 else ""


def _clipping(row: OnlineRow) -> float:
    """How hard an estimator is clipped; of equals, the least."""
    return 0.0 if row.clip is None else 1 / row.clip


def _separated(a: Cases, b: Cases, level: float, others: int) -> bool:
    """Whether two measures' correlations with the same metric differ (Williams' test).

    The best is compared with all others, so the level is divided among them.
    """
    n = len(a.online)
    if n < 4:
        return False
    between = pearson(a.offline, b.offline)
    with_a, with_b = a.correlation, b.correlation
    if np.isnan(between) or with_a == with_b:
        return False
    tested = dependent_correlations(with_a, with_b, between, n)
    return tested.p_two_sided <= (1 - level) / others


def _who_calls(
    cases: Sequence[Cases], rows: Sequence[OnlineRow], level: float, truth: str
) -> tuple[str, str]:
    """The most sensitive measure, over all metrics together where there are several."""
    reward = rows[-1].reward
    mine = [(c, r) for c, r in zip(cases, rows, strict=True) if r.reward == reward]
    agree = [r for _, r in mine if np.isfinite(r.sign_agreement)]
    mine = [(c, r) for c, r in mine if np.isfinite(r.sensitivity)]
    if not mine:
        if not agree:
            return _without_effects(rows), ""
        top = max(agree, key=lambda r: r.sign_agreement)
        low = min(agree, key=lambda r: r.sign_agreement)
        other = f" and in {low.sign_agreement:.0%} by {low.measure}" if len(agree) > 1 else ""
        return (
            f"Of {top.effects} effect{'s' * (top.effects != 1)} the sign is right in"
            f" {top.sign_agreement:.0%} by {top.measure}{other}; without standard errors it cannot"
            " be said which would have been called.",
            "",
        )
    mine.sort(key=lambda pair: (-pair[1].sensitivity, round(pair[1].mean_p, 6), _clipping(pair[1])))
    best, row = mine[0]
    alpha = (1 - level) / max(len(mine) - 1, 1)
    tied = [c.measure for c, _ in mine[1:] if _sign_test(best, c, level, truth) > alpha]
    text = (
        f"At {level:.0%} {row.measure} calls {row.sensitivity:.0%} of {row.effects} true"
        f" effect{'s' * (row.effects != 1)} rightly and {row.type_3:.0%} the wrong way round"
        f" (mean p {row.mean_p:.2g})"
    )
    if row.nulls:
        text += f", and {row.type_1:.0%} of {row.nulls} that the experiment does not call"
    text += f"; not separated from it: {in_a_sentence(tied)}." if tied else "."
    if row.sensitivity <= row.type_3:  # it calls nothing, or is wrong as often as right
        return text, ""
    return text, row.measure if len(tied) < len(mine) - 1 or len(mine) == 1 else ""


def _without_effects(rows: Sequence[OnlineRow]) -> str:
    """What can be said where the experiments call nothing, or where no control is named."""
    false = [r for r in rows if np.isfinite(r.type_1)]
    if false:
        low, top = (pick(false, key=lambda r: r.type_1) for pick in (min, max))
        return (
            f"The experiments call none of {low.nulls} effects; {low.measure} calls"
            f" {low.type_1:.0%} of them, {top.measure} {top.type_1:.0%}."
        )
    return "No effect is known (--baseline names the control), so errors cannot be counted."


def _sign_test(a: Cases, b: Cases, level: float, truth: str) -> float:
    """Exact two-sided p: of the true effects that only one of two calls, is it mostly one?"""
    from scipy.special import bdtr

    alpha = 1 - level + 1e-12
    true = a.true(alpha, truth) & b.true(alpha, truth)
    mine, other = a.right(alpha)[true], b.right(alpha)[true]
    only, all_one = int(np.sum(mine & ~other)), int(np.sum(mine != other))
    return min(1.0, 2 * float(bdtr(min(only, all_one - only), all_one, 0.5)))
