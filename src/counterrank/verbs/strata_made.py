"""From the values of all users to the result; what policies call an error is refused here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from counterrank.core.faults import DataError, Fault
from counterrank.data.ids import positions, unify_ids
from counterrank.errors import InputError
from counterrank.policies import Policies
from counterrank.ranking import Measure
from counterrank.strata_result import OpenLoop, Stratification
from counterrank.stratified import HOLDOUT, AnyFace, Grounds, Users, Way, faces
from counterrank.systems import refuse_coverage
from counterrank.verbs.strata_gather import Gathered, Given
from counterrank.verbs.strata_open import Opened, refuse_absent
from counterrank.verbs.strata_parts import Piece
from counterrank.verbs.strata_pass import Scored
from counterrank.verbs.strata_sums import Condensed
from counterrank.verbs.strata_truth import Ground


def stratification(found: Gathered, given: Given) -> Stratification:
    """The result, unless there is nothing to say or a policy forbids it."""
    whole, measures, policies = found.piece, given.measures, given.policies
    _refuse(whole, measures, policies)
    names = tuple(system.name for system in whole.systems)
    given.plan.pairs(names)
    if whole.open is not None:
        refuse_absent(whole.opened, names)
    if isinstance(found.found, Condensed):
        ways, opened = _summed(found.found, found.ground)
    else:
        ways, opened = _kept(found.found, found.ground, policies)
    for m in measures:
        if not ways[str(m)][HOLDOUT].counted:
            raise InputError(
                f"No user with a list of every system has anything to find for {m}.",
                todo="Count users without a list as 0 (--missing zero), or check rel=.",
            )
    return Stratification(
        systems=names,
        measures=measures,
        units=whole.feedback.users.units if found.kept.units else None,
        grounds=_grounds(found),
        ways=ways,
        plan=given.plan,
        policies=policies,
        inputs=found.inputs,
        orders={s.name: s.order for s in whole.systems},
        open=opened,
        kept=found.kept,
        engine=found.engine,
        partitions=found.partitions,
        progress=given.progress,
    )


Ways = dict[str, dict[str, Way]]


def _kept(whole: Piece, known: Ground, policies: Policies) -> tuple[Ways, OpenLoop | None]:
    """All methods from values per user."""
    there = whole.there(policies.missing)
    _refuse_nobody(bool(there.any()))
    ways: Ways = {}
    for m, each in zip(known.measures, whole.faces(known, policies), strict=True):
        found = faces(each, whole.feedback.rows * there, len(known.strata.names))
        ways[str(m)] = dict(found)
    if whole.open is None:
        return ways, None
    labels = map(str, known.measures)
    own: dict[str, AnyFace] = dict(zip(labels, whole.open_faces(known, policies), strict=True))
    units = whole.open.units
    return ways, OpenLoop(units, own, positions(*unify_ids([units, whole.feedback.users.units])))


def _summed(sums: Condensed, known: Ground) -> tuple[Ways, OpenLoop | None]:
    """All methods from sums."""
    systems = len(sums.piece.systems)
    _refuse_nobody(sums.totals[0].there > 0)
    both = zip(known.measures, sums.totals, strict=True)
    ways: Ways = {str(m): total.ways(systems, len(known.strata.names)) for m, total in both}
    if sums.piece.open is None:
        return ways, None
    again = zip(known.measures, sums.open, strict=True)
    own: dict[str, AnyFace] = {str(m): total.faces(systems)[0] for m, total in again}
    return ways, OpenLoop(None, own, None)


def _refuse_nobody(there: bool) -> None:
    if not there:
        raise InputError(
            "No user has a list of every system.",
            todo="Count users without a list as 0 (--missing zero), or evaluate systems apart.",
        )


def _grounds(found: Gathered) -> Grounds:
    """What the diagnoses look at."""
    whole = found.piece
    if isinstance(found.found, Condensed):
        weights, judged = found.found.weights, found.found.judged
    else:
        weights = whole.feedback.weights
        weights = None if weights is None else weights.sum(axis=-1)
        judged = np.array([s.judged[s.present].sum() for s in whole.systems])
    lists = tuple(s.lists for s in whole.systems)
    return Grounds(
        cut=found.ground.strata,
        propensities=found.ground.propensities,
        ratings=whole.feedback.users.ratings,
        counts=whole.feedback.counts,
        weights=weights,
        lists=lists,
        judged=tuple((judged / [own.coverage.covered_users for own in lists]).tolist()),
    )


def _refuse(whole: Piece, measures: Sequence[Measure], policies: Policies) -> None:
    """Nothing to find, lists of nobody who is judged, and what policies call an error."""
    users = whole.feedback.users
    for place, m in enumerate(measures):
        _refuse_blank(place, m, users, policies.no_relevant, "judged")
        if whole.open is not None:
            _refuse_blank(place, m, whole.open, policies.no_relevant, "open-loop")
    for system in whole.systems:
        seen = system.lists.coverage
        listed, judged = system.apart or (users.units, users.units)
        refuse_coverage(system.table, seen, policies, listed, judged, _first(users.units, system))
    for again in whole.opened:
        assert whole.open is not None
        units = whole.open.units
        listed, judged = again.apart or (units, units)
        refuse_coverage(again.table, again.coverage, policies, listed, judged, _first(units, again))


def _first(units: pl.Series, system: Scored | Opened) -> Callable[[], object]:
    """Gives the first user without a list."""
    return lambda: units[int(np.argmin(system.present))]


def _refuse_blank(place: int, m: Measure, users: Users, no_relevant: str, whose: str) -> None:
    """Nothing to find at all, or for some where that is an error."""
    blank, total = users.ratings.blank[place], users.ratings.users
    what, top = "nothing to find in strata", {"top": users.ratings.top}
    if blank == total or (no_relevant == "error" and blank):
        first = {} if not blank else {"id": users.units[int(np.argmin(users.defined[place, 0]))]}
        raise DataError(Fault(what, whose, str(m), blank, total, first, top))
