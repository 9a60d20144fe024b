"""The paradox audit: pairs of systems whose overall order most of the feedback contradicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Bools, Floats, Ints
from counterrank.errors import UsageError, one_of
from counterrank.inference import benjamini_hochberg, holm
from counterrank.stratified.paired import Paired, has_value, paired
from counterrank.stratified.paradox import Paradox, described
from counterrank.stratified.summed import AnyBlend, AnyFace, Way

CORRECTIONS = ("holm", "bh", "none")
HALF = 1e-12  # shares this close to one half are one half


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

    Shares are those of the data. ``p_value`` asks that :math:`b` leads in the stratified value too.
    """

    measure: str
    systems: Sequence[str]
    share: Floats
    sign: int
    ahead: Ints
    behind: Ints
    overall: Paired
    strata: Sequence[Paired]
    blend: Paired
    values: tuple[Floats, Sequence[Floats], Floats]

    @property
    def led(self) -> Bools:
        """Pairs whose overall values differ, so that one leads."""
        led: Bools = self.sign * self.overall.difference > 0
        return led

    @property
    def reversed_in(self) -> Bools:
        """Whether the one behind overall leads in a stratum: strata x pairs."""
        return np.array([self.sign * each.difference < 0 for each in self.strata])

    @property
    def share_reversed(self) -> Floats:
        """Share of the feedback in strata where the order is reversed."""
        share: Floats = self.share @ self.reversed_in
        return share

    @property
    def flips(self) -> Bools:
        """Pairs whose order is reversed in more than half of the feedback, proven or not."""
        flipped: Bools = self.share_reversed > 0.5 + HALF
        return flipped & self.led

    @property
    def value_flips(self) -> Bools:
        """Pairs whose order is reversed in the stratified value, proven or not."""
        flipped: Bools = self.sign * self.blend.difference < 0
        return flipped & self.led

    @property
    def p(self) -> Floats:
        """The p of each pair's paradox."""
        p = np.where(self.reversed_in, [each.p for each in self.strata], 1.0)
        order = np.argsort(p, axis=0, kind="stable")
        enough = np.cumsum(self.share[order], axis=0) > 0.5 + HALF
        last = np.take_along_axis(order, np.argmax(enough, axis=0)[None], axis=0)
        reversal = np.minimum(_tries(self.share) * np.take_along_axis(p, last, axis=0)[0], 1)
        return np.where(self.flips, np.maximum(self.overall.p, reversal), 1.0)

    @property
    def p_value(self) -> Floats:
        """The p of a paradox that the stratified value shares."""
        return np.where(self.value_flips, np.maximum(self.p, self.blend.p), 1.0)


def audited(
    systems: Sequence[str],
    measure: str,
    holdout: AnyFace,
    strata: Sequence[AnyFace],
    stratified: AnyBlend,
    *,
    better: str = "higher",
    share: Floats | None = None,
) -> Candidates:
    """Every pair of systems under one measure, tested overall, in each stratum and stratified.

    All methods are over the same users; strata are named by their ``method``. ``better`` says
    whether a higher or a lower value is. ``share`` is each stratum's share of all the feedback,
    where it is not that of the blend because strata without a value are left out of both.
    """
    one_of("better", better, ("higher", "lower"))
    counted = len(stratified.share if share is None else share)
    if len(strata) != counted:
        raise UsageError(
            "Each stratum needs its feedback.",
            found=f"{len(strata)} strata, feedback of {counted}.",
        )
    sign = 1 if better == "higher" else -1
    overall = _value(holdout)
    a, b = np.triu_indices(len(systems), 1)
    swap = sign * (overall[a] - overall[b]) < 0
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    return Candidates(
        measure=measure,
        systems=systems,
        share=stratified.share if share is None else share,
        sign=sign,
        ahead=a,
        behind=b,
        overall=paired(holdout, a, b),
        strata=[paired(face, a, b) for face in strata],
        blend=paired(stratified, a, b),
        values=(overall, [_value(face) for face in strata], _value(stratified)),
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
    one_of("correction", correction, CORRECTIONS)
    p, p_value = (
        np.concatenate([getattr(c, name) for c in candidates] or [np.zeros(0)])
        for name in ("p", "p_value")
    )
    corrected, value_corrected = _adjusted(p, correction), _adjusted(p_value, correction)
    rows, start, flips, value_flips = [], 0, 0, 0
    for c in candidates:
        end = start + len(c.ahead)
        proven = np.flatnonzero(c.flips & (corrected[start:end] <= 1 - level))
        rows += described(c, proven, corrected[start:end], value_corrected[start:end], level)
        flips += int(c.flips.sum())
        value_flips += int(c.value_flips.sum())
        start = end
    rows.sort(key=lambda row: (-row.loss, row.p, row.measure, row.ahead, row.behind))
    return Audit(rows, len(p), flips - len(rows), value_flips, correction, level)


def _adjusted(p: Floats, correction: str) -> Floats:
    if correction == "none":
        return p
    return holm(p) if correction == "holm" else benjamini_hochberg(p)


def _tries(share: Floats) -> int:
    """How many strata, at most, a smallest set that reaches half of the feedback has."""
    if share.max() > 0.5 + HALF:
        return 1
    rest = 1 - share.sum()  # strata without a value
    every = np.sort(np.append(share, rest) if rest > HALF else share)
    return int(np.argmax(np.cumsum(every) >= 0.5 - HALF)) + 1


def _value(face: Way) -> Floats:
    """The values of a method; missing where nobody counts."""
    if has_value(face):
        return face.value
    return np.full(len((face.faces[0] if isinstance(face, AnyBlend) else face).top), np.nan)
