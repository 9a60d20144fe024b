"""``assess online``: how far offline figures foretell what experiments found."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from counterrank.api.estimate import estimate
from counterrank.assess import pipeline
from counterrank.assess.request import CONTROL, DayRequest, OnlineRequest, as_list, with_clips
from counterrank.core.parallel import Progress, quiet
from counterrank.data.runs import Runs
from counterrank.engine import Engine
from counterrank.ope.estimators import DEFAULTS
from counterrank.ope.estimators.ips import Estimator
from counterrank.position import ByContext, Exposure
from counterrank.position import position_bias as as_model
from counterrank.results.result import Result
from counterrank.stats.compare import Plan


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
) -> Result:
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
    day = DayRequest(
        control=control,
        estimators=with_clips(as_list(estimators), sweep),
        model=None if position_bias is None else as_model(position_bias),
        contexts=tuple(as_list(contexts)),
        views=views,
        estimate=estimate,
    )
    request = OnlineRequest(
        source, runs, as_list(offline), kind, baseline, as_list(rewards), day, sweep, truth,
        Plan(level=level), engine, columns, resume, progress,
    )  # fmt: skip
    return pipeline.assess_online(request)
