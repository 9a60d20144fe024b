"""Diagnoses of importance weights: how much of the log really speaks for a target."""

from __future__ import annotations

import math

import numpy as np

from counterrank.arrays import Floats
from counterrank.diagnostics.diagnosis import VERDICTS, Diagnosis, graded
from counterrank.estimates import Uncertain
from counterrank.logged import Weights


def effective_size(system: str, weights: Weights) -> Diagnosis:
    """Views that would say as much if all weighed the same (Kish)."""
    size = weights.effective()
    share = size / weights.count if weights.count else 0.0
    verdict = max(graded(size, 1000, 100), graded(share, 0.05, 0.005), key=VERDICTS.index)
    text = f"The weighted views say as much as {size:,.0f} equal ones ({share:.1%} of the rows)."
    if verdict != "pass":
        text += " Log more sessions, or a logger nearer to this target."
    return Diagnosis("effective sample size", system, size, 1000.0, verdict, text)


def effective_slates(system: str, total: float, square: float, count: int) -> Diagnosis:
    """The same for whole slates, whose weights are products and spread much wider."""
    size = total**2 / square if square > 0 else 0.0
    share = size / count
    verdict = max(graded(size, 1000, 100), graded(share, 0.05, 0.005), key=VERDICTS.index)
    text = f"The weighted slates say as much as {size:,.0f} equal ones ({share:.1%} of the log)."
    if verdict != "pass":
        text += " Prefer RIPS to SIPS and IIPS to RIPS where users allow it, or log more sessions."
    return Diagnosis("effective slates", system, size, 1000.0, verdict, text)


def largest_weight(system: str, weights: Weights) -> Diagnosis:
    """Share of all weight that one row has."""
    share = weights.heaviest / weights.seen if weights.seen > 0 else 1.0
    verdict = graded(-share, -0.02, -0.1)
    text = f"One logged row carries {share:.2%} of the weight."
    if verdict != "pass":
        text += " Clip the weights (IPS(clip=...)) or look at that row before believing the value."
    return Diagnosis("largest weight", system, share, 0.02, verdict, text)


def mean_weight(system: str, ratio: Uncertain) -> Diagnosis:
    """Weighted views of the log over expected views of the target: 1 if exposures are right."""
    off = abs(ratio.value - 1)
    sure = math.isfinite(ratio.se) and off > 3 * ratio.se
    verdict = "pass"
    if not math.isfinite(ratio.value):
        verdict = "fail"
    elif sure and off > 0.02:
        verdict = "fail" if off > 0.1 else "caution"
    text = f"Weights average {ratio.value:.3f} (se {ratio.se:.3f}) where 1 is due."
    if verdict != "pass":
        low = "items it would show were never logged, or logged exposures are too high"
        high = "logged exposures are too low"
        text += f" Either {low if ratio.value < 1 else high}: check them, or log the candidates."
    return Diagnosis("mean weight", system, ratio.value, 1.0, verdict, text)


def support(system: str, weights: Weights, *, chance: str) -> Diagnosis:
    """Share of the target's exposure on items without logged exposure (Assumption 5).

    A logger without chance supports only what it showed in the session; one with chance might have
    shown more, and only items that no log has are certain to be unsupported.
    """
    missing = weights.unlogged if chance == "none" else weights.unknown
    share = missing / weights.views if weights.views > 0 else 1.0
    verdict = graded(-share, -0.01, -0.1)
    where = "the session's log does not have" if chance == "none" else "no session's log has"
    text = f"{share:.1%} of the exposure this ranker gives goes to items {where}."
    if verdict != "pass":
        text += (
            " What they would earn is unknown and counts 0: log more candidates, or show some of"
            " them to a small share of users."
        )
    return Diagnosis("support", system, share, 0.01, verdict, text)


def covered(system: str, absent: int, sessions: int, fate: str) -> Diagnosis:
    """Logged sessions for which the target has no list."""
    share = absent / sessions
    verdict = graded(-share, -0.01, -0.5)
    kept = "are left out, also of the lift" if fate == "skip" else "keep their logged list"
    text = f"{absent:,} of {sessions:,} logged sessions have no list of this ranker; they {kept}."
    if share == 0:
        text = "Every logged session has a list."
    return Diagnosis("sessions without a list", system, share, 0.01, verdict, text)


def exposed(system: str, weights: Weights) -> Diagnosis:
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


def tail(system: str, weights: Weights) -> Diagnosis:
    """Shape of the largest weights: above 0.7 a mean of them cannot be trusted (PSIS)."""
    k = pareto_shape(weights.largest, weights.count)
    verdict = graded(-k, -0.5, -0.7)
    text = f"The tail of the weights has index {k:.2f}; up to 0.5 their mean is well behaved."
    if math.isinf(k):
        text = "The largest weights are alike: they have no tail."
    if verdict != "pass":
        text += " A few rows can still change the answer: clip, or use a logger nearer to it."
    return Diagnosis("weight tail", system, k, 0.5, verdict, text)


def clipping(system: str, label: str, kept: Uncertain, value: float) -> Diagnosis:
    """What clipping leaves out: the share of expected views that clipped weights do not reach."""
    lost = max(1 - kept.value, 0.0)
    verdict = graded(-lost, -0.05, -0.25)
    text = f"It leaves {lost:.1%} of the target's views unweighted"
    if label.startswith(("IPS", "IIPS")):
        text += ", so for rewards of 0 or more it errs on the low side"
        text += f", by about {value * lost / (1 - lost):.3g}." if lost < 1 else "."
    else:
        text += "; compare it with the estimate without clipping."
    return Diagnosis("clipping", f"{system}, {label}", lost, 0.05, verdict, text)


def pareto_shape(largest: Floats, count: int) -> float:
    r"""Index :math:`k` of the generalised Pareto tail (Zhang and Stephens 2009, as in PSIS).

    The :math:`M = \min(n / 5, 3 \sqrt n)` largest of ``count`` weights, less the next one, are
    fitted; the small-sample prior of PSIS pulls :math:`k` towards 0.5 by 10 observations.
    """
    m = int(min(count / 5, 3 * math.sqrt(count), len(largest) - 1))
    if m < 5:
        return -math.inf
    x = largest[-m:] - largest[-m - 1]
    x = x[x > 1e-9 * largest[-1]]  # equal weights, as of one rank, make no tail
    m = len(x)
    if m < 5 or len(np.unique(x)) < 5:
        return -math.inf
    guesses = 30 + int(math.sqrt(m))
    b = 1 - np.sqrt(guesses / (np.arange(guesses) + 0.5))
    b = b / (3 * x[max(int(m / 4 + 0.5) - 1, 0)]) + 1 / x[-1]
    k = np.mean(np.log1p(-b[:, None] * x), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = m * (np.log(-b / k) - k - 1)
    fit = np.where(np.isfinite(fit), fit, -np.inf)
    weight = np.exp(fit - fit.max())
    best = float(np.sum(b * weight) / weight.sum())
    shape = float(np.mean(np.log1p(-best * x)))
    return (m * shape + 5) / (m + 10)
