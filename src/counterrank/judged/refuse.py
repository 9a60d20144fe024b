"""What policies call an error, and data without anything to measure: told from all buckets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl

from counterrank.core.faults import DataError, Fault
from counterrank.errors import InputError
from counterrank.judged.part import Measured
from counterrank.policies import Policies
from counterrank.ranking import Measure
from counterrank.systems import refuse_coverage


def refuse_uncovered(found: Measured, policies: Policies) -> None:
    """Lists and judgments that do not meet, and what the policies call an error."""
    none = pl.Series([], dtype=pl.String)
    for s, (table, lists) in enumerate(zip(found.tables, found.lists, strict=True)):
        listed, judged = found.apart[s] or (none, none)
        first = partial(found.values.first_missing, s)
        refuse_coverage(table, lists.coverage, policies, listed, judged, first)


def refuse_empty(found: Measured, measures: Sequence[Measure], policies: Policies) -> None:
    """Refuse users with nothing to find where that is an error, and measures without any user."""
    for place, m in enumerate(measures):
        blank = found.ratings.blank[place]
        if policies.no_relevant == "error" and blank:
            first = found.values.first_blank(place)
            of, what = found.ratings.users, "nothing to find"
            raise DataError(Fault(what, "", str(m), blank, of, {"id": first}))
        for s, system in enumerate(found.systems):
            if not found.values.left(s, place):
                raise InputError(
                    f"No user is left for {m} of {system}.",
                    found="Every judged user is missing or has nothing to find.",
                    todo="Check rel= against the ratings, or use --no-relevant zero.",
                )
