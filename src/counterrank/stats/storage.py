"""Whether values per unit are held, or only their moments."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from counterrank.core.errors import one_of
from counterrank.core.format import byte_words
from counterrank.engine.engines import INFERENCE


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
        one_of("inference", inference, INFERENCE)
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
