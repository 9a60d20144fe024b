"""``assess online``: how far offline figures foretell what experiments found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

from counterrank.api import verb as v
from counterrank.core.parallel import quiet

if TYPE_CHECKING:
    from counterrank.results.result import Result


@v.verb
def assess_online(
    table: v.Table,
    runs: v.MoreLists = None,
    *,
    offline: v.Several = (),
    kind: Literal["values", "effects"] = "values",
    baseline: str | None = None,
    reward: v.Several = (),
    position_bias: v.PositionBias = None,
    estimator: v.Estimators = v.ESTIMATORS,
    sweep: v.Sweep = "none",
    context: v.Several = (),
    views: v.Views = "auto",
    control: str = "control",
    truth: Literal["auto", "online", "all"] = "auto",
    correlate: Literal["auto", "effects", "values"] = "auto",
    level: v.Level = 0.95,
    columns: v.Columns = None,
    resume: v.Folder = None,
    progress: v.Bar = quiet,
    **where: Unpack[v.Where],
) -> Result:
    """Do offline figures foretell online ones?

    ``table`` alone is a table of past experiments: experiment (or day), online, and either measure
    and offline in each row or a column for each measure (``offline`` names them, otherwise all
    that are left over); optionally system, reward, online_se and offline_se. Rows are ``values``
    of systems, compared with the ``baseline`` of the same experiment, or are ``effects`` already.

    With ``runs``, ``table`` is a log with the columns day and arm, and each run, named by its arm,
    holds what the arm's ranker would have shown in the sessions of the ``control``. Each day's
    control log gives the figures of each ``estimator`` (see ``estimate``, also for ``reward``,
    ``position_bias``, ``context`` and ``views``); the arm's own sessions give the online value.
    ``sweep="clip"`` repeats every estimator that can be clipped over a range of clips.

    ``truth`` is which effects are real: those the experiment calls at ``level`` (``online``), or
    ``all``; ``auto`` takes the former where online standard errors are known.

    ``correlate`` is what offline and online figures are correlated by: ``effects`` against the
    control, which is the question, or ``values``, which also go together where all of them rise and
    fall with the season; ``auto`` takes effects where there are any. The arms of an experiment are
    one cluster. Days (a column ``day``, or experiments named by dates) are a series: p comes from
    moving one side against the other by days, so that fewer than 20 days reach no p of 0.05.

    ``engine`` is where a log is read (see ``estimate``); of one larger than memory a day for each
    core must fit. ``resume`` is a folder for results so far: the same call goes on where it
    stopped. It needs tables that are read into memory.
    """
    from counterrank.api.estimate import estimate
    from counterrank.assess import pipeline
    from counterrank.assess.request import DayRequest, OnlineRequest, with_clips
    from counterrank.position import position_bias as as_model
    from counterrank.stats.plan import Plan

    day = DayRequest(
        control=control,
        estimators=with_clips(v.as_list(estimator), sweep),
        model=None if position_bias is None else as_model(position_bias),
        contexts=tuple(v.as_list(context)),
        views=views,
        estimate=estimate,
    )
    request = OnlineRequest(
        table, runs, v.as_list(offline), kind, baseline, v.as_list(reward), day, sweep, truth,
        correlate, Plan(level=level), v.engine_for(where, table, runs), columns, resume, progress,
    )  # fmt: skip
    return pipeline.assess_online(request)
