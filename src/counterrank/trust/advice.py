"""What to log next time: what is missing or broken in a log, as a list of things to do."""

from __future__ import annotations

from collections.abc import Iterable

from counterrank.logged import Basis
from counterrank.logs import Log
from counterrank.trust.diagnosis import Diagnosis


def to_log(log: Log, basis: Basis, diagnoses: Iterable[Diagnosis]) -> list[str]:
    """Most useful first."""
    loud = {d.name for d in diagnoses if d.verdict != "pass"}
    chance = log.has("propensity") or log.has("exposure")
    # fmt: off
    wanted = [
        (not chance, "propensity: the probability of each shown item at its rank, written at"
         " decision time; or exposure, its probability of being seen"),
        (basis.views == "latent", "viewed: a view event for each row, 0 or 1"),
        (not log.has("user"), "user: an id that stays the same from session to session"),
        (not log.contexts, "context: what the ranker knew (query, page, segment), a column each;"
         " if it is there, name it with --context"),
        (bool(loud & {"support", "mean weight", "logger variety"}), "candidates: the set the"
         " ranker chose from and its size, with those it did not show"),
        (bool(loud & {"trust", "position model", "logger variety", "views"}), "swaps: a small share"
         " of sessions (1%) with two neighbouring ranks swapped at random, and a mark on them"),
        (bool(loud & {"examination"}), "order of events: the time of each view and click, to tell"
         " who left after a click"),
        (bool(loud & {"interaction"}), "item features: what neighbours have in common (category,"
         " brand), and some lists shuffled at random"),
        (bool(loud & {"carry over"}), "arm: an A/B test by user over weeks, the only log that shows"
         " what lists do to later sessions"),
        (not (log.has("timestamp") or log.has("day")), "timestamp: when each session began"),
        (bool(loud & {"events", "effective sample size"}), "more sessions, or a reward that comes"
         " more often"),
    ]
    # fmt: on
    return [text for lacking, text in wanted if lacking]
