"""Diagnostics of a funnel: do known outcomes speak for lists, do the models of them come true?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from counterrank.core.arrays import Ints
from counterrank.data.events import EventCounts
from counterrank.diagnostics.diagnostic import Diagnostic, advise, graded, gravest
from counterrank.nuisance.calibration import Calibration, Overlap
from counterrank.nuisance.logistic import Encoded
from counterrank.stats.estimates import Estimate

SURE = 0.001  # p of an error that is no chance
MATTERS, GRAVE = 0.1, 0.3  # relative errors of a bin; estimates inherit about as much


@dataclass(frozen=True)
class Event:
    """What a funnel says of the event after which an outcome is known: it is clicked, or shown."""

    done: str
    nobody: str
    rows: str
    chance: str
    idle: str
    model: str


EVENTS = {
    "ctr": Event("clicked", "nobody clicked", "clicks", "ctr", "users without a click", "click"),
    "exposure": Event(
        "shown", "never shown", "rows", "exposure", "users who were shown nothing", "exposure"
    ),
}


def smallest_chance(
    system: str, count: int, low: float, usual: float, event: Event, nothing: str, *, of: str = ""
) -> Diagnostic:
    """The least chance of a pair that counts, against what is usual."""
    of = of or f"Listed pairs that were {event.done}"
    text = f"{of} had a {event.chance} of {low:.2g} or more, usually {usual:.2g}."
    todo = (
        f" Such rare {event.rows} weigh very much: clip (IPS(clip=...)), or set a --floor and look"
        " at how the value moves."
    )
    if count == 0:
        low, usual, text, todo = 0.0, 1.0, nothing, ""
    verdict = graded(low, usual / 100, usual / 10_000)
    return advise(f"smallest {event.chance}", system, low, usual / 100, verdict, text, todo)


def events_used(counts: EventCounts) -> Diagnostic:
    """What of a table of events made the funnel; many out of order are a slip in the log."""
    lost = counts.clicks_unseen + counts.purchases_unclicked
    share = lost / max(counts.clicks + counts.purchases, 1)
    text = (
        f"{counts.views:,} views ({counts.views_again:,} again), {counts.clicks:,} clicks"
        f" ({counts.clicks_again:,} again, {counts.clicks_unseen:,} with no view of the pair before"
        f" left out), {counts.purchases:,} purchases ({counts.purchases_again:,} again,"
        f" {counts.purchases_unclicked:,} with no such click before left out),"
        f" {counts.others:,} other events left out."
    )
    todo = (
        " Sales that no list brought about are not counted, but so many point to lost views or"
        " clicks, or to clocks that differ: look at how events are logged."
    )
    verdict = graded(-share, -0.2, -0.8)
    return advise("events out of order", "funnel", share, 0.2, verdict, text, todo)


def listed_ctr() -> Diagnostic:
    """Sales by a ctr that came with the lists: nothing here tells whether it is right."""
    text = (
        "The chance of a click when seen is taken from the runs. No row here tells whether it comes"
        " true, and every value is off by as much as it is: log what was shown and not clicked."
    )
    return Diagnostic("listed ctr", "funnel", 1.0, 0.0, "untested", text)


def hidden_liking(event: Event, label: str) -> Diagnostic:
    """A fitted chance knows users and items; whether more decided cannot be seen in one event."""
    text = (
        f"Whether pairs were {event.done} also by something that {label} does not know, and that"
        " goes with what is bought, cannot be seen in these rows. If so, IPS and DR are off: log"
        f" the probabilities themselves (column {event.chance}), or show some items at random."
    )
    return Diagnostic("hidden liking", "funnel", 0.0, 0.0, "untested", text)


def conversions(system: str, reward: str, count: int, clicks: int | None = None) -> Diagnostic:
    """Few conversions: the relative error of a sum of n is about 1 / sqrt(n).

    They are of clicks on what a system lists or, where their number is given, of all ``clicks``.
    """
    text = f"{count:,} click{'s' * (count != 1)} on what it lists brought a {reward}."
    todo = " That is few: intervals are wide, and hold the truth a little less often than they say."
    if clicks is not None:
        text = f"{count:,} of {clicks:,} clicks brought a {reward}."
    elif count == 0:
        todo = " So Naive and IPS are 0 for any such lists, and their intervals say nothing."
    verdict = graded(count, 100, 10)
    return advise("conversions", system, float(count), 100.0, verdict, text, todo)


def predictions(ctr: bool, cvr: bool, fitted: str) -> Diagnostic:
    """What IPS and DR divide by and believe: given, or to be fitted."""
    lacking = [name for name, given in {"ctr": ctr, "cvr": cvr}.items() if not given]
    text = "ctr and cvr are given."
    if lacking:
        text = (
            f"No {' and no '.join(lacking)} is given, so {fitted} were fitted. Estimates are no"
            " better than that model: give your own predictions (--columns, --predictions), or"
            " features (--user-features, --item-features)."
        )
    verdict = "caution" if lacking else "pass"
    return Diagnostic("predictions", "funnel", float(2 - len(lacking)), 2.0, verdict, text)


def cvr_coverage(ctr: bool, reason: str) -> Diagnostic:
    """A given cvr that says nothing of pairs that are listed."""
    text = f"The given cvr does not reach the lists, so DM and DR cannot be had of it: {reason}"
    return Diagnostic("predictions", "lists", float(ctr), 2.0, "caution", text)


def doubly_robust(system: str, measure: str, ratio: Estimate, level: float) -> Diagnostic:
    """Whether DR is the steadier of the two: never to be taken for granted."""
    low, high = ratio.interval(level)
    text = (
        f"For {measure} the variance of DR is {ratio.value:.2f} times that of IPS"
        f" ({level:.0%} {low:.2f} to {high:.2f})."
    )
    known = math.isfinite(low) and math.isfinite(high)
    if not known:
        text = f"For {measure} it cannot be told whether DR or IPS varies more: read both."
    elif low > 1:
        text += " Many predicted cvr are above twice the true one, or below 0: read IPS, or mend"
        text += " the model."
    else:
        text += " Read DR." if high < 1 else " That does not tell them apart: read both."
    state = "pass" if known and low <= 1 else "caution"
    return Diagnostic("doubly robust", system, ratio.value, 1.0, state, text)


def direct(system: str, value: Estimate, missed: Estimate) -> Diagnostic:
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
    return Diagnostic("direct method", f"{system}, DM", share, 0.5, verdict, text + ".")


def idle_users(users: int, few: Ints, event: Event) -> Diagnostic:
    r"""Users without an event belong to the mean; if there are none, they were probably dropped.

    From those with one event and with two, :math:`f_1^2 / (2 f_2)` without any are to be expected
    at the least (Chao 1984). ``few`` are the numbers of users with 0, 1 and 2.
    """
    idle, one, two = map(int, few)
    clicks = event.chance == "ctr"
    due = one**2 / (2 * two) if two else one * (one - 1) / 2
    share, expected = idle / users, due / (due + users)
    none = "have no click" if clicks else "were shown nothing"
    text = f"{idle:,} of {users:,} users {none}; they count with what is predicted."
    verdict = "pass"
    if idle == 0 and expected > 0.01:
        verdict = "caution"
        text = (
            f"Every user {'has a click' if clicks else 'was shown something'}, where some"
            f" {due:,.0f} more without {'one' if clicks else 'it'} are to be expected. Left out,"
            " they make the values too high: give their lists, or rows without a"
            f" {'click' if clicks else 'view'}."
        )
    return Diagnostic(event.idle, "funnel", share, expected, verdict, text)


# models of clicks and conversions


def chance_model(
    fits: Mapping[str, Calibration | None], label: str, event: Event
) -> Iterator[Diagnostic]:
    """Predicted events against observed ones; weights inherit every error.

    By pair, by user and by item: a chance that is right on average may be wrong for all that one
    user or one item has. Where that cannot be seen, it is untested.
    """
    option = f"--{event.chance}"
    others = _others(option, label)
    todo = (
        f"IPS weighs such pairs wrongly: take another model ({others}), give {event.chance}s that"
        f" know more, or log the probabilities that pairs are {event.done}."
    )
    what = "clicks" if event.chance == "ctr" else "rows shown"
    for side, fit in fits.items():
        name = f"{event.model} model" + f" by {side}" * (side != "pair")
        if fit is None:
            text = f"There are too few {what} per {side} to see whether {event.chance}s come true."
            yield Diagnostic(name, label, 0.0, MATTERS, "untested", text)
        else:
            yield _calibrated(name, label, what, fit, todo, GROUPED.get(side, BY_PREDICTION))


def outcome_model(fit: Calibration, label: str, event: Event) -> Diagnostic:
    """Predicted outcomes against observed ones, observed pairs standing for all by 1/chance."""
    what = "conversions" if event.chance == "ctr" else "sales"
    option = "--cvr" if event.chance == "ctr" else "--ctr, --cvr"
    todo = (
        f"DM inherits the error, DR as much of it as the {event.model} model errs: take another"
        f" model ({_others(option, label)}), give predictions that know more, or read IPS."
    )
    name = "conversion model" if event.chance == "ctr" else "sales model"
    return _calibrated(name, label, f"{what} weighted by 1/{event.chance}", fit, todo)


def constant_features(of: str, features: Encoded) -> Diagnostic:
    """Columns that say the same of everyone: often a slip where the table was made."""
    left = len(features.constant)
    names = ", ".join(f'"{name}"' for name in features.constant[:5])
    todo = (
        f" {left:,} more say the same of all that count and were left out: {names}"
        f"{', ...' if left > 5 else ''}. Drop them, or see how the table was made."
    )
    name, verdict = f"constant {of} features", "caution" if left else "pass"
    text = f"{len(features.names):,} columns describe {of}s."
    return advise(name, "funnel", float(left), 0.0, verdict, text, todo)


def event_overlap(pairs: Overlap, event: Event) -> Diagnostic:
    """An event of chance 0.001 stands for a thousand pairs; few of them can be borne."""
    text = (
        f"{pairs.below:.1%} of the pairs are {event.done} with probability below {pairs.floor:g};"
        f" the smallest is {pairs.smallest:.2g}, the median {pairs.quantiles[0.5]:.2g}."
    )
    todo = (
        " A single one there stands for all of them: clip the weights (IPS(clip=...)), leave pairs"
        f" out that could not be {event.done} (--pairs rows), or read DR with care."
    )
    verdict = graded(-pairs.below, -0.01, -0.5)
    return advise(f"{event.model} overlap", "all pairs", pairs.below, 0.01, verdict, text, todo)


def _others(option: str, label: str) -> str:
    """Models that need nothing but the funnel, less the one that was taken."""
    return " or ".join(f"{option} {m}" for m in ("rates", "factors") if not label.startswith(m))


BY_PREDICTION = ("where least are predicted", "where most")
GROUPED = {
    "user": ("for users who do so least elsewhere", "for those who do most"),
    "item": ("for items that others have least", "for those that they have most"),
}


def _calibrated(
    name: str,
    label: str,
    what: str,
    c: Calibration,
    todo: str,
    ends: tuple[str, str] = BY_PREDICTION,
) -> Diagnostic:
    off = abs(c.ratio - 1)
    overall = graded(-off, -0.05, -0.2) if c.p_ratio < SURE else "pass"
    binned = graded(-c.excess, -MATTERS, -GRAVE) if c.p < SURE else "pass"
    verdict = gravest([overall, binned])
    text = f"Observed over predicted {what}: {c.ratio:.3f} (se {c.se:.3f}) over all"
    if len(c.by_bin) > 1:
        text += f", {c.by_bin[0]:.2f} {ends[0]}, {c.by_bin[-1]:.2f} {ends[1]}"
        text += f" (p {c.p:.2g}, beyond chance {c.excess:.0%})"
    text += "."
    if not math.isfinite(c.ratio):
        verdict, text = "caution", f"There are too few {what} to see whether predictions come true."
    return advise(name, label, c.excess, MATTERS, verdict, text, f" {todo}")


def funnel_to_log(
    there: Iterable[str], diagnostics: Iterable[Diagnostic], *, clicks_only: bool, ctr: bool
) -> list[str]:
    """What to log next time, most useful first; ``there`` are the columns, ``ctr``: it is given.

    ``clicks_only``: all rows were clicked.
    """
    known = list(diagnostics)
    loud = {d.name for d in known if d.state != "pass"}
    predicted = max((d.value for d in known if d.name == "predictions"), default=0)  # ctr, cvr
    no_cvr = predicted == ctr
    off = bool(loud & {"click model", "conversion model", "mean weight"})
    unshown = not {"shown", "event"} & set(there)
    # fmt: off
    wanted = [
        (not ctr, "ctr: the probability of a click on each pair, by the model that was"
         " live, written when the list was shown"),
        (no_cvr, "cvr: the predicted conversion after a click, for every pair that a"
         " recommender may list; a table of user, item, cvr will do"),
        ("users without a click" in loud, "users without a click: their lists, or rows with click"
         " 0; without them all values are too high"),
        (clicks_only, "impressions: a row with click 0 for what was shown and not"
         " clicked, which tells what could be clicked (--pairs rows) and whether the ctr is right"),
        (unshown, "shown: 1 where the user saw the item, with its rank and the probability of it"
         " (exposure): without it no table of clicks says what lists would sell"),
        (off, "features: what is known of users and items (segment, category, price), for models"
         " that tell them apart: --ctr logistic"),
        (bool(loud & {"support", "smallest ctr", "weight tail", "effective sample size"}),
         "exploration: a place in some lists for items drawn at random, and a mark on it, so that"
         " rare pairs are clicked at all"),
        (not {"timestamp", "day"} & set(there), "timestamp: when it was clicked and when it was"
         " bought, to tell what was not bought from what is not bought yet"),
        ("conversions" in loud, "more clicks, or a reward that comes more often"),
    ]
    # fmt: on
    return [text for lacking, text in wanted if lacking]
