"""Which offline measure foretells experiments best, in three sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterrank.assess.online import Cases, OnlineRow, correlation
from counterrank.inference import dependent_correlations
from counterrank.stats.correlation import pearson
from counterrank.wording import in_a_sentence


def recommend_online(
    cases: Sequence[Cases], rows: Sequence[OnlineRow], level: float, truth: str
) -> list[str]:
    """Who follows the online metric, who calls its effects, and which of them to use."""
    follows, leader = _followed(cases, rows, level)
    calls, caller = _called(cases, rows, level, truth)
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


def _followed(cases: Sequence[Cases], rows: Sequence[OnlineRow], level: float) -> tuple[str, str]:
    """The highest correlation with the first metric, and the measures not told apart from it."""
    reward = rows[0].reward
    mine = [(c, r) for c, r in zip(cases, rows, strict=True) if r.reward == reward]
    mine = [(c, r) for c, r in mine if np.isfinite(r.value)]
    if not mine:
        return "The cases are too few, or too much alike, to correlate.", ""
    mine.sort(key=lambda pair: (-round(pair[1].value, 6), _clipped(pair[1])))
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


def _clipped(row: OnlineRow) -> float:
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
    with_a, with_b = correlation(a), correlation(b)
    if np.isnan(between) or with_a == with_b:
        return False
    tested = dependent_correlations(with_a, with_b, between, n)
    return tested.p_two_sided <= (1 - level) / others


def _called(
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
    mine.sort(key=lambda pair: (-pair[1].sensitivity, round(pair[1].mean_p, 6), _clipped(pair[1])))
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
