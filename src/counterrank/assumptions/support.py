"""What a log lets anyone see at all: variety of the logger, events, users, views."""

from __future__ import annotations

import numpy as np

from counterrank.assumptions.audit_rows import AuditRows, number_keys
from counterrank.diagnostics.diagnosis import Diagnosis, graded


def variety(rows: AuditRows) -> Diagnosis:
    """Assumption 5 by the log alone: the share of rows whose item came at more than one rank.

    Compared are rows of one context. A logger that always shows the same says nothing about what
    the same item would earn elsewhere, and nothing in the log can then check the position model.
    """
    x = rows.context[rows.session]
    items = int(rows.item.max()) + 1
    cell, cells = number_keys(x * items + rows.item)
    high, low = np.zeros(cells, np.int64), np.full(cells, 1 << 62)
    np.maximum.at(high, cell, rows.rank)
    np.minimum.at(low, cell, rows.rank)
    share = float(np.mean((high > low)[cell]))
    there = np.bincount(cell, minlength=cells) > 0
    first = np.zeros(cells, np.int64)
    first[cell] = x
    offered = float(np.median(np.unique(first[there], return_counts=True)[1]))
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
    return Diagnosis("logger variety", "log", share, 0.5, verdict, text)


def events(count: int, sessions: int, reward: str) -> Diagnosis:
    """Rewarded rows: what every estimate is made of."""
    text = f"{count:,} rows have a {reward}, in {sessions:,} sessions."
    if count < 100:
        text += (
            " Intervals and audits need some 100 of them: log longer, or a more frequent reward."
        )
    return Diagnosis("events", "log", float(count), 100.0, graded(count, 100, 10), text)


def users(count: int | None, sessions: int) -> Diagnosis:
    """Users are what sessions are independent by."""
    if count is None:
        text = (
            "No user was logged: sessions of one user count as independent, so intervals are too"
            " narrow if users come back. Log a user id."
        )
        return Diagnosis("users", "log", 0.0, 30.0, "caution", text)
    text = f"{sessions:,} sessions come from {count:,} users."
    if count < 30:
        text += " Intervals are clustered by user and need more of them."
    return Diagnosis("users", "log", float(count), 30.0, graded(count, 30, 10), text)


def views(known: str) -> Diagnosis:
    """Whether it is known which rows were seen."""
    if known == "latent":
        text = (
            "Which rows were seen was not logged: whether readers left or did not like it cannot be"
            " told apart, and nothing checks the position model's views. Log a view event per row."
        )
        return Diagnosis("views", "log", 0.0, 1.0, "caution", text)
    return Diagnosis("views", "log", 1.0, 1.0, "pass", "It is known which rows were seen.")
