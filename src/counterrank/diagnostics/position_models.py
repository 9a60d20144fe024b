"""Diagnostics of a learned position model."""

from __future__ import annotations

import numpy as np

from counterrank.diagnostics.diagnostic import Diagnostic, advise, graded
from counterrank.position.learn.learned import Learned, LearnedCurve


def position(learned: Learned) -> list[Diagnostic]:
    """All diagnostics of one curve, or of each value's."""
    if not learned.parts:
        return _of_curve(learned, learned.whole, "position model")
    out = []
    for value, part in learned.parts.items():
        out += _of_curve(learned, part, f"{learned.request.by} {value}")
    return [*out, _thin(learned)]


def _of_curve(learned: Learned, part: LearnedCurve, subject: str) -> list[Diagnostic]:
    several = [
        _clicks(part, subject),
        _rises(part, subject),
        _shape(part, subject, learned.request.model),
        _fit(part, subject),
        _cascade(part, subject),
        _thin_items(part, subject) if learned.request.method == "em" else None,
        _randomised(part, subject),
        _gaps(part, subject),
    ]
    return [diagnostic for diagnostic in several if diagnostic is not None]


def _clicks(part: LearnedCurve, subject: str) -> Diagnostic:
    """With 30 clicks a rank is known to a fifth or so."""
    fewest = float(part.curve.clicks.min())
    rank = int(part.curve.clicks.argmin()) + 1
    text = f"The rank with least to learn from is rank {rank}: {fewest:,.0f} rewards or views."
    todo = " Its value is rough; log more, or fit a curve (--model) that borrows from others."
    return advise("rank sample", subject, fewest, 30.0, graded(fewest, 30, 5), text, todo)


def _rises(part: LearnedCurve, subject: str) -> Diagnostic:
    """The largest rise from one rank to the next that chance does not explain (3 errors)."""
    c, cov = part.curve.value, part.curve.covariance
    if len(c) < 2:
        text = "One rank is no curve. Log deeper ranks."
        return Diagnostic("falling curve", subject, 0.0, 0.1, "untested", text)
    rise = np.diff(c)
    var = np.diag(cov)
    se = np.sqrt(np.maximum(var[1:] + var[:-1] - 2 * np.diag(cov, 1), 0))
    real = np.where(rise > 3 * se, rise / np.maximum(c[:-1], 1e-12), 0.0)
    worst = float(real.max(initial=0))
    rank, text = int(real.argmax()) + 1, "Lower ranks are not seen more than higher."
    if worst > 0:
        text = (
            f"Rank {rank + 1} is worth {worst:.0%} more than rank {rank}. Pages with a grid,"
            " advertising or a fold do that; otherwise look at how ranks are logged. Keep"
            " --model table here."
        )
    state = "caution" if worst > 0.1 else "pass"
    return Diagnostic("falling curve", subject, worst, 0.1, state, text)


def _shape(part: LearnedCurve, subject: str, family: str) -> Diagnostic | None:
    """How far the fitted family is from the table, where the table is sure of it."""
    if family == "table":
        return None
    low, high = part.curve.interval(0.999)
    c = part.curve.value
    model = part.model.at(np.arange(1, len(c) + 1))
    beyond = (model < low) | (model > high)
    off = np.where(beyond, np.abs(model / np.maximum(c, 1e-12) - 1), 0.0)
    worst, rank = float(off.max()), int(off.argmax()) + 1
    text = f"The {family} curve follows the table of ranks."
    if worst > 0.1:
        text = (
            f"The {family} curve is {worst:.0%} off the table at rank {rank}, beyond chance."
            " Estimates inherit that error: use --model table or another family."
        )
    verdict = graded(-worst, -0.1, -0.3)
    return Diagnostic("curve shape", subject, worst, 0.1, verdict, text)


def _fit(part: LearnedCurve, subject: str) -> Diagnostic | None:
    """Ten per cent is less than most differences of position; thirty is a step or more."""
    m = part.misfit
    if m is None:
        return None
    name = "position-based model"
    if m.degrees == 0:
        text = (
            "No item was clicked often enough at two ranks to test that one curve fits all items."
            " Believe the curve as far as you believe that rank acts alike on every item."
        )
        return Diagnostic(name, subject, float("nan"), 0.1, "caution", text)
    text = (
        f"Click rates of the same item at different ranks stray {m.excess:.0%} from one curve"
        f" beyond chance ({m.cells:,} cells, chi-square {m.chi2:,.0f} on {m.degrees:,})."
    )
    todo = (
        " Rank does not act alike on all items: name the columns within which an item is worth the"
        " same (--context query, say), learn by context (--by device), over a shorter time, or log"
        " views."
    )
    verdict = graded(-m.excess, -0.1, -0.3) if m.p < 0.001 else "pass"
    return advise(name, subject, m.excess, 0.1, verdict, text, todo)


def _cascade(part: LearnedCurve, subject: str) -> Diagnostic | None:
    """Clicks, or views, below a click against those below none; a cascade drives this to 0."""
    above = part.going_on if part.misfit is None else part.misfit.above
    if above is None or not np.isfinite(above):
        return None
    text = f"Users look further {above:.2f} times as often after a click as after none"
    if part.misfit is not None:
        text = (
            f"Below a click, items get {above:.2f} times the clicks they get where nothing above"
            " was clicked"
        )
    verdict = graded(above, 0.8, 0.5)
    if verdict == "pass":
        text += "; a click does not end the reading."
    todo = (
        ": a click tends to end the reading. What is seen then depends on the items above, not on"
        " rank alone: a ranker that puts good items first loses exposure below them, and this model"
        " does not know."
    )
    return advise("click above", subject, above, 0.8, verdict, text, todo)


def _thin_items(part: LearnedCurve, subject: str) -> Diagnostic:
    """A relevance from 7 rows biased curves by up to 8 % in simulations, from 20 by 2 %."""
    rows = float(part.curve.shown.sum() / max(part.basis.moved, 1))
    text = f"Each item's relevance was learnt from {rows:,.0f} rows on average."
    todo = " With so few, the curve leans to one side: use --method harvest."
    return advise("rows per item", subject, rows, 20.0, graded(rows, 20, 0), text, todo)


def _randomised(part: LearnedCurve, subject: str) -> Diagnostic | None:
    """Shuffled items are spread over ranks by chance: chi-square per degree is near 1."""
    if part.balance is None:
        return None
    ratio, p = part.balance
    state, text = "pass", "Items are spread over ranks as a shuffle would spread them."
    if not np.isfinite(ratio):
        state = "caution"
        text = "No item was shown often enough to test that ranks were random; make sure they were."
    elif p < 0.001 and ratio > 1.5:
        state = "fail"
        text = (
            f"Items are not spread over ranks by chance ({ratio:.1f} times a shuffle's spread),"
            " so click rates mix rank with relevance. Use --method harvest, or only the sessions"
            " that were shuffled."
        )
    return Diagnostic("random ranks", subject, ratio, 1.5, state, text)


def _gaps(part: LearnedCurve, subject: str) -> Diagnostic | None:
    """Depth takes every rank above the deepest view as seen."""
    if part.gaps is None:
        return None
    text = f"{part.gaps:.1%} of the sessions skip a rank above their deepest view."
    todo = " Depth counts skipped ranks as seen; with a column viewed, use --method views."
    verdict = graded(-part.gaps, -0.05, -0.25)
    return advise("scrolling", subject, part.gaps, 0.05, verdict, text, todo)


def _thin(learned: Learned) -> Diagnostic:
    """Values of the context that have no curve of their own."""
    refused, column = learned.refused, learned.request.by
    values = len(refused) + len(learned.parts)
    text, verdict = f'Every value of "{column}" has its own curve.', "pass"
    if refused:
        value, why = next(iter(refused.items()))
        text, verdict = f'{len(refused)} of {values} values of "{column}" take the curve', "caution"
        text += f' of all rows, "{value}" for one: {why}'
    return Diagnostic("thin contexts", str(column), len(refused) / values, 0.0, verdict, text)
