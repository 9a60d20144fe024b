"""All assumptions: a new one is a file beside these, and its name here."""

from __future__ import annotations

from counterrank.assumptions.assumption import Assumption
from counterrank.assumptions.carry_over import CarryOver
from counterrank.assumptions.confounding import Confounding
from counterrank.assumptions.contrast import Contrast
from counterrank.assumptions.drift import Drift
from counterrank.assumptions.examination import Examination
from counterrank.assumptions.interaction import Neighbours, NeighboursBelow
from counterrank.assumptions.own_slopes import OwnSlopes
from counterrank.assumptions.position_curve import PositionCurve
from counterrank.assumptions.trust_bias import Trust
from counterrank.assumptions.unseen_items import UnseenItems

ASSUMPTIONS: tuple[Assumption, ...] = (
    PositionCurve(), Trust(), OwnSlopes(), Neighbours(), NeighboursBelow(), Contrast(),
    Examination(), CarryOver(), Drift(), UnseenItems(), Confounding(),
)  # fmt: skip
