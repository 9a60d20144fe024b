r"""The one shape of every assumption: a parameter that is 0 when it holds.

The log tells something about the parameter, or nothing; then a default range stands for it. What a
target earns is a function of it, so an assumption *shifts* a value :math:`V` by :math:`d`, with
influence values :math:`\psi` by cluster like those of :math:`V` itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from counterrank.assumptions.evidence import LogEvidence, Placement, Valued
from counterrank.assumptions.two_way import TwoWay
from counterrank.core.arrays import Floats

HARMLESS = 0.1  # of the baseline's value; or half of the lift, where that is more
SEEN = 0.2  # of what is harmless: a violation that was found and moves a lift by more is a caution
NOTHING = 0.005  # a lift moved by this much is as good as unmoved, told or not
Z = 1.96


@dataclass(frozen=True, eq=False)
class Shift:
    """What a value moves by, its influence by cluster, ``extra`` variance that no unit shows."""

    value: float
    psi: Floats
    extra: float = 0.0

    def error(self, n: int) -> float:
        """Its standard error, over n units."""
        return float(np.sqrt(np.sum(self.psi**2) / n**2 + self.extra))

    def __add__(self, other: Shift) -> Shift:
        return Shift(self.value + other.value, self.psi + other.psi, self.extra + other.extra)

    @classmethod
    def mean(cls, log: LogEvidence, each: Floats) -> Shift:
        """The mean of what each session moves by."""
        return cls(float(each.mean()), log.by_cluster(each - each.mean()))

    def __mul__(self, factor: float) -> Shift:
        return Shift(factor * self.value, factor * self.psi, factor**2 * self.extra)


@dataclass(frozen=True, eq=False)
class Told:
    """What a log says of a parameter: its ``size`` and standard error ``se``, or why nothing.

    ``told`` says whether the log could tell; ``found``, whether it differs from 0 beyond chance.
    ``says`` is the sentence about the parameter. ``more`` is what shifts need of the fit, and what
    to ``log`` if it is not what the assumption ``needs``: nothing, where only more rows would tell.
    """

    size: float = float("nan")
    se: float = float("nan")
    told: bool = False
    found: bool = False
    says: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Belief:
    """One reward of a log: fits that assumptions share, and the ``allow``-ed sizes, by name."""

    log: LogEvidence
    allow: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def plain(self) -> TwoWay:
        """What views earn if the rank changes nothing."""
        return TwoWay.of(self.log, free=False)

    @cached_property
    def tilted(self) -> TwoWay:
        """What views earn at each rank."""
        return TwoWay.of(self.log, free=True)

    @cached_property
    def b(self) -> Floats:
        """How often each rank is seen, by curve."""
        return self.log.session_curve.share

    def value(self, place: Placement, fit: TwoWay, b: Floats) -> Shift:
        """F under a fit and a curve; the curve counts as estimated if it is the log's own."""
        return self._valued(place, fit, b)[1]

    def at(self, place: Placement, fit: TwoWay) -> Valued:
        """F session by session under a fit and the log's own curve."""
        return self._valued(place, fit, self.b)[0]

    def carried(self, place: Placement, fit: TwoWay) -> Floats:
        r"""How F, summed over sessions, moves with the log of what each row earns, of a free fit.

        By the row's own weight, and by the factors of ranks that are fitted anew:
        :math:`w_i v_i t_r q_g + n\, \mu_i (S^+ G)_{k(r)}`. What all rows of a group have in common
        is left out: it goes into q, and moves no weight.
        """
        log, at = self.log, self.at(place, fit)
        move = fit.inverse @ fit.by_step(at.slopes.t, at.slopes.q)
        return at.model * fit.q[log.group] + log.n * fit.mu * move[log.step[log.rank]]

    def _valued(self, place: Placement, fit: TwoWay, b: Floats) -> tuple[Valued, Shift]:
        name = id(fit), id(b)
        if name not in place.memo:
            log, at = self.log, place.at(b, fit.by_rank, fit.q)
            shift = Shift.mean(log, at.each)
            psi = shift.psi + fit.influence(at.slopes.t, at.slopes.q)
            if b is self.b:
                psi = psi + log.session_curve.influence(log, at.slopes.b)
            place.memo[name] = at, replace(shift, psi=psi), (fit, b)
        valued, found, _ = place.memo[name]
        return valued, found


class Assumption(ABC):
    """An assumption; those of one ``corner`` are taken as broken together.

    ``default`` is the size of the parameter that is allowed for where the log says nothing, with
    its ``source``. A ``fact`` is applied as estimated: that it holds is no corner.
    """

    name: ClassVar[str]
    corner: ClassVar[str]
    default: ClassVar[float] = float("nan")
    source: ClassVar[str] = ""
    needs: ClassVar[str] = ""  # what to log so that it can be told
    fact: ClassVar[bool] = False
    assumed: ClassVar[bool] = False  # no log can tell it
    of_ranks: ClassVar[bool] = False  # weights by logged propensities do without it

    def applies(self, belief: Belief) -> bool:
        """Whether values from such a log rest on it at all."""
        return not (self.of_ranks and belief.log.by_rank)

    @abstractmethod
    def learn(self, belief: Belief) -> Told:
        """What the log says of the parameter."""

    @abstractmethod
    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        """By how much a target's value moves, if it is broken as learned; one for each way."""

    def state(self, learned: Told, reach: float, harmless: float) -> str:
        """What to say of it, if it moves a lift by ``reach`` at most.

        It passes only where all that the log leaves possible is harmless for this lift.
        """
        if self.assumed:
            return "assumed"
        if learned.told and learned.found and reach > SEEN * harmless:
            return "caution"
        if reach <= harmless and (learned.told or reach <= NOTHING):
            return "pass"
        return "untested"

    def diagnose(
        self, belief: Belief, learned: Told, shifts: Sequence[Shift], lift: float, base: float
    ) -> tuple[float, float, str, str]:
        """By how much it moves the lift at most, what is harmless, its state, and a sentence.

        ``base`` is the value that lifts are shares of.
        """
        harmless = max(HARMLESS, abs(lift) / 2)
        ends = [
            (s.value + way * Z * s.error(belief.log.n)) / base for s in shifts for way in (1, -1)
        ]
        low, high = min([0.0, *ends]), max([0.0, *ends])
        reach = max(high, -low)
        state = self.state(learned, reach, harmless)
        moves = " It does not move this lift."
        if shifts:
            moves = f" It moves this lift by {low:+.1%} to {high:+.1%};"
            moves += f" {harmless:.0%} would be harmless."
        elif state == "untested":
            moves = " The second interval holds nothing for it."
        text = f"{learned.says}{moves}".strip()
        if shifts and state in ("untested", "assumed") and not learned.told:
            allowed = f"{self.range(belief):g}" if self.range(belief) == self.range(belief) else ""
            given = "as you allow" if self.name in belief.allow else self.source
            text += f" Allowed for: {allowed + ', ' if allowed else ''}{given}."
        if state == "untested":
            lacks = "" if learned.told else learned.more.get("log", self.needs)
            text += f" Log {lacks}." if lacks else " A longer log would tell."
        if state == "caution":
            text += " The second interval holds the lift with and without that."
        return reach, harmless, state, text

    def range(self, belief: Belief) -> float:
        """How large a parameter is allowed for where the log says nothing."""
        return float(belief.allow.get(self.name, self.default))
