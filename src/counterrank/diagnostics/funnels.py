"""Diagnoses of clicks and conversions: how much of the funnel really speaks for lists."""

from __future__ import annotations

import math
from dataclasses import replace

from counterrank.arrays import Ints
from counterrank.coverage import Coverage
from counterrank.diagnostics.diagnosis import Diagnosis, graded
from counterrank.logged import Weights
from counterrank.stats.units import Estimate
from counterrank.trust import weights as of_weights

NO_CLICK = "Nobody clicked what it lists: there is nothing to weigh. Compare other lists."
FAR = 20  # times the mean; a tail of index 0.5 goes as far as the root of the number of clicks


def lists(system: str, seen: Coverage) -> Diagnosis:
    """Users without a list: nothing is recommended to them, so nothing is sold."""
    share = seen.covered_users / seen.judged_users
    text = f"{seen.covered_users:,} of {seen.judged_users:,} users have a list"
    if seen.missing_users:
        text += f"; the other {seen.missing_users:,} count as 0"
    return Diagnosis("coverage", system, share, 0.99, graded(share, 0.99, 0.5), text + ".")


def support(system: str, weights: Weights, pairs: str) -> Diagnosis:
    """Share of the lists' weight on pairs that could not be, or on items never, clicked."""
    found = of_weights.support(system, weights, chance="none" if pairs == "rows" else "some")
    where = "pairs that the funnel does not hold" if pairs == "rows" else "items nobody clicked"
    text = f"{found.value:.1%} of the weight of its lists is on {where}."
    if found.verdict != "pass":
        text += (
            " No conversion can speak for them: IPS counts them 0, DR believes the model. Show"
            " such items to some users first."
        )
    return replace(found, meaning=text)


def smallest_ctr(
    system: str, count: int, low: float, usual: float, *, of: str = "Listed pairs that were clicked"
) -> Diagnosis:
    """The least ctr of a click that counts, against what is usual."""
    low, usual = (low, usual) if count else (0.0, 1.0)
    verdict = graded(low, usual / 100, usual / 10_000)
    text = f"{of} had a ctr of {low:.2g} or more, usually {usual:.2g}."
    if count == 0:
        text = NO_CLICK
    elif verdict != "pass":
        text += (
            " Such rare clicks weigh very much: clip (IPS(clip=...)), or set a --floor and look at"
            " how the value moves."
        )
    return Diagnosis("smallest ctr", system, low, usual / 100, verdict, text)


def effective_size(system: str, weights: Weights) -> Diagnosis:
    """Clicks that would say as much if all weighed the same (Kish)."""
    found = of_weights.effective_size(system, weights)
    share = found.value / weights.count if weights.count else 0.0
    text = (
        f"The weighted clicks say as much as {found.value:,.0f} equal ones ({share:.1%} of them)."
    )
    if weights.count == 0:
        text = NO_CLICK
    elif found.verdict != "pass":
        text += " Gather more clicks, or compare lists nearer to what was clicked."
    return replace(found, meaning=text)


def largest_weight(system: str, weights: Weights, user: float) -> Diagnosis:
    """Share of all weight that one user has, or one click."""
    share = user / weights.seen if weights.seen > 0 else 1.0
    one = weights.heaviest / weights.seen if weights.seen > 0 else 1.0
    verdict = graded(-share, -0.02, -0.1)
    text = f"One user carries {share:.2%} of the weight, one click {one:.2%}."
    if weights.count == 0:
        text = NO_CLICK
    elif verdict != "pass":
        text += " Clip the weights (IPS(clip=...)) or look at that user before believing the value."
    return Diagnosis("largest weight", system, share, 0.02, verdict, text)


def tail(system: str, weights: Weights) -> Diagnosis:
    """Shape of the largest weights: above 0.7 a mean of them cannot be trusted (PSIS).

    Weights of which none is far above their mean have no tail, whatever a fit to the few values
    they take may say.
    """
    k = of_weights.pareto_shape(weights.largest, weights.count)
    if weights.heaviest * weights.count < FAR * weights.seen:
        k = -math.inf
    verdict = graded(-k, -0.5, -0.7)
    text = f"The tail of the weights has index {k:.2f}; up to 0.5 their mean is well behaved."
    if math.isinf(k):
        text = "No weight is far above the others: they have no tail."
    if verdict != "pass":
        text += " A few clicks can still change the answer: clip, or set a --floor."
    return Diagnosis("weight tail", system, k, 0.5, verdict, text)


def mean_weight(system: str, ratio: Estimate) -> Diagnosis:
    """Weighted clicks over listed weight: 1 if the ctr is right."""
    off = abs(ratio.value - 1)
    verdict = "pass"
    if not math.isfinite(ratio.value):
        verdict = "fail"
    elif off > 0.02 and off > 3 * ratio.se:
        verdict = "fail" if off > 0.1 else "caution"
    text = f"Weights average {ratio.value:.3f} (se {ratio.se:.3f}) where 1 is due."
    if verdict != "pass":
        low = "the ctr of listed pairs is too high, or some of them cannot be clicked"
        text += f" So {low if ratio.value < 1 else 'the ctr of listed pairs is too low'}: "
        text += "calibrate it; IPS is off by as much, DR only where its model is wrong too."
    return Diagnosis("mean weight", system, ratio.value, 1.0, verdict, text)


def clipping(system: str, label: str, left: Estimate) -> Diagnosis:
    """What clipping leaves out: the share of listed weight that clipped weights do not reach."""
    lost = max(1 - left.value, 0.0)
    verdict = graded(-lost, -0.05, -0.25)
    text = f"It leaves {lost:.1%} of the listed weight out"
    if label.startswith("IPS"):
        text += ", so for rewards of 0 or more it errs on the low side."
    else:
        text += "; compare it with the estimate without clipping."
    return Diagnosis("clipping", f"{system}, {label}", lost, 0.05, verdict, text)


def conversions(subject: str, count: int, text: str, none: str = "") -> Diagnosis:
    """Few conversions: the relative error of a sum of n is about 1 / sqrt(n).

    ``text`` says what they are of, ``none`` what it means that there are none.
    """
    verdict = graded(count, 100, 10)
    if count == 0 and none:
        text += none
    elif verdict != "pass":
        text += " That is few: expect wide intervals, and prefer intervals by bootstrap."
    return Diagnosis("conversions", subject, float(count), 100.0, verdict, text)


def listed_conversions(system: str, reward: str, count: int) -> Diagnosis:
    """Conversions of clicks on what a system lists."""
    text = f"{count:,} click{'s' * (count != 1)} on what it lists brought a {reward}."
    none = " So Naive and IPS are 0 for any such lists, and their intervals say nothing."
    return conversions(system, count, text, none)


def all_conversions(reward: str, count: int, clicks: int) -> Diagnosis:
    """Conversions of all clicks."""
    return conversions("funnel", count, f"{count:,} of {clicks:,} clicks brought a {reward}.")


def predictions(ctr: bool, cvr: bool, fitted: str) -> Diagnosis:
    """What IPS and DR divide by and believe: given, or to be fitted."""
    lacking = [name for name, given in {"ctr": ctr, "cvr": cvr}.items() if not given]
    text = "ctr and cvr are given."
    if lacking:
        text = (
            f"No {' and no '.join(lacking)} is given, so {fitted} were fitted. Uncertains are no"
            " better than that model: give your own predictions (--columns, --predictions), or"
            " features (--user-features, --item-features)."
        )
    verdict = "caution" if lacking else "pass"
    return Diagnosis("predictions", "funnel", float(2 - len(lacking)), 2.0, verdict, text)


def uncovered(ctr: bool, reason: str) -> Diagnosis:
    """A given cvr that says nothing of pairs that are listed."""
    text = f"The given cvr does not reach the lists, so DM and DR cannot be had of it: {reason}"
    return Diagnosis("predictions", "lists", float(ctr), 2.0, "caution", text)


def doubly_robust(system: str, measure: str, ratio: Estimate, level: float) -> Diagnosis:
    """Whether DR is the steadier of the two: never to be taken for granted."""
    low, high = ratio.interval(level)
    text = (
        f"For {measure} the variance of DR is {ratio.value:.2f} times that of IPS"
        f" ({level:.0%} {low:.2f} to {high:.2f})."
    )
    verdict = "pass"
    if not (math.isfinite(low) and math.isfinite(high)):
        text = f"For {measure} it cannot be told whether DR or IPS varies more: read both."
        verdict = "caution"
    elif low > 1:
        verdict = "caution"
        text += (
            " Many predicted cvr are above twice the true one, or below 0: read IPS, or mend the"
            " model."
        )
    elif high < 1:
        text += " Read DR."
    else:
        text += " That does not tell them apart: read both."
    return Diagnosis("doubly robust", system, ratio.value, 1.0, verdict, text)


def direct(system: str, value: Estimate, missed: Estimate) -> Diagnosis:
    """Whether the interval of the direct method is as narrow as its model deserves.

    ``missed`` is DR minus DM: the model's error, as far as weighted clicks can tell. The interval
    of DM knows only how users differ.
    """
    share = value.se / missed.se if missed.se > 0 else math.inf
    verdict = graded(share, 0.5, 0.0)
    wide, known = 1.96 * value.se, 1.96 * missed.se
    text = f"Clicks vouch for the model to within {known:.2g}; its interval is {wide:.2g} wide"
    if abs(missed.value) > 3 * missed.se > 0:
        verdict = "fail"
        text += f", and they contradict it by {missed.value:+.2g}: read DR, or mend the model"
    elif verdict != "pass":
        text += " each way and leaves out how wrong the model is: read DR"
    return Diagnosis("direct method", f"{system}, DM", share, 0.5, verdict, text + ".")


def idle_users(users: int, clicks: Ints) -> Diagnosis:
    r"""Users without a click belong to the mean; if there are none, they were probably dropped.

    From those with one click and with two, :math:`f_1^2 / (2 f_2)` without any are to be expected
    at the least (Chao 1984). ``clicks`` are the numbers of users with 0, 1 and 2.
    """
    idle, one, two = map(int, clicks)
    due = one**2 / (2 * two) if two else one * (one - 1) / 2
    share, expected = idle / users, due / (due + users)
    text = f"{idle:,} of {users:,} users have no click; they count with what is predicted."
    verdict = "pass"
    if idle == 0 and expected > 0.01:
        verdict = "caution"
        text = (
            f"Every user has a click, where some {due:,.0f} more without one are to be expected."
            " Left out, they make the values too high: give their lists, or rows without a click."
        )
    return Diagnosis("users without a click", "funnel", share, expected, verdict, text)
