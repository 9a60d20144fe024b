"""What is asked of a funnel, parsed and checked before tables are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from counterrank.conversions.conversion_estimators import (
    IF_CLICKED,
    ConversionMeasure,
    ObservedRows,
    Sales,
    VarianceRatio,
    conversion_estimator,
    conversion_measure,
    function_of,
    measure_columns,
    weight_of,
)
from counterrank.conversions.funnel_estimand import Estimand
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
from counterrank.ope.estimators.doubly_robust import DR
from counterrank.ope.estimators.ips import Clipped, Estimator, MeanWeight
from counterrank.ope.estimators.swing import Swing, swings_of
from counterrank.position.models import PositionBias
from counterrank.stats.functions_of_means import Range, mean
from counterrank.stats.moments import Pair
from counterrank.stats.plan import Plan
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
        also = ("ctr", *(prediction(reward, rewards) for reward in rewards))
        schemas = {FUNNEL: funnels.funnel_schema(funnel, rewards=rewards, columns=named)}

        def run(table: object, name: str) -> Schema:
            return schema.run_schema(table, name=name, columns=named, also=also)

        lists, names = run_schemas(runs, run, RUN)
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

    ``ctr``, ``cvr`` and ``exposure`` are ``column`` or models to be fitted; ``position`` is the
    chance that a rank is seen, which ``sales`` go by. ``runs``, ``estimand``, ``has_chance``, the
    ``ranges`` of rewards and who is meant by ``users=auto`` are known once the tables have been
    looked at.
    """

    measures: tuple[ConversionMeasure, ...]
    estimators: tuple[Estimator, ...]
    rewards: tuple[str, ...]
    estimand: Estimand = field(default_factory=Estimand)
    position: PositionBias | None = None
    sales: tuple[Sales, ...] = ()
    views: str = "observed"
    ctr: str | OwnModel = COLUMN
    cvr: str | OwnModel = COLUMN
    exposure: str | OwnModel = COLUMN
    floor: float = 0.0
    pairs: str = "all"
    users: str = "auto"
    missing: str = "zero"
    duplicates: str = "error"
    ties: str = "id"
    plan: Plan = field(default_factory=lambda: Plan(test="t"))
    runs: RunTables = field(default_factory=lambda: RunTables({}))
    has_chance: bool = False
    ranges: Mapping[str, Range] = field(default_factory=dict)

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
        return [pair_model(x) for x in (self.ctr, self.cvr, self.exposure) if x != COLUMN]

    @property
    def fitting(self) -> bool:
        """Whether models are to be fitted."""
        return (self.ctr, self.cvr, self.exposure) != (COLUMN,) * 3

    @property
    def shows(self) -> bool:
        """Whether outcomes are those of what was shown, and not of what was clicked."""
        return self.estimand.basis == "shown"

    @property
    def chance(self) -> str:
        """The role that says how likely an outcome came to be known."""
        return "exposure" if self.shows else "ctr"

    @property
    def chance_model(self) -> str | OwnModel:
        """Where that chance comes from: ``column``, or a model."""
        return self.exposure if self.shows else self.ctr

    @property
    def learned(self) -> int:
        """How many parameters of the position model were learned, if their error is known."""
        error = self.measures[0].model.error
        return 0 if error is None or error.covariance is None else len(error.covariance)

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
        """The estimators asked for, and those that tell what they rest on, if chances are known."""
        out = list(self.estimators)
        if self.has_chance:
            clips = [e.clip for e in self.estimators if isinstance(e, Clipped)]
            out += [MeanWeight(), *(MeanWeight(clip=clip) for clip in clips)]
            out += [VarianceRatio(), DR()] if self.needs_cvr else []
        return tuple(dict.fromkeys(out))

    @property
    def dividing(self) -> list[Estimator]:
        """Those of the estimators asked for that divide by chances."""
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
        rows, out = ObservedRows.none(), {}
        for m, reward in product(self.measures, self.rewards):
            for e in self.computed:
                columns = measure_columns(e, m, rows, rows)
                if columns is not None:
                    out[Key("", str(m), str(e), reward)] = len(columns)
            out |= {Key("", str(m), str(s), reward): 1 for s in self.swings_of(m)}
        return out

    def swings_of(self, m: ConversionMeasure, *wanted: Estimator) -> list[Swing]:
        """What hidden causes could move of a measure, by itself and less the baseline's."""
        if not self.has_chance or m.form == "share":
            return []
        found = [
            swing
            for e in wanted or self.estimators
            for versus in ("nobody", "baseline")
            for pair in swings_of(e, versus)
            for swing in pair
        ]
        return list(dict.fromkeys(found))

    def swing_kinds(self, m: ConversionMeasure) -> list[Swing]:
        """One of those that differ in nothing but their sign and what they are compared with."""
        kinds = [replace(s, part="rises", versus="nobody") for s in self.swings_of(m)]
        return list(dict.fromkeys(kinds))

    def swings(self) -> dict[tuple[Key, Key | None], list[Pair]]:
        """What rises and falls of every value, and of every difference from the baseline."""
        found: dict[tuple[Key, Key | None], list[Pair]] = {}
        base = self.plan.baseline or ""
        for system, m, reward, e in product(
            self.runs.labels, self.measures, self.rewards, self.estimators
        ):
            key, own = Key(system, str(m), str(e), reward), self.swings_of(m, e)
            for versus, other in (("nobody", None), ("baseline", key._replace(system=base))):
                keys = [key._replace(estimator=str(s)) for s in own if s.versus == versus]
                if keys and other != key:
                    found[key, other] = list(zip(keys[::2], keys[1::2], strict=True))
        return found

    def functions(self) -> Functions:
        """What makes each value of the means of its columns; rows stand in this order."""
        measures = {str(m): m for m in self.measures}
        swings = [s for m in self.measures for s in self.swings_of(m)]
        estimators = {str(e): e for e in (*self.computed, *swings)}
        return {
            key._replace(system=system): function_of(
                estimators[key.estimator], measures[key.measure], self.ranges[str(key.reward)]
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
        funnel, there = set(heads[FUNNEL].frame.columns), predicted_columns(heads)
        listed = bool(names) and all("ctr" in heads[key].frame.columns for key in names)
        shown = bool({"shown", "event"} & funnel)
        estimand = self.estimand.settle(shown=shown, listed=listed, position=self.position)
        request = replace(self, estimand=estimand, runs=RunTables.of(names, heads))
        request.runs.validate(self.plan.pairs)
        if estimand.name == "sales":
            assert self.position is not None
            measures = tuple(s.of(self.position) for s in self.sales or (Sales(),))
            request = replace(request, measures=measures)
        request._validate_views(funnel)
        has_chance = request.chance_model != COLUMN or request.chance in there
        if shown and not request.shows and request.ctr == COLUMN and "exposure" not in there:
            has_chance = False  # a ctr is that of what is seen, and nobody says how likely that is
        request = replace(request, has_chance=has_chance)
        request.validate_predictions(heads)
        return request

    def _validate_views(self, funnel: Collection[str]) -> None:
        """Views that are not known take ranks, and clicks among them tell no ctr."""
        if self.views != "latent":
            return
        if not self.shows:
            raise UsageError(
                "views=latent says that rows were shown and perhaps not seen.",
                found="Nothing here says what was shown, or sales are not what is estimated.",
                todo="Leave it out.",
            )
        if "rank" not in funnel:
            raise UsageError(
                "Without views, the rank at which a row was shown tells how likely it was seen.",
                found='The funnel has no column "rank".',
                todo="Give one (--columns rank=NAME), or say --views observed if what is shown"
                " was seen.",
            )
        if self.ctr != COLUMN:
            raise UsageError(
                "A ctr cannot be fitted where it is not known what was seen.",
                todo="Give a column ctr (the chance of a click when seen), or ask for IPS only.",
            )

    def validate_predictions(self, heads: Mapping[str, Table]) -> None:
        """Refuse estimators that read a chance or a prediction nobody gives."""
        if self.dividing and not self.has_chance:
            what = "that a pair was shown" if self.shows else "of a click"
            lost = self.chance if self.chance not in predicted_columns(heads) else "exposure"
            raise UsageError(
                f"{self.dividing[0]} divides by the chance {what}, which nobody predicted.",
                found=f'"{heads[FUNNEL].name}" has no column "{lost}".',
                todo=f"Give one (--columns {lost}=NAME), or a table of predictions (--predictions"
                f" PATH), or have a model fitted: --{self.chance} rates.",
            )
        if self.shows and self.needs_cvr and self.ctr == COLUMN:
            self._validate_listed("ctr", "chance of a click", heads)
        if not self.needs_cvr or self.cvr != COLUMN:
            return
        for reward in self.rewards:
            self._validate_listed(prediction(reward, self.rewards), reward, heads)

    def _validate_listed(self, column: str, what: str, heads: Mapping[str, Table]) -> None:
        """Refuse a prediction of listed pairs that neither the tables nor a run have."""
        role = "ctr" if column == "ctr" else "cvr"
        for key, name in self.runs.names.items():
            if column in {*heads[key].frame.columns, *predicted_columns(heads)}:
                continue
            raise UsageError(
                f"{self.needs_cvr[0]} needs a predicted {what} of every pair that"
                f' "{name or heads[key].name}" lists.',
                found=f'There is no column "{column}", in the funnel or in the run.',
                todo="Give one, there or in a table of predictions (--predictions PATH), or have a"
                f" model fitted (--{role} rates), or ask for IPS only (--estimator IPS).",
            )

    def refuse(self, faults: Faults) -> None:
        """Refuse what some measure, estimator or policy cannot do without."""
        weighing = [str(e) for e in self.computed if e.weighs]
        believing = [str(e) for e in self.computed if "model" in e.needs]
        needs = {
            "clicked pair without ctr": weighing,
            "shown pair without exposure": weighing,
            "pair without ctr": believing,
            "pair without cvr": believing,
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
    estimand: str = "auto",
    features: Collection[str] = (),
    **options: Any,
) -> FunnelRequest:
    """A request from words; ``features`` are what tables of features are of: user, item."""
    wanted = tuple(dict.fromkeys(conversion_estimator(e) for e in estimators))
    named = [m if isinstance(m, ConversionMeasure) else weight_of(m) for m in measures]
    sales = tuple(dict.fromkeys(m for m in named if isinstance(m, Sales)))
    others = [m for m in named if not isinstance(m, Sales)]
    if others and (sales or estimand == "sales"):
        raise UsageError(
            f"{others[0]} is not a measure of sales: its weight of a rank is no chance.",
            todo=f"Leave it out, or ask for it alone: --estimand if-clicked -m {others[0]}.",
        )
    if estimand == "auto" and named:
        estimand = "sales" if sales else "if-clicked"
    if sales and estimand == "if-clicked":
        conversion_measure(sales[0])  # says why not
    weights = tuple(dict.fromkeys(conversion_measure(m) for m in others or IF_CLICKED))
    for name in ("ctr", "cvr", "exposure"):
        if not isinstance(given := options.get(name, COLUMN), str):
            options[name] = OwnModel(given, name)
    request = FunnelRequest(
        weights, wanted, reward_columns(rewards), Estimand(estimand), sales=sales, plan=plan,
        **options,
    )  # fmt: skip
    for m in request.models:
        if isinstance(m, Logistic) and not features:
            m.refuse_no_features()
    if features and not any(m.reads_features for m in request.models):
        raise UsageError(
            f"Features of {'s and '.join(features)}s were given, and no model reads them.",
            found=f"ctr is {request.ctr}, cvr is {request.cvr}, exposure is {request.exposure}.",
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
