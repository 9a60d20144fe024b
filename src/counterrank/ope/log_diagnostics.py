"""What the numbers rest on: each target's weights, and what is assumed of the log.

Audits take one assumption each (Jeunen et al., 2024, section 4), read the log alone and look for
what would break it. An audit is loud only if the effect is beyond chance (3.3 standard errors,
between users) and large enough to matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
import polars as pl

from counterrank.assumptions import support
from counterrank.assumptions.carry_over import carry_over
from counterrank.assumptions.examination import examination
from counterrank.assumptions.interaction import interaction
from counterrank.assumptions.logger_knowledge import confirm_within_users
from counterrank.assumptions.position_curve import position_fit
from counterrank.assumptions.score_test import AuditRows, number_keys
from counterrank.assumptions.trust_bias import trust
from counterrank.core.arrays import Floats, Ints, divide
from counterrank.core.faults import Faults
from counterrank.data.ids import as_categories, hash_ids
from counterrank.diagnostics import weights as about
from counterrank.diagnostics.diagnostic import Diagnostic, advise, graded, graded_size, limited
from counterrank.diagnostics.weights import LOG_WORDS, WeightStatistics
from counterrank.engine import Partition, Partitions
from counterrank.engine.partitions import on_some
from counterrank.ope.estimators.doubly_robust import DM
from counterrank.ope.estimators.ips import Estimator, MeanWeight, OnPolicy
from counterrank.ope.estimators.slate import SlateWeight
from counterrank.ope.log import LOG, LogTotals, Sessions, log_table
from counterrank.ope.log_facts import audit_facts
from counterrank.ope.request import LOGGED, EstimateRequest, clipped_weight
from counterrank.ope.setting import Basis, Setting
from counterrank.ope.times import time_columns
from counterrank.stats.estimates import Estimate

MOST = 250_000  # rows; more would not change a verdict
CHOSEN = 5.0  # errors, users being dependent, beyond which sessions were left out by their rewards
HARM = 0.01  # of the value: what leaving them out may change
Read = Callable[[Partition], Sessions | None]


@dataclass(frozen=True)
class TargetStatistics:
    """One target beside the log: its weights, and what is wrong with it.

    ``tied`` of its ``rows`` share their score with another of their list, where scores order it.
    ``slates`` are the sums of whole slates' weights and of their squares, and how many there are,
    where they are asked for. ``earned`` is of sessions without and with a list of the target, by
    context (contexts x 2 x 3): how many there are, what they earned, and its square; nothing where
    all have one.
    """

    weights: WeightStatistics
    faults: Faults
    tied: int | None
    rows: int
    slates: tuple[float, float, int] | None
    earned: Floats | None = None


def diagnose_targets(
    setting: Setting,
    targets: Mapping[str, TargetStatistics],
    estimate: Callable[[str, Estimator, str], Estimate],
) -> list[Diagnostic]:
    """What each ranker's numbers rest on; ``estimate`` is of a ranker's reward.

    Where weights are multiplied, it is those of slates that average 1: a list's item that was
    already shown above has a weight of 0 at its rank, and the slate had one before.
    """
    request, basis, first = setting.request, setting.basis, setting.request.rewards[0]
    out = [effective_users(estimate(LOGGED, OnPolicy(), first))]
    out += [about.model_bias(str(e)) for e in request.estimators if isinstance(e, DM)]
    for name, target in targets.items():
        weights = target.weights
        if target.tied is not None:
            out.append(tied_scores(name, target.tied / target.rows))
        if absent := target.faults.count("session without list"):
            out.append(sessions_without_list(name, absent, target.earned, setting))
        if basis.model is not None and not basis.by_rank and basis.views != "rows":
            out.append(list_length(name, weights))
        missing, where = weights.unknown, "no session's log has"
        if basis.logged == "rank" and basis.views != "rows":  # nothing was left to chance
            missing, where = weights.unlogged, "the session's log does not have"
        out.append(about.support(name, weights, LOG_WORDS, missing=missing, where=where))
        each = [e for e in request.estimators if e.weighs]
        mean = about.mean_weight(name, estimate(name, MeanWeight(), first), LOG_WORDS)
        out += limited([mean], [e for e in each if "chances" not in e.needs])
        sums = (about.effective_size, about.largest_weight, about.tail)
        out += limited([diagnose(name, weights, LOG_WORDS) for diagnose in sums], each)
        if target.slates is not None:
            slates = [effective_slates(name, *target.slates)]
            out += limited(slates, [e for e in request.estimators if "chances" in e.needs])
            out += slate_weights(name, request.estimators, estimate(name, SlateWeight(), first))
        for e in request.clipped:
            left, value = (estimate(name, x, first) for x in (clipped_weight(e), e))
            out.append(about.clipping(name, e, left, LOG_WORDS, value.value, told=e.tells))
        for reward, asked in product(request.rewards, request.estimators):
            if not isinstance(asked, OnPolicy):
                value = estimate(name, asked, reward)
                out.append(tail_of(request, name, reward, value, str(asked)))
    for reward in request.rewards:
        out.append(tail_of(request, LOGGED, reward, estimate(LOGGED, OnPolicy(), reward)))
    return [*out, *mixture(setting)]


def tail_of(
    request: EstimateRequest, system: str, reward: str, e: Estimate, label: str = ""
) -> Diagnostic:
    """How few sessions or users the error of one value rests on."""
    who, cut = "users" if e.dependent else "sessions", "cut rewards (--winsorise 0.995), "
    alone = len(request.rewards) == 1
    return about.heavy_tail(system, label, reward, e, who, alone=alone, cut=cut)


def effective_users(e: Estimate) -> Diagnostic:
    """Users of one size that would say as much: some have far more sessions than others."""
    size, who = e.sizes.effective, "users" if e.dependent else "sessions"
    text = f"{e.n:,} sessions of {e.clusters:,} users say as much as {size:,.0f} equal {who}."
    if not e.dependent:
        text = f"{e.n:,} sessions count as independent."
    todo = " A few users decide, and intervals know little of how users differ: log more users."
    return advise("effective users", "log", size, 30.0, graded(size, 30, 5), text, todo)


def tied_scores(system: str, share: float) -> Diagnostic:
    """Rows whose score another row of their list has, too."""
    text = f"{share:.1%} of its rows share their score with another of their list."
    todo = " Ties go by item id, so part of the value is an accident: give ranks, or finer scores."
    return advise("ties", system, share, 0.01, graded(-share, -0.01, -0.5), text, todo)


def sessions_without_list(
    system: str, absent: int, earned: Floats | None, setting: Setting
) -> Diagnostic:
    """Logged sessions for which the target has no list: fail if others earned something else.

    Those of one context are compared; what is left out of them with their rewards in mind makes
    a value of what was chosen.
    """
    sessions, skipped = setting.totals.sessions, setting.request.missing == "skip"
    share = absent / sessions
    fate = "are left out, also of the lift" if skipped else "keep their logged list"
    text = f"{absent:,} of {sessions:,} logged sessions have no list of this ranker; they {fate}."
    state = graded(-share, -0.01, -0.5)
    more, error = (0.0, math.inf) if earned is None else list_selection(earned)
    if abs(more) > CHOSEN * error and share * abs(more) > HARM:
        text += (
            f" They earned {abs(more):.0%} {'more' if more > 0 else 'less'} than other sessions of"
            " their context, so the rest was chosen by what it earned: give every session a list."
        )
        state = "fail"
    return Diagnostic("sessions without a list", system, share, 0.01, state, text)


def list_selection(earned: Floats) -> tuple[float, float]:
    """How much more sessions without a list earned than others of their context; its error.

    Shares of what all earned. Contexts are weighed as the difference of two means is known best.
    """
    n, total, square = np.moveaxis(earned, -1, 0)
    there = (n > 0).all(axis=1)
    if not there.any():
        return 0.0, math.inf
    level = float(divide(total.sum(), n.sum(), 0.0))
    n, total, square = n[there], total[there], square[there]
    mean = total / n
    w = 1 / (1 / n).sum(axis=1)
    w /= w.sum()
    spread = np.maximum(square / n - mean**2, 0)
    more = float(w @ (mean[:, 0] - mean[:, 1]))
    error = float(np.sqrt(w**2 @ (spread / n).sum(axis=1)))
    return float(divide(more, abs(level), 0.0)), float(divide(error, abs(level), math.inf))


def list_length(system: str, weights: WeightStatistics) -> Diagnostic:
    """Views the target can expect over those of lists as long as the logged ones."""
    ratio = weights.views / weights.places if weights.places > 0 else math.nan
    verdict = "pass" if 0.98 <= ratio <= 1.02 else "caution"
    text = f"Its lists would be seen {ratio:.2f} times as much as lists of the logged length."
    todo = (
        " Short lists, ranks left out or exposures on another scale change the value by as much:"
        " give lists as they would be shown."
    )
    return advise("list length", system, ratio, 1.0, verdict, text, todo)


def effective_slates(system: str, total: float, square: float, count: int) -> Diagnostic:
    """The effective number of whole slates, whose weights are products and spread much wider."""
    size = total**2 / square if square > 0 else 0.0
    share = size / count
    text = f"The weighted slates say as much as {size:,.0f} equal ones ({share:.1%} of the log)."
    todo = " Prefer RIPS to SIPS and IIPS to RIPS where users allow it, or log more sessions."
    return advise("effective slates", system, size, 1000.0, graded_size(size, share), text, todo)


def slate_weights(system: str, estimators: Sequence[Estimator], mean: Estimate) -> list[Diagnostic]:
    """The mean weight of whole slates, for each estimator that multiplies: 1 if chances are right.

    Chances of an item at its rank whatever stands above do not multiply to that of a slate.
    """
    state = about.state_of_mean(mean)
    text = f"Weights of slates average {mean.value:.3f} (se {mean.se:.3f}) where 1 is due."
    todo = (
        " These are not chances given the items above: log those (propensity_above), or ask for"
        " IIPS."
    )
    return [
        advise("mean slate weight", f"{system}, {e}", mean.value, 1.0, state, text, todo)
        for e in estimators
        if "chances" in e.needs
    ]


def mixture(setting: Setting) -> list[Diagnostic]:
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
            return [Diagnostic("one ranker", "log", float(kinds), 1.0, "caution", text)]
    return []


# audits of the log


def sample_share(totals: LogTotals) -> float:
    """The share of users whose rows are audited."""
    return MOST / totals.rows


def audit_log(
    log: Partitions,
    totals: LogTotals,
    basis: Basis,
    reward: str,
    *,
    users: int | None,
    read: Read,
    sample: pl.DataFrame | None = None,
    shifts: bool = False,
) -> list[Diagnostic]:
    """What the audits say of a log.

    ``users`` is their number in the whole log; ``read`` gives the sessions of a partition, and
    ``sample`` the rows of some users, where they were taken already. With ``shifts``, assumptions
    that move lifts are judged by how much they move each, and not here.
    """

    def drawn(by: str) -> pl.DataFrame:
        some = partial(Sessions.sample, share=sample_share(totals), by=by)
        return log.reduce(partial(on_some, read, some), "auditing the log")

    sample = drawn("user") if sample is None else sample
    sample = sample if sample.height else drawn("session")  # a few users have all the rows
    table = replace(log_table(log.heads[LOG]), frame=as_categories(sample))
    sessions = totals.number_sessions(Sessions.of(table, gaps="allow"))
    return audit_sessions(sessions, basis, reward, totals, users, shifts=shifts)


def audit_sessions(
    sessions: Sessions,
    basis: Basis,
    reward: str,
    totals: LogTotals,
    users: int | None,
    *,
    shifts: bool = False,
) -> list[Diagnostic]:
    """The audits by these sessions, of a log with such ``totals``; few where it has few events.

    If they are those of some users only, it is said; so is what could not be audited, and why.
    """
    about_log = [
        support.events(totals.events[reward], totals.sessions, reward),
        support.users(users, totals.sessions),
    ]
    if not basis.by_rank:  # with propensities nothing hangs on views or on a position model
        about_log.append(support.views(basis.views))
    if about_log[0].state == "fail":
        return about_log
    rows = audit_rows(sessions, basis, reward)
    answers = [*([] if shifts else _plain_audits(rows, basis)), *audit_facts(rows, sessions, basis)]
    audits = [d for d in answers if isinstance(d, Diagnostic)]
    if rows.n < totals.sessions:
        note = f" (By {rows.n:,} of {totals.sessions:,} sessions.)"
        audits = [replace(d, meaning=d.meaning + note) for d in audits]
    if lacking := [text for text in answers if isinstance(text, str)]:
        text = f"{len(lacking)} of 4 assumptions could not be audited: {'; '.join(lacking)}."
        audits.append(Diagnostic("audited", "log", 1 - len(lacking) / 4, 1.0, "untested", text))
    return [*audits, *about_log]


def _plain_audits(rows: AuditRows, basis: Basis) -> list[Diagnostic | str]:
    """Whether the assumptions hold, yes or no: where nothing says what they do to a lift."""
    neighbours = interaction(rows)
    loud = isinstance(neighbours, Diagnostic) and neighbours.state != "pass"
    # the first item has no neighbour above: where neighbours matter, it is no fair comparison
    ranks = confirm_within_users(trust(rows, top=2 if loud else 1), rows)
    answers = [carry_over(rows), examination(rows), neighbours, ranks]
    if basis.model is not None and not basis.by_rank:
        answers.append(support.variety(rows))
    if rows.curves is not None and rows.views != "latent":
        answers.append(position_fit(rows, rows.curves))
    return answers


def audit_rows(sessions: Sessions, basis: Basis, reward: str) -> AuditRows:
    """The rows of sessions as arrays; of rewards of both signs, how large they are.

    Where what comes back is a view's chance times what the item is worth, so is every function of
    it that is 0 at 0, and the audits take products of factors that are not below 0.
    """
    n, paid = sessions.n, sessions.column(reward, 0, sessions.n)
    cluster = np.arange(n) if sessions.cluster is None else sessions.cluster
    ids = sessions.units if sessions.user is None else sessions.user
    session = np.repeat(np.arange(n), sessions.blocks.length)
    item = sessions.items.lookup(sessions.item)
    rank = sessions.column("rank", 0, n).astype(np.int64)
    context, curves = sessions.context, None
    seen = np.ones(len(rank))
    if basis.views == "observed":
        seen = sessions.column("viewed", 0, n)
    if basis.model is not None:
        curves = basis.curves
        if basis.views == "latent":
            seen = basis.at(rank, context[session])
        if len(curves) == 1:
            curves = np.broadcast_to(curves, (int(context.max()) + 1, curves.shape[1]))
    named, users = bool(sessions.log.contexts), sessions.cluster is not None
    key = context if named else cluster if users else None
    alike = None
    if key is not None:
        alike = number_keys(key[session] * (int(item.max()) + 1) + item)[0]
    return AuditRows(
        cluster=number_keys(cluster)[0],
        context=context,
        half=(hash_ids(ids) & np.uint64(1)).astype(np.int64),
        turn=_turn(sessions),
        session=session,
        item=item,
        rank=rank,
        reward=np.abs(paid) if paid.min(initial=0) < 0 else paid,
        seen=seen,
        alike=alike,
        views=basis.views,
        users=users,
        named=named,
        curves=curves,
    )


def _turn(sessions: Sessions) -> Ints | None:
    """Places in time, by ``timestamp`` or ``day``; sessions of one time share theirs."""
    times = next(time_columns(sessions.blocks.frame, sessions.blocks.start), None)
    return None if times is None else times.rank("dense").to_numpy().astype(np.int64)
