"""One position model per context: a phone is scrolled in another way than a desk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import InputError, UsageError, brief
from counterrank.position.models import Contexts, Exposure


@dataclass(frozen=True)
class ByContext:
    r""":math:`c(r \mid x)`: the model of the value that ``column`` has, else ``default``.

    Values are compared as text, so that 1 and "1" are one context. Without a default, a value
    that is not listed is refused.
    """

    column: str
    models: Mapping[str, Exposure]
    default: Exposure | None = None
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
            model = self.models.get(known, self.default)
            if model is None:
                raise InputError(
                    f'The position model has no curve for "{self.column}" = {brief(known)}.',
                    found=f"It knows: {', '.join(list(self.models)[:12])}.",
                    todo="Learn it with these rows, or give the model a default.",
                )
            here = value.eq_missing(known).to_numpy()
            out[here] = model.at(rank[here])
        return out
