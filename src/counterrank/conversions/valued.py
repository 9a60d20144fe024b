"""From buckets of lists to estimates, and refusals of what could not be looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.conversions.estimators import CTR
from counterrank.conversions.gather import Name, Sums, Work, summed_up
from counterrank.coverage import Coverage
from counterrank.engine import walked
from counterrank.errors import InputError, brief
from counterrank.estimates import Estimate
from counterrank.logged import MeanWeight, Weights
from counterrank.logged.functions import First
from counterrank.schema import Table

Key = tuple[str, str, str, str]  # system, measure, estimator, reward


@dataclass(frozen=True)
class Valued:
    """One run: per-user columns of every measure, estimator and reward, and what they rest on.

    ``ctr`` is that of the listed pairs that were clicked, ``earned`` how many of them brought
    something. ``depth`` is the length of each user's list, 0 without one.
    """

    columns: dict[Name, Floats]
    weights: Weights
    ctr: Floats
    earned: dict[str, int]
    depth: Ints
    coverage: Coverage


def valued(run: Table, work: Work, *, missing: str, ties: str, duplicates: str) -> Valued:
    """Every measure and estimator of one run."""
    ledger = work.ledger
    parts, coverage = walked(
        run, ledger.pool, partial(summed_up, work=work), ties=ties, duplicates=duplicates
    )
    _refuse_blank(run, work, parts)
    n = ledger.pool.n
    unit = np.concatenate([part.unit for part in parts])
    known = unit >= 0
    settled = np.array_equal(unit, np.arange(n))

    def spread(pieces: list[Floats] | list[Ints]) -> Floats:
        """Rows of the lists as rows of all users; those without a list have 0."""
        whole: Floats = np.concatenate(pieces).astype(float, copy=False)
        if settled:
            return whole
        out = np.zeros((n, *whole.shape[1:]))
        out[unit[known]] = whole[known]
        return out

    depth = spread([part.length for part in parts]).astype(np.int64)
    _refuse_short(run, work, depth)
    if missing == "error" and coverage.missing_users:
        raise InputError(
            f'"{run.name}" has no list for {coverage.missing_users:,} of {n:,} users.',
            found=f"The first is {ledger.pool.units[int(np.argmin(depth))]!r}.",
            todo="Give each a list, or count what they buy from it as 0: --missing zero.",
        )
    return Valued(
        columns={name: spread([p.columns[name] for p in parts]) for name in parts[0].columns},
        weights=reduce(add, [part.weights for part in parts]),
        ctr=np.concatenate([part.ctr for part in parts]),
        earned={name: sum(part.earned[name] for part in parts) for name in ledger.reward},
        depth=depth,
        coverage=coverage,
    )


def estimated(done: Mapping[str, Valued], work: Work) -> dict[Key, Estimate]:
    """Influence values of every system, measure, estimator and reward."""
    functions = {
        (str(m), str(e)): First()
        if m.form == "share" and not isinstance(e, MeanWeight)
        else e.combined("session")
        for m in work.measures
        for e in work.estimators
    }
    return {
        (system, measure, label, reward): Estimate.of_columns(
            columns, work.ledger.pool.units, functions[measure, label]
        )
        for system, part in done.items()
        for (measure, label, reward), columns in part.columns.items()
    }


def _refuse_blank(run: Table, work: Work, parts: list[Sums]) -> None:
    """Listed pairs without the prediction an estimator needs."""
    ledger = work.ledger
    for what in ("ctr", *work.predict):
        blank = [part.blank[what] for part in parts if what in part.blank]
        if what == "ctr":
            asking = [str(e) for e in work.estimators if isinstance(e, CTR)]
        else:
            asking = [str(e) for e in work.estimators if "model" in e.needs]
        if not blank or not asking:
            continue
        _, unit, item = blank[0]
        user, thing = ledger.pool.units[unit], ledger.items.name(item)
        kind = "clicked pairs without a ctr" if what == "ctr" else "pairs without a predicted cvr"
        word = "ctr" if what == "ctr" else "cvr"
        raise InputError(
            f'"{run.name}" lists {kind}, which {asking[0]} needs.',
            found=f"Found {sum(count for count, _, _ in blank):,}"
            f" (first: user {brief(user)}, item {brief(thing)}).",
            todo=f"Predict them (--predictions PATH with user, item, {word}), or have a model"
            f" fitted: --{word} rates.",
        )


def _refuse_short(run: Table, work: Work, depth: Ints) -> None:
    """Measures that make sense only for rankings of all items."""
    asking = [str(m) for m in work.measures if m.lists == "all"]
    items = len(work.ledger.items.names)
    short = np.flatnonzero(depth < items)
    if asking and len(short):
        first = int(short[0])
        raise InputError(
            f"{asking[0]} needs rankings of all {items:,} items.",
            found=f'"{run.name}" ranks fewer for {len(short):,} of {len(depth):,} users (first:'
            f" user {brief(work.ledger.pool.units[first])}, {int(depth[first]):,} items).",
            todo="Rank every item for every user, or take DCG@10.",
        )
