"""The paradox audit: pairs of systems whose overall order most of the feedback contradicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterrank.core.arguments import one_of
from counterrank.core.arrays import Bools, Floats, Ints
from counterrank.core.errors import UsageError
from counterrank.core.format import in_a_sentence
from counterrank.stats.inference import Differences, benjamini_hochberg, differences, holm
from counterrank.stats.units import Estimate

ADJUSTED: dict[str, Callable[[Floats], Floats]] = {
    "holm": holm, "bh": benjamini_hochberg, "none": np.asarray,
}  # fmt: skip
HALF = 1e-12  # shares this close to one half are one half


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


@dataclass(frozen=True, eq=False)
class Candidates:
    r"""All pairs under one measure, each turned so that ``ahead`` leads overall.

    ``p`` is that of the paradox. A pair is one when :math:`a` leads overall and :math:`b` leads in
    strata that hold more than half of the feedback; both must be shown. With
    :math:`p_q` the two-sided p of a stratum where :math:`b` leads in the sample, and 1 elsewhere,

    .. math:: p = \max(p_{overall},\ m\, p_{q^*})

    where :math:`q^*` is the last of the strata, in order of :math:`p_q`, needed to exceed half of
    the feedback. :math:`m = 1` if one stratum holds more than half, otherwise the number of
    smallest strata that together reach half.

    Level: if :math:`b` does not lead in more than half, the strata where it does not hold at least
    half; take :math:`N` among them, at most :math:`m` strata that reach half. Any set of more than
    half meets :math:`N`, so :math:`m p_{q^*} \le \alpha` needs some :math:`q \in N` with
    :math:`p_q \le \alpha / m` and the wrong sign, which has probability at most :math:`\alpha / 2`.
    If :math:`a` does not lead overall, :math:`p_{overall}` errs with at most :math:`\alpha / 2`.
    Either way (Berger 1982) one direction errs with :math:`\alpha / 2`, both with :math:`\alpha`.

    ``values`` are those of all systems, overall and stratified. Shares are those of the data.
    ``p_value`` asks that :math:`b` leads in the stratified value too.
    """

    measure: str
    systems: Sequence[str]
    share: Floats
    sign: int
    ahead: Ints
    behind: Ints
    overall: Differences
    strata: Mapping[str, Differences]
    stratified: Differences
    values: tuple[Floats, Floats]

    @cached_property
    def led(self) -> Bools:
        """Pairs whose overall values differ, so that one leads."""
        return self.sign * self.overall.value > 0

    @cached_property
    def reversed_in(self) -> Bools:
        """Whether the one behind overall leads in a stratum: strata x pairs."""
        return np.array([self.sign * each.value < 0 for each in self.strata.values()])

    @cached_property
    def share_reversed(self) -> Floats:
        """Share of the feedback in strata where the order is reversed."""
        return self.share @ self.reversed_in

    @cached_property
    def flips(self) -> Bools:
        """Pairs whose order is reversed in more than half of the feedback, proven or not."""
        return self.led & (self.share_reversed > 0.5 + HALF)

    @cached_property
    def value_flips(self) -> Bools:
        """Pairs whose order is reversed in the stratified value, proven or not."""
        return self.led & (self.sign * self.stratified.value < 0)

    @cached_property
    def p(self) -> Floats:
        """The p of each pair's paradox."""
        p = np.where(self.reversed_in, [each.p for each in self.strata.values()], 1.0)
        order = np.argsort(p, axis=0, kind="stable")
        enough = np.cumsum(self.share[order], axis=0) > 0.5 + HALF
        last = np.take_along_axis(order, np.argmax(enough, axis=0)[None], axis=0)
        reversal = np.minimum(_tries(self.share) * np.take_along_axis(p, last, axis=0)[0], 1)
        return np.where(self.flips, np.maximum(self.overall.p, reversal), 1.0)

    @cached_property
    def p_value(self) -> Floats:
        """The p of a paradox that the stratified value shares."""
        return np.where(self.value_flips, np.maximum(self.p, self.stratified.p), 1.0)


def audit_pairs(
    systems: Sequence[str],
    measure: str,
    holdout: Sequence[Estimate],
    strata: Mapping[str, Sequence[Estimate]],
    stratified: Sequence[Estimate],
    *,
    share: Floats,
    better: str = "higher",
) -> Candidates:
    """Every pair of systems under one measure, tested overall, in each stratum and stratified.

    Each method has an estimate for each system; strata are named. ``better`` says whether a higher
    or a lower value is. ``share`` is each stratum's share of all the feedback; strata without a
    value are left out of it.
    """
    one_of("better", better, ("higher", "lower"))
    if len(strata) != len(share):
        raise UsageError(
            "Each stratum needs its feedback.",
            found=f"{len(strata)} strata, feedback of {len(share)}.",
        )
    sign = 1 if better == "higher" else -1
    overall = np.array([e.value for e in holdout])
    a, b = np.triu_indices(len(systems), 1)
    swap = sign * (overall[a] - overall[b]) < 0
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    return Candidates(
        measure=measure,
        systems=systems,
        share=share,
        sign=sign,
        ahead=a,
        behind=b,
        overall=differences(holdout, a, b),
        strata={name: differences(own, a, b) for name, own in strata.items()},
        stratified=differences(stratified, a, b),
        values=(overall, np.array([e.value for e in stratified])),
    )


@dataclass(frozen=True)
class Audit:
    """What the audit found, the worst decision first.

    ``tested`` counts the pairs and measures of the family. ``unproven`` counts pairs reversed in
    more than half of the feedback by the estimates alone, and ``value_flips`` those whose
    stratified values are in the other order than the overall ones, proven or not.
    """

    paradoxes: list[Paradox]
    tested: int
    unproven: int
    value_flips: int
    correction: str
    level: float


def paradoxes(
    candidates: Sequence[Candidates], *, correction: str = "holm", level: float = 0.95
) -> Audit:
    """The proven paradoxes of all pairs and measures, which are one family.

    With ``holm`` the chance of any false one is at most ``1 - level``; with ``bh`` the expected
    share of false ones is. Whether the stratified value is reversed too is a family of its own.
    """
    one_of("correction", correction, tuple(ADJUSTED))
    p, p_value = (
        np.concatenate([getattr(c, name) for c in candidates] or [np.zeros(0)])
        for name in ("p", "p_value")
    )
    corrected, value_corrected = (ADJUSTED[correction](x) for x in (p, p_value))
    cuts, rows = np.cumsum([len(c.ahead) for c in candidates])[:-1], []
    parts = np.split(corrected, cuts), np.split(value_corrected, cuts)
    for c, own, value_own in zip(candidates, *parts, strict=False):
        rows += _describe(c, np.flatnonzero(c.flips & (own <= 1 - level)), own, value_own, level)
    rows.sort(key=lambda row: (-row.loss, row.p, row.measure, row.ahead, row.behind))
    flips, value_flips = (
        sum(int(getattr(c, name).sum()) for c in candidates) for name in ("flips", "value_flips")
    )
    return Audit(rows, len(p), flips - len(rows), value_flips, correction, level)


def _tries(share: Floats) -> int:
    """How many strata, at most, a smallest set that reaches half of the feedback has."""
    if share.max() > 0.5 + HALF:
        return 1
    rest = 1 - share.sum()  # strata without a value
    every = np.sort(np.append(share, rest) if rest > HALF else share)
    return int(np.argmax(np.cumsum(every) >= 0.5 - HALF)) + 1


def _describe(
    c: Candidates, pairs: Ints, corrected: Floats, value_corrected: Floats, level: float
) -> list[Paradox]:
    """A row for each of the ``pairs`` (places among the candidates)."""
    half, value_half = c.overall.half(level), c.stratified.half(level)
    within, overall_p, value_p = [d.p for d in c.strata.values()], c.overall.p, c.stratified.p
    rows = []
    for j in pairs.tolist():
        strata = tuple(
            InStratum(name, float(s), *map(float, (d.value[j], d.se[j], p[j])))
            for s, (name, d), p in zip(c.share, c.strata.items(), within, strict=True)
        )
        d, value = float(c.overall.value[j]), float(c.stratified.value[j])
        if value_corrected[j] <= 1 - level:
            decided = "reversed"
        elif c.sign * value > 0 and value_p[j] <= 1 - level:
            decided = "confirmed"
        else:
            decided = "not separated"
        loss, reversed_share = _loss(c, j), float(c.share_reversed[j])
        rows.append(
            Paradox(
                measure=c.measure,
                ahead=c.systems[c.ahead[j]],
                behind=c.systems[c.behind[j]],
                difference=d,
                low=d - float(half[j]),
                high=d + float(half[j]),
                p_overall=float(overall_p[j]),
                strata=strata,
                share_reversed=reversed_share,
                stratified=decided,
                stratified_difference=value,
                stratified_low=value - float(value_half[j]),
                stratified_high=value + float(value_half[j]),
                stratified_p=float(value_p[j]),
                p=float(c.p[j]),
                p_corrected=float(corrected[j]),
                loss=loss,
                sentence=_sentence(c, j, decided, loss, reversed_share),
            )
        )
    return rows


def _loss(c: Candidates, j: int) -> float:
    """Stratified value lost with the overall winner, relative to the better one's."""
    winner, other = (float(c.values[1][side[j]]) for side in (c.ahead, c.behind))
    lost = c.sign * (other - winner)
    return lost / abs(other) if lost > 0 and other else 0.0


def _sentence(c: Candidates, j: int, decided: str, loss: float, share: float) -> str:
    """The finding for someone who reads nothing else."""
    a, b = c.ahead[j], c.behind[j]
    names = [name for name, there in zip(c.strata, c.reversed_in[:, j], strict=True) if there]
    where = in_a_sentence(names, len(names))
    holds = "which holds" if len(names) == 1 else "which hold"
    overall, value = c.values
    text = (
        f"{c.systems[a]} leads {c.systems[b]} in overall {c.measure} ({overall[a]:.4f} against"
        f" {overall[b]:.4f}), but {c.systems[b]} leads in {where}, {holds}"
        f" {_percent(share)} of the feedback; "
    )
    against = f"({value[b]:.4f} against {value[a]:.4f})"
    if decided == "reversed":
        return text + (
            f"the stratified value is reversed too {against}, and the overall winner would lose"
            f" {100 * loss:.1f} % of it."
        )
    if decided == "confirmed":
        return text + f"the stratified value keeps the overall order {against}."
    return text + f"the stratified values {against} are not separated."


def _percent(share: float) -> str:
    """Whole percent, but never 100 for less than all nor 50 for more than half."""
    for digits in range(6):
        text = f"{100 * share:.{digits}f}"
        if (share == 1 or float(text) < 100) and float(text) > 50:
            return f"{text} %"
    return f"{100 * share:.6f} %"
