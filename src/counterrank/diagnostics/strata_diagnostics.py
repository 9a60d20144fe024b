"""Diagnostics of a stratified evaluation: strata that say little, weights that say too much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.diagnostics.diagnostic import STATES, Diagnostic, advise, graded, graded_size

FEW_ITEMS = 10


@dataclass(frozen=True, eq=False)
class StratumValues:
    """One stratum under one measure: its share of all feedback, and what makes its value.

    ``weight`` is its share in the stratified value, ``users`` those with something to find there
    (without any it has no value), ``values`` those of all systems.
    """

    name: str
    share: float
    items: int
    weight: float
    users: int
    values: Floats


def gravest_each(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Of diagnostics of one name and subject, the gravest; of equals the first."""
    alike: dict[tuple[str, str], list[Diagnostic]] = {}
    for d in diagnostics:
        alike.setdefault((d.name, d.subject), []).append(d)
    return [max(own, key=lambda d: STATES.index(d.state)) for own in alike.values()]


def found_paradoxes(proven: int, tested: int, unproven: int) -> Diagnostic:
    """Proven paradoxes among all pairs of systems and measures."""
    text = f"Proven in {proven:,} of {tested:,} comparisons of two systems by a measure"
    if unproven:
        text += f"; {unproven:,} more flip{'s' * (unproven == 1)} in most of the"
        text += " feedback, but maybe by chance"
    todo = " Look at the strata before testing an overall winner."
    state = "caution" if proven else "pass"
    return advise("Simpson's paradox", "systems", float(proven), 0.0, state, f"{text}.", todo)


def stratum_users(measure: str, stratum: StratumValues) -> Diagnostic:
    """Users behind a stratum's value: normal intervals need some 30; below 10 they mislead.

    Of a stratum in which nobody has anything to find the value is unknown.
    """
    count, name = stratum.users, stratum.name
    if not count:
        text = (
            f"Nobody has anything to find there for {measure}, so it has no value; the others"
            " share its weight. Cut into fewer strata, or otherwise."
        )
        verdict = graded(-stratum.share, -0.0, -0.05)
        return Diagnostic("stratum without a value", name, stratum.share, 0.0, verdict, text)
    text = f"{count:,} user{'s have' if count != 1 else ' has'} something to find there for"
    text += f" {measure}."
    todo = f" It weighs {stratum.weight:.1%}: cut into fewer strata, or by quantile."
    verdict = graded(count, 30, 10)
    return advise("users in stratum", name, float(count), 30.0, verdict, text, todo)


def few_items(
    measure: str, systems: Sequence[str], stratum: StratumValues, whole: Floats, *, alone: bool
) -> Diagnostic | None:
    """How much of a system's stratified value a stratum of few items makes: above 20 % caution.

    ``whole`` are the stratified values; ``alone`` says that there is no other stratum.
    """
    if not stratum.users or stratum.items > FEW_ITEMS:
        return None
    values, items = stratum.weight * stratum.values, stratum.items
    part = np.divide(values, whole, out=np.zeros(len(systems)), where=whole > 0)
    most = int(np.argmax(part))
    text = (
        f"Its {items} item{'s' * (items != 1)} ({stratum.weight:.1%} of the feedback)"
        f" make{'s' * (items == 1)} {part[most]:.1%} of {measure} of {systems[most]}."
    )
    todo = " A decision would hang on so few" + ("." if alone else ": look at the other strata.")
    share, verdict = float(part[most]), "caution" if part[most] > 0.2 else "pass"
    return advise("few items decide", stratum.name, share, 0.2, verdict, text, todo)


def empty_bins(empty: Sequence[str], full: int) -> Diagnostic:
    """Bins of the cut that hold no feedback."""
    text = "Every bin of the cut holds feedback."
    if empty:
        text = (
            f"{len(empty)} of {len(empty) + full} bins hold no feedback:"
            f" {', '.join(empty)}. Cut by quantile or items, or fewer strata."
        )
    verdict = "caution" if empty else "pass"
    return Diagnostic("empty strata", "cut", float(len(empty)), 0.0, verdict, text)


def inverse_weights(total: float, squares: float, count: int, most: float) -> list[Diagnostic]:
    """Effective number of weighted relevant judgments (Kish), and the share of the heaviest.

    Weighted values are skewed, and normal intervals of few of them too short, most often below the
    truth. In simulated feedback of 150 users, with known propensities, those of IPS and SNIPS
    covered 94 to 96 % where it was above 300, 92 to 94 % from 75 to 300, and 80 to 92 % below.
    """
    if count == 0:
        return []
    size = total**2 / squares
    share, heaviest = size / count, most / total
    text = f"The weighted relevant items say as much as {size:,.0f} equal ones ({share:.1%})."
    todo = " Intervals of IPS and SNIPS are too short then, and they rest on few items"
    todo += ": prefer the stratified value." if share < 0.5 else ": collect more judgments."
    one = f"One relevant item carries {heaviest:.2%} of the weight."
    look = " Look at it before believing IPS or SNIPS."
    few, heavy = graded_size(size, share), graded(-heaviest, -0.02, -0.1)
    return [
        advise("effective sample size", "IPS", size, 1000.0, few, text, todo),
        advise("largest weight", "IPS", heaviest, 0.02, heavy, one, look),
    ]


def known_propensities(source: str, share: float) -> Diagnostic:
    """Judgments without a propensity: they are a stratum of their own and weigh nothing in IPS."""
    text = f"Every judgment has one ({source})."
    if share:
        text = (
            f"{share:.2%} of the judgments have none: they are a stratum of their own and left out"
            " of IPS and SNIPS. Give propensities for all judged items."
        )
    verdict = graded(-share, -0.0, -0.05)
    return Diagnostic("propensities missing", "judgments", share, 0.0, verdict, text)


def counted_propensities(source: str, *, guessed: bool) -> Diagnostic:
    """Propensities that are themselves estimates; intervals of IPS and SNIPS do not know it.

    In simulated feedback the 95 % intervals of IPS then covered 82 %, those of SNIPS 91 %; where a
    power law was fitted 9 %, and 8 % of the differences (docs/coverage.md).
    """
    text = f"They were given ({source})."
    if guessed:
        text = (
            "They are estimated from counts of feedback, but IPS and SNIPS take them as known:"
            " their intervals are too narrow. Under a power law differences by IPS are off, too;"
            " holdout and strata are not concerned. Log how likely each item was shown."
        )
    verdict = "caution" if guessed else "pass"
    return Diagnostic("propensities known", "IPS, SNIPS", float(not guessed), 1.0, verdict, text)


def power_law_fit(rule: str, fit: float | None, reason: str) -> Diagnostic:
    """Whether a power law may turn counts into propensities; its exponent magnifies every error.

    Simulated counts of items that are all shown equally often gave exponents of 10 to 60.
    """
    text = f"The counts follow a power law (p {fit:.2g})." if fit and not reason else ""
    if reason:
        text = f"Counts of feedback do not support a power law. {reason} "
        text += "Propensities are shrunken frequencies instead: an item's share of the users."
    if reason and rule != "frequency":
        text = f"The published rule takes a power law that counts do not support. {reason}"
        text += " Do not believe IPS and SNIPS; log how likely each item was shown."
    state = "pass" if not reason else "caution" if rule == "frequency" else "fail"
    return Diagnostic("power law", "IPS, SNIPS", fit or 0.0, 0.1, state, text)


def within_range(
    measure: str, system: str, estimator: str, value: float, most: float
) -> Diagnostic | None:
    """A value that the measure cannot have: it is at most ``most``."""
    if value <= most * (1 + 1e-9):
        return None
    text = (
        f"{measure} is {value:.4g} by {estimator}, and cannot exceed {most:.4g}. Propensities are"
        " too small, or the measure is divided by what was observed (nDCG, Recall, AP), which"
        " weights do not mend: weigh a sum like DCG."
    )
    return Diagnostic("value in range", f"{system}, {estimator}", value, most, "fail", text)
