"""When values per unit are kept, and when only their moments."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from counterrank.core.errors import one_of
from counterrank.engine.engines import INFERENCE

ROOM = 10**9  # bytes of values per unit that are kept unless told otherwise


@dataclass(frozen=True)
class Kept:
    """``inference`` is by ``units`` or by ``moments``, ``why`` so, and beyond which ``threshold``.

    The threshold is in bytes of values per unit.
    """

    inference: str
    why: str
    threshold: int

    @property
    def units(self) -> bool:
        """Whether values per unit are kept."""
        return self.inference == "units"

    def protocol(self) -> dict[str, Any]:
        """For the result's protocol."""
        return asdict(self)


def kept(inference: str, units: int, columns: int, room: int | None = ROOM) -> Kept:
    """The kind of inference: as asked for, or by whether values per unit fit the ``room``.

    Without a room there is no limit.
    """
    one_of("inference", inference, INFERENCE)
    if room is None and inference == "auto":
        return Kept("units", "no limit was given", 0)
    room = room or 0
    fits = keeps_units(inference, units, columns, room)
    need = f"{units:,} units x {columns:,} columns need {_size(8 * units * columns)}"
    why = f"{need}, the limit is {_size(room)}" if inference == "auto" else "as asked for"
    return Kept("units" if fits else "moments", why, room)


def keeps_units(inference: str, units: int, columns: int, room: int) -> bool:
    """Whether values per unit are kept: 8 bytes each, within the ``room``."""
    return inference == "units" or (inference == "auto" and 8 * units * columns <= room)


def _size(number: int) -> str:
    """Bytes in words."""
    for name, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            return f"{number / size:,.1f} {name}"
    return f"{number} bytes"
