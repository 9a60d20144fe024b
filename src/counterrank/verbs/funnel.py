"""``funnel``: clicks, conversions and lists in, what each recommender would have sold out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from counterrank.compare import Plan
from counterrank.conversions import (
    COLUMN,
    DEFAULTS,
    FORMULAS,
    FUNNEL,
    MEASURES,
    PAIRS,
    USERS,
    Asked,
    OfClicks,
    Rules,
    Sale,
    Weighting,
    conversion_estimator,
    counted,
    counts,
    doors,
    estimated,
    fits,
    gathered,
    given,
    helped,
    known,
    learnt,
    recorded,
    refuse,
    refuse_both,
    refuse_no_ctr,
    sold,
    source,
    weighting,
    width,
)
from counterrank.data.runs import Runs, tables_of
from counterrank.engine import Engine, bucketed
from counterrank.engine import engine as engine_of
from counterrank.errors import UsageError, one_of
from counterrank.exposure import Exposure
from counterrank.features import features
from counterrank.funnel_result import FunnelEstimation
from counterrank.inference import RESAMPLES
from counterrank.lifts import refuse_plan
from counterrank.moments import kept
from counterrank.ope.estimators.base import Estimator
from counterrank.ope.estimators.doubly_robust import SNDR
from counterrank.ope.estimators.ips import SNIPS
from counterrank.order import TIES
from counterrank.progress import Progress, quiet
from counterrank.propensity import Encoded, Logistic, Nuisance, model
from counterrank.schema import Named
from counterrank.tables.memory import is_spark
from counterrank.trust.propensities import constant_features
from counterrank.trust.sales import forecasts, sales


def funnel(
    funnel: object,
    runs: Runs,
    *,
    rewards: str | Sequence[str] = (),
    measures: str | Sequence[str | Weighting | Exposure] = MEASURES,
    estimators: str | Sequence[str | Estimator] = DEFAULTS,
    predictions: object | None = None,
    ctr: str = COLUMN,
    cvr: str = COLUMN,
    user_features: object | None = None,
    item_features: object | None = None,
    floor: float = 0.0,
    pairs: str = "all",
    users: str = "auto",
    baseline: str | None = None,
    level: float = 0.95,
    interval: str = "normal",
    test: str = "t",
    correct: str = "holm",
    resamples: int = RESAMPLES,
    seed: int = 0,
    missing: str = "zero",
    duplicates: str = "error",
    ties: str = "id",
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> FunnelEstimation:
    """Estimate what recommenders would have sold, from clicks and conversions after clicks.

    ``funnel`` has user, item, click, conversion, and if you have them the predicted ``ctr``
    (chance of a click) and ``cvr`` (chance of a conversion after one); each run has user, item and
    rank or score. ``predictions`` is a further table of user, item, ctr, cvr; a run may have a
    column cvr of its own. Instead of columns, ``ctr`` and ``cvr`` may name models that are fitted
    to the funnel, out of fold: rates, factors, or logistic, which needs ``user_features``,
    ``item_features`` or both: tables with a row per user or item, and columns of numbers, of yes
    or no, or of text.

    What is estimated: the ``rewards`` (columns beside or instead of conversion, such as spend)
    that all listed items would bring if they were clicked, weighted by their ranks: ``measures``
    are DCG@10, CG@10 (conversions among the first 10; Recall@10 is the same, not divided by
    anything), P@10, RBP, ARP, or a position model as text. ``estimators`` are Naive, IPS, SNIPS,
    DM, DR, SNDR, with (clip=...) on 1/ctr. ``floor`` raises smaller ctr to it.
    Who could click: with ``pairs`` all, a pair without a row was not clicked; with rows, it could
    not be. ``users`` is who counts: those of the table, all with lists, or auto: all if the table
    holds nothing but clicks.
    What is compared: every run with ``baseline``, the first run if none is named; ``test`` is t,
    bootstrap or none, ``correct`` is holm, bh or none.
    What does not fit: ``missing`` (zero, error) is for users without a list, ``duplicates`` (error,
    first) for an item twice in a list, ``ties`` (id, id32, file) for equal scores.
    Where it runs: ``engine`` is auto, local or spark, or ``Local(memory="4GB")``, ``Spark(...)``.
    """
    wanted = tuple(dict.fromkeys(conversion_estimator(e) for e in _listed(estimators)))
    worths = tuple(dict.fromkeys(weighting(m) for m in _listed(measures)))
    _refuse_empty(wanted, worths)
    one_of("pairs", pairs, PAIRS)
    one_of("users", users, USERS)
    one_of("missing", missing, ("zero", "error"))
    one_of("duplicates", duplicates, ("error", "first"))
    one_of("ties", ties, [word for word in TIES if word != "expected"])
    refuse_plan(test, correct, interval)
    if not 0 <= floor < 1:
        raise UsageError(f"floor must lie between 0 and 1, not {floor:g}.")
    both = {"user": user_features, "item": item_features}
    described = {of: table for of, table in both.items() if table is not None}
    _refuse_unread(described, ctr, cvr)
    named = Named(columns)
    chosen = engine_of(engine, [funnel, *tables_of(runs), predictions])
    opened = doors(funnel, runs, predictions, rewards=_listed(rewards), columns=named)
    if not chosen.row_order and ties == "file":
        raise UsageError(
            "Rows have no order on Spark, so ties cannot go by it.",
            todo="Use --ties id, or the local engine.",
        )
    tables = {
        of: features(_at_hand(table), of=of, columns=named) for of, table in described.items()
    }
    with bucketed(chosen, opened, by="user", ids=("user", "item"), progress=progress) as buckets:
        named.refuse_unmet()
        refuse_both(buckets.heads)
        census = counted(buckets.mapped(partial(counts, users=users), "counting users and items"))
        census.refuse()
        plan = Plan(
            baseline=baseline or census.runs[0].system, test=test, correct=correct, level=level,
            interval=interval, resamples=resamples, seed=seed,
        )  # fmt: skip
        plan.pairs([run.system for run in census.runs])  # the baseline is there
        rules = Rules(census.who(users), pairs, census)
        there = given(buckets.heads)
        told = ctr != COLUMN or "ctr" in there
        asked = Asked(worths, helped(wanted, told), tuple(census.earned), pairs)
        refuse_no_ctr(wanted, told, buckets.heads[FUNNEL].name)
        sources = {
            run.system: source(run, wanted, buckets.heads, there, asked.rewards, cvr)
            for run in census.runs
        }
        wide = sum(width(asked, own) for own in sources.values())
        keep = kept(chosen.inference, census.n(rules.users), wide, chosen.memory_budget)
        if not keep.units:
            plan.refuse_units()
        record = recorded(buckets, rules, chosen, ctr=ctr, cvr=cvr)
        encoded = {} if record is None else known(record.units, census, tables)
        models = {}
        if record is not None:
            models = learnt(
                record, census, ctr=ctr, cvr=cvr, pairs=pairs, seed=seed, features=encoded
            )
        sale = Sale(
            asked=asked,
            rules=rules,
            cvr=sources,
            fits=fits(record, models, ctr=ctr, cvr=cvr) if record is not None and models else None,
            floor=floor,
            ties=ties,
            duplicates=duplicates,
            keep=keep.inference,
            draws=plan.drawn(),
        )
        joined, word = partial(sold, sale=sale), "joining clicks and lists"
        if keep.units:
            done = gathered(buckets.mapped(joined, word))
        else:
            done = buckets.folded(joined, word)
        inputs = tuple(buckets.inputs.values())
        count = buckets.count
    for run in census.runs:
        refuse(done.runs[run.system].faults, asked, missing=missing)
    found = estimated(done, asked)
    shown = {str(e) for e in wanted}
    forecast = []
    if record is not None:
        forecast = forecasts(record, rules, models, ctr=ctr, cvr=cvr, floor=floor)
    return FunnelEstimation(
        systems=tuple(done.runs),
        exposures=worths,
        rewards=asked.rewards,
        found={key: e for key, e in found.items() if key[2] in shown},
        diagnoses=[
            *(constant_features(of, said) for of, said in encoded.items()),
            *forecast,
            *sales(done, found, asked, level),
        ],
        plan=plan,
        protocol={
            **_protocol(plan, asked, wanted),
            "users": rules.users,
            "users_with_lists_only": census.strangers if rules.users == "all" else 0,
            "ctr": ctr,
            "cvr": cvr,
            "models": {reward: _described(own, ctr, cvr) for reward, own in models.items()},
            "features": {of: _columns(table) for of, table in encoded.items()},
            "floor": floor,
            "missing": missing,
            "duplicates": duplicates,
            "ties": ties,
            "engine": chosen.name,
            "partitions": count,
            "inference": keep.protocol(),
        },
        inputs=(*inputs, *(table.input() for table in tables.values())),
        weights=[row for name, part in done.runs.items() for row in part.weights.spread(name)],
    )


def _at_hand(table: Any) -> object:
    """Features are read whole, wherever they are."""
    return table.toArrow() if is_spark(table) else table


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, (str, Estimator, Weighting, Exposure)) else list(given)


def _refuse_empty(wanted: Sequence[OfClicks], worths: Sequence[Weighting]) -> None:
    if not wanted or not worths:
        raise UsageError("Nothing is to be estimated.", todo="For example DR of DCG@10.")
    ratios = [str(e) for e in wanted if isinstance(e, (SNIPS, SNDR))]
    shares = [str(m) for m in worths if m.form == "share"]
    if ratios and shares:
        raise UsageError(
            f"{shares[0]} divides by each user's own sum, {ratios[0]} by that of all users.",
            todo="Ask for Naive, IPS, DM or DR of it.",
        )


def _refuse_unread(given: Mapping[str, object], ctr: str, cvr: str) -> None:
    """Features that no model would look at."""
    models = [model(label) for label in (ctr, cvr) if label != COLUMN]
    if given and not any(isinstance(m, Logistic) for m in models):
        raise UsageError(
            f"Features of {'s and '.join(given)}s were given, and no model reads them.",
            found=f"ctr is {ctr}, cvr is {cvr}.",
            todo="Ask for logistic: --ctr logistic, --cvr logistic, or both.",
        )


def _columns(found: Encoded) -> dict[str, list[str]]:
    return {"columns": list(found.names), "left out": list(found.constant)}


def _described(model: Nuisance, ctr: str, cvr: str) -> dict[str, str | int]:
    """How the models were fitted; what was given as a column was not."""
    given = {name for name, word in (("ctr", ctr), ("cvr", cvr)) if word == COLUMN}
    return {key: value for key, value in model.description.items() if key not in given}


def _protocol(plan: Plan, asked: Asked, wanted: Sequence[OfClicks]) -> dict[str, Any]:
    """What was computed, and how it was compared."""
    return {
        "unit": "user",
        "pairs": asked.pairs,
        "lower_is_better": [str(m) for m in asked.measures if m.better == "lower"],
        "exposures": {
            str(m): {"weight": str(m.model), "scale": m.scale, "form": m.form}
            for m in asked.measures
        },
        "estimators": {str(e): FORMULAS[e.name] for e in wanted},
        "interval": plan.interval,
        "level": plan.level,
        "test": plan.test,
        "correction": plan.correction,
        "resamples": plan.resamples,
        "seed": plan.seed,
        "baseline": plan.baseline,
    }
