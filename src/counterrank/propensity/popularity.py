r"""Propensities from popularity: an item that got much feedback was shown often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterrank.core.arrays import Floats
from counterrank.core.errors import InputError, one_of
from counterrank.propensity.power_law import positive, power_law

RULES = ("paper", "published")
UNSEEN = ("one", "missing")


@dataclass(frozen=True, eq=False)
class Popularity:
    """A propensity for each item, the same for every user; ``alpha`` and ``xmin`` of the fit.

    Without a fit, because all counts are equal, ``alpha`` is missing (NaN).
    """

    value: Floats
    alpha: float
    xmin: int
    rule: str


def popularity(
    counts: npt.ArrayLike, *, rule: str = "paper", unseen: str = "one", method: str = "approximate"
) -> Popularity:
    r"""Propensities of items from how much feedback each got.

    ``paper`` is Eq. 7 of Jadidinejad et al. (2021), after Yang et al. (2018),

    .. math:: p_i = (n_i / \max_j n_j)^{(\gamma + 1) / 2}

    with :math:`\gamma` the exponent :math:`\alpha` of the power law of the counts :math:`n`, and
    the largest propensity scaled to 1. ``published`` is what the code of that paper computes:
    :math:`n_i^\alpha` where :math:`n_i > x_{min}`, otherwise :math:`n_i`, not scaled.

    Items without feedback do not enter the fit. ``unseen`` says what becomes of them: they count
    as if they had ``one`` piece of feedback, the least an item can show, or are ``missing`` (NaN).
    Counts that are all equal have no power law and need none; the exponent is then 1 in both rules.
    """
    one_of("popularity rule", rule, RULES)
    one_of("unseen", unseen, UNSEEN)
    given = np.asarray(counts).ravel()
    seen = positive(given)
    if len(seen) == 0:
        raise InputError("Popularity needs feedback.", found="No item has any.")
    alpha, xmin = float("nan"), int(seen[0])
    if np.any(seen != seen[0]):
        law = power_law(seen, method=method)
        alpha, xmin = law.alpha, law.xmin
    n = np.where(given > 0, given, 1.0 if unseen == "one" else np.nan)
    exponent = 1.0 if np.isnan(alpha) else alpha
    value: Floats = (n / n[given > 0].max()) ** ((exponent + 1) / 2)
    if rule == "published":
        value = n ** np.where(n > xmin, exponent, 1.0)
    return Popularity(value, alpha, xmin, rule)
