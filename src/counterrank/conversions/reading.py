"""The doors of funnel, predictions and runs, and a bucket of these tables side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from counterrank import funnels, schema
from counterrank.data.blocks import run_starts
from counterrank.data.ids import IdCodes, as_categories
from counterrank.data.runs import Runs, run_schemas, split_systems
from counterrank.engine import Bucket
from counterrank.errors import UsageError
from counterrank.funnels import Funnel, prediction
from counterrank.once import once
from counterrank.schema import Door, Table

FUNNEL, PREDICTIONS, RUN = "funnel", "predictions", "run"


def doors(
    funnel: object,
    runs: Runs | None,
    predictions: object | None,
    *,
    rewards: Sequence[str],
    columns: Mapping[str, str] | None,
) -> dict[str, Door]:
    """How each table is let in, by the name it has in a bucket."""
    wanted = tuple(dict.fromkeys(rewards)) or (funnels.CONVERSION,)
    also = tuple(prediction(reward, wanted) for reward in wanted)
    out = {FUNNEL: funnels.funnel_door(funnel, rewards=rewards, columns=columns)}
    lists, _ = run_schemas(
        runs, lambda table, name: schema.run_door(table, name=name, columns=columns, also=also), RUN
    )
    out |= lists
    if predictions is not None:
        out[PREDICTIONS] = funnels.predictions_door(predictions, rewards=wanted, columns=columns)
    return out


@dataclass(frozen=True)
class Tables:
    """The tables of one bucket: the funnel, predictions of pairs if there are any, and the runs.

    ``runs`` are those that have rows here, by the table they come from and the name of the system.
    """

    funnel: Funnel
    runs: dict[tuple[str, str], Table]
    predictions: Table | None

    @classmethod
    def of(cls, bucket: Bucket) -> Tables:
        """Text of items as codes, and tables of several systems apart."""

        def made() -> Tables:
            tables = {
                name: replace(table, frame=as_categories(table.frame))
                for name, table in bucket.tables.items()
            }
            funnel = tables[FUNNEL]
            assert isinstance(funnel, Funnel)
            runs = {
                (name, run.system): run
                for name, table in tables.items()
                if name.startswith(RUN)
                for run in split_systems(table, table.system)
            }
            return cls(funnel, runs, tables.get(PREDICTIONS))

        return bucket.kept("tables", made)

    @once
    def known(self) -> pl.Series:
        """The users of the funnel."""
        return _heads(self.funnel.frame["user"]).unique()

    @once
    def listed(self) -> dict[tuple[str, str], pl.Series]:
        """The users of each run."""
        return {key: _heads(run.frame["user"]) for key, run in self.runs.items()}

    @once
    def strangers(self) -> pl.Series:
        """Users who have lists only."""
        if not self.listed:
            return self.known.clear()
        all_ = pl.concat(self.listed.values()).unique()
        return all_.filter(~all_.is_in(self.known.implode()))

    @once
    def items(self) -> IdCodes:
        """The items of all these tables."""
        guess = [] if self.predictions is None else [self.predictions]
        return IdCodes.of([t.frame["item"] for t in (self.funnel, *self.runs.values(), *guess)])


def refuse_both(heads: Mapping[str, Table]) -> None:
    """Predictions that stand in two places."""
    if PREDICTIONS not in heads:
        return
    funnel, guess = heads[FUNNEL], heads[PREDICTIONS]
    both = (set(funnel.frame.columns) & set(guess.frame.columns)) - {"user", "item"}
    if both:
        raise UsageError(
            f'Both "{funnel.name}" and "{guess.name}" have a column "{min(both)}".',
            todo="Leave it out of one of them, so that it is clear which counts.",
        )


def _heads(users: pl.Series) -> pl.Series:
    """Every user, where rows of one stand together only once."""
    return users.gather(run_starts(users)) if len(users) else users
