r"""Propensities from popularity: an item that got much feedback was shown often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterrank.core.arguments import one_of
from counterrank.core.arrays import Floats
from counterrank.core.errors import InputError
from counterrank.propensity.power_law import (
    FIT,
    TAIL,
    PowerLaw,
    goodness_of_fit,
    positive,
    power_law,
)
from counterrank.stats.shrinkage import shrink_means

RULES = ("paper", "published")
UNSEEN = ("one", "missing")
MOST = 0.5  # of the feedback must lie in the tail: the law is applied to all of it


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


def frequency(counts: npt.ArrayLike, mean: float) -> Floats:
    r"""How often each item got feedback, shrunken: propensities that average to ``mean``.

    .. math:: p_i = \min(1,\ m\, \hat n_i / \bar n), \qquad
              \hat n_i = \bar n + (1 - \bar n / s^2)_+\, (n_i - \bar n)

    :math:`\bar n` and :math:`s^2` are mean and variance of the counts :math:`n_i` over items: what
    a Poisson count varies by itself is no difference of items. ``mean`` is :math:`m`, the share of
    all pairs of user and item that has feedback. No item is left without a chance, unless counts
    vary without end.
    """
    n = np.asarray(counts, float).ravel()
    if not len(positive(counts)):
        raise InputError("Popularity needs feedback.", found="No item has any.")
    value: Floats = np.minimum(mean / n.mean() * shrink_means(n, np.ones(len(n)), n.mean()), 1)
    return value


@dataclass(frozen=True)
class Support:
    """Whether a power law may be used: its ``law`` if there is one, its ``p``, or why not."""

    law: PowerLaw | None
    p: float | None
    reason: str


def law_support(counts: npt.ArrayLike) -> Support:
    """A power law needs a tail of 50 counts with half of the feedback, and must fit (p at .1)."""
    seen = positive(counts)
    try:
        law = power_law(seen)
    except InputError as error:
        return Support(None, None, str(error).split("\n")[0])
    share = float(seen[seen >= law.xmin].sum() / seen.sum())
    if law.tail < TAIL:
        return Support(law, None, f"Its tail has {law.tail} items, and {TAIL} are needed.")
    if share < MOST:
        return Support(law, None, f"Its tail has only {share:.0%} of the feedback.")
    p = goodness_of_fit(seen, law)
    return Support(law, p, "" if p >= FIT else f"It does not fit (p {p:.2g}, {FIT} is asked).")
