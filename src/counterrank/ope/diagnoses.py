"""What the numbers of each target rest on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from counterrank.diagnostics import weights as about
from counterrank.diagnostics.diagnosis import VERDICTS, Diagnosis, graded
from counterrank.diagnostics.weights import LOG_WORDS, WeightStatistics
from counterrank.ope.contributions import Contributions, TargetStatistics
from counterrank.ope.estimators.ips import MeanWeight
from counterrank.ope.request import clipped_weight
from counterrank.ope.setting import Setting


def diagnose_targets(
    setting: Setting, found: Contributions, orders: Mapping[str, str]
) -> list[Diagnosis]:
    """What each ranker's numbers rest on; ``orders`` are what orders their lists."""
    out = []
    request, basis, first = setting.request, setting.basis, setting.request.rewards[0]
    for name, target in found.targets.items():
        estimate = partial(found.estimate, request, name, first)
        if orders[name] == "score" and request.scores == "order":
            out.append(tied_scores(name, target))
        if absent := target.faults.count("session without list"):
            out.append(sessions_without_list(name, absent, setting))
        if basis.model is not None and not basis.by_rank and basis.views != "rows":
            out.append(list_length(name, target.weights))
        out += [
            _support(name, target.weights, setting.chance),
            about.mean_weight(name, estimate(MeanWeight()), LOG_WORDS),
            about.effective_size(name, target.weights, LOG_WORDS),
            about.largest_weight(name, target.weights, LOG_WORDS),
            about.tail(name, target.weights, LOG_WORDS),
        ]
        out += [] if target.slates is None else [effective_slates(name, *target.slates)]
        for e in request.clipped:
            kept, value = estimate(clipped_weight(e)), estimate(e).value
            out.append(about.clipping(name, str(e), kept, LOG_WORDS, value))
    return [*out, *mixture(setting)]


def _support(system: str, weights: WeightStatistics, chance: str) -> Diagnosis:
    missing, where = weights.unknown, "no session's log has"
    if chance == "none":
        missing, where = weights.unlogged, "the session's log does not have"
    return about.support(system, weights, LOG_WORDS, missing=missing, where=where)


def tied_scores(system: str, target: TargetStatistics) -> Diagnosis:
    """Rows whose score another row of their list has, too."""
    share = target.tied / target.rows
    verdict = graded(-share, -0.01, -0.5)
    text = f"{share:.1%} of its rows share their score with another of their list."
    if verdict != "pass":
        text += (
            " Ties go by item id, so part of the value is an accident: give ranks, or finer scores."
        )
    return Diagnosis("ties", system, share, 0.01, verdict, text)


def sessions_without_list(system: str, absent: int, setting: Setting) -> Diagnosis:
    """Logged sessions for which the target has no list."""
    sessions = setting.totals.sessions
    share = absent / sessions
    verdict = graded(-share, -0.01, -0.5)
    skipped = setting.request.missing == "skip"
    fate = "are left out, also of the lift" if skipped else "keep their logged list"
    text = f"{absent:,} of {sessions:,} logged sessions have no list of this ranker; they {fate}."
    return Diagnosis("sessions without a list", system, share, 0.01, verdict, text)


def list_length(system: str, weights: WeightStatistics) -> Diagnosis:
    """Views the target can expect over those of lists as long as the logged ones."""
    ratio = weights.views / weights.places if weights.places > 0 else math.nan
    verdict = "pass" if 0.9 <= ratio <= 1.1 else "caution"
    text = f"Its lists would be seen {ratio:.2f} times as much as lists of the logged length."
    if verdict != "pass":
        text += (
            " Short lists, ranks left out or exposures on another scale change the value by as"
            " much: give lists as they would be shown."
        )
    return Diagnosis("list length", system, ratio, 1.0, verdict, text)


def effective_slates(system: str, total: float, square: float, count: int) -> Diagnosis:
    """The effective number of whole slates, whose weights are products and spread much wider."""
    size = total**2 / square if square > 0 else 0.0
    share = size / count
    verdict = max(graded(size, 1000, 100), graded(share, 0.05, 0.005), key=VERDICTS.index)
    text = f"The weighted slates say as much as {size:,.0f} equal ones ({share:.1%} of the log)."
    if verdict != "pass":
        text += " Prefer RIPS to SIPS and IIPS to RIPS where users allow it, or log more sessions."
    return Diagnosis("effective slates", system, size, 1000.0, verdict, text)


def mixture(setting: Setting) -> list[Diagnosis]:
    """A log of several rankers: what it earned is then a mean over them, and of none.

    Policies whose lists are known are one logger together.
    """
    arms = setting.totals.arms
    for column in arms.columns:
        kinds = arms[column].n_unique()
        if kinds > 1 and not (column == "policy" and setting.shares):
            text = (
                f'The column "{column}" has {kinds} values: "logged" is their mixture, and so'
                " are lifts over it. Keep the sessions of one to compare with it alone."
            )
            return [Diagnosis("one ranker", "log", float(kinds), 1.0, "caution", text)]
    return []
