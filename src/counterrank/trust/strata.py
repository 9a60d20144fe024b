"""Diagnoses of a stratified evaluation: strata that say little, weights that say too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from counterrank.diagnostics.diagnosis import VERDICTS, Diagnosis, graded
from counterrank.ranking import Measure
from counterrank.stratified import (
    STRATIFIED,
    AnyBlend,
    AnyFace,
    Audit,
    Grounds,
    Propensities,
    StratumRow,
    Way,
)
from counterrank.stratified.propensities import RULES

FEW_ITEMS = 10


def strata_diagnoses(
    systems: Sequence[str],
    measures: Sequence[Measure],
    ways: Mapping[str, Mapping[str, Way]],
    strata: Sequence[StratumRow],
    grounds: Grounds,
) -> list[Diagnosis]:
    """All of them; what concerns a stratum is said for the measure that has it worst."""
    known, counts, weights = grounds.propensities, grounds.counts, grounds.weights
    unknown = counts.unknown / int(counts.rows.sum())
    found = [empty_bins(grounds.cut.empty, len(strata)), known_propensities(known, unknown)]
    if known.there:
        found.append(counted_propensities(known))
    items = {row.name: row.items for row in strata}
    each: list[Diagnosis] = []
    for place, m in enumerate(measures):
        blend = ways[str(m)][STRATIFIED]
        assert isinstance(blend, AnyBlend)
        each += thin_strata(str(m), blend)
        each += blank_strata(str(m), blend, strata)
        each += few_items(str(m), m.better, systems, blend, items)
        if weights is not None:
            total, squares = weights[place].tolist()
            count, most = int(counts.weighty[place]), float(counts.heaviest[place])
            each += inverse_weights(total, squares, count, most)
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


def thin_strata(measure: str, blend: AnyBlend) -> list[Diagnosis]:
    """Users behind each stratum's value: normal intervals need some 30; below 10 they mislead."""
    found = []
    faces: Sequence[AnyFace] = blend.faces
    for face, share in zip(faces, blend.share, strict=True):
        count = face.counted
        text = f"{count:,} user{'s have' if count != 1 else ' has'} something to find there for"
        text += f" {measure}."
        verdict = graded(count, 30, 10)
        if verdict != "pass":
            text += f" It weighs {share:.1%}: cut into fewer strata, or by quantile."
        found.append(Diagnosis("users in stratum", face.method, float(count), 30.0, verdict, text))
    return found


def blank_strata(measure: str, blend: AnyBlend, strata: Sequence[StratumRow]) -> list[Diagnosis]:
    """Strata with feedback in which nobody has anything to find: their value is unknown."""
    faces: Sequence[AnyFace] = blend.faces
    there = [face.method for face in faces]
    found = []
    for row in strata:
        if row.name not in there:
            text = (
                f"Nobody has anything to find there for {measure}, so it has no value; the others"
                " share its weight. Cut into fewer strata, or otherwise."
            )
            verdict = graded(-row.share, -0.0, -0.05)
            found.append(
                Diagnosis("stratum without a value", row.name, row.share, 0.0, verdict, text)
            )
    return found


def empty_bins(empty: Sequence[str], full: int) -> Diagnosis:
    """Bins of the cut that hold no feedback."""
    text = "Every bin of the cut holds feedback."
    if empty:
        text = (
            f"{len(empty)} of {len(empty) + full} bins hold no feedback:"
            f" {', '.join(empty)}. Cut by quantile or items, or fewer strata."
        )
    verdict = "caution" if empty else "pass"
    return Diagnosis("empty strata", "cut", float(len(empty)), 0.0, verdict, text)


def few_items(
    measure: str, better: str, systems: Sequence[str], blend: AnyBlend, items: dict[str, int]
) -> list[Diagnosis]:
    """How much of a system's stratified value a stratum of few items makes: above 20 % caution."""
    found: list[Diagnosis] = []
    if better == "lower":
        return found
    faces: Sequence[AnyFace] = blend.faces
    for face, share in zip(faces, blend.share, strict=True):
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


def inverse_weights(total: float, squares: float, count: int, most: float) -> list[Diagnosis]:
    """Effective number of weighted relevant judgments (Kish), and the share of the heaviest."""
    if count == 0:
        return []
    size = total**2 / squares
    share, heaviest = size / count, most / total
    verdict = max(graded(size, 1000, 100), graded(share, 0.05, 0.005), key=VERDICTS.index)
    text = f"The weighted relevant items say as much as {size:,.0f} equal ones ({share:.1%})."
    if verdict != "pass":
        text += " IPS and SNIPS rest on few items"
        text += ": prefer the stratified value." if share < 0.5 else ": collect more judgments."
    one = f"One relevant item carries {heaviest:.2%} of the weight."
    grave = graded(-heaviest, -0.02, -0.1)
    if grave != "pass":
        one += " Look at it before believing IPS or SNIPS."
    return [
        Diagnosis("effective sample size", "IPS", size, 1000.0, verdict, text),
        Diagnosis("largest weight", "IPS", heaviest, 0.02, grave, one),
    ]


def known_propensities(known: Propensities, share: float) -> Diagnosis:
    """Judgments without a propensity: they are a stratum of their own and weigh nothing in IPS."""
    if not known.there:
        text = f"There are none, so there is no IPS. {known.missing}"
        return Diagnosis("propensities missing", "judgments", 1.0, 0.0, "caution", text)
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
