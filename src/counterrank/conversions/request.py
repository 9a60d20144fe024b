"""What is asked of a funnel, parsed and checked before tables are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from counterrank.conversions.conversion_estimators import (
    ClickedRows,
    ConversionMeasure,
    add_diagnostic_estimators,
    conversion_estimator,
    conversion_measure,
    function_of,
    measure_columns,
)
from counterrank.core.errors import UsageError
from counterrank.core.faults import Faults
from counterrank.data import funnels, schema
from counterrank.data.features import feature_schema
from counterrank.data.funnels import prediction
from counterrank.data.runs import Runs, RunTables, run_schemas
from counterrank.data.schema import ColumnNames, Schema, Table
from counterrank.data.sources.dataframes import is_spark
from counterrank.engine import Engine, Tables
from counterrank.nuisance.base import PairModel
from counterrank.nuisance.cross_fit import pair_model
from counterrank.nuisance.logistic import Logistic
from counterrank.nuisance.own_model import OwnModel
from counterrank.ope.estimators.ips import Estimator
from counterrank.stats.compare import Plan
from counterrank.stats.functions_of_means import mean
from counterrank.stats.moments import Pair
from counterrank.stats.units import Functions, Key

FUNNEL, PREDICTIONS, RUN = "funnel", "predictions", "run"
COLUMN = "column"  # predictions that were given, not fitted


@dataclass(frozen=True)
class FunnelInputs:
    """The tables by their schemas, the names of the runs, and features, to be read whole."""

    tables: Tables
    names: Mapping[str, str]
    features: Mapping[str, Schema]

    @classmethod
    def of(
        cls,
        funnel: object,
        runs: Runs | None,
        predictions: object | None,
        *,
        rewards: Sequence[str],
        features: Mapping[str, Any] | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> FunnelInputs:
        """Tables as a caller gives them."""
        named = ColumnNames.of(columns)
        also = tuple(prediction(reward, rewards) for reward in rewards)
        schemas = {FUNNEL: funnels.funnel_schema(funnel, rewards=rewards, columns=named)}
        lists, names = run_schemas(
            runs,
            lambda table, name: schema.run_schema(table, name=name, columns=named, also=also),
            RUN,
        )
        schemas |= lists
        if predictions is not None:
            schemas[PREDICTIONS] = funnels.predictions_schema(
                predictions, rewards=rewards, columns=named
            )
        aside = {
            of: feature_schema(table.toArrow() if is_spark(table) else table, of=of, columns=named)
            for of, table in (features or {}).items()
        }
        schema.validate_columns((*schemas.values(), *aside.values()))
        return cls(Tables(schemas, "user", ("user", "item")), names, aside)


@dataclass(frozen=True)
class FunnelRequest:
    """What is to be computed of every run, and who and what counts.

    ``ctr`` and ``cvr`` are ``column`` or models to be fitted. ``runs``, ``has_ctr`` and who is
    meant by ``users=auto`` are known once the tables have been looked at.
    """

    measures: tuple[ConversionMeasure, ...]
    estimators: tuple[Estimator, ...]
    rewards: tuple[str, ...]
    ctr: str | OwnModel = COLUMN
    cvr: str | OwnModel = COLUMN
    floor: float = 0.0
    pairs: str = "all"
    users: str = "auto"
    missing: str = "zero"
    duplicates: str = "error"
    ties: str = "id"
    plan: Plan = field(default_factory=lambda: Plan(test="t"))
    runs: RunTables = field(default_factory=lambda: RunTables({}))
    has_ctr: bool = False

    def __post_init__(self) -> None:
        if not self.estimators or not self.measures:
            raise UsageError("Nothing is to be estimated.", todo="For example DR of DCG@10.")
        ratios = [str(e) for e in self.estimators if e.function() is not mean]
        shares = [str(m) for m in self.measures if m.form == "share"]
        if ratios and shares:
            raise UsageError(
                f"{shares[0]} divides by each user's own sum, {ratios[0]} by that of all users.",
                todo="Ask for Naive, IPS, DM or DR of it.",
            )

    @property
    def leading(self) -> str:
        """The estimator that decides where none is named."""
        return str(max(self.estimators, key=lambda e: e.trust))

    @property
    def models(self) -> list[PairModel]:
        """The models that are to be fitted."""
        return [pair_model(given) for given in (self.ctr, self.cvr) if given != COLUMN]

    @property
    def fitting(self) -> bool:
        """Whether models are to be fitted."""
        return (self.ctr, self.cvr) != (COLUMN, COLUMN)

    def validate_engine(self, engine: Engine) -> None:
        """Refuse models of the user's own where they would have to be sent."""
        own = [model for model in self.models if isinstance(model, OwnModel)]
        if own and not engine.one_process:
            raise UsageError(
                f"{own[0].option} is a model of your own, which is not sent to a cluster.",
                found=f"Got {own[0]}.",
                todo="Use the local engine, which takes tables of any size, or predict yourself"
                " and give a column or a table of predictions.",
            )

    @property
    def computed(self) -> tuple[Estimator, ...]:
        """The estimators asked for, and what diagnostics them."""
        return add_diagnostic_estimators(self.estimators, has_ctr=self.has_ctr)

    @property
    def needs_ctr(self) -> list[Estimator]:
        """Those of the estimators that divide by the chance of a click."""
        return [e for e in self.estimators if e.weighs]

    @property
    def needs_cvr(self) -> list[Estimator]:
        """Those of the estimators that read a predicted conversion."""
        return [e for e in self.estimators if "model" in e.needs]

    @property
    def limit(self) -> int | None:
        """The deepest rank any measure looks at."""
        cuts = [m.depth for m in self.measures]
        return None if None in cuts else max(k for k in cuts if k is not None)

    @property
    def widths(self) -> dict[Key, int]:
        """How many columns each key of a system has; the system is left open."""
        rows, out = ClickedRows.none(), {}
        for m in self.measures:
            for reward in self.rewards:
                for e in self.computed:
                    columns = measure_columns(e, m, rows, rows)
                    if columns is not None:
                        out[Key("", str(m), str(e), reward)] = len(columns)
        return out

    def functions(self) -> Functions:
        """What makes each value of the means of its columns; rows stand in this order."""
        measures = {str(m): m for m in self.measures}
        estimators = {str(e): e for e in self.computed}
        return {
            key._replace(system=system): function_of(
                estimators[key.estimator], measures[key.measure]
            )
            for system in self.runs.labels
            for key in self.widths
        }

    def groups(self) -> list[list[Pair]]:
        """What may ever be compared: all keys of one measure of one reward, with the first."""
        together: dict[tuple[str, str | None], list[Key]] = {}
        for key in self.functions():
            together.setdefault((key.measure, key.reward), []).append(key)
        return [[(key, keys[0]) for key in keys] for keys in together.values()]

    def with_tables(self, names: Mapping[str, str], heads: Mapping[str, Table]) -> FunnelRequest:
        """With what the columns of the tables tell, if they have what it asks for."""
        validate_apart(heads)
        has_ctr = self.ctr != COLUMN or "ctr" in predicted_columns(heads)
        runs = RunTables.of(names, heads)
        runs.validate(self.plan.pairs)
        request = replace(self, runs=runs, has_ctr=has_ctr)
        request.validate_predictions(heads)
        return request

    def validate_predictions(self, heads: Mapping[str, Table]) -> None:
        """Refuse estimators that read a ctr or cvr nobody predicts."""
        divided = list(map(str, self.needs_ctr))
        if divided and not self.has_ctr:
            raise UsageError(
                f"{divided[0]} divides by the chance of a click, which nobody predicted.",
                found=f'"{heads[FUNNEL].name}" has no column "ctr".',
                todo="Give one (--columns ctr=NAME), or a table of predictions (--predictions"
                " PATH), or have a model fitted: --ctr rates.",
            )
        if not self.needs_cvr or self.cvr != COLUMN:
            return
        for key, name in self.runs.names.items():
            there = {*heads[key].frame.columns, *predicted_columns(heads)}
            for reward in self.rewards:
                column = prediction(reward, self.rewards)
                if column not in there:
                    raise UsageError(
                        f"{self.needs_cvr[0]} needs a predicted {reward} of every pair that"
                        f' "{name or heads[key].name}" lists.',
                        found=f'There is no column "{column}", in the funnel or in the run.',
                        todo="Give one, there or in a table of predictions (--predictions"
                        " PATH), or have a model fitted (--cvr rates), or ask for IPS only"
                        " (--estimator IPS).",
                    )

    def refuse(self, faults: Faults) -> None:
        """Refuse what some measure, estimator or policy cannot do without."""
        needs = {
            "clicked pair without ctr": [str(e) for e in self.computed if e.weighs],
            "pair without cvr": [str(e) for e in self.computed if "model" in e.needs],
            "not all items": [str(m) for m in self.measures if m.lists == "all"],
        }
        for what, who in needs.items():
            only = Faults(tuple(fault for fault in faults.found if fault.what == what))
            only.refuse(allowed=() if who else (what,), who=next(iter(who), ""))
        policy = () if self.missing == "error" else ("funnel user without list",)
        faults.refuse(allowed=(*needs, *policy))


def funnel_request(
    *,
    rewards: Sequence[str],
    measures: Sequence[object],
    estimators: Sequence[str | Estimator],
    plan: Plan,
    features: Collection[str] = (),
    **options: Any,
) -> FunnelRequest:
    """A request from words; ``features`` are what tables of features are of: user, item."""
    wanted = tuple(dict.fromkeys(conversion_estimator(e) for e in estimators))
    weights = tuple(dict.fromkeys(conversion_measure(m) for m in measures))
    for name in ("ctr", "cvr"):
        if not isinstance(given := options.get(name, COLUMN), str):
            options[name] = OwnModel(given, name)
    request = FunnelRequest(weights, wanted, reward_columns(rewards), plan=plan, **options)
    for m in request.models:
        if isinstance(m, Logistic) and not features:
            m.refuse_no_features()
    if features and not any(m.reads_features for m in request.models):
        raise UsageError(
            f"Features of {'s and '.join(features)}s were given, and no model reads them.",
            found=f"ctr is {request.ctr}, cvr is {request.cvr}.",
            todo="Ask for logistic (--ctr logistic, --cvr logistic, or both), or give a model of"
            " your own.",
        )
    return request


def reward_columns(rewards: Sequence[str]) -> tuple[str, ...]:
    """The columns that say what a click brought, each once."""
    return tuple(dict.fromkeys(rewards)) or (funnels.CONVERSION,)


def predicted_columns(heads: Mapping[str, Table]) -> set[str]:
    """The columns of the funnel and of predictions, of which some may be a ctr or a cvr."""
    tables = [heads[name].frame for name in (FUNNEL, PREDICTIONS) if name in heads]
    return {column for frame in tables for column in frame.columns}


def validate_apart(heads: Mapping[str, Table]) -> None:
    """Refuse predictions that stand in two tables."""
    if PREDICTIONS not in heads:
        return
    funnel, predictions = heads[FUNNEL], heads[PREDICTIONS]
    both = (set(funnel.frame.columns) & set(predictions.frame.columns)) - {"user", "item"}
    if both:
        raise UsageError(
            f'Both "{funnel.name}" and "{predictions.name}" have a column "{min(both)}".',
            todo="Leave it out of one of them, so that it is clear which counts.",
        )
