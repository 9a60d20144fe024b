"""Faults are data: what is wrong, in which table, how often, which case is first.

A pass over partitions returns `Faults` beside its numbers, and nothing is raised where another
partition could complete the count. Merged, they are refused, or allowed by a policy; only then is
the sentence made, from the one table in `counterrank.core.sentences`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any

import numpy as np
import numpy.typing as npt

from counterrank.core.errors import CounterrankError, InputError, brief
from counterrank.core.sentences import SENTENCES

ORDER = {what: place for place, what in enumerate(SENTENCES)}


@dataclass(frozen=True)
class Fault:
    """``count`` of ``of`` rows (or units) of a table are wrong; ``what`` names the sentence.

    ``first`` are facts of the first case, those that order it in front: the number of its ``row``
    (from 1) where rows have one, its ids, its value. ``more`` are further facts of the sentence; of
    those that differ between partitions the least is told. A fault that was looked for and not
    found has the count 0, and still says ``of`` how many.
    """

    what: str
    table: str = ""
    column: str = ""
    count: int = 0
    of: int = 0
    first: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def at(
        cls,
        what: str,
        table: str,
        places: npt.NDArray[np.integer[Any]],
        case: Callable[[int], Mapping[str, Any]],
        *,
        of: int,
        column: str = "",
        **more: Any,
    ) -> Fault:
        """The rows or units at some places are wrong; ``case`` gives the facts of one of them."""
        first = {} if len(places) == 0 else dict(case(int(places.min())))
        return cls(what, table, column, len(places), of, first, more)

    @property
    def place(self) -> tuple[str, str, str]:
        """Faults of one place are one fault."""
        return self.what, self.table, self.column

    @property
    def order(self) -> tuple[tuple[int, int, str], ...]:
        """Sorts first cases: by row number, then by ids as `natural_order` has them."""
        rows = [(0, self.first["row"], "")] if "row" in self.first else [(1, 0, "")]
        return (*rows, *(natural_order(v) for name, v in self.first.items() if name != "row"))

    def worded(self) -> Fault:
        """The same under the name of the sentence that is told of it."""
        instead = SENTENCES[self.what].instead
        return replace(self, what=instead[1]) if instead and instead[0](self) else self


def natural_order(value: object) -> tuple[int, int, str]:
    """Sorts ids, also where only some are numbers: 7 and "7" alike, before all other text."""
    text = str(value)
    digits = text.removeprefix("-")
    whole = digits.isascii() and digits.isdigit() and len(digits) < 100
    return (0, int(text), "") if whole else (1, 0, text)


@dataclass(frozen=True)
class Faults:
    """All that a pass found wrong, in one partition or, merged, in all of them."""

    found: tuple[Fault, ...] = ()

    @classmethod
    def merge(cls, parts: Sequence[Faults]) -> Faults:
        """Those of one place added up, with the first case of all."""
        places: dict[tuple[str, str, str], list[Fault]] = {}
        for fault in (fault for part in parts for fault in part.found):
            places.setdefault(fault.place, []).append(fault)
        return cls(tuple(map(_one, places.values())))

    def count(self, what: str) -> int:
        """How many rows or units have a fault of this name."""
        return sum(fault.count for fault in self.found if fault.what == what)

    def refuse(self, allowed: Iterable[str] = (), **more: Any) -> None:
        """Raise for the gravest fault, by the order of the sentences; of equals, the first found.

        ``allowed`` are names of faults that a policy lets pass; where all units have the fault,
        it has another name and is no longer allowed. ``more`` are facts for the sentence.
        """
        passing = set(allowed)
        there = [fault.worded() for fault in self.found if fault.count]
        grave = [fault for fault in there if fault.what not in passing]
        if grave:
            fault = min(grave, key=lambda fault: ORDER[fault.what])
            raise DataError(replace(fault, more=fault.more | more))


def _one(alike: list[Fault]) -> Fault:
    there = [fault for fault in alike if fault.count]
    more = {}
    for name in dict.fromkeys(name for fault in alike for name in fault.more):
        facts = [fault.more[name] for fault in alike if fault.more.get(name) is not None]
        more[name] = min(facts, key=natural_order, default=None)
    return replace(
        alike[0],
        count=sum(fault.count for fault in alike),
        of=sum(fault.of for fault in alike),
        first=min(there, key=lambda fault: fault.order).first if there else {},
        more=more,
    )


class DataError(InputError):
    """A fault as an exception: ``error.fault`` has the numbers, ``str(error)`` the sentence."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        told = fault.worded()
        sentence = SENTENCES[told.what]
        names = ("table", "column", "count", "of")
        facts = told.more | {name: getattr(told, name) for name in names}
        first = _shown(sentence.case, told.first, facts)
        facts |= {"first": first, "where": f" (first: {first})" if first else ""}
        texts = (sentence.wrong, sentence.found, sentence.todo)
        wrong, found, todo = (_Text().vformat(text, (), facts) for text in texts)
        super().__init__(wrong, found=found, todo=todo)


class _Text(Formatter):
    """Templates in which ``{x!b}`` is a value that is cut where it is long."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return brief(value) if conversion == "b" else super().convert_field(value, conversion)


def _shown(case: str, first: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The first case as text: its row, if it has a number, and what else is known of it."""
    row = [f"row {first['row']}"] if "row" in first else []
    rest = {name: value for name, value in first.items() if name != "row"}
    if rest and case:
        return ", ".join([*row, _Text().vformat(case, (), {**facts, **rest})])
    return ", ".join([*row, *(f"{name} {brief(value)}" for name, value in rest.items())])


def merge_errors(
    errors: Sequence[CounterrankError], *, rows: int | None = None
) -> CounterrankError:
    """One error for those of several parts of a table: the same fault is told once.

    Of different faults, the first by its text. ``rows`` is the number of rows of the whole table.
    """
    parts = [Faults((error.fault,)) for error in errors if isinstance(error, DataError)]
    faults = Faults.merge(parts).found
    whole = [DataError(fault if rows is None else replace(fault, of=rows)) for fault in faults]
    plain = [error for error in errors if not isinstance(error, DataError)]
    return min([*whole, *plain], key=lambda error: (error.wrong, error.found))


def shift_error(error: CounterrankError, rows: int) -> CounterrankError:
    """The error about a part of a table that begins after ``rows`` rows."""
    if not isinstance(error, DataError) or "row" not in error.fault.first:
        return error
    first = error.fault.first
    return DataError(replace(error.fault, first=first | {"row": first["row"] + rows}))


def without_row(error: CounterrankError) -> CounterrankError:
    """The error without the number of a row, where rows have no order."""
    if not isinstance(error, DataError):
        return error
    first = {name: value for name, value in error.fault.first.items() if name != "row"}
    return DataError(replace(error.fault, first=first))
