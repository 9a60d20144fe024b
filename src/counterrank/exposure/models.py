r"""Position models: :math:`c(r)`, the weight of rank :math:`r`, counted from 1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.errors import UsageError
from counterrank.text import Value


class Exposure(Value, ABC):
    """A position model. It is a value: it prints as its label and parses back from it."""

    @abstractmethod
    def at(self, rank: Ints) -> Floats:
        """Weight of each rank."""

    def best(self, count: int, depth: int | None) -> Floats:
        """The ``count`` largest weights among ranks 1 to ``depth``, largest first, then zeros."""
        rank = np.arange(1, count + 1)
        return self.at(rank) * (rank <= (count if depth is None else depth))

    def between(self, first: Ints, last: Ints) -> Floats:
        """Mean weight over the ranks ``first`` to ``last``, both included."""
        mean = self.at(first)
        tied = last > first
        low, high = first[tied], last[tied]
        upto = np.cumsum(np.append(0.0, self.at(np.arange(1, high.max(initial=0) + 1))))
        mean[tied] = (upto[high] - upto[low - 1]) / (high - low + 1)
        return mean


@dataclass(frozen=True)
class Flat(Exposure):
    r""":math:`c(r) = 1`: every rank counts the same."""

    name: ClassVar[str] = "flat"

    def at(self, rank: Ints) -> Floats:
        return np.ones(len(rank))


@dataclass(frozen=True)
class Log2(Exposure):
    r""":math:`c(r) = 1 / \log_2(r + 1)`."""

    name: ClassVar[str] = "log2"

    def at(self, rank: Ints) -> Floats:
        return 1 / np.log2(rank + 1)


@dataclass(frozen=True)
class Jarvelin(Exposure):
    r""":math:`c(r) = 1 / \max(1, \log_b r)`: no discount up to rank :math:`b`.

    The first published DCG (Jarvelin and Kekalainen, 2002); LensKit's default.
    """

    base: float = 2
    name: ClassVar[str] = "jarvelin"

    def __post_init__(self) -> None:
        if not self.base > 1:
            raise UsageError("jarvelin(base=...) needs a base above 1.", found=f"Got {self.base}.")

    def at(self, rank: Ints) -> Floats:
        logs: Floats = np.log(rank) / np.log(self.base)
        return 1 / np.maximum(1, logs)


@dataclass(frozen=True)
class Power(Exposure):
    r""":math:`c(r) = r^{-\eta}`."""

    eta: float = 1
    name: ClassVar[str] = "power"

    def __post_init__(self) -> None:
        if not self.eta >= 0:
            raise UsageError("power(eta=...) needs eta of 0 or more.", found=f"Got {self.eta}.")

    def at(self, rank: Ints) -> Floats:
        return np.asarray(rank, float) ** -self.eta


@dataclass(frozen=True)
class Geometric(Exposure):
    r""":math:`c(r) = p^{r - 1}`: at each rank the user goes on with probability :math:`p`."""

    p: float = 0.8
    name: ClassVar[str] = "geometric"

    def __post_init__(self) -> None:
        if not 0 < self.p < 1:
            raise UsageError("geometric(p=...) needs p between 0 and 1.", found=f"Got {self.p}.")

    def at(self, rank: Ints) -> Floats:
        return self.p ** (np.asarray(rank, float) - 1)


@dataclass(frozen=True)
class Table(Exposure):
    r""":math:`c(r)` from a list, zero below it: ``table(1,0.6,0.4)``."""

    weights: tuple[float, ...] = (1.0,)
    name: ClassVar[str] = "table"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(self.weights))
        if not self.weights or not all(0 <= w < np.inf for w in self.weights):
            raise UsageError(
                "table(...) needs weights of 0 or more, for ranks 1, 2, 3, ...",
                found=f"Got {self.weights}.",
            )

    def at(self, rank: Ints) -> Floats:
        weight: Floats = np.append(np.asarray(self.weights, float), 0.0)
        seen: Floats = weight[np.minimum(rank, len(weight)) - 1]
        return seen

    def best(self, count: int, depth: int | None) -> Floats:
        falling = np.sort(np.asarray(self.weights[:depth], float))[::-1]
        out = np.zeros(count)
        out[: len(falling)] = falling[:count]
        return out


MODELS: dict[str, type[Exposure]] = {
    model.name: model for model in (Flat, Log2, Jarvelin, Power, Geometric, Table)
}
