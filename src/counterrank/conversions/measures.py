r"""Measures of conversions: the weight :math:`c(\text{rank})` of a conversion at each rank.

Those that judged measures know (DCG, CG, P, RBP) are read from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.errors import UsageError
from counterrank.exposure import MODELS, Exposure, Jarvelin, exposure
from counterrank.ranking import CG, DCG, RBP, Measure, P
from counterrank.text import Call, known_name, options, parse

NAMES = ("DCG", "CG", "Recall", "P", "RBP", "ARP", "PublishedDCG", "PublishedRecall")
MEASURES = ("DCG@10",)


@dataclass(frozen=True)
class RankItself(Exposure):
    r""":math:`c(r) = r`: not a chance to be seen, but the rank itself."""

    name: ClassVar[str] = "rank"

    def weight(self, rank: Ints) -> Floats:
        return np.asarray(rank, float)


@dataclass(frozen=True)
class ConversionMeasure:
    r"""A measure of conversions: :math:`\frac1{|U|} \sum_u \sum_i cvr_{ui}\, c(rank_{ui})`.

    ``model`` is :math:`c`, times ``scale``. ``form`` is ``total``, or ``share``: each user's sum is
    divided by the user's conversions over all items and cut to 0 to 1, as in the published
    experiment. ``lists``: it makes sense for lists of ``some`` items, or only of ``all``.
    """

    label: str
    model: Exposure
    scale: float = 1.0
    form: str = "total"
    lists: str = "some"
    better: str = "higher"

    def __str__(self) -> str:
        return self.label

    @property
    def depth(self) -> int | None:
        """The deepest rank that counts; None: all."""
        return None if self.form == "share" else self.model.k

    def at(self, rank: Ints) -> Floats:
        """The weight of each rank."""
        return self.scale * self.model.at(rank)

    def of_rows(self, rank: Ints) -> Floats:
        """The weight of every row: looked up, as there are far fewer ranks than rows."""
        deepest = int(rank.max(initial=0))
        if deepest > len(rank) + 1024:
            return self.at(rank)
        weight: Floats = np.append(0.0, self.at(np.arange(1, deepest + 1)))[rank]
        return weight


def conversion_measure(label: str | ConversionMeasure | Exposure) -> ConversionMeasure:
    """The measure a label stands for: ``DCG@10``, ``CG@5``, ``ARP``, ``power(eta=1)``, ..."""
    if isinstance(label, ConversionMeasure):
        return label
    if isinstance(label, Exposure):
        return ConversionMeasure(str(label), label)
    call = parse(str(label))
    wrong = f'"{call.name}" is not a measure of conversions.'
    name = known_name(call.name, [*NAMES, *MODELS], wrong)
    if name in MODELS:
        model = exposure(call)
        return ConversionMeasure(str(model), model)
    if call.placed or set(call.named) - ({"p"} if name == "RBP" else set()):
        raise UsageError(f"{name} takes no options here.", todo=f"Write {name}@10, or log2@10.")
    if call.k is None and name not in ("DCG", "RBP", "ARP"):
        raise UsageError(f"{name} needs a cut-off.", todo=f"Write {name}@10.")
    if name == "ARP":
        if call.k is not None:
            raise UsageError("ARP looks at whole rankings and has no cut-off.", todo="Write ARP.")
        return ConversionMeasure("ARP", RankItself(), lists="all", better="lower")
    judged = _judged(name, call)
    weight = judged.rank_weight()
    assert weight is not None
    if name.startswith("Published"):
        return ConversionMeasure(f"{name}@{call.k}", *weight, form="share", lists="all")
    return ConversionMeasure(f"{name}@{call.k}" if name == "Recall" else str(judged), *weight)


def _judged(name: str, call: Call) -> Measure:
    """The judged measure that weighs ranks alike; recall is not divided by anything here."""
    if name == "RBP":
        return RBP(k=call.k, **options(call, RBP))
    if name == "PublishedDCG":
        return DCG(k=call.k, discount=Jarvelin())
    kinds: dict[str, type[Measure]] = {"DCG": DCG, "P": P}
    return kinds.get(name, CG)(k=call.k)
