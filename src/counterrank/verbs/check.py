"""``check``: every table through the door, all faults in one report, then the diagnoses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from counterrank import trust
from counterrank.api.evaluate import evaluate
from counterrank.data.runs import named_tables
from counterrank.engine import Engine
from counterrank.engine import engine as engine_of
from counterrank.errors import InputError, UsageError
from counterrank.exposure import ByContext, Exposure
from counterrank.progress import Progress, quiet
from counterrank.ranking import DEFAULTS, Measure
from counterrank.results.result import Result
from counterrank.trust import Diagnosis
from counterrank.verbs.audited import Audited, audited
from counterrank.verbs.checked_funnel import checked_funnel
from counterrank.verbs.checked_table import TableReport, checked_table
from counterrank.version import __version__

KINDS = {  # of which there can be one
    "judgments": "table of judgments", "log": "log", "funnel": "funnel",
    "predictions": "table of predictions",
}  # fmt: skip


@dataclass(frozen=True)
class Checked:
    """What ``check`` found; ``to_log`` is what a log should have had, most useful first."""

    tables: list[TableReport]
    diagnoses: list[Diagnosis]
    to_log: list[str] = field(default_factory=list)

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
        return [table.line() for table in self.tables]

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
            "to_log": self.to_log,
            "protocol": {},
            "provenance": {"version": __version__, "inputs": []},
        }


def check(
    tables: Mapping[str, object] | Sequence[object] | object,
    *,
    measures: Sequence[str | Measure] | None = None,
    duplicates: str = "error",
    rewards: str | Sequence[str] = (),
    position_bias: str | Path | Exposure | ByContext | None = None,
    contexts: str | Sequence[str] = (),
    views: str = "auto",
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Checked:
    """Report on tables, on how they fit together, and on what estimates of them would rest on.

    A table with a rating is judgments, one with a rank or score a run. One with a session and a
    reward is a log: it is audited, with rankers by session if some are given. One with user, click
    and conversion is a funnel: it is diagnosed as by ``funnel``, with runs and a table of predicted
    ctr or cvr if some are given. ``rewards``,
    ``position_bias``, ``contexts`` and ``views`` are as in ``estimate``; a column named context is
    taken for one. ``engine`` says where tables too large for memory go: to disk or to Spark.
    """
    given = list(named_tables(tables))
    chosen = engine_of(engine, [table for _, table in given])
    paid = [rewards] if isinstance(rewards, str) else list(rewards)
    reports = [
        checked_table(
            name, table, rewards=paid, columns=columns, duplicates=duplicates, engine=chosen,
            progress=progress,
        )
        for name, table in given
    ]  # fmt: skip
    for kind, name in KINDS.items():
        if sum(r.kind == kind and not r.fault for r in reports) > 1:
            raise UsageError(f"More than one {name} was given.", todo="Check one at a time.")
    diagnoses: list[Diagnosis] = []
    wanted: list[str] = []

    def note(place: int, found: Audited) -> None:
        """Take over what was found about the table at a place, and about those beside it."""
        diagnoses.extend(found.diagnoses)
        wanted.extend(found.to_log)
        for other, fault in (found.faults | ({place: found.fault} if found.fault else {})).items():
            reports[other] = replace(reports[other], fault=fault)

    for place in _places(reports, "log"):
        found = audited(
            given[place][1], {n: given[n] for n in _places(reports, "target")}, rewards=paid,
            position_bias=position_bias,
            contexts=[contexts] if isinstance(contexts, str) else list(contexts), views=views,
            columns=columns, users=reports[place].users, engine=chosen,
        )  # fmt: skip
        note(place, found)
    for place in _places(reports, "funnel"):
        guess = [given[n][1] for n in _places(reports, "predictions")]
        found = checked_funnel(
            given[place][1], {n: given[n] for n in _places(reports, "run")},
            guess[0] if guess else None, rewards=paid, duplicates=duplicates, columns=columns,
            engine=chosen,
        )  # fmt: skip
        note(place, found)
    diagnoses += _judged(given, reports, measures or DEFAULTS, duplicates, columns, chosen)
    return Checked(reports, diagnoses, wanted)


def _places(reports: list[TableReport], kind: str) -> list[int]:
    """Where the usable tables of a kind are."""
    return [place for place, report in enumerate(reports) if _usable(report, kind)]


def _judged(
    given: list[tuple[str, object]],
    reports: list[TableReport],
    measures: Sequence[str | Measure],
    duplicates: str,
    columns: Mapping[str, str] | None,
    engine: Engine,
) -> list[Diagnosis]:
    """How runs fit the judgments; runs that do not fit get their fault reported."""
    judged = [t for (_, t), r in zip(given, reports, strict=True) if _usable(r, "judgments")]

    def evaluated(runs: list[tuple[str, object]]) -> Result:
        return evaluate(
            judged[0], runs, measures=measures, test="none", duplicates=duplicates,
            columns=columns, engine=engine,
        )  # fmt: skip

    fit = []
    for place, report in enumerate(reports if judged else []):
        if not _usable(report, "run"):
            continue
        try:
            evaluated([given[place]])
            fit.append(given[place])
        except InputError as error:
            reports[place] = replace(report, fault=str(error))
    return evaluated(fit).diagnoses if fit else []


def _usable(report: TableReport, kind: str) -> bool:
    return report.kind == kind and not report.fault
