"""What the answers of ``assess`` rest on: enough units, enough systems or experiments."""

from __future__ import annotations

from counterrank.diagnostics.diagnosis import Diagnosis, graded

# Of four things in perfect order, both orders included, 2 in 24 would be so by chance; of five, 2
# in 120. Below five no rank correlation reaches 95 %.
FEWEST = 5


def enough_units(units: int) -> Diagnosis:
    """Resampling needs some 30 units; with fewer than 10 it is no guide."""
    text = f"Tests and resampling rest on {units:,} unit{'s' * (units != 1)}."
    if units < 30:
        text += " So few say little about the next ones: collect more before choosing."
    return Diagnosis("sample size", "units", float(units), 30.0, graded(units, 30, 10), text)


def enough(things: int, what: str) -> Diagnosis:
    """A rank correlation of fewer than five things cannot reach 95 % even if it is perfect."""
    text = f"The answer rests on {things:,} {what if things != 1 else what.removesuffix('s')}."
    if things < FEWEST:
        text += f" Below {FEWEST} even a perfect order may be chance: add {what}."
    return Diagnosis(what, "input", float(things), float(FEWEST), graded(things, FEWEST, 2), text)
