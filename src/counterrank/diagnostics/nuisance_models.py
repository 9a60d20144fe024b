"""Diagnoses of models of clicks and conversions: do they come true, and are clicks everywhere?"""

from __future__ import annotations

import math

from counterrank.diagnostics.diagnosis import VERDICTS, Diagnosis, graded
from counterrank.nuisance.calibration import Calibration, Overlap
from counterrank.nuisance.logistic import Encoded

SURE = 0.001  # p of an error that is no chance
MATTERS, GRAVE = 0.1, 0.3  # relative errors of a bin; estimates inherit about as much


def click_model(found: Calibration, label: str) -> Diagnosis:
    """Predicted clicks against observed ones; weights 1/ctr inherit every error."""
    todo = (
        f"IPS weighs such pairs wrongly: take another model ({_others('--ctr', label)}), give a ctr"
        " that knows more, or log the probabilities of clicks."
    )
    return _calibrated("click model", label, "clicks", found, todo)


def conversion_model(found: Calibration, label: str) -> Diagnosis:
    """Predicted conversions against observed ones, clicked pairs standing for all by 1/ctr."""
    todo = (
        "DM inherits the error, DR as much of it as the click model errs: take another model"
        f" ({_others('--cvr', label)}), give a cvr that knows more, or read IPS."
    )
    return _calibrated("conversion model", label, "conversions weighted by 1/ctr", found, todo)


def constant_features(of: str, found: Encoded) -> Diagnosis:
    """Columns that say the same of everyone: often a slip where the table was made."""
    left, kept = len(found.constant), len(found.names)
    text = f"{kept:,} columns describe {of}s."
    if left:
        names = ", ".join(f'"{name}"' for name in found.constant[:5])
        text += (
            f" {left:,} more say the same of all that count and were left out: {names}"
            f"{', ...' if left > 5 else ''}. Drop them, or see how the table was made."
        )
    return Diagnosis(
        f"constant {of} features", "funnel", float(left), 0.0, "caution" if left else "pass", text
    )


def click_overlap(found: Overlap) -> Diagnosis:
    """A click of ctr 0.001 stands for a thousand pairs; few of them can be borne."""
    verdict = graded(-found.below, -0.01, -0.5)
    text = (
        f"{found.below:.1%} of the pairs are clicked with probability below {found.floor:g}; the"
        f" smallest is {found.smallest:.2g}, the median {found.quantiles[0.5]:.2g}."
    )
    if verdict != "pass":
        text += (
            " A single click there stands for all of them: clip the weights (IPS(clip=...)), leave"
            " pairs out that could not be clicked (--pairs rows), or read DR with care."
        )
    return Diagnosis("click overlap", "all pairs", found.below, 0.01, verdict, text)


def _others(option: str, label: str) -> str:
    """Models that need nothing but the funnel, less the one that was taken."""
    return " or ".join(f"{option} {m}" for m in ("rates", "factors") if not label.startswith(m))


def _calibrated(name: str, label: str, what: str, c: Calibration, todo: str) -> Diagnosis:
    off = abs(c.ratio - 1)
    overall = graded(-off, -0.05, -0.2) if c.p_ratio < SURE else "pass"
    binned = graded(-c.excess, -MATTERS, -GRAVE) if c.p < SURE else "pass"
    verdict = max(overall, binned, key=VERDICTS.index)
    text = f"Observed over predicted {what}: {c.ratio:.3f} (se {c.se:.3f}) over all"
    if len(c.by_bin) > 1:
        low, high = c.by_bin[0], c.by_bin[-1]
        text += f", {low:.2f} where least are predicted, {high:.2f} where most"
        text += f" (p {c.p:.2g}, beyond chance {c.excess:.0%})."
    else:
        text += "."
    if not math.isfinite(c.ratio):
        verdict, text = "caution", f"There are too few {what} to see whether predictions come true."
    if verdict != "pass":
        text += f" {todo}"
    return Diagnosis(name, label, c.excess, MATTERS, verdict, text)
