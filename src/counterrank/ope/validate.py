"""What a log or a target must have before it can be weighed by the estimators asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from counterrank.core.faults import DataError
from counterrank.errors import UsageError
from counterrank.ope.basis import Basis
from counterrank.ope.estimators.base import Estimator
from counterrank.ope.log import Sessions
from counterrank.ope.targets import Target, is_stochastic
from counterrank.order import natural_rank
from counterrank.schema import Table


def validate_views(wanted: Sequence[Estimator], basis: Basis) -> None:
    """Views must be known, or told by a position model, to be counted; chances are at most 1."""
    counting = [str(e) for e in wanted if e.name in ("SNIPS", "DM", "DR", "SNDR")]
    if counting and basis.model is None and basis.views == "latent" and not basis.by_rank:
        raise UsageError(
            f"{counting[0]} needs to know how many of the logged rows were viewed.",
            found="The log has no column viewed, and no position model was given.",
            todo="Give one (--position-bias), log views, or ask for IPS alone.",
        )
    if basis.model is not None and float(basis.curves.max()) > 1 + 1e-9:
        raise UsageError(
            "A position model gives chances of being seen, at most 1.",
            found=f"{str(basis.model)[:60]} reaches {float(basis.curves.max()):g}.",
            todo="Scale it so that no rank is above 1.",
        )


def validate_scores(scores: str, basis: Basis, targets: Sequence[Table]) -> None:
    """Plackett-Luce rankers need scores, and a position model to be weighed by."""
    bare = [t.name for t in targets if t.order != "score"]
    if scores == "plackett_luce" and (bare or basis.by_rank):
        raise UsageError(
            "A Plackett-Luce ranker is known by its scores and weighed by exposure.",
            found=f'"{bare[0]}" has no scores.' if bare else "The weights are by propensity.",
            todo="Give every run a column score, and --position-bias.",
        )


def validate_lists(
    wanted: Sequence[Estimator], targets: Sequence[Table], *, scores: str, missing: str
) -> None:
    """Classical DCG needs one list per session, not chances or samples of lists."""
    listed = [str(e) for e in wanted if "lists" in e.needs]
    for target in targets:
        name = target.system
        if listed and is_stochastic(target, scores):
            raise UsageError(
                f"{listed[0]} needs one list per session.",
                found=f'"{name}" gives samples, exposures or propensities.',
                todo="Ask for IPS, SNIPS or DR, or give one list per session.",
            )
        if missing == "logged" and "predicted" in target.frame.columns:
            raise UsageError(
                "Logged lists have no predictions.",
                found=f'"{name}" has a column "predicted"; some sessions keep their logged list.',
                todo="Leave such sessions out (--missing skip), or give every session a list.",
            )


def validate_slates(
    wanted: Sequence[Estimator], basis: Basis, targets: Sequence[Table], loggers: Sequence[str]
) -> None:
    """Each need of the estimators that the tables' columns do not meet, with the first by name."""
    by_need = _by_need(wanted)
    if "propensity" in by_need and not basis.by_rank:
        raise UsageError(
            f"{by_need['propensity']} weighs by the logged propensity of an item at its rank.",
            found=f'Here the weights are by "{basis.logged}".',
            todo='Use --logged propensity (logged="propensity"), or ask for IPS, SNIPS or DR.',
        )
    if "slates" in by_need and len(loggers) > 1:
        raise UsageError(
            f"{by_need['slates']} takes the log of one logger.",
            found=f"Given: {', '.join(loggers)}. Their mixture does not draw ranks apart.",
            todo="Ask for IIPS or IPS, or estimate each logger's sessions by themselves.",
        )
    for target in targets if basis.by_rank else ():
        _validate_target(by_need, target)


def validate_rows(
    wanted: Sequence[Estimator], basis: Basis, sessions: Sessions, targets: Sequence[Target]
) -> None:
    """Each need that the rows do not meet: whole slates, and lists as long as they are."""
    by_need = _by_need(wanted)
    if "slates" in by_need:
        _validate_whole(by_need["slates"], sessions)
    for target in targets if basis.by_rank and "filled" in by_need else ():
        _validate_length(by_need["filled"], sessions, target)


def _by_need(wanted: Sequence[Estimator]) -> dict[str, str]:
    """The first estimator that has each need."""
    return {need: str(e) for e in reversed(wanted) for need in e.needs}


def _validate_whole(who: str, sessions: Sessions) -> None:
    rank = sessions.blocks.frame["rank"].to_numpy()
    broken = np.flatnonzero(rank != natural_rank(sessions.blocks.length))
    if len(broken):
        name = sessions.log.name
        raise DataError(sessions.blocks.fault("slate with gaps", name, broken, who=who))


def _validate_target(by_need: Mapping[str, str], target: Table) -> None:
    name, columns = target.name, target.frame.columns
    if "rank" not in columns and "score" not in columns:
        raise UsageError(
            f'"{name}" does not say at which rank an item would stand.',
            found=f"Its columns are: {', '.join(columns)}.",
            todo="Give rank and propensity, or one list per session.",
        )
    if "chances" in by_need and "draw" in columns:
        raise UsageError(
            f"{by_need['chances']} multiplies the probabilities of a slate's ranks.",
            found=f'"{name}" gives samples: how often an item stands at a rank, whatever the rest.',
            todo="Give the column propensity (of the item at its rank, given those above), or ask"
            " for IIPS or PI.",
        )


def _validate_length(who: str, sessions: Sessions, target: Target) -> None:
    if target.stochastic:
        return
    place = target.place
    rank = sessions.blocks.frame["rank"].to_numpy()
    deepest = np.maximum.reduceat(rank, sessions.blocks.start)
    length = np.append(target.blocks.length, 0)[place]
    short = np.flatnonzero((place >= 0) & (length < deepest))
    if len(short):
        name = target.table.name
        raise DataError(sessions.fault("list shorter than slate", name, short, who=who))
