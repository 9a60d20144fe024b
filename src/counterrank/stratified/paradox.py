"""One proven paradox, in numbers and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterrank.arrays import Floats, Ints

if TYPE_CHECKING:
    from counterrank.stratified.audit import Candidates


@dataclass(frozen=True)
class InStratum:
    """The pair in one stratum: ``ahead`` minus ``behind``."""

    name: str
    share: float
    difference: float
    se: float
    p: float


@dataclass(frozen=True)
class Paradox:
    """``ahead`` leads overall, ``behind`` in strata with more than half of the feedback.

    Differences are ``ahead`` minus ``behind`` with two-sided p. ``p`` and ``p_corrected`` are those
    of the paradox. ``stratified`` says what the stratified value decides: ``reversed`` (proven with
    the paradox, corrected), ``confirmed`` (the overall order holds there, by its own p) or
    ``not separated``. ``loss`` is the share of stratified value lost by taking the overall winner.
    """

    measure: str
    ahead: str
    behind: str
    difference: float
    low: float
    high: float
    p_overall: float
    strata: tuple[InStratum, ...]
    share_reversed: float
    stratified: str
    stratified_difference: float
    stratified_low: float
    stratified_high: float
    stratified_p: float
    p: float
    p_corrected: float
    loss: float
    sentence: str


def described(
    c: Candidates, pairs: Ints, corrected: Floats, value_corrected: Floats, level: float
) -> list[Paradox]:
    """A row for each of the ``pairs`` (places among the candidates)."""
    half, blend_half = c.overall.half(level), c.blend.half(level)
    p, share_reversed = c.p, c.share_reversed
    rows = []
    for j in pairs.tolist():
        strata = tuple(
            InStratum(
                each.method, float(s), *map(float, (each.difference[j], each.se[j], each.p[j]))
            )
            for s, each in zip(c.share, c.strata, strict=True)
        )
        d, blend = float(c.overall.difference[j]), float(c.blend.difference[j])
        if value_corrected[j] <= 1 - level:
            decided = "reversed"
        elif c.sign * blend > 0 and c.blend.p[j] <= 1 - level:
            decided = "confirmed"
        else:
            decided = "not separated"
        loss = _loss(c, j)
        rows.append(
            Paradox(
                measure=c.measure,
                ahead=c.systems[c.ahead[j]],
                behind=c.systems[c.behind[j]],
                difference=d,
                low=d - float(half[j]),
                high=d + float(half[j]),
                p_overall=float(c.overall.p[j]),
                strata=strata,
                share_reversed=float(share_reversed[j]),
                stratified=decided,
                stratified_difference=blend,
                stratified_low=blend - float(blend_half[j]),
                stratified_high=blend + float(blend_half[j]),
                stratified_p=float(c.blend.p[j]),
                p=float(p[j]),
                p_corrected=float(corrected[j]),
                loss=loss,
                sentence=_sentence(c, j, decided, loss, float(share_reversed[j])),
            )
        )
    return rows


def _loss(c: Candidates, j: int) -> float:
    """Stratified value lost with the overall winner, relative to the better one's."""
    winner, other = (float(c.values[2][side[j]]) for side in (c.ahead, c.behind))
    lost = c.sign * (other - winner)
    return lost / abs(other) if lost > 0 and other else 0.0


def _sentence(c: Candidates, j: int, decided: str, loss: float, share: float) -> str:
    """The finding for someone who reads nothing else."""
    a, b = c.ahead[j], c.behind[j]
    names = [
        each.method for each, there in zip(c.strata, c.reversed_in[:, j], strict=True) if there
    ]
    holds = "which holds" if len(names) == 1 else "which hold"
    overall, _, blend = c.values
    text = (
        f"{c.systems[a]} leads {c.systems[b]} in overall {c.measure} ({overall[a]:.4f} against"
        f" {overall[b]:.4f}), but {c.systems[b]} leads in {_listed(names)}, {holds}"
        f" {_percent(share)} of the feedback; "
    )
    against = f"({blend[b]:.4f} against {blend[a]:.4f})"
    if decided == "reversed":
        return text + (
            f"the stratified value is reversed too {against}, and the overall winner would lose"
            f" {100 * loss:.1f} % of it."
        )
    if decided == "confirmed":
        return text + f"the stratified value keeps the overall order {against}."
    return text + f"the stratified values {against} are not separated."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _percent(share: float) -> str:
    """Whole percent, but never 100 for less than all nor 50 for more than half."""
    for digits in range(6):
        text = f"{100 * share:.{digits}f}"
        if (share == 1 or float(text) < 100) and float(text) > 50:
            return f"{text} %"
    return f"{100 * share:.6f} %"
