"""How likely is a rank to be seen? Learnt from logs, or refused with reasons."""

from counterrank.exposure.learn.curve import Curve, Steps
from counterrank.exposure.learn.depth import depth
from counterrank.exposure.learn.em import em
from counterrank.exposure.learn.fit import FAMILIES, Parameter, fit
from counterrank.exposure.learn.harvest import harvest
from counterrank.exposure.learn.learning import METHODS, learn, learn_from
from counterrank.exposure.learn.learnt import Basis, Learnt, RankRow
from counterrank.exposure.learn.misfit import Misfit, balance, misfit
from counterrank.exposure.learn.plan import LOG, Plan
from counterrank.exposure.learn.rows import Rows, rows
from counterrank.exposure.learn.swap import swap
from counterrank.exposure.learn.views import views

__all__ = [
    "FAMILIES", "LOG", "METHODS", "Basis", "Curve", "Learnt", "Misfit", "Parameter", "Plan",
    "RankRow", "Rows", "Steps", "balance", "depth", "em", "fit", "harvest", "learn", "learn_from",
    "misfit", "rows", "swap", "views",
]  # fmt: skip
