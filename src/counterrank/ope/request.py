"""What ``estimate`` is asked, parsed and checked before tables are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from counterrank.core.errors import UsageError
from counterrank.core.merge import by_key, union
from counterrank.data import logs
from counterrank.data.ids import as_categories
from counterrank.data.runs import Runs, RunTables, run_schemas
from counterrank.data.schema import Schema, Table, validate_columns
from counterrank.engine.partitions import Partition, Partitions
from counterrank.ope.estimators.clipped_weight import CLIPS
from counterrank.ope.estimators.ips import Clipped, Estimator, MeanWeight, OnPolicy
from counterrank.ope.estimators.slate import SlateWeight
from counterrank.ope.log import LOG, log_table
from counterrank.ope.match import is_stochastic
from counterrank.position.models import PositionBias
from counterrank.stats.functions_of_means import Function, Range
from counterrank.stats.moments import Pair
from counterrank.stats.plan import Plan
from counterrank.stats.units import Key

if TYPE_CHECKING:
    from counterrank.ope.estimators.swing import Swing
    from counterrank.ope.setting import Basis
    from counterrank.position.learn.learned import Learned

LOGGED, LIVE = "logged", str(OnPolicy())  # the ranker that was live, and what it earned


@dataclass(frozen=True)
class LogTables:
    """Which tables hold the lists of targets, and which those of loggers."""

    targets: RunTables = field(default_factory=lambda: RunTables({}))
    loggers: RunTables = field(default_factory=lambda: RunTables({}))

    def with_systems(self, log: Partitions) -> LogTables:
        """With the rankers of tables that hold several, each once."""
        sides = [RunTables.of(side.names, log.heads) for side in (self.targets, self.loggers)]
        if any(side.systems for side in sides):
            parts = log.map(partial(_systems, sides), "looking for rankers")
            systems = [by_key(union)(list(side)) for side in zip(*parts, strict=True)]
            sides = [side.with_systems(x) for side, x in zip(sides, systems, strict=True)]
        _validate_names(sides[0].labels, taken=[LOGGED])
        _validate_names(sides[1].labels, taken=[])
        return LogTables(*sides)


def lists_of(side: RunTables, tables: Mapping[str, Table]) -> list[Table]:
    """Every ranker's lists of targets or loggers; in a partition some may have no rows.

    Items that are text become categories.
    """
    coded = {
        key: replace(tables[key], frame=as_categories(tables[key].frame)) for key in side.names
    }
    return side.lists(coded)


def log_schemas(
    log: object,
    runs: Runs,
    loggers: Runs | None,
    *,
    rewards: Sequence[str],
    contexts: Sequence[str],
    columns: Mapping[str, str] | None,
    beside: Sequence[str] = (),
) -> tuple[dict[str, Schema], LogTables]:
    """The schemas of all tables, and which of them hold whose lists."""

    def schema(table: object, name: str) -> Schema:
        return logs.target_schema(table, name=name, columns=columns)

    read = partial(logs.log_schema, log, rewards=rewards, contexts=contexts)
    targets, names = run_schemas(runs, schema, "target")
    more, more_names = run_schemas(loggers, schema, "logger")
    schemas = {LOG: read(columns=columns, beside=beside), **targets, **more}
    validate_columns(schemas.values())
    return schemas, LogTables(RunTables(names), RunTables(more_names))


def _systems(sides: Sequence[RunTables], part: Partition) -> list[dict[str, pl.Series]]:
    return [side.systems_in(part.tables) for side in sides]


def _validate_names(names: list[str], taken: list[str]) -> None:
    for name in names:
        if [*names, *taken].count(name) > 1:
            raise UsageError(
                f'Two rankers are named "{name}".',
                todo=f'Name them apart: new=path. "{LOGGED}" is the ranker of the log.',
            )


@dataclass(frozen=True)
class EstimateRequest:
    """What is to be estimated, and how; see `counterrank.estimate`.

    ``tables`` names the rankers and ``rewards`` the columns; both are complete once the heads of
    the tables are known (`with_heads`). ``position`` is the position model, and ``learned`` what it
    was learned by where that was this log. ``ranges`` of the rewards of a row are known once the
    log was read, as are the ``caps`` of those to ``winsorise``.
    """

    tables: LogTables
    estimators: tuple[Estimator, ...]
    position: PositionBias | None
    plan: Plan
    per: str = "session"
    scores: str = "order"
    logged: str = "auto"
    views: str = "auto"
    missing: str = "error"
    disjoint: str = "auto"
    sweep: str = "none"
    winsorise: float | None = None
    bounds: str = "auto"
    allow: Mapping[str, float] = field(default_factory=dict)
    horizon: float | None = None
    rewards: tuple[str, ...] = ()
    learned: Learned | None = None
    ranges: Mapping[str, Range] = field(default_factory=dict)
    caps: Mapping[str, float] = field(default_factory=dict)

    def with_heads(self, log: Partitions) -> EstimateRequest:
        """With the names of all rankers and rewards."""
        rewards = log_table(log.heads[LOG]).rewards
        return replace(self, tables=self.tables.with_systems(log), rewards=rewards)

    @property
    def leading(self) -> str:
        """The estimator that decides where none is named."""
        return str(max(self.estimators, key=lambda e: e.trust))

    @property
    def gaps(self) -> str:
        """Whether a session's ranks may have gaps."""
        return "allow" if self.views == "rows" else "error"

    @property
    def systems(self) -> list[str]:
        """The names of the targets."""
        return self.tables.targets.labels

    @property
    def clips(self) -> tuple[float, ...]:
        """The clips at which weights are summed, the last of which is none."""
        return CLIPS if self.sweep == "clip" else (float("inf"),)

    @property
    def clipped(self) -> list[Clipped]:
        """The estimators asked for that clip."""
        return [e for e in self.estimators if isinstance(e, Clipped) and e.clip < float("inf")]

    @property
    def computed(self) -> tuple[Estimator, ...]:
        """What is computed for each target: what was asked for, and what diagnostics it."""
        wanted: list[Estimator] = [e for e in self.estimators if not isinstance(e, OnPolicy)]
        wanted += [MeanWeight(), *map(clipped_weight, self.clipped)]
        wanted += [SlateWeight()] if "chances" in estimator_needs(self.estimators) else []
        if self.sweep == "clip":
            from counterrank.ope.clip_sweep import SWEEP

            wanted += SWEEP
        wanted += [s for e in self.estimators for own in self._swings_of(e) for s in own]
        return tuple(dict.fromkeys(wanted))

    def computed_for(self, reward: str) -> list[Estimator]:
        """The same for one reward; weights, whatever was rewarded, come with the first."""
        first = reward == self.rewards[0]
        return [e for e in self.computed if first or e.about != "weights"]

    def function(self, reward: str, e: Estimator) -> Function:
        """What an estimator's value is a function of."""
        return e.combined(self.per, self.ranges.get(reward, (0.0, 1.0)))

    def all_functions(self) -> dict[Key, Function]:
        """What every key is a function of, what is logged first."""
        live = {Key(LOGGED, r, LIVE): OnPolicy().combined(self.per) for r in self.rewards}
        return live | {
            Key(system, reward, str(e)): self.function(reward, e)
            for system in self.systems
            for reward in self.rewards
            for e in self.computed_for(reward)
        }

    def functions(self) -> dict[Key, Function]:
        """Those of the estimates that were asked for."""
        shown = {LIVE, *map(str, self.estimators)}
        return {key: f for key, f in self.all_functions().items() if key.estimator in shown}

    def groups(self) -> list[list[Pair]]:
        """For each reward and estimator, all targets against the baseline.

        Only what a ranker earns can be held against what the logged one earned.
        """
        base = self.plan.baseline or LOGGED
        if self.plan.test == "none":
            return []
        earned = {str(e) for e in self.estimators if e.total == "yes" or base != LOGGED}
        questions: dict[tuple[str | None, ...], list[Pair]] = {}
        for key in self.functions():
            if key.system not in (base, LOGGED) and key.estimator in earned:
                live = Key(LOGGED, key.measure, LIVE)
                other = live if base == LOGGED else key._replace(system=base)
                questions.setdefault(key[1:], []).append((key, other))
        return list(questions.values())

    def swept(self) -> list[list[Pair]]:
        """Every clip of a sweep against what the logged ranker earned."""
        if self.sweep == "none":
            return []
        from counterrank.ope.clip_sweep import SWEEP

        pairs = product(self.systems, self.rewards, SWEEP)
        return [[(Key(s, r, str(e)), Key(LOGGED, r, LIVE))] for s, r, e in pairs]

    def _swings_of(self, e: Estimator) -> list[tuple[Swing, Swing]]:
        """What hidden causes could move of a value, and of its difference from another target.

        Only where chance had a part in what was shown, and how likely a rank is seen was given.
        """
        learned = self.position is not None and self.position.error is not None
        if self.logged not in ("propensity", "exposure") or (learned and self.logged == "exposure"):
            return []
        from counterrank.ope.estimators.swing import swings_of

        apart = swings_of(e, "baseline") if self.rival else []
        return swings_of(e) + apart

    @property
    def rival(self) -> str:
        """The target that others are compared with; empty where that is the logged ranker."""
        base = self.plan.baseline or LOGGED
        return "" if base == LOGGED else base

    def swings(self) -> dict[tuple[Key, Key | None], list[Pair]]:
        """What rises and falls of every value, and of every difference that is compared."""
        found: dict[tuple[Key, Key | None], list[Pair]] = {}
        compared = {key: other for group in self.groups() for key, other in group}
        for system, reward, e in product(self.systems, self.rewards, self.estimators):
            key, pairs = Key(system, reward, str(e)), self._swings_of(e)
            for other in dict.fromkeys((None, compared.get(key))):
                versus = "baseline" if other is not None and self.rival else "nobody"
                own = [
                    (key._replace(estimator=str(up)), key._replace(estimator=str(down)))
                    for up, down in pairs
                    if up.versus == versus
                ]
                if own:
                    found[key, other] = own
        return found

    def swung(self) -> list[list[Pair]]:
        """Keys whose products bounds need: a value, what it is compared with, and its swings."""
        return [
            [(key, other or key), *((key, side) for pair in own for side in pair)]
            for (key, other), own in self.swings().items()
        ]

    def protocol(self, head: Table) -> dict[str, Any]:
        """The choices behind the numbers, but for those that the log itself decides."""
        log = log_table(head)
        aside = [c for c in ("exposure", "propensity") if log.has(c) and c != self.logged]
        return {
            "unit": "session",
            "per": self.per,
            "cluster": "user" if log.has("user") else "session",
            "estimators": {str(e): e.formula for e in self.computed if e.about == "reward"},
            "scales": {str(e): e.name for e in self.computed if e.total == "no"},
            "contrast": [str(e) for e in self.computed if e.trust < 0],
            "logged_exposure": self.logged,
            "views": self.views,
            "position_bias": None if self.position is None else str(self.position),
            "scores": self.scores,
            "missing": self.missing,
            "disjoint": self.disjoint,
            "contexts": list(log.contexts),
            "bounds": self.bounds,
            **({"allow": dict(self.allow)} if self.allow else {}),
            **({"left_aside": aside} if aside else {}),
            **({} if self.winsorise is None else {"winsorise": dict(self.caps)}),
            **self.plan.protocol(resamples=self.plan.resamples),
        }


def allowed(sizes: Mapping[str, float] | None) -> dict[str, float]:
    """Sizes of parameters by the name of their assumption; those of no assumption are refused."""
    if not sizes:
        return {}
    from counterrank.assumptions.registry import ASSUMPTIONS

    names = {a.name.replace(" ", "_"): a.name for a in ASSUMPTIONS if a.default == a.default}
    found = {}
    for name, size in sizes.items():
        own = name.replace(" ", "_")
        if own not in names or not size >= 0:
            raise UsageError(
                f'Nothing can be allowed for "{name}={size:g}".',
                found="It needs an assumption and a size of at least 0.",
                todo=f"Assumptions are: {', '.join(names)}.",
            )
        found[names[own]] = float(size)
    return found


def clipped_weight(e: Clipped) -> Clipped:
    """What tells how much of the weight an estimator has left when it clips."""
    return SlateWeight(clip=e.clip) if "chances" in e.needs else MeanWeight(clip=e.clip)


def validate_views(wanted: Sequence[Estimator], basis: Basis) -> None:
    """Views must be known, or told by a position model, to be counted; chances are at most 1."""
    counting = [str(e) for e in wanted if "views" in e.needs]
    if counting and basis.model is None and basis.views == "latent" and not basis.by_rank:
        raise UsageError(
            f"{counting[0]} needs to know how many of the logged rows were viewed.",
            found="The log has no column viewed, and no position model was given.",
            todo="Give one (--position-bias), log views, or ask for IPS alone.",
        )
    odd = basis.curves[~((basis.curves >= 0) & (basis.curves <= 1 + 1e-9))]
    if basis.model is not None and len(odd):
        raise UsageError(
            "A position model gives chances of being seen, at most 1.",
            found=f"{str(basis.model)[:60]} reaches {float(odd.max()):g}.",
            todo="Scale it so that no rank is above 1.",
        )


def validate_scores(scores: str, basis: Basis, targets: Sequence[Table]) -> None:
    """Plackett-Luce rankers need scores, and a position model to be weighed by."""
    bare = [t.name for t in targets if t.order != "score"]
    if scores == "plackett_luce" and (bare or basis.by_rank):
        raise UsageError(
            "A Plackett-Luce ranker is known by its scores and weighed by exposure.",
            found=f'"{bare[0]}" has no scores.' if bare else "The weights are by propensity.",
            todo="Give every run a column score, and --position-bias.",
        )


def validate_lists(
    wanted: Sequence[Estimator], targets: Sequence[Table], *, scores: str, missing: str
) -> None:
    """Classical DCG needs one list per session, not chances or samples of lists."""
    listed = [str(e) for e in wanted if "lists" in e.needs]
    for target in targets:
        name = target.system
        if listed and is_stochastic(target, scores):
            raise UsageError(
                f"{listed[0]} needs one list per session.",
                found=f'"{name}" gives samples, exposures or propensities.',
                todo="Ask for IPS, SNIPS or DR, or give one list per session.",
            )
        if missing == "logged" and "predicted" in target.frame.columns:
            raise UsageError(
                "Logged lists have no predictions.",
                found=f'"{name}" has a column "predicted"; some sessions keep their logged list.',
                todo="Leave such sessions out (--missing skip), or give every session a list.",
            )


def validate_slates(
    wanted: Sequence[Estimator], basis: Basis, targets: Sequence[Table], loggers: Sequence[str]
) -> None:
    """Each need of the estimators that the tables' columns do not meet, with the first by name."""
    by_need = estimator_needs(wanted)
    if "propensity" in by_need and not basis.by_rank:
        raise UsageError(
            f"{by_need['propensity']} weighs by the logged propensity of an item at its rank.",
            found=f'Here the weights are by "{basis.logged}".',
            todo='Use --logged propensity (logged="propensity"), or ask for IPS, SNIPS or DR.',
        )
    single = [str(e) for e in wanted if e.weighs and "chances" not in e.needs]
    if basis.logged == logs.ABOVE and single:
        raise UsageError(
            f"{single[0]} weighs by an item's chance at its rank, whatever stands above it.",
            found=f'Here the weights are by "{logs.ABOVE}".',
            todo="Ask for it apart from RIPS, SIPS and CascadeDR, with --logged propensity.",
        )
    if "slates" in by_need and len(loggers) > 1:
        raise UsageError(
            f"{by_need['slates']} takes the log of one logger.",
            found=f"Given: {', '.join(loggers)}. Their mixture does not draw ranks apart.",
            todo="Ask for IIPS or IPS, or estimate each logger's sessions by themselves.",
        )
    for target in targets if basis.by_rank else ():
        _validate_target(by_need, target)


def estimator_needs(wanted: Sequence[Estimator]) -> dict[str, str]:
    """The first estimator that has each need."""
    return {need: str(e) for e in reversed(wanted) for need in e.needs}


def _validate_target(by_need: Mapping[str, str], target: Table) -> None:
    name, columns = target.name, target.frame.columns
    if "rank" not in columns and "score" not in columns:
        raise UsageError(
            f'"{name}" does not say at which rank an item would stand.',
            found=f"Its columns are: {', '.join(columns)}.",
            todo="Give rank and propensity, or one list per session.",
        )
    if "chances" in by_need and "draw" in columns:
        raise UsageError(
            f"{by_need['chances']} multiplies the probabilities of a slate's ranks.",
            found=f'"{name}" gives samples: how often an item stands at a rank, whatever the rest.',
            todo="Give the column propensity (of the item at its rank, given those above), or ask"
            " for IIPS or PI.",
        )
