"""Which engine runs, and what it may use: this machine's memory, its disk, or a Spark cluster."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from counterrank.core.arguments import Between, check_fields, one_of
from counterrank.core.errors import UsageError, brief
from counterrank.core.format import byte_count, byte_words
from counterrank.core.parallel import Progress, quiet
from counterrank.data.rehearsal import TABLES
from counterrank.data.sources.dataframes import is_address, is_spark
from counterrank.engine.partitions import Partitions, Tables, Unread, cut_in_memory

WORDS = ("auto", "local", "spark")
LEAST = 100 * 10**6  # bytes, which the libraries alone take
Inference = Literal["auto", "units", "moments"]
Number = Annotated[int, Between(1, 65_536)] | None  # of partitions
Context = AbstractContextManager[Partitions]


class Engine(ABC):
    """What makes partitions of tables, and what it may use for that.

    ``name`` is what protocols call it. ``row_order`` says whether rows have an order that ties can
    be broken by, ``one_process`` whether work stays in this one. ``inference`` is ``units`` (values
    per unit are kept), ``moments`` (only their sums are), or ``auto``: units while they fit
    ``memory_budget``.
    """

    name: ClassVar[str]
    row_order: ClassVar[bool] = True
    one_process: ClassVar[bool] = True
    inference: str

    @property
    @abstractmethod
    def memory_budget(self) -> int | None:
        """Bytes of results that may be brought together in one place; None: whatever there is."""

    @property
    def in_memory(self) -> bool:
        """Whether tables are simply read into memory."""
        return False

    def open(self, tables: Tables, progress: Progress = quiet) -> Context:
        """The tables in partitions; what was set aside is let go when the context ends."""
        met = TABLES.get()
        return self.cut(tables, progress) if met is None else nullcontext(Unread(tables, met))

    @abstractmethod
    def cut(self, tables: Tables, progress: Progress) -> Context:
        """The same, where rows may be read."""


@dataclass(frozen=True)
class Local(Engine):
    """This machine. With ``memory``, tables that need more go by way of the disk.

    ``memory`` is text like 4GB or a number of bytes; ``partitions`` is their number, chosen by
    size if not given; ``scratch`` where temporary files go. ``inference``: see `Engine`.
    """

    name = "local"
    memory: str | int | None = None
    partitions: Number = None
    scratch: str | None = None
    inference: Inference = "auto"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.memory is not None and byte_count(self.memory) < LEAST:
            raise UsageError(f"memory of {self.memory} is too little.", todo="Give 100MB or more.")
        if self.scratch is not None and not os.path.isdir(self.scratch):
            raise UsageError(
                f'No temporary folder can be made in "{self.scratch}".',
                found="There is no such folder.",
                todo="Name another: --scratch DIR.",
            )

    @property
    def memory_budget(self) -> int | None:
        """A part of the memory, if that is limited."""
        return None if self.memory is None else byte_count(self.memory) // 8

    @property
    def in_memory(self) -> bool:
        """Where neither a limit nor a number of partitions is given."""
        return self.memory is None and self.partitions is None

    def cut(self, tables: Tables, progress: Progress) -> Context:
        """One partition in memory, or several on disk."""
        if self.in_memory:
            return cut_in_memory(self, tables, progress)
        from counterrank.engine.disk import cut_on_disk

        return cut_on_disk(self, tables, progress)


@dataclass(frozen=True)
class Spark(Engine):
    """A Spark cluster: ``master`` like spark://host:7077 or local[*], or a ``session`` at hand.

    ``master`` like sc://host:15002 is Spark Connect. ``partitions`` is their number (that
    of the session's shuffles if not given); ``collect`` is how much of per-unit values the driver
    may hold before ``inference`` goes over to moments.
    """

    name = "spark"
    row_order = False
    one_process = False
    master: str | None = None
    session: object = None
    partitions: Number = None
    collect: str | int = "1GB"
    inference: Inference = "auto"

    def __post_init__(self) -> None:
        check_fields(self)
        byte_count(self.collect)

    @property
    def memory_budget(self) -> int:
        """What the driver may collect."""
        return byte_count(self.collect)

    def cut(self, tables: Tables, progress: Progress) -> Context:
        """Partitions on the cluster, which keeps them until the context ends."""
        from counterrank.engine.spark import cluster

        return cluster.cut_on_spark(self, tables, progress)


def engine(given: str | Engine, tables: Iterable[object] = (), **options: Any) -> Engine:
    """The engine asked for; ``auto`` is Spark if some table is a Spark frame, otherwise local.

    ``options`` are those of an engine that is named by a word. Where a table has an address in a
    lake, Spark is started at once: it alone can look there.
    """
    tables = list(tables)
    chosen = _chosen(given, tables, {n: value for n, value in options.items() if value is not None})
    if isinstance(chosen, Spark) and any(map(is_address, tables)):
        from counterrank.engine.spark.cluster import session_of

        return replace(chosen, session=session_of(chosen))
    return chosen


def _chosen(given: str | Engine, tables: list[object], options: dict[str, Any]) -> Engine:
    if not isinstance(given, (str, Engine)):
        raise UsageError(
            f"{brief(given)} is no engine.", todo="Write auto, local or spark, or Local(...)."
        )
    if not isinstance(given, str):
        if options:
            raise UsageError(
                f"{next(iter(options))} was given beside an engine that says it already.",
                todo="Give it to the engine: Local(memory=...), Spark(master=...).",
            )
        return given
    one_of("engine", given, WORDS)
    sessions = [t.sparkSession for t in tables if is_spark(t)]  # type: ignore[attr-defined]
    if given != "spark" and "master" not in options and not sessions:
        return Local(**options)
    for name in ("memory", "scratch"):
        if name in options:
            raise UsageError(
                f"{name} is for the local engine.",
                todo="Spark's memory and disk are set where it is started.",
            )
    if given != "local":
        return Spark(session=sessions[0] if sessions else None, **options)
    if sessions:
        raise UsageError(
            "The local engine does not read Spark frames.", todo='Use engine="spark", or auto.'
        )
    return Local()


@dataclass(frozen=True)
class Storage:
    """``inference`` is by ``units`` or by ``moments``, ``why`` so, and beyond which ``threshold``.

    The threshold is in bytes of values per unit.
    """

    inference: str
    why: str
    threshold: int

    @classmethod
    def choose(cls, inference: str, units: int, columns: int, budget: int | None) -> Storage:
        """As asked for; ``auto`` by whether values of 8 bytes fit the ``budget`` (None: any do)."""
        if budget is None and inference == "auto":
            return cls("units", "no limit was given", 0)
        budget, need = budget or 0, 8 * units * columns
        held = inference == "units" or (inference == "auto" and need <= budget)
        words = f"{units:,} units x {columns:,} columns need {byte_words(need)}"
        why = (
            f"{words}, the limit is {byte_words(budget)}" if inference == "auto" else "as asked for"
        )
        return cls("units" if held else "moments", why, budget)

    @property
    def units(self) -> bool:
        """Whether values per unit are held."""
        return self.inference == "units"

    def protocol(self) -> dict[str, Any]:
        """For the result's protocol."""
        return asdict(self)
