"""What ``evaluate`` is asked, parsed, and all that can be said of it before tables are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterrank.core.errors import UsageError
from counterrank.data import schema
from counterrank.data.runs import Policies, Runs, run_schemas
from counterrank.data.schema import ColumnNames
from counterrank.engine import Engine, Tables
from counterrank.metrics import DCG, DEFAULTS, Judged, Measure, dcg_forms, deepest, measure, nDCG
from counterrank.stats.moments import Pair
from counterrank.stats.plan import Plan
from counterrank.stats.units import Functions, Key

JUDGMENTS = "judgments"


@dataclass(frozen=True)
class JudgedTables:
    """Judgments and runs by their schemas; ``names`` are those given to runs, by table.

    ``enough`` refuses systems that are too few for what is asked.
    """

    tables: Tables
    names: Mapping[str, str]
    enough: Callable[[list[str]], object] = bool

    @classmethod
    def of(
        cls,
        judgments: object,
        runs: Runs,
        columns: Mapping[str, str] | None = None,
        folds: Sequence[str] = (),
    ) -> JudgedTables:
        """The tables as a caller gives them; ``columns`` maps roles to column names.

        With ``folds`` (``schema.FOLD``) a column fold makes units of a fold's users.
        """
        named = ColumnNames.of(columns)
        asked: dict[str, Any] = {"columns": named, "folds": folds}
        judged = {JUDGMENTS: schema.judgments_schema(judgments, **asked)}
        lists, names = run_schemas(
            runs, lambda table, name: schema.run_schema(table, name=name, **asked)
        )
        schemas = judged | lists
        schema.validate_columns(schemas.values())
        if folds:
            schema.all_by_fold(list(schemas.values()))
        return cls(Tables(schemas, "user", ("user", "item"), lazy=True), names)


@dataclass(frozen=True)
class EvaluateRequest:
    """Which measures, what is done with users and rows that do not fit, and what is compared.

    ``per_unit`` asks for values per user whatever their number, ``hits`` for the hits as well. It
    holds no tables, so that it can be sent to where they are.
    """

    measures: tuple[Measure, ...]
    plan: Plan
    policies: Policies
    per_unit: bool = False
    hits: bool = False

    def __post_init__(self) -> None:
        validate_ties(self.measures, self.policies.ties)
        loose = [str(m) for m in self.measures if not m.plain_mean]
        if self.plan.interval == "bernstein" and loose:
            raise UsageError(
                "A Bernstein interval needs the plain mean of values between 0 and 1.",
                found=f"Not so: {', '.join(loose)}.",
                todo="Leave them out, or take another interval.",
            )

    def inference(self, engine: Engine) -> str:
        """Whether values per unit, or only moments of them, are held: units, moments or auto."""
        return "units" if self.per_unit or self.hits else engine.inference

    @property
    def allowed(self) -> list[str]:
        """Faults that the policies let pass."""
        fates = {
            "judged user without list": self.policies.missing,
            "user not judged": self.policies.unjudged,
            "nothing to find": self.policies.no_relevant,
        }
        return [what for what, fate in fates.items() if fate != "error"]

    @property
    def cut(self) -> int | None:
        """The deepest rank any measure looks at; None: the whole list."""
        return deepest(self.measures)

    @property
    def judged(self) -> Judged:
        """What a diagnostic asks of every list: how much of it is judged."""
        return Judged(k=self.cut)

    def orders(self, systems: Sequence[str]) -> list[tuple[DCG, nDCG]]:
        """DCG and nDCG, which a diagnostic compares, in each form asked for."""
        return dcg_forms(self.measures) if len(systems) > 1 else []

    def metrics_for_diagnostics(self, systems: Sequence[str]) -> list[Measure]:
        """Metrics that only diagnostics look at: how much is judged, DCG beside nDCG."""
        forms = [m for pair in self.orders(systems) for m in pair]
        return [m for m in dict.fromkeys([self.judged, *forms]) if m not in self.measures]

    def functions(self, systems: Sequence[str]) -> Functions:
        """What every key is of the means of its columns, system by system."""
        return {Key(s, str(m)): m.function for s in systems for m in self.measures}

    def groups(self, systems: Sequence[str]) -> list[list[Pair]]:
        """What is compared: for each measure, pairs of systems over the users all of them have."""
        return pairs_of(self.measures, self.plan.pairs(systems))

    def spans(self, systems: Sequence[str]) -> dict[Key, float]:
        """The range of one user's value, where it has one."""
        return {Key(s, str(m)): 1.0 for s in systems for m in self.measures if m.plain_mean}


def pairs_of(measures: Sequence[Measure], pairs: Sequence[tuple[str, str]]) -> list[list[Pair]]:
    """Pairs of systems by measure."""
    systems = {system for pair in pairs for system in pair}
    keys = [{system: Key(system, str(m)) for system in systems} for m in measures]
    return [[(own[a], own[b]) for a, b in pairs] for own in keys]


def parse_measures(labels: str | Measure | Sequence[str | Measure]) -> tuple[Measure, ...]:
    """The measures of the labels, each once."""
    given = [labels] if isinstance(labels, (str, Measure)) else labels
    measures = tuple(dict.fromkeys(measure(label) for label in given))
    if not measures:
        raise UsageError("No measure was asked for.", todo=f"For example {DEFAULTS[1]}.")
    return measures


def validate_ties(measures: Sequence[Measure], ties: str) -> None:
    """Refuse the mean over tie orders for measures that have no exact one."""
    bent = [str(m) for m in measures if not m.linear]
    if ties == "expected" and bent:
        raise UsageError(
            "The mean over tie orders is exact only for measures that add up gain times exposure.",
            found=f"Not so: {', '.join(bent)}.",
            todo="Leave them out, or use --ties id; the ties diagnostic then gives best and worst.",
        )
