r"""Assumption: what was true of the log's days holds as long as the claim reaches.

The parameter is the slope of the lift over time: with the value :math:`F_s` and the reward
:math:`C_s` of session :math:`s` at time :math:`x_s`,

.. math:: \hat\beta = \frac{\sum_s (x_s - \bar x)(F_s - \lambda C_s)}{\sum_s (x_s - \bar x)^2},
          \qquad \lambda = \bar F / \bar C

The claim is about the mean over the ``horizon`` of :math:`h` days after a log of :math:`T` days, so
the shift is :math:`1.5\,\hat\beta\,(h + T) / 2`: trends bend, and with the corner without it the
interval holds all that is less. Of a trend that turns within the log the slope says nothing, so a
parabola is fitted beside it: where what its square adds at the log's end is more than chance, the
whole parabola, carried on, is another shift. The audit asks what the log can tell: what the line
does up to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told, Z
from counterrank.assumptions.evidence import LogEvidence, Placement
from counterrank.assumptions.score_test import SURE
from counterrank.core.arrays import Floats, divide

BEND = 1.5
PARABOLA = 2


class Drift(Assumption):
    """What readers like does not change from day to day."""

    name = "drift"
    corner = "drift"
    default = 0.05
    source = "a choice: what a lift is may change by 5% of the value"
    needs = "timestamp: when each session began"

    def learn(self, belief: Belief) -> Told:
        log = belief.log
        if log.days is None or float(np.ptp(log.days)) <= 0:
            return Told(says="The time of sessions was not logged.")
        days = f"{float(np.ptp(log.days)):.3g} days"
        says = f"The trend of the log's {days} up to its end."
        if not log.dated:
            says = f"The trend up to the log's end; its times are no dates, so it counts as {days}."
        return Told(told=True, says=says)

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        """The trend goes on; where it may be chance, what the user allows stands for it."""
        log, value = belief.log, belief.at(place, belief.plain).each
        move = self.range(belief) * abs(float(value.mean()))
        if learned.told and log.days is not None:
            paid = log.rows.by_session(log.paid)
            lift = float(divide(value.mean(), paid.mean(), 0.0))
            left = value - lift * paid
            line, psi = carry_on(left, log.days, far_ahead(log))
            trend = Shift(line, log.by_cluster(psi))
            if self.name not in belief.allow or loud(trend, log.n):
                return [replace(trend, value=BEND * line), *turns(log, left)]
        return [Shift(way * move, np.zeros(log.clusters)) for way in (1, -1)]

    def diagnose(
        self, belief: Belief, learned: Told, shifts: Sequence[Shift], lift: float, base: float
    ) -> tuple[float, float, str, str]:
        log = belief.log
        if not learned.told or log.days is None:
            return super().diagnose(belief, learned, shifts, lift, base)
        if self.name in belief.allow and not shifts[0].psi.any():
            says = (
                f"For the log's trend, which chance explains, stands a change of"
                f" {self.range(belief):.0%} of the value, as you allow."
            )
            return super().diagnose(belief, replace(learned, says=says), shifts, lift, base)
        to_end = float(np.ptp(log.days)) / 2 / far_ahead(log)
        trend = replace(shifts[0], value=shifts[0].value / BEND)
        parts = [trend * to_end, *shifts[1:]]
        seen = replace(learned, found=any(loud(s, log.n) for s in parts))
        size, harmless, state, text = super().diagnose(belief, seen, parts, lift, base)
        further = max((s.value / base for s in shifts), key=abs)
        text += (
            f" Carried on over the {log.horizon:.3g} days after the log that the claim is about, it"
            f" may be {further:+.1%}: the second interval holds that."
        )
        return size, harmless, state, text


def loud(shift: Shift, n: int, most: float = SURE) -> bool:
    """Whether a shift is beyond chance."""
    return abs(shift.value) > most * shift.error(n)


def far_ahead(log: LogEvidence) -> float:
    """Days from the middle of a log to the middle of what is claimed."""
    return ((log.horizon or 0.0) + float(np.ptp(log.days))) / 2 if log.days is not None else 0.0


def turns(log: LogEvidence, y: Floats) -> list[Shift]:
    """A parabola carried on, if what it adds to a line at the log's end is more than chance."""
    if log.days is None or len(np.unique(log.days)) <= PARABOLA:
        return []
    end = float(np.ptp(log.days)) / 2
    (one, psi), (both, curved) = (carry_on(y, log.days, end, degree) for degree in (1, PARABOLA))
    if not loud(Shift(both - one, log.by_cluster(curved - psi)), log.n, Z):
        return []
    both, curved = carry_on(y, log.days, far_ahead(log), PARABOLA)
    return [Shift(both, log.by_cluster(curved))]


def carry_on(y: Floats, x: Floats, far: float, degree: int = 1) -> tuple[float, Floats]:
    """What a polynomial in x makes of y so far from the middle of x, less its mean; influences."""
    middle = (x.max() + x.min()) / 2
    half = np.ptp(x) / 2
    powers = np.arange(1, degree + 1)
    z = ((x - middle) / half)[:, None] ** powers
    at, apart = (far / half) ** powers - z.mean(axis=0), z - z.mean(axis=0)
    inverse = np.linalg.inv(apart.T @ apart)
    slopes = inverse @ (apart.T @ y)
    rest = y - y.mean() - apart @ slopes
    return float(at @ slopes), len(y) * (apart @ (inverse @ at)) * rest
