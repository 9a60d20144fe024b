r"""Several loggers at once: the balance heuristic (Elvira et al. 2019; Kallus et al. 2021).

Where sessions were served by loggers :math:`j` at random with shares :math:`\alpha_j`, a row is
weighted by what all of them together would have exposed,

.. math:: \bar e_0(x, a) = \sum_j \alpha_j\, e_j(x, a),

not by its own logger alone: an item that one logger rarely shows and another often does then has no
large weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats, mapped, workers
from counterrank.core.faults import DataError
from counterrank.errors import UsageError
from counterrank.logged.basis import Basis
from counterrank.logged.join import joined, shown
from counterrank.logged.sessions import Sessions
from counterrank.logged.shared import Shared
from counterrank.logged.targets import Target
from counterrank.logs import Log


def balanced(
    sessions: Sessions,
    basis: Basis,
    loggers: Mapping[str, Target],
    share: Mapping[str, float],
    rows: int,
) -> tuple[Sessions, Basis]:
    """The log with each row's exposure under all loggers together; ``share`` as by ``shares``.

    ``rows`` are those of the whole log.
    """
    for name in share:
        absent = np.flatnonzero(loggers[name].place < 0)
        if len(absent):
            what, table = "logger without list", loggers[name].table.name
            raise DataError(sessions.fault(what, table, absent, column=name))
    column = "propensity" if basis.by_rank else "exposure"

    served = _served(sessions).to_numpy()

    def of(cut: tuple[int, int]) -> tuple[Floats, Bools]:
        side = shown(sessions, basis, *cut)
        mixed, strange = np.zeros(len(side.rank)), np.zeros(len(side.rank), bool)
        for name, alpha in share.items():
            met = joined(sessions, basis, side, loggers[name], missing="skip").rows
            mixed += alpha * met.e
            own = (served[slice(*cut)] == name)[side.session]
            at = met.e > 0 if loggers[name].stochastic else met.target_rank == side.rank
            strange |= own & ~at
        return mixed, strange

    parts = mapped(of, sessions.cuts(), workers())
    mixed = np.concatenate([part for part, _ in parts])
    _refuse_strange(sessions, np.concatenate([part for _, part in parts]), rows)
    if np.any(mixed <= 0):
        none = np.flatnonzero(mixed <= 0)
        what = "in no logger's list"
        raise DataError(sessions.blocks.fault(what, sessions.log.name, none, rows=rows))
    frame = sessions.blocks.frame.with_columns(pl.Series(column, np.minimum(mixed, 1.0)))
    frame = frame.drop("policy")  # all of them are one logger now
    blocks = replace(sessions.blocks, frame=frame)
    log = replace(sessions.log, frame=frame)
    fresh = replace(sessions, log=log, blocks=blocks, arrays={})
    return fresh, replace(basis, logged=column)


def _refuse_strange(sessions: Sessions, strange: Bools, rows: int) -> None:
    """Each logger must have shown what its lists say it would have."""
    if strange.any():
        places, name = np.flatnonzero(strange), sessions.log.name
        raise DataError(sessions.blocks.fault("not as logger lists", name, places, rows=rows))


def _served(sessions: Sessions) -> pl.Series:
    """Which logger served each session."""
    return sessions.blocks.frame["policy"].gather(sessions.blocks.start).cast(pl.String)


def shares(log: Log, shared: Shared, loggers: Sequence[str]) -> dict[str, float]:
    """Share of sessions that each logger served."""
    if not log.has("policy"):
        raise UsageError(
            f'"{log.name}" has no column "policy".',
            todo="With several loggers, each session says which one served it.",
        )
    unknown = sorted(set(shared.served) - set(loggers))
    if unknown:
        raise UsageError(
            f'No lists were given for the logger "{unknown[0]}".',
            found=f"The log names {', '.join(shared.served)}.",
            todo=f"Add --logger {unknown[0]}=path: what it would have shown in every session.",
        )
    return {name: count / shared.sessions for name, count in shared.served.items()}
