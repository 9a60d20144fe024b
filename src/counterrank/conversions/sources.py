"""Who predicts: where each estimator finds the ctr and cvr it needs, or why it cannot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from counterrank.conversions.census import Lists
from counterrank.conversions.estimators import CTR, OfClicks
from counterrank.conversions.record import COLUMN
from counterrank.conversions.variance import VarianceRatio
from counterrank.errors import UsageError
from counterrank.funnels import prediction
from counterrank.ope.estimators.base import Clipped
from counterrank.ope.estimators.doubly_robust import DR
from counterrank.ope.estimators.ips import MeanWeight
from counterrank.schema import Table


def refuse_no_ctr(wanted: Sequence[OfClicks], told: bool, funnel: str) -> None:
    """Estimators that divide by a ctr nobody predicted."""
    asking = [str(e) for e in wanted if isinstance(e, CTR)]
    if asking and not told:
        raise UsageError(
            f"{asking[0]} divides by the chance of a click, which nobody predicted.",
            found=f'"{funnel}" has no column "ctr".',
            todo="Give one (--columns ctr=NAME), or a table of predictions (--predictions PATH),"
            " or have a model fitted: --ctr rates.",
        )


def source(
    run: Lists,
    wanted: Sequence[OfClicks],
    heads: Mapping[str, Table],
    there: Collection[str],
    rewards: Sequence[str],
    cvr: str,
) -> dict[str, str]:
    """Where the predicted cvr of each reward comes from: a model if asked for, else columns."""
    asking = [str(e) for e in wanted if "model" in e.needs]
    out = {}
    for reward in rewards if asking else ():
        column = prediction(reward, rewards)
        if cvr != COLUMN:
            out[reward] = "model"
        elif column in heads[run.table].frame.columns:
            out[reward] = "run"
        elif column in there:
            out[reward] = "funnel"
        else:
            raise UsageError(
                f'{asking[0]} needs a predicted {reward} of every pair that "{run.system}" lists.',
                found=f'There is no column "{column}", in the funnel or in the run.',
                todo="Give one, there or in a table of predictions (--predictions PATH), or have a"
                " model fitted (--cvr rates), or ask for IPS only (--estimator IPS).",
            )
    return out


def helped(wanted: tuple[OfClicks, ...], told: bool) -> tuple[OfClicks, ...]:
    """The estimators asked for, and what diagnoses them where the ctr is known."""
    out: list[OfClicks] = list(wanted)
    if told:
        clips = [e.clip for e in wanted if isinstance(e, Clipped)]
        out += [MeanWeight(), *(MeanWeight(clip=clip) for clip in clips)]
        out += [VarianceRatio(), DR()] if any("model" in e.needs for e in wanted) else []
    return tuple(dict.fromkeys(out))
