"""What the numbers recommend, in three sentences each; ties are called ties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from counterrank.verbs.assess_agreement import AgreementRow


def listed(names: Sequence[str], longest: int = 5) -> str:
    """Names in a sentence; many are counted."""
    if len(names) > longest:
        return f"{', '.join(names[:longest])} and {len(names) - longest} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def counted(pairs: int) -> str:
    """So many pairs."""
    return f"{pairs:,} pair{'s' * (pairs != 1)}"


def most(share: float) -> str:
    """What the share of pairs told apart says about the sample."""
    if share >= 0.9:
        return "the sample is large enough for systems as far apart as these"
    if share >= 0.5:
        return "closer systems need more users"
    return "most of these systems are too close for this sample"


def agreed(rows: Sequence[AgreementRow], pairs: int) -> tuple[str, ...]:
    """How far the first two measures disagree, who agrees with whom, and what to report."""
    r = rows[0]
    if all(np.isnan(row.kendall) for row in rows):
        return (
            f"By {r.measure} and {r.other} all systems are equal.",
            "Where nothing is ordered, orders can neither agree nor differ.",
            "Compare systems that differ, or look for a fault in the runs.",
        )
    level = f"{r.level:.0%} interval {r.low:.1%} to {r.high:.1%}"
    flat = np.isnan(r.kendall)
    if flat:
        first = f"{r.measure} or {r.other} sees no difference between any two systems."
    elif r.value == 0 and r.high == 0:
        first = f"{r.measure} and {r.other} order all pairs of systems alike ({pairs} in all)."
    else:
        first = (
            f"{r.measure} and {r.other} order {r.value:.1%} of {pairs} pairs of systems differently"
            f" ({level}, Kendall's tau {r.kendall:.2f}); on {r.opposed} of them both are sure."
        )
    names = list(dict.fromkeys(name for row in rows for name in (row.measure, row.other)))
    tau = {frozenset((row.measure, row.other)): row.kendall for row in rows}
    tau = {pair: t for pair, t in tau.items() if t == t}  # a measure that orders nothing has none
    names = [n for n in names if any(n in pair for pair in tau)]
    mean = {n: np.mean([t for pair, t in tau.items() if n in pair]) for n in names}
    far = min(rows, key=lambda row: row.kendall if row.kendall == row.kendall else 2)
    centre = max(names, key=lambda n: mean[n])
    near = [n for n in names if n != centre and tau.get(frozenset((n, centre)), -1) >= 0.9]
    second = f"Least alike are {far.measure} and {far.other} (tau {far.kendall:.2f}); {centre} is"
    second += f" closest to the others (mean tau {mean[centre]:.2f})."
    if len(names) < 3:
        second = "No third measure orders these systems, so none can be compared with these two."
    if flat:
        third = "Choose among the measures that tell these systems apart."
    elif r.opposed:
        third = (
            f"The choice between {r.measure} and {r.other} decides {r.opposed} of these pairs, so"
            " choose by the question and not by habit"
        )
        dcg = r.measure.startswith("DCG") and r.other.startswith("nDCG")
        third += (
            ": a total such as clicks or sales speaks for DCG, one vote per user for nDCG."
            if dcg
            else "."
        )
    elif r.high == 0:
        third = f"Either of {r.measure} and {r.other} may be reported: the order is the same"
        third += f", and {listed(near)} would add little to {centre}." if near else "."
    elif r.low == 0:
        third = (
            f"These users do not settle whether the orders of {r.measure} and {r.other} differ, so"
            " report both or collect more"
        )
        third += f"; {listed(near)} would add little to {centre}." if near else "."
    else:
        third = (
            f"Report both {r.measure} and {r.other}: their orders differ, though on no pair of"
            " systems are both measures sure."
        )
    return first, second, third
