"""What every partition of a log is told: the request, totals of the log, how weights are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from counterrank.data.schema import Table
from counterrank.engine.partitions import Partition, Partitions
from counterrank.ope.exposure_basis import Basis, choose_basis
from counterrank.ope.log import LOG, LogTotals, Sessions, log_table, sessions_of
from counterrank.ope.loggers import balance_loggers, balanced_column, logger_shares
from counterrank.ope.request import (
    LOGGED,
    EstimateRequest,
    lists_of,
    validate_lists,
    validate_scores,
    validate_slates,
    validate_views,
)
from counterrank.ope.targets import Target


@dataclass(frozen=True)
class Setting:
    """A request and what is known of the whole log.

    ``basis`` is what weights divide; where there are several loggers, ``shares`` are their shares
    of the sessions, and ``logger_basis`` how likely each of their own lists was seen.
    """

    request: EstimateRequest
    totals: LogTotals
    basis: Basis
    logger_basis: Basis
    shares: dict[str, float]

    @classmethod
    def of(cls, request: EstimateRequest, log: Partitions) -> Setting:
        """A pass over the log, and every check that needs no rows."""
        head, targets = log_table(log.heads[LOG]), lists_of(request.tables.targets, log.heads)
        views, logged, position = request.views, request.logged, request.position
        basis = choose_basis(head, targets, logged=logged, views=views, model=position)
        totals = LogTotals.read(log, request.gaps)
        basis = logger_basis = basis.with_totals(totals)
        validate_views(request.estimators, basis)
        validate_scores(request.scores, basis, targets)
        request.plan.pairs([LOGGED, *request.systems])  # the baseline is there
        loggers = [table.system for table in lists_of(request.tables.loggers, log.heads)]
        shares = logger_shares(head, totals, loggers) if loggers else {}
        if loggers:
            basis = replace(basis, logged=balanced_column(basis))
        disjoint = request.disjoint
        if disjoint == "auto":
            disjoint = "error" if basis.logged == "rank" else "zero"
        validate_lists(request.estimators, targets, scores=request.scores, missing=request.missing)
        validate_slates(request.estimators, basis, targets, loggers)
        request = replace(request, disjoint=disjoint, logged=basis.logged, views=basis.views)
        return cls(request, totals, basis, logger_basis, shares)

    def sessions(self, part: Partition) -> Sessions | None:
        """A partition's sessions by the whole log's numbers; None if it has none."""
        alone = sessions_of(part, self.request.gaps)
        return None if alone is None else part.cached("log", lambda: self._sessions(alone, part))

    def _sessions(self, alone: Sessions, part: Partition) -> Sessions:
        sessions = self.totals.number_sessions(alone)
        if not self.shares:
            return sessions
        scores = self.request.scores
        loggers = {
            t.system: Target.of(t, alone.units, scores="order" if t.order != "score" else scores)
            for t in lists_of(self.request.tables.loggers, part.tables)
        }
        rows = self.totals.rows
        return balance_loggers(sessions, self.logger_basis, loggers, self.shares, rows)

    def targets(self, sessions: Sessions, part: Partition) -> dict[str, Target]:
        """The targets' lists beside the partition's sessions."""
        scores = self.request.scores
        return part.cached(
            "targets",
            lambda: {
                t.system: Target.of(t, sessions.units, scores=scores)
                for t in lists_of(self.request.tables.targets, part.tables)
            },
        )

    @property
    def chance(self) -> str:
        """Whether the logger might have shown more than it did in a session: none or some."""
        return "none" if self.basis.logged == "rank" and self.basis.views != "rows" else "some"

    @property
    def allowed(self) -> list[str]:
        """Faults of targets that the request lets pass."""
        missing, disjoint = self.request.missing, self.request.disjoint
        return [
            *(["session without list"] if missing != "error" else []),
            *(["nothing logged"] if disjoint != "error" else []),
        ]

    def orders(self, heads: Mapping[str, Table]) -> dict[str, str]:
        """What orders each target's lists: ranks, scores or exposures."""
        return {t.system: t.order for t in lists_of(self.request.tables.targets, heads)}
