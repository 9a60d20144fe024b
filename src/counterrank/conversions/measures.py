r"""Measures of conversions: the weight :math:`c(\text{rank})` of a conversion at each rank.

Those that judged measures know (DCG, CG, P, RBP) are read from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.errors import UsageError
from counterrank.exposure import MODELS, Exposure, Flat, Geometric, Jarvelin, exposure
from counterrank.ranking import ARP, CG, DCG, MEASURES, RBP, P, Recall
from counterrank.text import Call, known_name, parse

PUBLISHED = {"PublishedDCG": Jarvelin, "PublishedRecall": Flat}  # shares of a user's conversions
NAMES = (*(kind.name for kind in (DCG, CG, Recall, P, RBP, ARP)), *PUBLISHED)
DEFAULTS = ("DCG@10",)


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
    if name == "RBP":
        return _rank_biased(call)
    if call.named or call.placed:
        raise UsageError(f"{name} takes no options here.", todo=f"Write {name}@10, or log2@10.")
    if call.k is None and name not in ("DCG", "ARP"):
        raise UsageError(f"{name} needs a cut-off.", todo=f"Write {name}@10.")
    if name == "ARP" and call.k is not None:
        raise UsageError("ARP looks at whole rankings and has no cut-off.", todo="Write ARP.")
    if name in PUBLISHED:
        model = PUBLISHED[name](k=call.k)
        return ConversionMeasure(f"{name}@{call.k}", model, form="share", lists="all")
    judged = MEASURES[name](k=call.k)
    lists = "all" if name == "ARP" else "some"
    return ConversionMeasure(str(judged), *judged.rank_weights(), lists=lists, better=judged.better)


def _rank_biased(call: Call) -> ConversionMeasure:
    """RBP(p=...): the geometric model, scaled so that a list of sure conversions is worth 1."""
    model = exposure(Call("geometric", call.named, call.placed, call.k))
    assert isinstance(model, Geometric)
    label = str(model).replace("geometric", "RBP", 1)
    return ConversionMeasure(label, model, RBP(p=model.p).rank_weights()[1])
