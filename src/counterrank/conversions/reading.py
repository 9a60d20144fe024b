"""Funnel, predictions and runs through the door, side by side, with ids of one kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import polars as pl

from counterrank import features, funnels, schema
from counterrank.arrays import workers
from counterrank.blocks import one_kind
from counterrank.errors import UsageError
from counterrank.funnels import Funnel, prediction
from counterrank.schema import Table
from counterrank.systems import Runs, names_and_tables, split


@dataclass(frozen=True)
class Tables:
    """What was read: the funnel, the runs, and predictions of pairs if there are any.

    ``features`` are those of users, of items, or of both.
    """

    funnel: Funnel
    runs: list[Table]
    predictions: Table | None
    features: dict[str, Table] = field(default_factory=dict)

    @property
    def all(self) -> list[Table]:
        """Every table."""
        return [*self.of_pairs, *self.features.values()]

    @property
    def of_pairs(self) -> list[Table]:
        """Those whose rows are pairs of user and item."""
        return [
            self.funnel,
            *self.runs,
            *([] if self.predictions is None else [self.predictions]),
        ]


def read(
    funnel: object,
    runs: Runs | None,
    predictions: object | None,
    *,
    rewards: Sequence[str],
    columns: Mapping[str, str] | None,
    known: Mapping[str, object] | None = None,
) -> Tables:
    """All tables, read in threads; ``known`` are the features, by what they are of."""
    named = [] if runs is None else list(names_and_tables(runs))
    wanted = tuple(dict.fromkeys(rewards)) or (funnels.CONVERSION,)
    also = tuple(prediction(reward, wanted) for reward in wanted)
    with ThreadPoolExecutor(workers()) as team:
        first = team.submit(funnels.funnel, funnel, rewards=rewards, columns=columns)
        jobs = [
            (name, team.submit(schema.run, table, name=name, columns=columns, also=also))
            for name, table in named
        ]
        found = first.result()
        guess = None
        if predictions is not None:
            guess = funnels.predictions(predictions, rewards=wanted, columns=columns)
        listed = [table for name, job in jobs for table in split(job.result(), name)]
        said = {
            of: features.features(table, of=of, columns=columns)
            for of, table in (known or {}).items()
        }
    _refuse_names([table.system for table in listed])
    tables = [found, *listed, *([] if guess is None else [guess])]
    frames = [table.frame for table in tables]
    for column in ("user", "item"):
        further = [said[column].frame] if column in said else []
        frames = one_kind([*frames, *further], column)
        if further:
            said[column] = replace(said[column], frame=frames.pop())
    if frames[0].schema["item"] == pl.String:
        frames = [frame.with_columns(pl.col("item").cast(pl.Categorical)) for frame in frames]
    listed = [replace(t, frame=f) for t, f in zip(listed, frames[1:], strict=False)]
    guess = None if guess is None else replace(guess, frame=frames[-1])
    return Tables(replace(found, frame=frames[0]), listed, guess, said)


def _refuse_names(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f'Two runs are named "{name}".',
                todo='Name them apart: new=path (in Python {"new": table}).',
            )
