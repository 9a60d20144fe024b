"""``funnel``: what was shown, clicked and bought, and lists in; what these would sell out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any

from counterrank.conversions.click_models import ClickModels, gather_pairs
from counterrank.conversions.conversion_estimators import (
    FORMULAS,
    conversion_estimator,
    conversion_measure,
)
from counterrank.conversions.funnel_arrays import FunnelTotals, count_funnel
from counterrank.conversions.funnel_diagnostics import diagnose_lists, diagnose_predictions
from counterrank.conversions.funnel_pass import FunnelContributions, list_contributions
from counterrank.conversions.request import FunnelInputs, FunnelRequest
from counterrank.core.errors import UsageError
from counterrank.core.parallel import Progress, quiet
from counterrank.data.schema import Input
from counterrank.diagnostics.diagnostic import Diagnostic
from counterrank.diagnostics.funnel_checks import constant_features
from counterrank.engine import Engine
from counterrank.engine.engines import Storage
from counterrank.results.result import Result
from counterrank.results.tipping import with_tipping
from counterrank.stats.moments import Pair

KNEW = {
    "shown": "items were shown to those who would buy them by more than the exposures say",
    "click": "people click what they would buy by more than the predicted clicks say",
}


def estimate_conversions(
    request: FunnelRequest, inputs: FunnelInputs, engine: Engine, progress: Progress = quiet
) -> Result:
    """Statistics of the whole; pairs that models need; contributions of every user."""
    with engine.open(inputs.tables, progress) as data:
        request = request.with_tables(inputs.names, data.heads)
        features = {of: schema.whole() for of, schema in inputs.features.items()}
        request, totals = count_funnel(request, data)
        wide, budget = len(request.runs.labels) * sum(request.widths.values()), engine.memory_budget
        storage = Storage.choose(engine.inference, totals.n(request.users), wide, budget)
        draws = request.plan.drawn(storage.inference)
        pairs = gather_pairs(data, request, totals, budget)
        models = ClickModels.fit(pairs, request, totals, features)
        predictors = models.predictors(request)
        work = partial(list_contributions, request, totals, predictors, draws, storage.inference)
        users = data.reduce(work, "joining clicks and lists")
    for evidence in users.lists.values():
        request.refuse(evidence.faults)
    diagnostics = [constant_features(of, columns) for of, columns in models.features.items()]
    diagnostics += diagnose_predictions(request, totals, pairs, models)
    diagnostics += diagnose_lists(request, users)
    protocol = _protocol(request, totals, models) | data.protocol()
    protocol["inference"] = storage.protocol()
    read = {**data.inputs, **{f"{of}s": table.input() for of, table in features.items()}}
    return _result(request, users, diagnostics, protocol, read)


def _result(
    request: FunnelRequest,
    users: FunnelContributions,
    diagnostics: list[Diagnostic],
    protocol: dict[str, Any],
    inputs: Mapping[str, Input],
) -> Result:
    """Values of the estimators asked for, and every system against the baseline."""
    plan, wanted = request.plan, {str(e) for e in request.estimators}
    every = users.functions(request).items()
    functions = {key: f for key, f in every if key.estimator in wanted}
    base = plan.baseline or ""
    questions: dict[tuple[str | None, ...], list[Pair]] = {}
    for key in functions:
        if key.system != base:
            questions.setdefault(key[1:], []).append((key, key._replace(system=base)))
    weights = [row for name, own in users.lists.items() for row in own.weights.spread(name)]
    result = Result.of(
        "funnel", users.units, functions=functions, groups=list(questions.values()), plan=plan,
        diagnostics=diagnostics, protocol=protocol, inputs=inputs, tables={"weights": weights},
        family=lambda size, groups: f"{size} comparison{'s' * (size != 1)}",
        parse=_label, default=request.leading,
    )  # fmt: skip
    knew = KNEW["shown" if request.shows else "click"]
    return with_tipping(result, request.swings(), request.functions(), {}, knew)


def _label(given: object) -> str:
    """The text of an estimator or a measure, whatever its case."""
    with suppress(UsageError):
        return str(conversion_measure(given))
    return conversion_estimator.label(given)


def _protocol(request: FunnelRequest, totals: FunnelTotals, models: ClickModels) -> dict[str, Any]:
    """What was computed, and how it was compared."""
    formulas = FORMULAS["shown" if request.shows else "click"]
    return {
        "unit": "user",
        "estimand": request.estimand.name,
        "basis": request.estimand.basis,
        **({"undecided": request.estimand.undecided} if request.estimand.undecided else {}),
        "position_bias": None if request.position is None else str(request.position),
        "views": request.views,
        "pairs": request.pairs,
        "lower_is_better": [str(m) for m in request.measures if m.better == "lower"],
        "exposures": {
            str(m): {"weight": str(m.model), "scale": m.scale, "form": m.form}
            for m in request.measures
        },
        "estimators": {str(e): formulas.get(type(e), e.formula) for e in request.estimators},
        "contrast": [str(e) for e in request.estimators if e.trust < 0],
        **request.plan.protocol(resamples=request.plan.resamples),
        "users": request.users,
        "users_with_lists_only": totals.list_only if request.users == "all" else 0,
        "ctr": str(request.ctr),
        "cvr": str(request.cvr),
        "exposure": str(request.exposure),
        **({} if totals.events is None else {"events": asdict(totals.events)}),
        "models": models.protocol(request),
        "features": {
            of: {"columns": list(own.names), "left out": list(own.constant)}
            for of, own in models.features.items()
        },
        "floor": request.floor,
        "missing": request.missing,
        "duplicates": request.duplicates,
        "ties": request.ties,
    }
