"""``funnel``: clicks, conversions and lists in, what each recommender would have sold out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterrank.conversions.conversion_estimators import DEFAULTS, ESTIMATORS, ConversionMeasure
from counterrank.conversions.pipeline import estimate_conversions
from counterrank.conversions.request import COLUMN, FunnelInputs, funnel_request
from counterrank.core.errors import UsageError
from counterrank.core.parallel import Progress, quiet
from counterrank.data.runs import Runs, tables_of
from counterrank.engine import Engine
from counterrank.engine import engine as engine_of
from counterrank.ope.estimators.ips import Estimator
from counterrank.position import Exposure
from counterrank.results.result import Result
from counterrank.stats.inference import RESAMPLES


def funnel(
    funnel: object,
    runs: Runs,
    *,
    rewards: str | Sequence[str] = (),
    measures: str | Sequence[str | ConversionMeasure | Exposure] = DEFAULTS,
    estimators: str | Sequence[str | Estimator] = ESTIMATORS,
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
) -> Result:
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
    both = {"user": user_features, "item": item_features}
    features = {of: table for of, table in both.items() if table is not None}
    request = funnel_request(
        rewards=_listed(rewards), measures=_listed(measures), estimators=_listed(estimators),
        features=features, ctr=ctr, cvr=cvr, floor=floor, pairs=pairs, users=users,
        baseline=baseline, level=level, interval=interval, test=test, correct=correct,
        resamples=resamples, seed=seed, missing=missing, duplicates=duplicates, ties=ties,
    )  # fmt: skip
    chosen = engine_of(engine, [funnel, *tables_of(runs), predictions])
    if not chosen.row_order and ties == "file":
        raise UsageError(
            "Rows have no order on Spark, so ties cannot go by it.",
            todo="Use --ties id, or the local engine.",
        )
    inputs = FunnelInputs.of(
        funnel, runs, predictions, rewards=request.rewards, features=features, columns=columns
    )
    return estimate_conversions(request, inputs, chosen, progress)


def _listed(given: Any) -> list[Any]:
    one = isinstance(given, (str, Estimator, ConversionMeasure, Exposure))
    return [given] if one else list(given)
