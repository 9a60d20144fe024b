"""``estimate``: a log and target rankers in, what each would have earned out."""

from __future__ import annotations

from functools import partial
from typing import Any

from counterrank.core.parallel import Progress
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.engine import Engine
from counterrank.engine.engines import Storage
from counterrank.engine.partitions import Partitions, Tables
from counterrank.ope.clip_sweep import choose_clip, sweep_clips
from counterrank.ope.contributions import Contributions, count_columns, gather_contributions
from counterrank.ope.diagnoses import diagnose_targets
from counterrank.ope.estimators.ips import OnPolicy
from counterrank.ope.estimators.registry import estimator_label
from counterrank.ope.fitting import fit_models
from counterrank.ope.log import LOG
from counterrank.ope.log_audit import audit_log, sampled_share
from counterrank.ope.request import LOGGED, EstimateRequest
from counterrank.ope.reward_model import Regressor
from counterrank.ope.setting import Setting
from counterrank.results.result import Result
from counterrank.stats.units import Key


def estimate(
    request: EstimateRequest, tables: Tables, engine: Engine, model: str | Regressor, bar: Progress
) -> Result:
    """Totals of the log, reward models if asked for, every session's contributions, a result."""
    with engine.open(tables, bar) as log:
        tables.validate_names()
        setting = Setting.of(request.with_heads(log), log)
        request, head = setting.request, log.heads[LOG]
        models = fit_models(log, setting, model)
        storage = _storage(setting, engine)
        found = gather_contributions(log, setting, models, storage, sampled_share(setting.totals))
        found.refuse(setting)
        diagnoses = diagnose_targets(setting, found, setting.orders(log.heads))
        diagnoses += _audits(log, setting, found)
        ran = {**log.protocol(), "inference": storage.protocol()}
    return Result.of(
        "estimate", found.table, functions=request.functions(), groups=request.groups(),
        plan=request.plan, diagnoses=diagnoses, protocol={**request.protocol(head), **ran},
        inputs=log.inputs, tables=_tables(request, found), subjects=_subjects, family=_family,
        parse=estimator_label, progress=bar,
    )  # fmt: skip


def _storage(setting: Setting, engine: Engine) -> Storage:
    """Whether values per session are held."""
    sessions, columns = setting.totals.sessions, count_columns(setting)
    return Storage.choose(engine.inference, sessions, columns, engine.memory_budget)


def _audits(log: Partitions, setting: Setting, found: Contributions) -> list[Diagnosis]:
    """The audits of the log by its first reward."""
    reward, users = setting.request.rewards[0], None
    if "user" in log.heads[LOG].frame.columns:
        users = found.estimate(setting.request, LOGGED, reward, OnPolicy()).clusters
    return audit_log(
        log,
        setting.totals,
        setting.basis,
        reward,
        users=users,
        read=setting.sessions,
        sample=found.sample,
    )


def _tables(request: EstimateRequest, found: Contributions) -> dict[str, Any]:
    """How many rows weigh how much; the clip sweep, and the choice it speaks for."""
    level = request.plan.level
    swept = [
        sweep_clips(
            name, reward, partial(found.estimate, request, name, reward), target.weights, level
        )
        for name, target in found.targets.items()
        for reward in (request.rewards if request.sweep == "clip" else ())
    ]
    return {
        "weights": [row for name, own in found.targets.items() for row in own.weights.spread(name)],
        "sweep": [row for rows in swept for row in rows],
        "choices": [choose_clip(rows) for rows in swept],
    }


def _subjects(key: Key) -> set[str]:
    """The subjects of diagnoses that concern an estimate; the logged ranker's own stands alone."""
    if key.system == LOGGED:
        return {LOGGED}
    return {key.system, f"{key.system}, {key.estimator}", "log"}


def _family(size: int, groups: int) -> str:
    return f"{size} comparison{'s' * (size != 1)}"
