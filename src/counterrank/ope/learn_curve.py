"""Which position model ``estimate`` takes: one that is given, or one learned from this log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterrank.core.parallel import Progress
from counterrank.data.rehearsal import Rehearsed
from counterrank.data.sources import open_source
from counterrank.engine import Engine, Partition
from counterrank.position.learn.learned import Learned
from counterrank.position.learn.pipeline import digest_rows, learn
from counterrank.position.learn.request import LOG, LearnRequest
from counterrank.position.models import Log2, PositionBias


def learn_curve(
    given: PositionBias | str,
    log: object,
    *,
    rewards: Sequence[str],
    contexts: Sequence[str],
    columns: Mapping[str, str] | None,
    engine: Engine,
    progress: Progress,
) -> tuple[PositionBias, Learned | None]:
    """The model and, if it was learned from this log, how.

    The name of a method learns one here, from the first reward, items keeping their relevance
    within ``contexts``. A model that was saved, or is a result's, is learned once more where its
    log is this one: its error and that of the estimates then come from the same users. A rehearsal
    learns nothing, and goes on with the model that it has, or any.
    """
    try:
        if isinstance(given, str):
            within, reward = tuple(contexts), rewards[0] if rewards else None
            request = LearnRequest.of({"method": given, "reward": reward, "context": within})
        else:
            error = given.error
            if error is None or not error.learned or not _same_log(error.log, log, columns, engine):
                return given, None
            request = LearnRequest.of(error.learned)
        with engine.open(request.tables(log, columns), progress) as parts:
            learned = learn(request, parts)
    except Rehearsed:
        return (Log2() if isinstance(given, str) else given), None
    if not isinstance(given, str) and str(learned.model) != str(given):
        return given, None  # someone changed it: what is known of its error stays
    return learned.model, learned


def _same_log(
    known: Mapping[str, Any], log: object, columns: Mapping[str, str] | None, engine: Engine
) -> bool:
    """Whether a model was learned from this log: by its file, otherwise by its rows."""
    if known.get("sha256") and (sha256 := open_source(log, trec=()).sha256()):
        return bool(sha256 == known["sha256"])
    with engine.open(LearnRequest().tables(log, columns)) as parts:
        if parts.inputs[LOG].rows != known.get("rows"):
            return False
        digest = parts.reduce(_digest, "looking whose curve it is")
        return f"{digest % 2**64:016x}" == known.get("digest")


def _digest(part: Partition) -> int:
    return digest_rows(part[LOG].frame)
