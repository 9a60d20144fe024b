"""From the values of all users to the result; what policies call an error is refused here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from counterrank.arrays import Bools
from counterrank.compare import Plan
from counterrank.errors import InputError
from counterrank.policies import Policies
from counterrank.ranking import Measure
from counterrank.strata_result import OpenLoop, Stratification
from counterrank.stratified import Grounds, Methods, Users, faces
from counterrank.systems import refuse_coverage
from counterrank.verbs.strata_gather import Gathered, Given
from counterrank.verbs.strata_open import Opened, open_loop
from counterrank.verbs.strata_parts import Piece
from counterrank.verbs.strata_pass import Scored


def stratification(found: Gathered, given: Given, plan: Plan) -> Stratification:
    """The result, unless there is nothing to say or a policy forbids it."""
    whole, known, measures, policies = found.piece, found.ground, given.measures, given.policies
    _refuse(whole, measures, policies)
    names = tuple(system.name for system in whole.systems)
    plan.pairs(names)
    users = whole.feedback.users
    there = _there(whole, policies.missing)
    for place, m in enumerate(measures):
        if not users.counted(place, 0, there, policies.no_relevant).any():
            raise InputError(
                f"No user with a list of every system has anything to find for {m}.",
                todo="Count users without a list as 0 (--missing zero), or check rel=.",
            )
    opened: OpenLoop | None = None
    if whole.open is not None:
        opened = open_loop(whole.open, whole.opened, names, users.units, measures, policies)
    labelled = bool(known.propensities.labels(measures))
    ways = {}
    for place, m in enumerate(measures):
        form = Methods(m, place, known.strata.names, labelled, policies.no_relevant)
        scores = np.stack([s.scores[:, place] for s in whole.systems], axis=1)
        each = form.single(whole.feedback, scores, there)
        ways[str(m)] = faces(each, whole.feedback.rows * there, len(known.strata.names))
    return Stratification(
        systems=names,
        measures=measures,
        units=users.units,
        grounds=_grounds(found),
        ways=ways,
        plan=plan,
        policies=policies,
        inputs=found.inputs,
        orders={s.name: s.order for s in whole.systems},
        open=opened,
        partitions=found.partitions,
        progress=given.progress,
    )


def _grounds(found: Gathered) -> Grounds:
    """What the diagnoses look at."""
    whole = found.piece
    weights = whole.feedback.weights
    return Grounds(
        cut=found.ground.strata,
        propensities=found.ground.propensities,
        ratings=whole.feedback.users.ratings,
        counts=whole.feedback.counts,
        weights=None if weights is None else weights.sum(axis=-1),
        lists=tuple(s.lists for s in whole.systems),
        judged=tuple(_mean(s.judged[s.present]) for s in whole.systems),
    )


def _mean(x: np.typing.NDArray[np.float64]) -> float:
    return float(x.mean()) if len(x) else 0.0


def _there(whole: Piece, missing: str) -> Bools:
    """Users that count for every system."""
    there = np.ones(len(whole.feedback.users.units), bool)
    if missing == "skip":
        there = np.all([s.present for s in whole.systems], axis=0)
    if not there.any():
        raise InputError(
            "No user has a list of every system.",
            todo="Count users without a list as 0 (--missing zero), or evaluate systems apart.",
        )
    return there


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
        refuse_coverage(
            again.table, again.coverage, policies, listed, judged, _first(units, again)
        )


def _first(units: pl.Series, system: Scored | Opened) -> Callable[[], object]:
    """Gives the first user without a list."""
    return lambda: units[int(np.argmin(system.present))]


def _refuse_blank(place: int, m: Measure, users: Users, no_relevant: str, whose: str) -> None:
    """Nothing to find at all, or for some where that is an error."""
    blank = ~users.defined[place, 0]
    if blank.all():
        raise InputError(
            f"None of {len(blank):,} {whose} users has anything to find for {m}.",
            found=f"The greatest rating is {users.ratings.top:g}.",
            todo="Check rel= against the ratings.",
        )
    if no_relevant == "error" and blank.any():
        raise InputError(
            f"{blank.sum():,} of {len(blank):,} {whose} users have nothing to find for {m}.",
            found=f"The first is {users.units[int(np.argmax(blank))]!r}.",
            todo="Check rel= against the ratings, or leave such users out (--no-relevant skip).",
        )
