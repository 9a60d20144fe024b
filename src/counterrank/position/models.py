r"""Position models: :math:`c(r)`, the weight of rank :math:`r`, counted from 1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.core.arguments import Between, check_fields
from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import InputError, UsageError, brief
from counterrank.core.labels import Registry, Value, parse

Contexts = pl.Series | npt.NDArray[Any] | Sequence[Any]
Positive = Annotated[float, Between(0, np.inf, "both")]
STEP = 1e-5  # of a parameter, as a share of it


@dataclass(frozen=True, eq=False)
class CurveError:
    """How sure a learned model is: its ``parameters`` and their ``covariance`` between samples.

    The parameters are options of the model, or the ``weights`` of a table, one for each rank. There
    is no covariance where none was saved. ``clusters`` counts the users behind it, ``log`` tells
    the log that it was learned from, and ``learned`` how: the options of ``counterrank exposure``.
    """

    parameters: tuple[str, ...] = ()
    covariance: Floats | None = None
    clusters: int = 0
    log: Mapping[str, Any] = field(default_factory=dict)
    learned: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PositionModel(Value, ABC):
    """A position model. It is a value: it prints as its label and parses back from it.

    Below the cut-off ``k`` nothing is seen: ``power(eta=1)@10``.
    """

    k: int | None = None
    column: ClassVar[None] = None  # no context column is needed; see ByContext
    error: ClassVar[CurveError | None] = None  # no part of what the model is; see `with_error`

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise UsageError(f"{self.name}@{self.k}: a cut-off counts from 1.")
        check_fields(self, self.name)

    def __matmul__(self, k: int) -> Self:
        """The same model with cut-off ``k``: ``Power(eta=1) @ 10``."""
        return replace(self, k=k).with_error(self.error)

    def with_error(self, error: CurveError | None) -> Self:
        """The same model, which remembers how sure it is."""
        same = replace(self)
        object.__setattr__(same, "error", error)
        return same

    def slopes(self, rank: Ints) -> Floats:
        """How the weight of each rank moves with each parameter that was learned: a row for each.

        By central differences: good to ten digits.
        """
        rows = []
        for name in () if self.error is None else self.error.parameters:
            x = getattr(self, name)
            h = STEP * min(x, abs(1 - x) or x)  # a chance stays one
            up, down = (replace(self, **{name: x + s}).at(rank) for s in (h, -h))
            rows.append((up - down) / (2 * h))
        return np.array(rows).reshape(len(rows), len(rank))

    def at(self, rank: Ints, context: Contexts | None = None) -> Floats:
        """Weight of each rank; the same in every context."""
        weight = self.weight(rank)
        return weight if self.k is None else weight * (np.asarray(rank) <= self.k)

    @abstractmethod
    def weight(self, rank: Ints) -> Floats:
        """Weight of each rank, were there no cut-off."""

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
class Flat(PositionModel):
    r""":math:`c(r) = 1`: every rank counts the same."""

    name: ClassVar[str] = "flat"

    def weight(self, rank: Ints) -> Floats:
        return np.ones(len(rank))


@dataclass(frozen=True, kw_only=True)
class Scaled(PositionModel):
    """A model times ``scale``: where even rank 1 is not always seen."""

    scale: Positive = 1


@dataclass(frozen=True)
class Log2(Scaled):
    r""":math:`c(r) = s / \log_2(r + 1)`."""

    name: ClassVar[str] = "log2"

    def weight(self, rank: Ints) -> Floats:
        return self.scale / np.log2(np.asarray(rank) + 1)


@dataclass(frozen=True)
class Jarvelin(PositionModel):
    r""":math:`c(r) = 1 / \max(1, \log_b r)`: no discount up to rank :math:`b`.

    The first published DCG (Jarvelin and Kekalainen, 2002); LensKit's default.
    """

    base: Annotated[float, Between(1, np.inf, "both")] = 2
    name: ClassVar[str] = "jarvelin"

    def weight(self, rank: Ints) -> Floats:
        logs: Floats = np.log(rank) / np.log(self.base)
        return 1 / np.maximum(1, logs)


@dataclass(frozen=True)
class Power(Scaled):
    r""":math:`c(r) = s\, r^{-\eta}`."""

    eta: Annotated[float, Between(0, np.inf, "high")] = 1
    name: ClassVar[str] = "power"

    def weight(self, rank: Ints) -> Floats:
        return self.scale * np.asarray(rank, float) ** -self.eta


@dataclass(frozen=True)
class Geometric(Scaled):
    r""":math:`c(r) = s\, p^{r - 1}`: at each rank the user goes on with probability :math:`p`."""

    p: Annotated[float, Between(0, 1, "both")] = 0.8
    name: ClassVar[str] = "geometric"

    def weight(self, rank: Ints) -> Floats:
        return self.scale * self.p ** (np.asarray(rank, float) - 1)


@dataclass(frozen=True)
class BetaGeometric(Scaled):
    r""":math:`c(r) = s\, B(a + r - 1, b) / B(a, b)`: geometric, with users who differ.

    A user goes on at each rank with probability :math:`p`, drawn from Beta(:math:`a, b`) for each
    user, so :math:`c(r) = E[p^{r-1}] = \prod_{s=1}^{r-1} \frac{a + s - 1}{a + b + s - 1}`.
    The tail is longer than that of the mean user (Weinberg and Gladen 1986).
    """

    a: Positive = 4
    b: Positive = 1
    name: ClassVar[str] = "beta_geometric"

    def weight(self, rank: Ints) -> Floats:
        from scipy.special import betaln

        went_on = betaln(self.a + np.asarray(rank, float) - 1, self.b) - betaln(self.a, self.b)
        seen: Floats = self.scale * np.exp(went_on)
        return seen


@dataclass(frozen=True)
class WeightTable(PositionModel):
    r""":math:`c(r)` from a list, zero below it: ``table(1,0.6,0.4)``."""

    weights: tuple[float, ...] = ()
    name: ClassVar[str] = "table"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weights", tuple(self.weights))
        if not self.weights or not all(0 <= w < np.inf for w in self.weights):
            raise UsageError(
                "table(...) needs weights of 0 or more, for ranks 1, 2, 3, ...",
                found=f"Got {self.weights}.",
            )

    def weight(self, rank: Ints) -> Floats:
        weight: Floats = np.append(np.asarray(self.weights, float), 0.0)
        seen: Floats = weight[np.minimum(rank, len(weight)) - 1]
        return seen

    def slopes(self, rank: Ints) -> Floats:
        if self.error is None:
            return np.zeros((0, len(rank)))
        each = np.arange(1, len(self.weights) + 1)
        return np.equal.outer(each, rank) * (1.0 if self.k is None else np.asarray(rank) <= self.k)

    def best(self, count: int, depth: int | None) -> Floats:
        cuts = [cut for cut in (depth, self.k) if cut is not None]
        falling = np.sort(np.asarray(self.weights[: min(cuts, default=None)], float))[::-1]
        out = np.zeros(count)
        out[: len(falling)] = falling[:count]
        return out


KINDS = (Flat, Log2, Jarvelin, Power, Geometric, BetaGeometric, WeightTable)
exposure: Registry[PositionModel] = Registry("a position model", PositionModel, KINDS)


@dataclass(frozen=True)
class ByContext:
    r""":math:`c(r \mid x)`: the model of the value that ``column`` has, else ``default``.

    Values are compared as text, so that 1 and "1" are one context. Without a default, a value
    that is not listed is refused.
    """

    column: str
    models: Mapping[str, PositionModel]
    default: PositionModel | None = None
    name: ClassVar[str] = "by"

    def __post_init__(self) -> None:
        models = {str(value): model for value, model in self.models.items()}
        object.__setattr__(self, "models", MappingProxyType(models))
        if not models:
            raise UsageError(f'No model is given for any value of "{self.column}".')

    def __str__(self) -> str:
        default = () if self.default is None else (str(self.default),)
        each = (f"{value}={model}" for value, model in self.models.items())
        return f"{self.name}({','.join((self.column, *default, *each))})"

    def __matmul__(self, k: int) -> ByContext:
        """The same models with cut-off ``k``."""
        default = None if self.default is None else self.default @ k
        return ByContext(self.column, {v: m @ k for v, m in self.models.items()}, default)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def error(self) -> CurveError | None:
        """What is known of the first model's error: all were learned alike, or none was."""
        return next(iter(self.models.values())).error

    def of(self, value: str) -> PositionModel | None:
        """The model of a context."""
        return self.models.get(value, self.default)

    def at(self, rank: Ints, context: Contexts | None = None) -> Floats:
        """Weight of each rank in the context beside it."""
        if context is None:
            raise UsageError(
                f'The position model goes by "{self.column}", and no such column is there.',
                todo=f'Log "{self.column}", or give one model for all.',
            )
        rank = np.asarray(rank)
        value = pl.Series("value", context).cast(pl.String)
        out = np.empty(len(rank))
        for known in value.unique():
            model = self.of(known)
            if model is None:
                raise InputError(
                    f'The position model has no curve for "{self.column}" = {brief(known)}.',
                    found=f"It knows: {', '.join(list(self.models)[:12])}.",
                    todo="Learn it with these rows, or give the model a default.",
                )
            here = value.eq_missing(known).to_numpy()
            out[here] = model.at(rank[here])
        return out


PositionBias = PositionModel | ByContext


def position_model(label: str) -> PositionBias:
    """A position model, or one per context: ``by(device,log2,phone=geometric(p=0.8))``.

    The first place of ``by`` names the column, a second one the model of values not listed.
    """
    call = parse(label)
    if call.name.lower() != ByContext.name:
        return exposure(call)
    if not 1 <= len(call.placed) <= 2 or not isinstance(call.placed[0], str) or call.k:
        raise UsageError(
            f'"{label}" does not say which column it goes by.',
            todo="Write by(COLUMN,value=model,...), as in by(device,phone=geometric,tv=log2).",
        )
    models = {str(context): exposure(value) for context, value in call.named.items()}
    default = exposure(call.placed[1]) if len(call.placed) == 2 else None
    return ByContext(call.placed[0], models, default)
