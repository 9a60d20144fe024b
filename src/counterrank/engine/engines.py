"""Which engine runs, and what it may use: this machine's memory, its disk, or a Spark cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from counterrank.errors import UsageError, one_of
from counterrank.tables.lake import is_address
from counterrank.tables.memory import is_spark

WORDS = ("auto", "local", "spark")
LEAST = 100 * 10**6  # bytes, which the libraries alone take
INFERENCE = ("auto", "units", "moments")
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Local:
    """This machine. With ``memory``, tables that need more go by way of the disk.

    ``memory`` is text like 4GB or a number of bytes; ``partitions`` the number of buckets, chosen
    by size if not given; ``folder`` where temporary files go. ``inference`` is ``units`` (values
    per unit are kept), ``moments`` (only their sums are), or ``auto``: units while they fit.
    """

    memory: str | int | None = None
    partitions: int | None = None
    folder: str | None = None
    inference: str = "auto"

    def __post_init__(self) -> None:
        _refuse(self.partitions, self.inference)
        if self.memory is not None and size(self.memory) < LEAST:
            raise UsageError(f"memory of {self.memory} is too little.", todo="Give 100MB or more.")

    @property
    def whole(self) -> bool:
        """Whether tables are simply read into memory."""
        return self.memory is None and self.partitions is None


@dataclass(frozen=True)
class Spark:
    """A Spark cluster: ``master`` like spark://host:7077 or local[*], or a ``session`` at hand.

    ``master`` like sc://host:15002 is Spark Connect. ``partitions`` is the number of buckets (that
    of the session's shuffles if not given); ``collect`` is how much of per-unit values the driver
    may hold before ``inference`` goes over to moments.
    """

    master: str | None = None
    session: object = None
    partitions: int | None = None
    collect: str | int = "1GB"
    inference: str = "auto"

    def __post_init__(self) -> None:
        _refuse(self.partitions, self.inference)
        size(self.collect)


Engine = Local | Spark


def engine(given: str | Engine, tables: Iterable[object] = ()) -> Engine:
    """The engine asked for; ``auto`` is Spark if some table is a Spark frame, otherwise local.

    Where a table has an address in a lake, Spark is started at once: it alone can look there.
    """
    tables = list(tables)
    chosen = _chosen(given, tables)
    if isinstance(chosen, Spark) and any(map(is_address, tables)):
        from counterrank.engine.spark_session import session_of

        return replace(chosen, session=session_of(chosen))
    return chosen


def _chosen(given: str | Engine, tables: list[object]) -> Engine:
    if not isinstance(given, str):
        return given
    one_of("engine", given, WORDS)
    sessions = [t.sparkSession for t in tables if is_spark(t)]  # type: ignore[attr-defined]
    if given == "spark" or (given == "auto" and sessions):
        return Spark(session=sessions[0] if sessions else None)
    if sessions:
        raise UsageError(
            "The local engine does not read Spark frames.", todo='Use engine="spark", or auto.'
        )
    return Local()


def room(chosen: Engine) -> int | None:
    """Bytes that may be brought together in one place; None: whatever there is."""
    if isinstance(chosen, Spark):
        return size(chosen.collect)
    return None if chosen.memory is None else size(chosen.memory) // 8


def size(text: str | int) -> int:
    """4GB, 512MB, 4GiB or a number of bytes, as bytes."""
    if isinstance(text, int):
        return text
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", text, re.IGNORECASE)
    if not found:
        raise UsageError(f'"{text}" is no amount of memory.', todo="Write it like 4GB or 512MB.")
    number, unit, binary = found.groups()
    letter = unit.upper()
    step = UNITS[letter] if not binary else 1024 ** list(UNITS).index(letter)
    return int(float(number) * step)


def _refuse(partitions: int | None, inference: str) -> None:
    one_of("inference", inference, INFERENCE)
    if partitions is not None and not 1 <= partitions <= 65_536:
        raise UsageError(f"partitions must lie between 1 and 65,536, not {partitions}.")
