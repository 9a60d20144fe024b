"""The results of ``assess``: what each question about measures or estimators found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from counterrank.diagnostics.diagnosis import Diagnosis, worst
from counterrank.errors import one_of
from counterrank.results.document import as_json, document
from counterrank.results.notebook import Notebook as Result
from counterrank.schema import Input


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Result):
    """One answer: ``estimates`` are its figures, ``tables`` what only this question has.

    All rows are dataclasses. ``recommendation`` says in three sentences which measure or estimator
    to use on data like these, and why.
    """

    kind: str
    estimates: Sequence[Any]
    comparisons: Sequence[Any]
    diagnoses: list[Diagnosis]
    recommendation: tuple[str, ...]
    tables: Mapping[str, Sequence[Any]]
    protocol: dict[str, Any]
    inputs: tuple[Input, ...]
    units: pl.DataFrame

    def __repr__(self) -> str:
        rows = [
            "  ".join(f"{k} {_short(v)}" for k, v in vars(row).items()) for row in self.estimates
        ]
        return "\n".join([*rows, *self.recommendation])

    @property
    def verdict(self) -> str:
        """The gravest verdict of all diagnoses."""
        return worst(self.diagnoses)

    def table(self, name: str) -> pl.DataFrame:
        """One of ``tables``, or ``estimates`` or ``comparisons``, as a Polars frame."""
        found = {"estimates": self.estimates, "comparisons": self.comparisons, **self.tables}
        return pl.DataFrame([vars(row) for row in found[one_of("table", name, found)]])

    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain values, in the shape every verb shares."""
        further: dict[str, Any] = {"recommendation": list(self.recommendation)}
        further |= {name: [dict(vars(row)) for row in rows] for name, rows in self.tables.items()}
        return document(
            self.kind,
            self.protocol,
            self.inputs,
            estimates=self.estimates,
            comparisons=self.comparisons,
            diagnoses=self.diagnoses,
            further=further,
        )

    def to_json(self) -> str:
        """The whole result as one JSON document, a row a line; what has no value is null."""
        return as_json(self.to_dict())

    def to_frame(self) -> pl.DataFrame:
        """The estimates as a Polars frame."""
        return self.table("estimates")

    def by_unit(self) -> pl.DataFrame:
        """The values the answer was made of: unit, system, measure, value."""
        return self.units


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
