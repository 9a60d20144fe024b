"""What was asked of ``strata``: the cut, the propensities, the doors of the tables they need."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from counterrank import schema
from counterrank.checks import no_missing, shares
from counterrank.errors import UsageError, nearest
from counterrank.schema import Door, Named
from counterrank.stratified import CUTS
from counterrank.stratified.facts import Sought
from counterrank.stratified.propensities import RULES
from counterrank.stratified.tables import feedback_door, propensities_door
from counterrank.tables import opened


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked for, beside the columns ``there`` are in the judgments.

    Words of an option come before columns of the same name.
    """

    strata: int | None
    cut: str
    propensity: object
    feedback: object
    open_loop: object
    columns: Named
    there: tuple[str, ...] = ()

    def column(self, word: object) -> str | None:
        """The column of the judgments that a word names, by itself or by its role."""
        if not isinstance(word, str) or word in (*CUTS, *RULES):
            return None
        named = word if word in self.there else self.columns.get(word, word)
        if named in self.there and self.columns.get(word) == named:
            self.columns.met.add(word)
        return named if named in self.there else None

    @property
    def bins(self) -> int:
        """Number of strata of a cut by propensity."""
        return 2 if self.strata is None else self.strata

    @property
    def popular(self) -> bool:
        """Whether propensities come from popularity."""
        return self.propensity is None or (
            isinstance(self.propensity, str) and self.propensity in RULES
        )

    @property
    def propensity_column(self) -> str:
        """The column of the judgments that holds propensities, if one does."""
        return self.column(self.propensity) or ""

    @property
    def propensity_table(self) -> str:
        """What messages call the table of propensities."""
        return schema.label(self.propensity, "the propensities")

    @property
    def sought(self) -> Sought:
        """What is to be counted in the feedback."""
        column = "" if self.cut in CUTS else self.column(self.cut) or ""
        return Sought(column, self.propensity_column, self.cut == "items")

    def doors(self, judgments: object) -> dict[str, Door]:
        """The tables runs are held against, by name, in the order they are remembered."""
        self.refuse()
        own = [self.column(word) for word in (self.cut, self.propensity)]
        names = [name for name in dict.fromkeys(own) if name is not None]
        judged = schema.judgments_door(judgments, columns=self.columns, own=names)
        check = partial(
            _own, judged.check, judged.source.name, self.sought.column, self.propensity_column
        )
        found = {"judgments": replace(judged, check=check)}
        if self.popular and self.feedback is not None:
            found["feedback"] = feedback_door(self.feedback, self.columns)
        if not self.popular and not self.propensity_column:
            found["propensities"] = propensities_door(self.propensity, self.columns)
        if self.open_loop is not None:
            found["open"] = schema.judgments_door(self.open_loop, columns=self.columns)
        return found

    def refuse(self) -> None:
        """Refuse words that are neither columns nor anything else, and what cannot go together."""
        given = self.propensity
        if not self.popular and self.feedback is not None:
            raise UsageError(
                "Feedback is counted only for propensities from popularity.",
                todo="Leave --feedback out, or ask for --propensity popularity.",
            )
        nowhere = isinstance(given, str) and not os.path.exists(given) and "*" not in given
        if nowhere and not self.popular and not self.propensity_column:
            raise UsageError(
                f'propensity cannot be "{given}".',
                found=nearest(str(given), [*RULES, *self.there])
                or "It is neither a column nor a file.",
                todo=f"It takes {', '.join(RULES)}, a column of the judgments, or a table's path.",
            )
        if self.cut in CUTS:
            return
        name = self.column(self.cut)
        if name is None:
            raise UsageError(
                f'cut cannot be "{self.cut}".',
                found=nearest(self.cut, [*CUTS, *self.there]),
                todo=f"It takes {', '.join(CUTS)}, or a column: {', '.join(self.there)}.",
            )
        if self.strata is not None:
            raise UsageError(
                f'The values of "{name}" are the strata: their number cannot be chosen.',
                todo="Leave --strata out, or cut by propensity: --cut width.",
            )


def columns_of(judgments: object) -> tuple[str, ...]:
    """The columns there are to cut by."""
    name = schema.label(judgments, "the judgments")
    return tuple(opened(judgments, trec=schema.QRELS, name=name).columns())


def _own(
    check: Callable[[pl.DataFrame], pl.DataFrame],
    name: str,
    cut: str,
    propensity: str,
    frame: pl.DataFrame,
) -> pl.DataFrame:
    """The checks of judgments, and those of the columns that are cut or weighed by."""
    frame = check(frame)
    if cut:
        no_missing(frame, cut, name)
    if propensity:
        shares(frame, propensity, name)
    return frame
