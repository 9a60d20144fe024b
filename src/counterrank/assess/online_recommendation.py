"""Which offline measure to use, as far as past experiments can say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterrank.assess.online import Cases, OnlineRow
from counterrank.core.format import in_a_sentence
from counterrank.stats.correlation import dependent_correlations, pearson


def recommend_online(
    cases: Sequence[Cases], rows: Sequence[OnlineRow], level: float, truth: str
) -> list[str]:
    """Who follows the online metric, who calls its effects, and which of them to use."""
    follows, leader = _who_follows(cases, rows, level)
    calls, caller = _who_calls(cases, rows, level, truth)
    if any(r.measure == leader and r.type_3 > 0 and r.type_3 >= r.sensitivity for r in rows):
        leader = ""  # it follows, and calls the wrong winner
    if leader and caller:
        use = (
            f"Use {leader}: it follows best and calls most."
            if leader == caller
            else f"Use {leader} to follow the online metric and {caller} to call a winner."
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
    pairs = zip(cases, rows, strict=True)
    mine = [(c, r) for c, r in pairs if r.reward == reward and np.isfinite(r.value)]
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
        f" (p = {row.p:.2g}, {_cases(best, row)}), Kendall's tau {row.kendall:.2f}"
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

    The best is compared with all others, so the level is divided among them. Cases count as so many
    independent ones as their correlations are sure.
    """
    n = min(a.correlation.independent, b.correlation.independent)
    place = {case: n for n, case in enumerate(zip(b.experiment, b.system, strict=True))}
    own = [place.get(case, -1) for case in zip(a.experiment, a.system, strict=True)]
    x, z, y = a.sides[0], np.append(b.sides[0], np.nan)[own], a.sides[1]  # the cases of both
    known = ~np.isnan(x) & ~np.isnan(z) & ~np.isnan(y)
    if n < 4 or known.sum() < 4:
        return False
    x, z, y = x[known], z[known], y[known]
    between, with_a, with_b = pearson(x, z), pearson(x, y), pearson(z, y)
    if np.isnan(between) or np.isnan(with_b) or with_a == with_b:
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
        low, top = (pick(agree, key=lambda r: r.sign_agreement) for pick in (min, max))
        other = f" and in {low.sign_agreement:.0%} by {low.measure}" if len(agree) > 1 else ""
        return (
            f"Of {top.effects} effect{'s' * (top.effects != 1)} the sign is right in"
            f" {top.sign_agreement:.0%} by {top.measure}{other}; without standard errors it cannot"
            " be said which would have been called.",
            "",
        )
    mine.sort(key=lambda pair: _preference(pair[1]))
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
    if _chance_of_calls(row) > 1 - level:  # it calls little, or is wrong about as often as right
        return f"{text[:-1]}; its right calls do not outnumber its wrong ones beyond chance.", ""
    return text, row.measure if len(tied) < len(mine) - 1 or len(mine) == 1 else ""


def _preference(row: OnlineRow) -> tuple[float, float, float]:
    """The best first: right calls less wrong ones, then the mean p, then the weakest clip."""
    return row.type_3 - row.sensitivity, round(row.mean_p, 6), _clipping(row)


def _chance_of_calls(row: OnlineRow) -> float:
    """Exact one-sided p: as many right ones among the calls of true effects, by a coin."""
    right, wrong = (round(x * row.effects) for x in (row.sensitivity, row.type_3))
    return _coin(wrong, right + wrong)


def _coin(few: int, tosses: int) -> float:
    from scipy.special import bdtr

    return float(bdtr(few, tosses, 0.5))


def _cases(cases: Cases, row: OnlineRow) -> str:
    """How many cases, in how many experiments or days, where these hold several."""
    text = f"{row.cases} cases"
    if cases.series or row.groups < row.cases:
        text += f" of {row.groups} {'days' if cases.series else 'experiments'}"
    return text


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
    """Exact two-sided p: of the true effects that two score differently, is it mostly one's?"""
    alpha = 1 - level + 1e-12
    true = a.true(alpha, truth) & b.true(alpha, truth)
    apart = np.sign(a.score(alpha) - b.score(alpha))[true]
    ahead, all_one = int(np.sum(apart > 0)), int(np.sum(apart != 0))
    return min(1.0, 2 * _coin(min(ahead, all_one - ahead), all_one))
