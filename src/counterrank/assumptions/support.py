"""What a log lets anyone see at all: variety of the logger, events, users, views; what it lacks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from counterrank.assumptions.score_test import AuditRows
from counterrank.data.logs import Log
from counterrank.diagnostics.diagnostic import Diagnostic, advise, graded


def variety(rows: AuditRows) -> Diagnostic:
    """Assumption 5 by the log alone: the share of rows whose item came at more than one rank.

    Compared are rows of one context. A logger that always shows the same says nothing about what
    the same item would earn elsewhere, and nothing in the log can then check the position model.
    """
    key = rows.context_of_row * (int(rows.item.max()) + 1) + rows.item
    _, place, cell = np.unique(key, return_index=True, return_inverse=True)
    moved = np.bincount(cell, rows.rank != rows.rank[place][cell]) > 0
    share = float(np.mean(moved[cell]))
    offered = float(np.median(np.unique(rows.context_of_row[place], return_counts=True)[1]))
    long = float(np.median(np.bincount(rows.session)))
    where = "a context" if rows.named else "the log"
    text = (
        f"{share:.0%} of the rows show an item that came at more than one rank; {where} has"
        f" {offered:,.0f} items for lists of {long:,.0f}."
    )
    verdict = graded(share, 0.5, -1.0)
    if offered <= long:
        text += " Every list has the same items: others cannot be evaluated at all."
        verdict = "caution"
    elif verdict != "pass":
        text += (
            " The logger hardly varies, so what an item would earn elsewhere rests on the position"
            " model alone: let a small share of sessions swap ranks at random."
        )
    return Diagnostic("logger variety", "log", share, 0.5, verdict, text)


def events(count: int, sessions: int, reward: str) -> Diagnostic:
    """Rewarded rows: what every estimate is made of."""
    text = f"{count:,} rows have a {reward}, in {sessions:,} sessions."
    todo = " Intervals and audits need some 100 of them: log longer, or a more frequent reward."
    return advise("events", "log", float(count), 100.0, graded(count, 100, 10), text, todo)


def users(count: int | None, sessions: int) -> Diagnostic:
    """Users are what sessions are independent by."""
    if count is None:
        text = (
            "No user was logged: sessions of one user count as independent, so intervals are too"
            " narrow if users come back. Log a user id."
        )
        return Diagnostic("users", "log", 0.0, 30.0, "caution", text)
    text = f"{sessions:,} sessions come from {count:,} users."
    todo = " Intervals are clustered by user and need more of them."
    return advise("users", "log", float(count), 30.0, graded(count, 30, 10), text, todo)


def views(known: str) -> Diagnostic:
    """Whether it is known which rows were seen."""
    if known == "latent":
        text = (
            "Which rows were seen was not logged: whether readers left or did not like it cannot be"
            " told apart, and nothing checks the position model's views. Log a view event per row."
        )
        return Diagnostic("views", "log", 0.0, 1.0, "caution", text)
    return Diagnostic("views", "log", 1.0, 1.0, "pass", "It is known which rows were seen.")


def to_log(log: Log, views: str, diagnostics: Iterable[Diagnostic]) -> list[str]:
    """What to log next time, most useful first; ``views`` is what is known of them."""
    loud = {d.name for d in diagnostics if d.state in ("caution", "fail")}
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
