"""What to log next time: what is missing or broken in a log, as a list of things to do."""

from __future__ import annotations

from collections.abc import Iterable

from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.logs import Log


def to_log(log: Log, views: str, diagnoses: Iterable[Diagnosis]) -> list[str]:
    """Most useful first; ``views`` is what is known of them."""
    loud = {d.name for d in diagnoses if d.verdict != "pass"}
    chance = log.has("propensity") or log.has("exposure")
    # fmt: off
    wanted = [
        (not chance, "propensity: the probability of each shown item at its rank, written at"
         " decision time; or exposure, its probability of being seen"),
        (views == "latent", "viewed: a view event for each row, 0 or 1"),
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


def funnel_to_log(
    there: Iterable[str], diagnoses: Iterable[Diagnosis], *, clicks_only: bool, ctr: bool
) -> list[str]:
    """The same for clicks and conversions; ``there`` are the columns, ``ctr``: it is given.

    ``clicks_only``: all rows were clicked.
    """
    found = list(diagnoses)
    loud = {d.name for d in found if d.verdict != "pass"}
    predicted = max((d.value for d in found if d.name == "predictions"), default=0)  # ctr, cvr
    no_cvr = predicted == ctr
    off = bool(loud & {"click model", "conversion model", "mean weight"})
    # fmt: off
    wanted = [
        (not ctr, "ctr: the probability of a click on each pair, by the model that was"
         " live, written when the list was shown"),
        (no_cvr, "cvr: the predicted conversion after a click, for every pair that a"
         " recommender may list; a table of user, item, cvr will do"),
        ("users without a click" in loud, "users without a click: their lists, or rows with click"
         " 0; without them all values are too high"),
        (clicks_only, "impressions: a row with click 0 for what was shown and not"
         " clicked, which tells what could be clicked (--pairs rows) and whether the ctr is right"),
        (off, "features: what is known of users and items (segment, category, price), for models"
         " that tell them apart: --ctr logistic"),
        (bool(loud & {"support", "smallest ctr", "weight tail", "effective sample size"}),
         "exploration: a place in some lists for items drawn at random, and a mark on it, so that"
         " rare pairs are clicked at all"),
        (not {"timestamp", "day"} & set(there), "timestamp: when it was clicked and when it was"
         " bought, to tell what was not bought from what is not bought yet"),
        ("conversions" in loud, "more clicks, or a reward that comes more often"),
    ]
    # fmt: on
    return [text for lacking, text in wanted if lacking]
