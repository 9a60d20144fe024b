"""Jeunen et al. 2024, Table 2 and Fig. 1, on simulated weeks.

The platform's data are closed, so the pattern is what can be compared; see ``simulated_weeks``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from counterrank.report.charts import Figure, bands
from counterrank.stats.correlation import student
from counterrank.studies.simulated_weeks import (
    BEST,
    CLIPS,
    DCGS,
    EARNED,
    FEEDS,
    FIRST,
    PLAIN,
    REWARDS,
    ROWS,
    SECOND,
    TRIED,
    VARIANTS,
    Feed,
    week_calls,
    week_correlations,
)
from counterrank.studies.study import (
    Cell,
    Claim,
    ComparedTable,
    Context,
    Difference,
    Reproduction,
    Study,
    by_signs,
    holds,
    spread,
    sure_lead,
)

Values = Mapping[tuple[str, ...], Sequence[float]]
Drawn = Mapping[tuple[str, float], Mapping[str, Any]]


def over_weeks(weeks: Sequence[Any]) -> dict[tuple[str, ...], list[float]]:
    """r of every week by reward, ranker and variant."""
    each: dict[tuple[str, ...], list[float]] = {}
    for *key, r in chain(*weeks):
        if r is not None:
            each.setdefault(tuple(key), []).append(r)
    return each


def calls_by_clip(weeks: Sequence[Any]) -> dict[tuple[str, float], dict[str, Any]]:
    """Means over weeks with their standard errors, by measure and clip; TPR of each week."""
    each: dict[tuple[str, float], list[Any]] = {}
    for name, clip, *values in chain(*weeks):
        each.setdefault((name, float("inf") if clip is None else clip), []).append(values)
    keys = ("TPR", "sign agreement", "mean p")
    return {
        at: {key: spread([row[k] for row in rows]) for k, key in enumerate(keys)}
        | {"effects": sum(row[3] for row in rows), "weeks": [row[0] for row in rows]}
        for at, rows in each.items()
    }


def correlation_table(feed: Feed, found: Values) -> ComparedTable:
    """A feed's rows of Table 2."""
    rows = []
    for (reward, ranker), printed in feed.printed.items():
        shown = dict(zip([*DCGS, "nDCG"], printed, strict=True))
        shown[EARNED] = shown["nDCG"]
        cells = (Cell(p, *spread(found[reward, ranker, v])) for v, p in shown.items())
        rows.append((reward, ranker, *cells))
    return ComparedTable(
        f"Table 2, {feed.name} feed: r of offline and online figures over days",
        ("reward", "ranker", *DCGS, "nDCG", EARNED), rows,
        "Mean over weeks ± its standard error. log or pbm (learnt) is the discount, C the raw and Q"
        " the de-biased label. The paper does not say how nDCG counts sessions without a reward: as"
        " 0 in nDCG, not at all in the last column.",
    )  # fmt: skip


def p_table(feed: Feed, found: Values) -> ComparedTable:
    """Student's p of the same."""
    rows = [
        (reward, ranker, *(Cell(p, float(np.median([student(r, feed.days) for r in
                                                    found[reward, ranker, v]])))
                           for p, v in zip(printed, VARIANTS, strict=True)))
        for (reward, ranker), printed in feed.tails.items()
    ]  # fmt: skip
    return ComparedTable(
        f"Table 2, {feed.name} feed: two-sided p of r",
        ("reward", "ranker", *VARIANTS),
        rows,
        f"Student's, of {feed.days} days taken as independent, but at least 2/{feed.days}!, what"
        " orders of the days can say; the median of the weeks.",
    )


def calls_table(calls: Drawn, own: Drawn) -> ComparedTable:
    """Fig. 1 in numbers."""
    rows = [
        (name, f"{clip:g}".replace("inf", "none"), *(Cell(None, *found[key]) for key in
                                                   ("TPR", "mean p")),
         Cell("1.00", *found["sign agreement"]), found["effects"],
         *(Cell(None, *own[name, clip][key]) for key in ("TPR", "sign agreement")))
        for (name, clip), found in calls.items()
    ]  # fmt: skip
    return ComparedTable(
        "Fig. 1: calls of real effects by clip, 2nd-level feed",
        ("measure", "clip", "TPR", "mean p", "sign agreement", "effects", "TPR on own logs",
         "sign agreement on own logs"), rows,
        "Effects of four rewards by day that the experiment calls at 1 %; TPR is the share that the"
        " offline measure calls at 1 % in the right direction, mean p is one-sided. ± is the"
        " standard error over weeks. Both rankers are measured on the control's log, in the last"
        " two columns each on its own. The paper prints no numbers but the sign agreement.",
    )  # fmt: skip


def tried_table(tried: Mapping[str, Mapping[str, Values]]) -> ComparedTable:
    """What explains the correlations: r of R_t as parts of the platform change."""
    rows = [
        (what, name, kind, *(Cell(None, *spread(found[kind, "R_t", v]))
                             for v in (PLAIN, BEST, "nDCG", EARNED)))
        for what, feeds in tried.items()
        for name, found in feeds.items()
        for kind in REWARDS.values()
    ]  # fmt: skip
    return ComparedTable(
        "What was tried: r of R_t on platforms that differ in one thing",
        ("platform", "feed", "reward", PLAIN, BEST, "nDCG", EARNED),
        rows,
        "Mean over weeks ± its standard error.",
    )


def claims_about_r(found: Mapping[str, Values], tried: Mapping[str, Any]) -> list[Claim]:
    """RQ1 to RQ3. Of R_0 unbiased DCG is what was earned, so that only R_t can say anything."""
    rows = [(feed.name, *row) for feed in FEEDS for row in ROWS]
    own = {row: {v: found[row[0]][(*row[1:], v)] for v in (*VARIANTS, EARNED)} for row in rows}
    target = [x for row, x in own.items() if row[2] == "R_t"]
    best = sum(max(DCGS, key=lambda v: np.mean(x[v])) == BEST for x in target)
    ahead = [sure_lead(x[BEST], x[v]) for x in target for v in DCGS if v != BEST]
    against = [sure_lead(x[BEST], x[PLAIN]) for x in target]
    raised, all_sessions, earned = (
        [sure_lead(x[v], [0.0] * len(x[v])) for x in some]
        for v, some in ((BEST, target), ("nDCG", own.values()), (EARNED, own.values()))
    )
    return [
        Claim("Unbiased DCG (pbm, Q) is positively correlated with online reward.",
              by_signs(raised, least=4), f"Surely positive in {raised.count(1)} of the 4 rows of"
              f" R_t, surely negative in {raised.count(-1)}. Rows of R_0 cannot fail here: there it"
              " is what was earned (r is 1, nearly 1 where it is clipped).",
              "8 of 8", f"{raised.count(1)} of 4"),
        Claim("It correlates best of the four forms of DCG, ahead of the classical one (log, C).",
              by_signs(ahead, least=len(ahead)), f"Of R_t it has the highest mean r in {best} of 4"
              f" rows; paired by week it is surely ahead of the other three in {ahead.count(1)} of"
              f" {len(ahead)} comparisons, surely behind in {ahead.count(-1)}; of log, C in"
              f" {against.count(1)} and {against.count(-1)} of 4.",
              "4 of 4, with ties", f"{best} of 4"),
        Claim("nDCG is negatively correlated with online reward (all sessions count).",
              by_signs([-x for x in all_sessions], least=7), "Sessions without a reward count 0:"
              f" surely negative in {all_sessions.count(-1)} of 8 rows, surely positive in"
              f" {all_sessions.count(1)}. Days of more reward have fewer such sessions.",
              "8 of 8", f"{all_sessions.count(-1)} of 8"),
        Claim("nDCG is negatively correlated with online reward (sessions with a reward count).",
              by_signs([-x for x in earned], least=7), f"Surely negative in {earned.count(-1)} of 8"
              f" rows, surely positive in {earned.count(1)}.",
              "8 of 8", f"{earned.count(-1)} of 8"),
        _by_length(found, tried["users of all contexts read alike"]),
        _by_reward(found, tried),
    ]  # fmt: skip


def _by_length(found: Mapping[str, Values], alike: Mapping[str, Values]) -> Claim:
    """Whether nDCG falls with reward because readers differ: week by week, with and without."""
    apart, flat = (
        np.mean([x[kind, "R_t", EARNED][: len(alike[name]["explicit", "R_t", EARNED])]
                 for name, x in own.items() for kind in REWARDS.values()], axis=0)
        for own in (found, alike)
    )  # fmt: skip
    signs = [sure_lead(flat, apart), sure_lead([0.0] * len(apart), apart)]
    return Claim(
        "That comes from sessions of different length: more reward, farther from the ideal.",
        by_signs(signs, least=2),
        f"Over sessions with a reward r of R_t is {np.mean(apart):.2f} on average, and"
        f" {np.mean(flat):.2f} on platforms whose users all read alike; the first is"
        f" {'' if signs[1] == 1 else 'not '}surely negative and {'' if signs[0] == 1 else 'not '}"
        "surely below the second, paired by week.",
        "an intuition", f"{np.mean(apart):.2f} and {np.mean(flat):.2f}",
    )  # fmt: skip


def _by_reward(found: Mapping[str, Values], tried: Mapping[str, Any]) -> Claim:
    """Which reward is followed better on which feed."""
    r = {(feed.name, kind): np.mean(found[feed.name][kind, "R_t", BEST])
         for feed in FEEDS for kind in REWARDS.values()}  # fmt: skip
    signs = [sign * sure_lead(*(found[feed.name][kind, "R_t", BEST] for kind in REWARDS.values()))
             for feed, sign in zip(FEEDS, (1, -1), strict=True)]  # fmt: skip
    gap = {what: np.mean(x[FIRST.name]["implicit", "R_t", BEST]) for what, x in tried.items()
           if FIRST.name in x}  # fmt: skip
    told = ", ".join(f"{x:.2f} if {what}" for what, x in list(gap.items())[2:])
    return Claim(
        "Explicit reward is followed better on the 1st-level feed, implicit on the 2nd-level one.",
        "does not hold" if -1 in signs else by_signs(signs, least=2),
        f"R_t, pbm and Q: explicit {r[FIRST.name, 'explicit']:.2f}, implicit"
        f" {r[FIRST.name, 'implicit']:.2f} on the 1st level, {r[SECOND.name, 'explicit']:.2f} and"
        f" {r[SECOND.name, 'implicit']:.2f} on the 2nd; paired by week {signs.count(1)} of the two"
        f" are surely so, {signs.count(-1)} surely the other way. Likes are rarer here."
        f" Implicit has {told}.",
        "0.91 and 0.17; 0.49 and 0.88",
        f"{r[FIRST.name, 'explicit']:.2f} and {r[FIRST.name, 'implicit']:.2f};"
        f" {r[SECOND.name, 'explicit']:.2f} and {r[SECOND.name, 'implicit']:.2f}",
    )  # fmt: skip


def claims_about_calls(calls: Drawn, own: Drawn) -> list[Claim]:
    """RQ4 and Fig. 1."""
    tpr = {name: [calls[name, clip]["TPR"][0] for clip in CLIPS] for name in ("DCG", "nDCG")}
    sign = {at: found["sign agreement"][0] for at, found in calls.items()}
    own_sign = min(found["sign agreement"][0] for found in own.values())
    same = {name: sum(x >= 0.99 for at, x in sign.items() if at[0] == name) for name in tpr}
    best = CLIPS[int(np.argmax(tpr["DCG"]))]
    weekly = {name: [calls[name, clip]["weeks"] for clip in CLIPS] for name in tpr}
    weighted = {name: [sure_lead(x, own[0]) for x in own[1:]] for name, own in weekly.items()}
    wide, own_wide = ([sure_lead(*(x[name, clip]["weeks"] for name in tpr)) for clip in CLIPS]
                      for x in (calls, own))  # fmt: skip
    states = {by_signs(wide, least=7), by_signs(own_wide, least=7)}
    clipped = [sure_lead(x, weekly["DCG"][-1]) for x in weekly["DCG"][1:-1]]
    loss = max(tpr["DCG"]) - tpr["DCG"][-1]
    return [
        Claim("All offline measures agree in sign with the effects that are real.",
              holds(sum(same.values()) == len(sign)),
              f"At {same['DCG']} of 13 clips DCG does, in 99 % of the effects or more, nDCG at"
              f" {same['nDCG']}. Both rankers are judged on the log of R_0. There raw labels prefer"
              f" R_0, whose top ranks were seen: DCG agrees in {sign['DCG', 1.0]:.0%} at clip 1, in"
              f" {sign['DCG', best]:.0%} at {best:g}. In nDCG a reward's weight cancels where it is"
              f" the session's only one, so that no clip helps: {sign['nDCG', best]:.0%}. Judged"
              f" each on its own log, all agree in {own_sign:.0%}, but then DCG unclipped is the"
              " online figure itself, and cannot lose sensitivity as in Fig. 1.",
              "100 %", f"{same['DCG']} and {same['nDCG']} of 13 clips"),
        *(Claim(f"Weighting (a clip above 1) makes {name} more sensitive.",
                by_signs(weighted[name], least=7),
                f"TPR is {x[0]:.2f} at clip 1 and at most {max(x):.2f}; it is surely higher at"
                f" {weighted[name].count(1)} of the other 12 clips, surely lower at"
                f" {weighted[name].count(-1)} (paired by week)."
                + " Its signs are wrong here, see above." * (same[name] == 0),
                "Fig. 1a", f"surely at {weighted[name].count(1)} of 12")
          for name, x in tpr.items()),
        Claim("DCG is more sensitive than nDCG over a wide range of clips.",
              states.pop() if len(states) == 1 else "cannot be told here",
              f"Surely at {wide.count(1)} of 13 clips, surely less at {wide.count(-1)}, on the log"
              f" of R_0, where nDCG agrees in sign in {sign['nDCG', best]:.0%}; on own logs, where"
              f" it does in {own['nDCG', best]['sign agreement'][0]:.0%}, at"
              f" {own_wide.count(1)} and {own_wide.count(-1)} (TPR of nDCG"
              f" {own['nDCG', best]['TPR'][0]:.2f}, of DCG {own['DCG', best]['TPR'][0]:.2f}). It"
              " holds if it does both ways.", "Fig. 1a", f"surely at {wide.count(1)} of 13"),
        Claim("Unclipped, DCG loses sensitivity.", by_signs(clipped, least=4),
              f"Its TPR falls from {max(tpr['DCG']):.2f} at {best:g} to {tpr['DCG'][-1]:.2f}; it is"
              f" surely higher at {clipped.count(1)} of 11 clips above 1 than without, surely lower"
              f" at {clipped.count(-1)}.", "Fig. 1a", f"-{loss:.2f}"),
    ]  # fmt: skip


def clip_figures(calls: Drawn) -> list[Figure]:
    """Fig. 1a and 1b: a line for each measure over the clips, with 95 % bands over weeks."""
    figures = []
    for key, title, reading in (
        ("TPR", "Fig. 1a: sensitivity (TPR) against the clip", "Higher calls more real effects."),
        ("mean p", "Fig. 1b: mean one-sided p against the clip", "Lower is surer."),
    ):
        rows = []
        for (name, clip), own in calls.items():
            value, se = own[key]
            half = 1.96 * (se or 0.0)
            rows.append({"clip": f"{clip:g}", key: value, "measure": name,
                         "low": max(value - half, 0), "high": min(value + half, 1)})  # fmt: skip
        chart = bands("clip", key, by="measure", x_title="clip m", title=key, kind="N")
        figures.append(Figure(key.replace(" ", "-").lower(), title, reading, rows, chart))
    return figures


def farthest_cells(found: Mapping[str, Values]) -> list[Difference]:
    """The five cells of Table 2 farthest off."""
    cells = []
    for feed in FEEDS:
        for row, printed in feed.printed.items():
            for variant, p in zip(VARIANTS, printed, strict=True):
                own = found[feed.name][(*row, variant)]
                cells.append((abs(np.mean(own) - float(p)), feed.name, row, variant, p, own))
    out = []
    for _, name, row, variant, p, own in sorted(cells, key=lambda c: -c[0])[:5]:
        because = f"single weeks range from {min(own):.2f} to {max(own):.2f}"
        if variant == "nDCG":
            earned = np.mean(found[name][(*row, EARNED)])
            because = f"over sessions with a reward it is {earned:.2f}; {because}"
        out.append(Difference(f"{name}, {', '.join(row)}, {variant}", p, float(np.mean(own)),
                              because))  # fmt: skip
    return out


def reproduce_offline_online(context: Context) -> Reproduction:
    """Weeks of both feeds, weeks of platforms that differ in one thing, and calls by clip."""
    weeks, few, sessions = (4, 2, 8_000) if context.quick else (20, 10, 20_000)

    def each(label: str, count: int, work: Callable[[int], Any]) -> list[Any]:
        seeds = range(context.seed, context.seed + count)
        return [context.step(f"{label}-{seed}".replace(" ", "-"), partial(work, seed))
                for seed in context.progress(seeds, label)]  # fmt: skip

    tried: dict[str, dict[str, Any]] = {}
    for what, feeds in TRIED.items():
        number = weeks if feeds == FEEDS else few
        tried[what] = {
            feed.name: over_weeks(each(f"{feed.name}, {what}", number, partial(
                week_correlations, feed, sessions=sessions)))
            for feed in feeds
        }  # fmt: skip
    calls = calls_by_clip(each("clips", weeks, partial(week_calls, sessions=sessions)))
    asked = partial(week_calls, sessions=sessions, own="yes")
    own = calls_by_clip(each("clips on own logs", few, asked))
    found = tried["as above"]
    tables = [table(feed, found[feed.name]) for table in (correlation_table, p_table)
              for feed in FEEDS]  # fmt: skip
    return Reproduction(
        tables=[*tables, tried_table(tried), calls_table(calls, own)],
        claims=[*claims_about_r(found, tried), *claims_about_calls(calls, own)],
        differences=farthest_cells(found),
        notes=[f"{weeks} weeks of {sessions:,} sessions on each feed, {few} where something is"
               " changed; each week is a platform of its own.", *NOTES],
        figures=clip_figures(calls),
    )  # fmt: skip


NOTES = (
    "Of R_0, pbm and Q is 1 by construction: the lists are those shown, so that every weight is 1."
    " On the platform, rules after the ranker change lists, and r was 0.70 to 0.98.",
    "Unknown of the paper: its position model of the 1st-level feed, the parameter of the 2nd, its"
    " days (6 and 5 fit its p-values), sessions, effects, and whether differences were paired. Here"
    " R_0 and R_t are compared on the same sessions, paired.",
    "p of r takes days as independent, as the paper does; assess online moves days against each"
    " other instead.",
)
STUDY = Study(
    "offline-online", "Offline figures against online ones, by simulated weeks",
    "Jeunen et al. 2024: On (Normalised) Discounted Cumulative Gain as an Off-Policy Evaluation"
    " Metric for Top-n Recommendation, Table 2 and Fig. 1.",
    (), 6, reproduce_offline_online,
)  # fmt: skip
