"""``exposure``: learn from a log how likely each rank is to be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from counterrank import logs, trust
from counterrank.diagnostics.position import position
from counterrank.engine import Engine, bucketed
from counterrank.engine import engine as chosen
from counterrank.exposure.learn import LOG, Learnt, Plan, learn_from
from counterrank.exposure.saved import Model
from counterrank.progress import Progress, quiet
from counterrank.results.document import as_json
from counterrank.results.notebook import Notebook as Result
from counterrank.schema import Input, Named
from counterrank.trust import Diagnosis
from counterrank.verbs.log_passes import refuse_certain
from counterrank.version import __version__


@dataclass(frozen=True, eq=False)
class LearntExposure(Result):
    """A learnt position model, its table of ranks, and the diagnoses of both."""

    learnt: Learnt
    diagnoses: list[Diagnosis]
    protocol: dict[str, Any]
    inputs: list[Input]

    @property
    def model(self) -> Model:
        """The model, ready for ``position_bias``."""
        return self.learnt.model

    @property
    def verdict(self) -> str:
        """The gravest verdict of all diagnoses."""
        return trust.worst(self.diagnoses)

    def to_frame(self) -> pl.DataFrame:
        """One row per rank (and context): value, interval, and the model's value."""
        return pl.DataFrame([asdict(row) for row in self.learnt.table()])

    def to_dict(self) -> dict[str, Any]:
        """The document in the shape every verb shares; ``model`` is what is read back."""
        return self.learnt.to_dict() | {
            "diagnoses": [asdict(d) for d in self.diagnoses],
            "protocol": self.protocol,
            "provenance": {"version": __version__, "inputs": [asdict(i) for i in self.inputs]},
        }

    def to_json(self) -> str:
        """The document as text; numbers that do not exist are null."""
        return as_json(self.to_dict())


def learn_exposure(
    table: object,
    *,
    method: str = "auto",
    reward: str | None = None,
    model: str = "table",
    context: Sequence[str] = (),
    by: str | None = None,
    level: float = 0.95,
    ranks: int | None = None,
    length: int | None = None,
    swapped: str | None = None,
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> LearntExposure:
    """Learn a position model from a log: session, item, rank, a reward, optionally viewed, user.

    ``method``: ``views`` (share of rows viewed), ``depth`` (deepest view per session), ``harvest``
    (items that change rank), ``swap`` (ranks at random), ``em`` (relevance and rank together);
    ``auto`` takes views where they were logged, depth where only viewed rows
    seem to have been, and harvests otherwise. ``model`` is ``table`` or a
    family fitted to it. An item keeps its relevance within a ``context``, such as the query.
    ``engine`` says where a log too large for memory goes: to disk or to a Spark cluster.
    """
    extra = [*context, *(column for column in (by, swapped) if column is not None)]
    named = Named(columns)
    door = logs.log_door(
        table,
        rewards=None if reward is None else (reward,),
        contexts=[column for column in extra if column not in logs.OPTIONAL],
        columns=named,
    )
    there = door.source.columns()
    unit = "user" if door.roles.column("user", there) in there else "session"
    asked = chosen(engine, [table])
    with bucketed(asked, {LOG: door}, by=unit, ids=(), progress=progress) as log:
        named.refuse_unmet()
        refuse_certain(log, LOG)
        head = log.heads[LOG]
        assert isinstance(head, logs.Log)
        reward = head.rewards[0] if head.rewards else None
        plan = Plan(method, reward, tuple(context), by, ranks, length, swapped)
        learnt = learn_from(log, plan, model=model, level=level)
        inputs = [log.inputs[LOG]]
        ran = {"engine": asked.name, "partitions": log.count}
    protocol = {
        "method": learnt.method, "family": model, "reward": reward, "level": level,
        "context": list(context), "by": by, "ranks": ranks, "length": length, "swapped": swapped,
        "interval": f"delta method, clustered by {learnt.basis.by}",
        "scale": "share of rank 1" if learnt.curve.relative else "chance of being seen",
        **ran,
    }  # fmt: skip
    return LearntExposure(learnt, position(learnt), protocol, inputs)
