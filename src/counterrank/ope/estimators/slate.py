r"""Slates drawn by chance: a slate earns as a whole, item by item, or from the top down.

Notation: sessions :math:`\tau` with ranks :math:`r = 1, \dots, L`, reward :math:`c_r`, and weight
:math:`w_r = e_r \min(m, 1/e_{0r})`, where :math:`e_r` and :math:`e_{0r}` are the probabilities of
the logged item at its rank under target and logger. :math:`W_r = \prod_{s \le r} w_s` weighs the
slate down to rank :math:`r`. Products of weights are right where ranks are drawn independently, or
where each probability is given the items above.
"""

from __future__ import annotations

from dataclasses import dataclass

from counterrank.core.arrays import Floats
from counterrank.ope.estimators.clipped_weight import Rows
from counterrank.ope.estimators.ips import IPS, Clipped
from counterrank.stats.functions_of_means import Function, ratio, sum_of_ratios

ROWS = frozenset({"propensity"})
PREFIX = ROWS | {"slates", "chances"}
FILLED = frozenset({"filled"})
LOG = ("log",)


@dataclass(frozen=True)
class IIPS(IPS):
    r""":math:`\frac1n \sum_\tau \sum_r w_r c_r`: a reward depends on its own item and rank only.

    Independent IPS (Li et al. 2018): IPS, where the log's propensities are what is weighted by.
    """

    tables = LOG
    formula = "mean over sessions of sum_r w_r c_r"
    needs = ROWS


@dataclass(frozen=True)
class SNIIPS(Clipped):
    r""":math:`\sum_r p_r \sum_\tau w_r c_r / \sum_\tau w_r`, with weights normalised at each rank.

    :math:`p_r` is the share of sessions that reach rank :math:`r`.
    """

    tables = LOG
    formula = "sum_r (share of sessions with rank r) sum w_r c_r / sum w_r"
    needs = ROWS | FILLED
    fills = True

    def columns(self, rows: Rows) -> list[Floats]:
        return rows.by_rank(rows.weight(self.clip))

    def function(self) -> Function:
        return sum_of_ratios


@dataclass(frozen=True)
class SIPS(Clipped):
    r""":math:`\frac1n \sum_\tau W_L \sum_r c_r`: no assumption on how a slate earns.

    Standard slate IPS: the slate is one action. It varies much once slates are long.
    """

    tells = True
    tables = LOG
    formula = "mean over sessions of (product_r w_r) sum_r c_r"
    needs = PREFIX | FILLED

    def columns(self, rows: Rows) -> list[Floats]:
        return [rows.product(rows.weight(self.clip)) * rows.total(rows.reward)]

    def weights(self, rows: Rows, clip: float) -> Floats:
        return rows.product(rows.weight(clip))[rows.session]


@dataclass(frozen=True)
class SNSIPS(Clipped):
    r""":math:`\sum_\tau W_L \sum_r c_r / \sum_\tau W_L`: SIPS, self-normalised."""

    tables = LOG
    formula = "sum of (product_r w_r) sum_r c_r / sum of product_r w_r"
    needs = PREFIX | FILLED
    fills = True

    def columns(self, rows: Rows) -> list[Floats]:
        W = rows.product(rows.weight(self.clip))
        return [W * rows.total(rows.reward), W]

    def function(self) -> Function:
        return ratio


@dataclass(frozen=True)
class SlateWeight(Clipped):
    r""":math:`\frac1n \sum_\tau W_L`: 1 where the weights are right, less if clipped."""

    formula = "mean over sessions of product_r w_r"
    about = "weights"

    def columns(self, rows: Rows) -> list[Floats]:
        return [rows.product(rows.weight(self.clip))]


@dataclass(frozen=True)
class RIPS(Clipped):
    r""":math:`\frac1n \sum_\tau \sum_r W_r c_r`: a reward depends on its item and those above.

    Reward interaction IPS (McInerney et al. 2020): right for users who go from the top down.
    """

    tells = True
    tables = LOG
    formula = "mean over sessions of sum_r (product_{s<=r} w_s) c_r"
    needs = PREFIX

    def columns(self, rows: Rows) -> list[Floats]:
        return [rows.total(rows.through(self.clip) * rows.reward)]

    def weights(self, rows: Rows, clip: float) -> Floats:
        return rows.through(clip)


@dataclass(frozen=True)
class SNRIPS(Clipped):
    r""":math:`\sum_r p_r \sum_\tau W_r c_r / \sum_\tau W_r`: RIPS, self-normalised at each rank."""

    tables = LOG
    formula = "sum_r (share of sessions with rank r) sum W_r c_r / sum W_r"
    needs = PREFIX | FILLED
    fills = True

    def columns(self, rows: Rows) -> list[Floats]:
        return rows.by_rank(rows.through(self.clip))

    def function(self) -> Function:
        return sum_of_ratios


@dataclass(frozen=True)
class PI(Clipped):
    r""":math:`\frac1n \sum_\tau (1 + \sum_r (w_r - 1)) \sum_r c_r`: items add up.

    The pseudo-inverse estimator (Swaminathan et al. 2017) in its closed form for loggers that draw
    each rank independently. Only the slate's total reward is used.
    """

    tables = LOG
    formula = "mean over sessions of (1 + sum_r (w_r - 1)) sum_r c_r"
    needs = ROWS | {"slates"} | FILLED

    def columns(self, rows: Rows) -> list[Floats]:
        w = rows.weight(self.clip)
        return [(1 + rows.total(w - 1)) * rows.total(rows.reward)]


@dataclass(frozen=True)
class CascadeDR(Clipped):
    r"""Doubly robust from the top down (Kiyohara et al. 2022).

    .. math:: \frac1n \sum_\tau \sum_r [ W_r (c_r - \hat Q_r)
              + W_{r-1} \sum_a \pi_r(a)\, \hat Q_r(a) ]

    :math:`\hat Q_r(a)` predicts what the target earns from rank :math:`r` on with item :math:`a`
    there; it was learned from other users' sessions. :math:`\pi_r(a)` is the target's probability.
    """

    tables = LOG
    formula = "mean over sessions of sum_r W_r (c_r - Q_r) + W_{r-1} E_target[Q_r]"
    needs = PREFIX | {"future"}
    fills = True

    def columns(self, rows: Rows) -> list[Floats]:
        missed = rows.through(self.clip) * (rows.reward - rows.future)
        return [rows.total(missed + rows.before(self.clip) * rows.ahead)]
