"""Refusals of what could not be looked up, once all buckets have been."""

from __future__ import annotations

from counterrank.conversions.census import Lists
from counterrank.conversions.estimators import CTR
from counterrank.conversions.gather import Asked
from counterrank.conversions.valued import Valued
from counterrank.errors import InputError, brief


def refuse(run: Lists, asked: Asked, done: Valued, *, items: int, missing: str) -> None:
    """Predictions, items or lists that some measure, estimator or policy cannot do without."""
    _refuse_blank(run, asked, done)
    _refuse_short(run, asked, done, items)
    lack, n = done.short.get("list"), done.coverage.judged_users
    if missing == "error" and lack is not None:
        raise InputError(
            f'"{run.name}" has no list for {lack.count:,} of {n:,} users.',
            found=f"The first is {lack.user[0]!r}.",
            todo="Give each a list, or count what they buy from it as 0: --missing zero.",
        )


def _refuse_blank(run: Lists, asked: Asked, done: Valued) -> None:
    """Listed pairs without the prediction an estimator needs."""
    for what, lack in done.blank.items():
        if what == "ctr":
            asking = [str(e) for e in asked.estimators if isinstance(e, CTR)]
        else:
            asking = [str(e) for e in asked.estimators if "model" in e.needs]
        if not asking:
            continue
        kind = "clicked pairs without a ctr" if what == "ctr" else "pairs without a predicted cvr"
        word = "ctr" if what == "ctr" else "cvr"
        raise InputError(
            f'"{run.name}" lists {kind}, which {asking[0]} needs.',
            found=f"Found {lack.count:,}"
            f" (first: user {brief(lack.user[0])}, item {brief(lack.at)}).",
            todo=f"Predict them (--predictions PATH with user, item, {word}), or have a model"
            f" fitted: --{word} rates.",
        )


def _refuse_short(run: Lists, asked: Asked, done: Valued, items: int) -> None:
    """Measures that make sense only for rankings of all items."""
    asking = [str(m) for m in asked.measures if m.lists == "all"]
    lack = done.short.get("all")
    if asking and lack is not None:
        raise InputError(
            f"{asking[0]} needs rankings of all {items:,} items.",
            found=f'"{run.name}" ranks fewer for {lack.count:,} of'
            f" {done.coverage.judged_users:,} users (first: user {brief(lack.user[0])},"
            f" {lack.at:,} items).",
            todo="Rank every item for every user, or take DCG@10.",
        )
