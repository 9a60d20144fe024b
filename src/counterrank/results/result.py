"""One result for every verb: values, comparisons, diagnostics, and what they rest on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from importlib.util import find_spec
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from counterrank.core.arguments import one_of
from counterrank.core.arrays import Floats
from counterrank.core.errors import UsageError, unknown
from counterrank.core.parallel import Progress, quiet
from counterrank.data.schema import Input
from counterrank.diagnostics.diagnostic import (
    Diagnostic,
    concerning,
    with_concerns,
    worst,
)
from counterrank.documents.document import as_json, document
from counterrank.stats.compare import Comparison, compare
from counterrank.stats.moments import Pair, Table
from counterrank.stats.plan import Plan
from counterrank.stats.units import Estimate, Functions, Key, Units

if TYPE_CHECKING:
    from counterrank.report.charts import Figure
    from counterrank.stats.corner_bounds import CornerBounds

PerUnit = Callable[[Units, Key], Floats | None]  # a number for each unit of a key's table


@dataclass(frozen=True)
class Row:
    """One value: of what, by what, how, and how sure; the same row in every verb.

    ``bound_low``, ``bound_high`` also allow for what the data cannot rule out of the assumptions,
    where a verb has such bounds. ``effective_units`` are what its units are worth where they come
    in unequal clusters. ``verdict`` is whether to believe it: pass, caution or fail. ``clusters``
    is the number of clusters, such as users of sessions. What does not apply is empty, or not a
    number.
    """

    system: str
    measure: str
    reward: str | None
    estimator: str
    segment: str | None
    value: float
    se: float
    low: float
    high: float
    level: float
    units: int
    effective_units: float | None
    verdict: str
    clusters: int = 0
    bound_low: float | None = None
    bound_high: float | None = None

    method = Key.method


BOUNDS = {
    "estimates": ("bound_low", "bound_high"),
    "comparisons": ("bound_low", "bound_high", "lift_bound_low", "lift_bound_high"),
}  # of results that have a second interval
ROW = tuple(f.name for f in fields(Row) if f.name not in ("clusters", *BOUNDS["estimates"]))
COMPARISON = tuple(f.name for f in fields(Comparison) if f.name not in BOUNDS["comparisons"])
DIAGNOSTIC = (
    "id", "name", "subject", "systems", "estimators", "value", "threshold", "state", "meaning",
)  # fmt: skip
COLUMNS = {"estimates": ROW, "comparisons": COMPARISON, "diagnostics": DIAGNOSTIC}


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What a verb found.

    ``tables`` are what only this verb has: further keys of the document, lists of rows or plain
    values. ``units`` and ``functions`` are what the values were made of, where there are any:
    `estimate` and `difference` read them. ``unit_frame`` is what `by_unit` gives where values were
    not made of ``units``: unit, system, measure, value. ``parse`` makes the text of a label from
    what a caller writes for it; ``default`` is the estimator that is meant where none is named.
    ``notes`` is what else a verb has to say, which its document leaves out. Tables and notes are
    attributes, too. ``options`` is the call that made it, as plain values.
    """

    kind: str
    estimates: Sequence[Any]
    comparisons: Sequence[Any]
    diagnostics: list[Diagnostic]
    protocol: dict[str, Any]
    inputs: tuple[Input, ...]
    tables: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)
    units: Table | None = None
    unit_frame: pl.DataFrame | None = None
    functions: Functions = field(default_factory=dict)
    per_unit: PerUnit | None = None
    parse: Callable[[object], str] = str
    default: str = ""
    options: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        kind: str,
        units: Table,
        *,
        functions: Functions,
        groups: Sequence[Sequence[Pair]],
        plan: Plan,
        diagnostics: list[Diagnostic],
        protocol: dict[str, Any],
        inputs: Mapping[str, Input],
        tables: Mapping[str, Any] | None = None,
        notes: Mapping[str, Any] | None = None,
        counts: Mapping[Key, int] | None = None,
        spans: Mapping[Key, float] | None = None,
        subjects: Callable[[Key], set[str]] | None = None,
        bounds: CornerBounds | None = None,
        family: Callable[[int, int], str] | None = None,
        per_unit: PerUnit | None = None,
        parse: Callable[[object], str] = str,
        default: str = "",
        progress: Progress = quiet,
    ) -> Result:
        """Every estimate and comparison of a table of units.

        ``functions`` say what each key is, in the order of the rows; ``groups`` of pairs what is
        compared; ``subjects`` what diagnostics of which subjects concern a key; ``counts`` how many
        units a row tells of, where that is not all that the value is over; ``bounds`` what
        assumptions may do to values.
        """
        about, over = subjects or concerning, counts or {}
        whole = [key for key in functions if key.segment is None]
        decides = plan.rule.decides(whole, default)
        diagnostics = with_concerns(diagnostics, functions)
        states: dict[tuple[str, str, str, str | None], str] = {}
        rows, verdicts = [], {}
        near = {s: [d for d in diagnostics if s in (d.systems or [s])] for s, *_ in functions}
        for key, function in functions.items():
            e = units.estimate(key, function)
            low, high = plan.ends(e, (spans or {}).get(key))
            which = key.system, key.estimator, key.measure, key.reward
            if which not in states:
                listed = [d for d in near[key.system] if d.concerns(*which)]
                own = [d for d in listed if d.systems or d.estimators or d.subject in about(key)]
                states[which] = worst(own)
            verdicts[key] = states[which]
            around = None if bounds is None else bounds.value(key, e, plan.width(e.freedom))
            rows.append(
                Row(
                    key.system, key.measure, key.reward, key.estimator, key.segment, e.value, e.se,
                    low, high, plan.level, over.get(key, e.n), e.sizes.effective, verdicts[key],
                    e.clusters, *(around or ()),
                )
            )  # fmt: skip
        return cls(
            kind=kind,
            estimates=rows,
            comparisons=compare(
                units, groups, functions, plan, spans=spans, family=family, verdicts=verdicts,
                bounds=bounds, lower=protocol.get("lower_is_better", ()), progress=progress,
            ),
            diagnostics=diagnostics,
            protocol={**protocol, **_groups(units), "decides": decides},
            inputs=tuple(inputs.values()),
            tables=tables or {},
            notes=notes or {},
            plan=plan,
            units=units,
            functions=functions,
            per_unit=per_unit,
            parse=parse,
            default=default,
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        """A note or table of the verb by its name; a note is the thing that a table spells out."""
        for several in ("notes", "tables"):
            if name in (found := self.__dict__.get(several, {})):
                return found[name]
        raise AttributeError(f"a result of {self.__dict__.get('kind')} has no {name}")

    @property
    def verdict(self) -> str:
        """The gravest verdict of all diagnostics."""
        return worst(self.diagnostics)

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems' names."""
        return tuple(dict.fromkeys(row.system for row in self.estimates if hasattr(row, "system")))

    @property
    def recommendation(self) -> list[str]:
        """What the numbers recommend, in sentences, where a verb does so."""
        return list(self.tables.get("recommendation", ()))

    @property
    def not_passing(self) -> list[Diagnostic]:
        """Diagnostics that do not pass, but for what no data can tell."""
        return [d for d in self.diagnostics if d.state not in ("pass", "assumed")]

    def key(self, system: str, *labels: object) -> Key:
        """The first key of a system that has all labels: measure, estimator, reward, segment."""
        if system not in self.systems:
            raise unknown(f'There is no system "{system}".', system, self.systems, "There are")
        mine = [key for key in self.functions if key.system == system]
        named = [key for key in mine if all(self._has(key, label) for label in labels)]
        usual = [key for key in named if key.estimator == self.default and key.segment is None]
        if named:
            return (usual or named)[0]
        there = dict.fromkeys(part for key in mine for part in key[1:] if part)
        raise UsageError(
            f"There is no estimate {' / '.join([system, *map(str, labels)])}.",
            todo=f"{system} has: {', '.join(there)}.",
        )

    def _has(self, key: Key, label: object) -> bool:
        return str(label) in key[1:] or self.parse(label) in key[1:]

    def estimate(self, system: str, *labels: object) -> Estimate:
        """One estimate over its own units: subtract two for a paired difference, divide for a lift.

        ``labels`` are a measure, an estimator, a reward or a stratum, as many as it takes.
        """
        key = self.key(system, *labels)
        assert self.units is not None
        return self.units.estimate(key, self.functions[key])

    def difference(self, system: str, baseline: str, *labels: object) -> Estimate:
        """One system minus another, over the units both have."""
        a, b = self.key(system, *labels), self.key(baseline, *labels)
        assert self.units is not None
        shared = self.units.over(a, b)
        return shared.estimate(a, self.functions[a]) - shared.estimate(b, self.functions[b])

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Estimates, comparisons, diagnostics or one of ``tables``, as in the document."""
        several: dict[str, Any] = {key: getattr(self, key) for key in COLUMNS}
        several |= {name: rows for name, rows in self.tables.items() if _rows(rows)}
        rows = several[one_of("table", name, several)]
        if name not in COLUMNS:
            return [dict(row) if isinstance(row, dict) else asdict(row) for row in rows]
        columns = COLUMNS[name]
        if self.protocol.get("bounds") == "auto":
            columns += BOUNDS.get(name, ())
        read = attrgetter(*columns)
        return [
            {key: None if value == "" else value for key, value in zip(columns, own, strict=True)}
            for own in map(read, rows)
        ]

    def to_frame(self, name: str = "estimates") -> pl.DataFrame:
        """The rows of that name as a Polars frame: estimates, comparisons, diagnostics, ..."""
        if name in COLUMNS and not self.rows(name):
            return pl.DataFrame(schema=list(COLUMNS[name]))
        return pl.DataFrame(self.rows(name), infer_schema_length=None)

    def by_unit(self) -> pl.DataFrame:
        """A number for each unit of every key that has such; their mean makes its value."""
        if self.unit_frame is not None:
            return self.unit_frame
        if not isinstance(self.units, Units):
            raise UsageError(
                "There are no values per unit, as only their moments were kept.",
                todo='Ask for inference="units" to keep them, or do without.',
            )
        keys = list(self.functions)
        parts = {name: [getattr(key, name) for key in keys] for name in ROW[:5]}
        kinds = {
            name: pl.Enum(list(dict.fromkeys(filter(None, own))))
            for name, own in parts.items()
            if any(own)
        }
        tables = {key: self.units.over(key) for key in keys}
        given = {key: self._values(table, key) for key, table in tables.items()}
        values = {key: value for key, value in given.items() if value is not None}
        columns = {"unit": pl.concat([tables[key].ids for key in values], rechunk=True)}
        rows = np.repeat(np.arange(len(values)), [tables[key].n for key in values])
        for name, kind in kinds.items():
            labels = pl.Series([getattr(key, name) for key in values], dtype=kind)
            columns[name] = labels.gather(rows)
        return pl.DataFrame({**columns, "value": np.concatenate(list(values.values()))})

    def _values(self, table: Units, key: Key) -> Floats | None:
        if self.per_unit is not None:
            return self.per_unit(table, key)
        function = self.functions[key]
        return table.estimate(key, function).value + table.influence(key, function)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain values, in the shape every verb shares."""
        return document(
            self.kind,
            self.protocol,
            self.inputs,
            rows={name: self.rows(name) for name in COLUMNS},
            tables={n: self.rows(n) if _rows(own) else own for n, own in self.tables.items()},
            options=self.options,
        )

    def to_json(self) -> str:
        """The whole result as one JSON document, a row a line; what has no value is null."""
        return as_json(self.to_dict())

    def plot(self, name: str = "") -> Figure:
        """A figure of the page by its name, or the first; it shows itself in a notebook, offline.

        Names are lifts, values, weights, tipping, positions, p_curve and others, by verb; its
        ``save`` writes the picture as SVG.
        """
        from counterrank.report.figures import figure_named

        return figure_named(self.to_dict(), name)

    def to_pandas(self, name: str = "estimates") -> Any:
        """The same as a pandas frame."""
        if find_spec("pandas") is None:
            raise UsageError(
                "pandas is not installed.", todo="Install it, or use to_frame() for a Polars frame."
            )
        import pandas as pd

        return pd.DataFrame(self.rows(name))

    def to_markdown(self) -> str:
        """The table, what it rests on and the decision as Markdown, for a pull request."""
        return "```\n" + "\n".join(self.lines()) + "\n```\n"

    def lines(self, wide: int = 80) -> list[str]:
        """The result as lines of text, as a terminal shows it."""
        from counterrank.report.terminal import lines

        return lines(self, wide)

    def save(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write result.json, report.html and, if kept, units.parquet, into a folder: ``--out``."""
        from counterrank.results.output_files import folder as write

        return write(self, os.fspath(folder))

    def report(self, path: str | os.PathLike[str] | None = None, *, title: str = "") -> str:
        """The page as HTML, and written to ``path`` if that is given."""
        from counterrank.core.file_writer import whole_text
        from counterrank.report import page

        html = page([self.to_dict()], title=title)
        if path is not None:
            whole_text(os.fspath(path), html)
        return html

    def _repr_html_(self) -> str:
        """The decision, the leaderboard of the page, and what does not pass: no network."""
        from counterrank.report.notebook import notebook

        return notebook(self.to_dict())

    def __repr__(self) -> str:
        """The result as a terminal of 80 columns shows it."""
        return "\n".join(self.lines())


def _groups(units: Table) -> dict[str, int]:
    """In how many groups clusters were resampled, if they were: a part of the protocol."""
    return {"resampled_groups": units.resampled_groups} if units.resampled_groups else {}


def _rows(found: Any) -> bool:
    listed = isinstance(found, (list, tuple))
    return listed and all(is_dataclass(row) or isinstance(row, dict) for row in found)
