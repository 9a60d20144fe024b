"""From sums per session to estimates with influence values, and the estimators that help others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.estimates import Estimate
from counterrank.logged.earned import Earned
from counterrank.logged.estimator import Clipped, Estimator
from counterrank.logged.gather import Work
from counterrank.logged.ips import MeanWeight, OnPolicy
from counterrank.logged.reading import LOGGED
from counterrank.logged.slate import SlateWeight
from counterrank.logged.sweep import ESTIMATORS as SWEEP

INNER = ("MeanWeight", "SlateWeight")  # computed for diagnoses
Key = tuple[str, str, str]  # system, label of the estimator, reward


def helped(wanted: Sequence[Estimator], *, sweep: str) -> tuple[Estimator, ...]:
    """What is computed for each target: the estimators asked for, and what diagnoses them."""
    computed: list[Estimator] = [e for e in wanted if not isinstance(e, OnPolicy)]
    computed += [MeanWeight(), *(kept_weight(e) for e in clipped(wanted))]
    computed += [SlateWeight()] if any("chances" in e.needs for e in wanted) else []
    computed += SWEEP if sweep == "clip" else ()
    return tuple(dict.fromkeys(computed))


def clipped(estimators: Sequence[Estimator]) -> list[Clipped]:
    """Those that clip."""
    return [e for e in estimators if isinstance(e, Clipped) and e.clip < float("inf")]


def kept_weight(e: Clipped) -> Clipped:
    """What tells how much of the weight an estimator keeps when it clips."""
    return SlateWeight(clip=e.clip) if "chances" in e.needs else MeanWeight(clip=e.clip)


def estimated(earned: Earned, work: Work) -> tuple[dict[Key, Estimate], dict[str, Ints]]:
    """Influence values of every system, estimator and reward."""
    n, all_users = len(earned.units), earned.cluster
    kept = {LOGGED: np.arange(n), **{name: part.kept for name, part in earned.targets.items()}}
    tables: dict[Key, tuple[Floats, Estimator]] = {}
    for reward, columns in earned.logged.items():
        tables[LOGGED, "OnPolicy", reward] = (columns, OnPolicy())
    for name, part in earned.targets.items():
        for reward in work.rewards:
            for e in work.estimators:
                tables[name, str(e), reward] = (part.columns[reward, str(e)], e)
    found = {}
    for key, (columns, e) in tables.items():
        places = kept[key[0]]
        whole = len(places) == n
        units = earned.units if whole else earned.units.gather(places)
        cluster = all_users
        if cluster is not None and not whole:
            cluster = np.unique(cluster[places], return_inverse=True)[1]
        found[key] = Estimate.of_columns(columns, units, e.combined(work.per), cluster)
    return found, kept
