"""Estimators of a target's value: each file holds formulas, as few lines over arrays.

From a label to its estimator: ``estimator("IPS(clip=200)")``.
"""

from __future__ import annotations

from counterrank.core.labels import Registry
from counterrank.ope.estimators.affine import Affine
from counterrank.ope.estimators.doubly_robust import DM, DR, SNDR
from counterrank.ope.estimators.ips import IPS, SNIPS, Estimator, OnPolicy
from counterrank.ope.estimators.logged_dcg import LoggedDCG, LoggedNDCG, LoggedPNDCG
from counterrank.ope.estimators.slate import IIPS, PI, RIPS, SIPS, SNIIPS, SNRIPS, SNSIPS, CascadeDR

KINDS = (
    OnPolicy, IPS, SNIPS, DM, DR, SNDR, Affine, LoggedDCG, LoggedNDCG, LoggedPNDCG,
    IIPS, SNIIPS, SIPS, SNSIPS, RIPS, SNRIPS, PI, CascadeDR,
)  # fmt: skip
estimator: Registry[Estimator] = Registry(
    "an estimator", Estimator, KINDS, only=lambda kind: "log" in kind.tables
)
