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
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats
from counterrank.core.errors import UsageError
from counterrank.core.faults import DataError
from counterrank.core.parallel import map_threads, workers
from counterrank.data.logs import Log
from counterrank.ope.log import LogTotals, Sessions
from counterrank.ope.match import LoggedRows, Meeting, Target

SERVED = "served by"  # the logger of each session, once all are one

if TYPE_CHECKING:
    from counterrank.ope.setting import Basis


def balance_loggers(
    sessions: Sessions,
    basis: Basis,
    loggers: Mapping[str, Target],
    share: Mapping[str, float],
    rows: int,
) -> Sessions:
    """The log with each row's exposure under all loggers together.

    ``share`` is that of each logger (`logger_shares`), ``rows`` are those of the whole log.
    """
    for name in share:
        absent = np.flatnonzero(loggers[name].place < 0)
        if len(absent):
            what, table = "logger without list", loggers[name].table.name
            raise DataError(sessions.fault(what, table, absent, column=name))
    column = mixture_column(basis)
    served = sessions.per_session(["policy"])["policy"].cast(pl.String).to_numpy()

    def of(cut: tuple[int, int]) -> tuple[Floats, Bools]:
        logged = LoggedRows.of(sessions, basis, *cut)
        mixed, strange = np.zeros(len(logged.rank)), np.zeros(len(logged.rank), bool)
        for name, alpha in share.items():
            met = Meeting.of(sessions, basis, logged, loggers[name], missing="skip").rows
            mixed += alpha * met.e
            shown = met.e > 0 if loggers[name].stochastic else met.target_rank == logged.rank
            strange |= (served[slice(*cut)] == name)[logged.session] & ~shown
        return mixed, strange

    parts = map_threads(of, sessions.cuts(), workers())
    mixed, strange = map(np.concatenate, zip(*parts, strict=True))
    for what, wrong in (("not as logger lists", strange), ("in no logger's list", mixed <= 0)):
        if wrong.any():
            places, name = np.flatnonzero(wrong), sessions.log.name
            raise DataError(sessions.blocks.fault(what, name, places, rows=rows))
    frame = sessions.blocks.frame.with_columns(pl.Series(column, np.minimum(mixed, 1.0)))
    frame = frame.rename({"policy": SERVED})  # all of them are one logger now
    blocks = replace(sessions.blocks, frame=frame)
    log = replace(sessions.log, frame=frame)
    return replace(sessions, log=log, blocks=blocks, arrays={})


def mixture_column(basis: Basis) -> str:
    """The column of chances that the mixture of several loggers replaces."""
    return basis.logged if basis.by_rank else "exposure"


def validate_loggers(log: Log) -> None:
    """The log says which of several loggers served a session."""
    if not log.has("policy"):
        raise UsageError(
            f'"{log.name}" has no column "policy".',
            todo="With several loggers, each session says which one served it.",
        )


def logger_shares(totals: LogTotals, loggers: Sequence[str]) -> dict[str, float]:
    """Share of sessions that each logger served."""
    unknown = sorted(set(totals.served) - set(loggers))
    if unknown:
        raise UsageError(
            f'No lists were given for the logger "{unknown[0]}".',
            found=f"The log names {', '.join(sorted(totals.served))}.",
            todo=f"Add --logger {unknown[0]}=path: what it would have shown in every session.",
        )
    return {name: totals.served[name] / totals.sessions for name in sorted(totals.served)}
