"""``check``: every table through the door, all faults in one report, then the diagnoses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from counterrank import schema, trust
from counterrank.engine import aligned
from counterrank.errors import CounterrankError, InputError, UsageError
from counterrank.evaluation import Evaluation
from counterrank.pool import pooled
from counterrank.ranking import DEFAULTS, Measure
from counterrank.schema import Table
from counterrank.systems import names_and_tables
from counterrank.trust import Diagnosis
from counterrank.verbs.evaluate import evaluate
from counterrank.version import __version__


@dataclass(frozen=True)
class TableReport:
    """One table: what it was taken for, its size, and the fault that stops it, if any."""

    table: str
    kind: str
    rows: int
    users: int
    items: int
    fault: str


@dataclass(frozen=True)
class Checked:
    """What ``check`` found."""

    tables: list[TableReport]
    diagnoses: list[Diagnosis]

    @property
    def refused(self) -> bool:
        """Whether some table cannot be used."""
        return any(table.fault for table in self.tables)

    @property
    def verdict(self) -> str:
        """The gravest verdict of all diagnoses."""
        return trust.worst(self.diagnoses)

    def lines(self) -> list[str]:
        """One line per table, for people."""
        return [
            f"refused  {t.table}: {t.fault}"
            if t.fault
            else f"usable   {t.table}: {t.kind}, {t.rows:,} rows, {t.users:,} users,"
            f" {t.items:,} items."
            for t in self.tables
        ]

    def to_frame(self) -> pl.DataFrame:
        """The tables as a frame."""
        return pl.DataFrame([asdict(t) for t in self.tables])

    def to_dict(self) -> dict[str, Any]:
        """The whole result in the shape every verb shares."""
        return {
            "kind": "check",
            "estimates": [],
            "comparisons": [],
            "diagnoses": [asdict(d) for d in self.diagnoses],
            "tables": [asdict(t) for t in self.tables],
            "protocol": {},
            "provenance": {"version": __version__, "inputs": []},
        }


def check(
    tables: Mapping[str, object] | Sequence[object] | object,
    *,
    measures: Sequence[str | Measure] | None = None,
    duplicates: str = "error",
    columns: Mapping[str, str] | None = None,
) -> Checked:
    """Report on judgments and runs; with one table of judgments, on how they fit together.

    A table with a rating is judgments, one with a rank or score a run.
    """
    given = list(names_and_tables(tables))
    reports = [_report(name, table, columns, duplicates) for name, table in given]
    usable = [(r.kind, table) for r, (_, table) in zip(reports, given, strict=True) if not r.fault]
    judged = [table for kind, table in usable if kind == "judgments"]
    if len(judged) > 1:
        raise UsageError("More than one table of judgments was given.", todo="Check one at a time.")
    if not judged or len(usable) < 2:
        return Checked(reports, [])

    def evaluated(truth: object, runs: list[tuple[str, object]]) -> Evaluation:
        return evaluate(
            truth, runs, measures=measures or DEFAULTS, test="none", duplicates=duplicates,
            columns=columns,
        )  # fmt: skip

    fit = []
    for place, report in enumerate(reports):
        if report.kind != "run" or report.fault:
            continue
        try:
            evaluated(judged[0], [given[place]])
            fit.append(given[place])
        except InputError as error:
            reports[place] = replace(report, fault=str(error))
    return Checked(reports, evaluated(judged[0], fit).diagnoses if fit else [])


def _refuse_within(read: Table, kind: str, duplicates: str) -> None:
    """Faults that show only when a user's rows stand together: pairs or ranks given twice."""
    if kind == "judgments":
        pooled(read)
        return
    parts = read.frame.partition_by("system") if "system" in read.frame.columns else [read.frame]
    for part in parts:
        one = part.head(1).select("user", "item", rating=pl.lit(1.0))
        aligned(replace(read, frame=part), pooled(Table(read.source, one)), duplicates=duplicates)


def _report(
    name: str, table: object, columns: Mapping[str, str] | None, duplicates: str
) -> TableReport:
    """Take one table through the door it seems to belong to."""
    label = schema.label(table, name)
    kind = "table"
    try:
        kind = schema.kind_of(table, columns=columns)
        read: Table = (
            schema.judgments(table, columns=columns)
            if kind == "judgments"
            else schema.run(table, name=name, columns=columns)
        )
        _refuse_within(read, kind, duplicates)
    except CounterrankError as error:
        return TableReport(label, kind, 0, 0, 0, str(error))
    frame = read.frame
    return TableReport(
        label, kind, frame.height, frame["user"].n_unique(), frame["item"].n_unique(), ""
    )
