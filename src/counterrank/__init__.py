"""Counterrank: what would this ranker have earned, how sure are we, what does that rest on?

Public names load on first use, so that importing the package stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterrank.version import __version__

if TYPE_CHECKING:
    from counterrank.api.assess_accuracy import assess_accuracy
    from counterrank.api.assess_agreement import assess_agreement
    from counterrank.api.assess_online import assess_online
    from counterrank.api.assess_power import assess_power
    from counterrank.api.assess_robustness import assess_robustness
    from counterrank.api.check import check
    from counterrank.api.estimate import estimate
    from counterrank.api.evaluate import evaluate
    from counterrank.api.exposure import exposure
    from counterrank.api.funnel import funnel
    from counterrank.api.gate import gate
    from counterrank.api.repeat import repeat
    from counterrank.api.strata import strata
    from counterrank.core.errors import CounterrankError, InputError, UsageError
    from counterrank.core.labels import register
    from counterrank.engine.engines import Local, Spark
    from counterrank.metrics import Measure, measure
    from counterrank.ope.estimators.ips import Estimator
    from counterrank.position import PositionModel, position_bias
    from counterrank.results.result import Result
    from counterrank.stats.units import Estimate

_HOME = {
    "CounterrankError": "core.errors",
    "Estimate": "stats.units",
    "Estimator": "ope.estimators.ips",
    "InputError": "core.errors",
    "Local": "engine.engines",
    "Measure": "metrics",
    "PositionModel": "position",
    "Result": "results.result",
    "Spark": "engine.engines",
    "UsageError": "core.errors",
    "assess_accuracy": "api.assess_accuracy",
    "assess_agreement": "api.assess_agreement",
    "assess_online": "api.assess_online",
    "assess_power": "api.assess_power",
    "assess_robustness": "api.assess_robustness",
    "check": "api.check",
    "estimate": "api.estimate",
    "evaluate": "api.evaluate",
    "exposure": "api.exposure",
    "funnel": "api.funnel",
    "gate": "api.gate",
    "measure": "metrics",
    "position_bias": "position",
    "register": "core.labels",
    "repeat": "api.repeat",
    "strata": "api.strata",
}

__all__ = [
    "CounterrankError", "Estimate", "Estimator", "InputError", "Local", "Measure", "PositionModel",
    "Result", "Spark", "UsageError", "__version__",
    "assess_accuracy", "assess_agreement", "assess_online", "assess_power", "assess_robustness",
    "check", "estimate", "evaluate", "exposure", "funnel", "gate", "measure", "position_bias",
    "register", "repeat", "strata",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'counterrank' has no attribute {name!r}")
    value = getattr(import_module(f"counterrank.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
