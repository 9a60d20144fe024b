"""Diagnoses of a stratified evaluation: strata that say little, weights that say too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.ranking import Measure
from counterrank.stratified import STRATIFIED, Audit, Blend, Face, Layout, Propensities, users
from counterrank.stratified.propensities import RULES
from counterrank.trust.diagnosis import VERDICTS, Diagnosis, graded

FEW_ITEMS = 10


def strata_diagnoses(
    systems: Sequence[str],
    measures: Sequence[Measure],
    ways: Mapping[str, Mapping[str, Face | Blend]],
    layout: Layout,
    known: Propensities,
) -> list[Diagnosis]:
    """All of them; what concerns a stratum is said for the measure that has it worst."""
    names, shares = layout.strata.names, np.array([kept.mean() for kept in layout.kept])
    items = items_of(layout.strata.code, known.item, names)
    found: list[Diagnosis] = [empty_bins(layout), known_propensities(known)]
    if known.value is not None:
        found.append(counted_propensities(known))
    each: list[Diagnosis] = []
    for m in measures:
        blend = ways[str(m)][STRATIFIED]
        assert isinstance(blend, Blend)
        each += thin_strata(str(m), blend)
        each += blank_strata(str(m), names, blend, shares)
        each += few_items(str(m), m.better, systems, blend, items)
        if layout.weight is not None:
            each += inverse_weights(layout.weight, m.gains(layout.pool))
    return found + _gravest(each)


def found_paradoxes(audit: Audit) -> Diagnosis:
    """Proven paradoxes among all pairs of systems and measures."""
    count = len(audit.paradoxes)
    text = f"Proven in {count:,} of {audit.tested:,} comparisons of two systems by a measure"
    if audit.unproven:
        text += f"; {audit.unproven:,} more flip{'s' * (audit.unproven == 1)} in most of the"
        text += " feedback, but maybe by chance"
    text += "."
    if count:
        text += " Look at the strata before shipping an overall winner."
    verdict = "caution" if count else "pass"
    return Diagnosis("Simpson's paradox", "systems", float(count), 0.0, verdict, text)


def _gravest(found: Sequence[Diagnosis]) -> list[Diagnosis]:
    """Of diagnoses of one name and subject, the gravest; of equals the first."""
    worst: dict[tuple[str, str], Diagnosis] = {}
    for d in found:
        key = (d.name, d.subject)
        if key not in worst or VERDICTS.index(d.verdict) > VERDICTS.index(worst[key].verdict):
            worst[key] = d
    return list(worst.values())


def thin_strata(measure: str, blend: Blend) -> list[Diagnosis]:
    """Users behind each stratum's value: normal intervals need some 30; below 10 they mislead."""
    found = []
    for face, share in zip(blend.faces, blend.share, strict=True):
        count = int(users(face).sum())
        text = f"{count:,} user{'s have' if count != 1 else ' has'} something to find there for"
        text += f" {measure}."
        verdict = graded(count, 30, 10)
        if verdict != "pass":
            text += f" It weighs {share:.1%}: cut into fewer strata, or by quantile."
        found.append(Diagnosis("users in stratum", face.method, float(count), 30.0, verdict, text))
    return found


def blank_strata(
    measure: str, names: Sequence[str], blend: Blend, shares: Floats
) -> list[Diagnosis]:
    """Strata with feedback in which nobody has anything to find: their value is unknown."""
    there = [face.method for face in blend.faces]
    found = []
    for name, share in zip(names, shares, strict=True):
        if name not in there:
            text = (
                f"Nobody has anything to find there for {measure}, so it has no value; the others"
                " share its weight. Cut into fewer strata, or otherwise."
            )
            verdict = graded(-share, -0.0, -0.05)
            found.append(
                Diagnosis("stratum without a value", name, float(share), 0.0, verdict, text)
            )
    return found


def empty_bins(layout: Layout) -> Diagnosis:
    """Bins of the cut that hold no feedback."""
    empty = layout.strata.empty
    text = "Every bin of the cut holds feedback."
    if empty:
        text = (
            f"{len(empty)} of {len(empty) + len(layout.strata.names)} bins hold no feedback:"
            f" {', '.join(empty)}. Cut by quantile or items, or fewer strata."
        )
    verdict = "caution" if empty else "pass"
    return Diagnosis("empty strata", "cut", float(len(empty)), 0.0, verdict, text)


def few_items(
    measure: str, better: str, systems: Sequence[str], blend: Blend, items: dict[str, int]
) -> list[Diagnosis]:
    """How much of a system's stratified value a stratum of few items makes: above 20 % caution."""
    found: list[Diagnosis] = []
    if better == "lower":
        return found
    for face, share in zip(blend.faces, blend.share, strict=True):
        if items[face.method] > FEW_ITEMS:
            continue
        part = np.divide(
            share * face.value, blend.value, out=np.zeros(len(systems)), where=blend.value > 0
        )
        most = int(np.argmax(part))
        text = (
            f"Its {items[face.method]} item{'s' * (items[face.method] != 1)} ({share:.1%} of the"
            f" feedback) make{'s' * (items[face.method] == 1)} {part[most]:.1%} of {measure} of"
            f" {systems[most]}."
        )
        verdict = "caution" if part[most] > 0.2 else "pass"
        if verdict != "pass":
            text += " A decision would hang on so few"
            text += ": look at the other strata." if len(blend.faces) > 1 else "."
        found.append(
            Diagnosis("few items decide", face.method, float(part[most]), 0.2, verdict, text)
        )
    return found


def inverse_weights(weight: Floats, gains: Floats) -> list[Diagnosis]:
    """Effective number of weighted relevant judgments (Kish), and the share of the heaviest."""
    w = weight[(gains > 0) & (weight > 0)]
    if len(w) == 0:
        return []
    size = float(w.sum() ** 2 / np.sum(w**2))
    share, heaviest = size / len(w), float(w.max() / w.sum())
    verdict = max(graded(size, 1000, 100), graded(share, 0.05, 0.005), key=VERDICTS.index)
    text = f"The weighted relevant items say as much as {size:,.0f} equal ones ({share:.1%})."
    if verdict != "pass":
        text += " IPS and SNIPS rest on few items"
        text += ": prefer the stratified value." if share < 0.5 else ": collect more judgments."
    most = f"One relevant item carries {heaviest:.2%} of the weight."
    grave = graded(-heaviest, -0.02, -0.1)
    if grave != "pass":
        most += " Look at it before believing IPS or SNIPS."
    return [
        Diagnosis("effective sample size", "IPS", size, 1000.0, verdict, text),
        Diagnosis("largest weight", "IPS", heaviest, 0.02, grave, most),
    ]


def known_propensities(known: Propensities) -> Diagnosis:
    """Judgments without a propensity: they are a stratum of their own and weigh nothing in IPS."""
    if known.value is None:
        text = f"There are none, so there is no IPS. {known.missing}"
        return Diagnosis("propensities missing", "judgments", 1.0, 0.0, "caution", text)
    share = float(np.mean(np.isnan(known.value)))
    text = f"Every judgment has one ({known.source})."
    if share:
        text = (
            f"{share:.2%} of the judgments have none: they are a stratum of their own and left out"
            " of IPS and SNIPS. Give propensities for all judged items."
        )
    verdict = graded(-share, -0.0, -0.05)
    return Diagnosis("propensities missing", "judgments", share, 0.0, verdict, text)


def counted_propensities(known: Propensities) -> Diagnosis:
    """Propensities that are themselves estimates; intervals of IPS and SNIPS do not know it.

    In simulated feedback the 95 % intervals of IPS then covered 82 %, those of SNIPS 91 %.
    """
    guessed = known.source in RULES
    text = f"They were given ({known.source})."
    if guessed:
        text = (
            "They are estimated from counts of feedback, but IPS and SNIPS take them as known:"
            " their intervals are too narrow. Differences of systems, holdout and strata are not"
            " concerned. Log how likely each item was shown."
        )
    verdict = "caution" if guessed else "pass"
    return Diagnosis("propensities known", "IPS, SNIPS", float(not guessed), 1.0, verdict, text)


def items_of(code: Ints, item: Ints, names: Sequence[str]) -> dict[str, int]:
    """Number of items with feedback in each stratum."""
    return {name: len(np.unique(item[code == q])) for q, name in enumerate(names)}
