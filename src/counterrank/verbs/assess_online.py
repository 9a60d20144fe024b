"""``assess online``: how far offline figures foretell what experiments found."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from counterrank.assess_result import Assessment
from counterrank.compare import Plan
from counterrank.data.runs import Runs, has_runs, tables_of
from counterrank.engine import Engine, bucketed
from counterrank.engine import engine as engine_of
from counterrank.errors import CounterrankError, UsageError, one_of
from counterrank.exposure import ByContext, Exposure
from counterrank.exposure import position_bias as as_model
from counterrank.meta import Checkpoint, fingerprint
from counterrank.meta.grounds import enough
from counterrank.meta.online import Cases, Figures, figures
from counterrank.meta.past import KINDS, past
from counterrank.ope.estimators.base import Estimator
from counterrank.ope.estimators.registry import DEFAULTS, estimator
from counterrank.ope.request import log_schemas
from counterrank.progress import Progress, quiet
from counterrank.schema import Input
from counterrank.verbs.past_buckets import from_buckets
from counterrank.verbs.past_logs import CONTROL, Experiment, Terms, dated, from_log, swept
from counterrank.verbs.recommended_online import foretold

TRUTHS = ("auto", "online", "all")
ALL = "all"


@dataclass(frozen=True)
class OnlineRow:
    """One offline measure against one online metric. ``value`` is Pearson's r, ``p`` Student's.

    Shares are of the true ``effects`` (``type_1``: of the ``nulls``). ``clip`` is the estimator's.
    """

    measure: str
    reward: str
    clip: float | None
    value: float
    low: float
    high: float
    level: float
    p: float
    kendall: float
    cases: int
    sign_agreement: float
    sensitivity: float
    type_1: float
    type_2: float
    type_3: float
    mean_p: float
    effects: int
    nulls: int


@dataclass(frozen=True)
class CaseRow:
    """One system in one experiment: offline and online values and effects."""

    experiment: str
    system: str
    measure: str
    reward: str
    offline: float
    online: float
    effect: float
    effect_se: float
    online_effect: float
    online_effect_se: float


def assess_online(
    source: object,
    runs: Runs | None = None,
    *,
    offline: Sequence[str] = (),
    kind: str = "values",
    baseline: str | None = None,
    rewards: str | Sequence[str] = (),
    position_bias: str | Path | Exposure | ByContext | None = None,
    estimators: Sequence[str | Estimator] = DEFAULTS,
    sweep: str = "none",
    contexts: str | Sequence[str] = (),
    views: str = "auto",
    control: str = CONTROL,
    truth: str = "auto",
    level: float = 0.95,
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = quiet,
) -> Assessment:
    """Do offline figures foretell online ones?

    ``source`` alone is a table of past experiments: experiment (or day), online, and either measure
    and offline in each row or a column for each measure (``offline`` names them, otherwise all
    that are left over); optionally system, reward, online_se and offline_se. Rows are ``values``
    of systems, compared with the ``baseline`` of the same experiment, or are ``effects`` already.

    With ``runs``, ``source`` is a log with the columns day and arm, and each run, named by its arm,
    holds what the arm's ranker would have shown in the sessions of the ``control``. Each day's
    control log gives the ``estimators``' figures (see ``estimate`` for them and for ``rewards``,
    ``position_bias``, ``contexts`` and ``views``); the arm's own sessions give the online value.
    ``sweep="clip"`` repeats every estimator that can be clipped over a range of clips.

    ``truth`` is which effects are real: those the experiment calls at ``level`` (``online``), or
    ``all``; ``auto`` takes the former where online standard errors are known.

    ``engine`` is where a log is read (see ``estimate``); of one larger than memory a day for each
    core must fit. ``resume`` is a folder for results so far: the same call goes on where it
    stopped. It needs tables that are read into memory.
    """
    one_of("kind", kind, KINDS)
    one_of("truth", truth, TRUTHS)
    one_of("sweep", sweep, ("none", "clip"))
    Plan(level=level)
    given = has_runs(runs)
    inputs: tuple[Input, ...]
    ran: dict[str, Any] = {}
    if given:
        assert runs is not None
        terms = Terms(
            control=control,
            arms=(),
            rewards=(),
            estimators=tuple(swept(_listed(estimators), sweep)),
            model=None if position_bias is None else as_model(position_bias),
            contexts=tuple(_listed(contexts)),
            views=views,
        )
        cases, inputs, ran = _logged(
            source, runs, _listed(rewards), terms, engine, columns, resume, progress
        )
    else:
        if sweep != "none":
            raise UsageError("A clip sweep needs a log and runs, not a table of figures.")
        cases, one = past(
            source, offline=_listed(offline), kind=kind, baseline=baseline, columns=columns
        )
        inputs = (one,)
    known = not any(np.isnan(c.online_se[~np.isnan(c.online_effect)]).any() for c in cases)
    if truth == "online" and not known:
        raise UsageError(
            "Online effects without standard errors cannot be told from chance.",
            todo="Give a column online_se, or say that all effects are real: --truth all.",
        )
    truth = truth if truth != "auto" else "online" if known else "all"
    every = [*cases, *_pooled(cases)]
    rows = [_row(c, figures(c, level=level, truth=truth), level) for c in every]
    return Assessment(
        kind="assess online",
        estimates=rows,
        comparisons=[],
        diagnoses=[enough(len({*cases[0].experiment}), "experiments")],
        recommendation=foretold(every, rows, level, truth),
        tables={"cases": [row for c in cases for row in _cases(c)]},
        protocol={
            "unit": "experiment",
            "source": "log" if given else "table",
            "rows": "values" if given else kind,
            "baseline": control if given else baseline,
            "truth": truth,
            "correlation": "Pearson, two-sided Student test; interval by Fisher's z",
            "test": "normal, two-sided; online effects of independent samples",
            "level": level,
            **ran,
        },
        inputs=inputs,
        units=pl.DataFrame(
            [
                {"unit": f"{e}/{c.reward}" if c.reward else e, "system": s, "measure": c.measure,
                 "value": float(v)}
                for c in cases
                for e, s, v in zip(c.experiment, c.system, c.offline, strict=True)
            ]
        ),
    )  # fmt: skip


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, (str, Estimator)) else list(given)


def _logged(
    source: object,
    runs: Runs,
    rewards: list[str],
    terms: Terms,
    chosen: str | Engine,
    columns: Mapping[str, str] | None,
    resume: str | os.PathLike[str] | None,
    progress: Progress,
) -> tuple[list[Cases], tuple[Input, ...], dict[str, Any]]:
    """The cases, what was read, and where it ran."""
    by = [] if terms.model is None or terms.model.column is None else [terms.model.column]
    contexts = [*terms.contexts, *by]
    chosen = engine_of(chosen, [source, *tables_of(runs)])
    entries, given = log_schemas(
        source, runs, None, rewards=rewards, contexts=contexts, columns=columns
    )
    with bucketed(
        chosen, entries, by="session", ids=("session", "item"), progress=progress
    ) as held:
        terms = replace(terms, rewards=dated(held.heads).rewards)
        if held.whole:
            experiment = Experiment.of(held.heads, given, terms)
            keep = Checkpoint(resume, _key(experiment))
            cases = from_log(experiment, progress=progress, keep=keep)
        elif resume is not None:
            raise UsageError(
                "Only tables that are read into memory can be taken up again.",
                todo="Leave --resume out, or --memory, --partitions and --engine.",
            )
        else:
            cases = from_buckets(held, given, terms)
        return cases, tuple(held.inputs.values()), held.partitions.protocol()


def _key(experiment: Experiment) -> str:
    """A digest of all rows and of what is asked of them."""
    terms, tables = experiment.terms, (experiment.log, *experiment.arms.values())
    frames = [table.frame for table in tables]
    return fingerprint(
        "online", *(frame.hash_rows().to_numpy() for frame in frames),
        [frame.columns for frame in frames], list(terms.rewards), list(terms.arms),
        [str(e) for e in terms.estimators], str(terms.model), list(terms.contexts), terms.views,
        terms.control,
    )  # fmt: skip


def _pooled(cases: Sequence[Cases]) -> list[Cases]:
    """Effects on several rewards together; their values are on different scales."""
    if len({c.reward for c in cases}) < 2:
        return []
    found = []
    for label in dict.fromkeys(c.measure for c in cases):
        own = [c for c in cases if c.measure == label]
        blank = np.full(sum(len(c.offline) for c in own), np.nan)
        joined = {
            name: np.concatenate([getattr(c, name) for c in own])
            for name in ("effect", "se", "online_effect", "online_se")
        }
        found.append(
            Cases(
                label, ALL, sum((c.experiment for c in own), ()), sum((c.system for c in own), ()),
                blank, blank, **joined,
            )
        )  # fmt: skip
    return found


def _row(cases: Cases, found: Figures, level: float) -> OnlineRow:
    clip = None
    try:
        clip = getattr(estimator(cases.measure), "clip", None)
    except CounterrankError:
        clip = None  # a measure of the user's own
    fields = asdict(found)
    r = fields.pop("pearson")
    return OnlineRow(cases.measure, cases.reward, clip, value=r, level=level, **fields)


def _cases(c: Cases) -> list[CaseRow]:
    columns = (c.offline, c.online, c.effect, c.se, c.online_effect, c.online_se)
    return [
        CaseRow(e, s, c.measure, c.reward, *map(float, row))
        for e, s, row in zip(c.experiment, c.system, np.stack(columns, axis=1), strict=True)
    ]
