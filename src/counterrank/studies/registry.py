"""All studies. Each is a module here with a ``STUDY``, loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

from counterrank.core.errors import UsageError, nearest
from counterrank.studies.study import Study

STUDIES = (
    "primer", "ndcg_disagreement", "offline_online", "open_bandit", "metric_assessment",
    "conversions", "simpson",
)  # fmt: skip


def names() -> list[str]:
    """What studies are called."""
    return [module.replace("_", "-") for module in STUDIES]


def find_study(name: str) -> Study:
    """A study by its name."""
    if name not in names():
        raise UsageError(
            f'There is no study "{name}".',
            found=nearest(name, names()),
            todo=f"There are: {', '.join(names())}.",
        )
    study: Study = import_module(f"counterrank.studies.{name.replace('-', '_')}").STUDY
    return study
