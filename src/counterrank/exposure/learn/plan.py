"""What is to be learnt from a log."""

from __future__ import annotations

from dataclasses import dataclass

LOG = "log"


@dataclass(frozen=True)
class Plan:
    """Which columns of the log are read, and for which method; see `learn`."""

    method: str
    reward: str | None
    context: tuple[str, ...] = ()
    by: str | None = None
    ranks: int | None = None
    length: int | None = None
    swapped: str | None = None

    @property
    def by_item(self) -> bool:
        """Whether the method looks at items, or only counts them."""
        return self.method in ("harvest", "em") or (self.method == "swap" and self.swapped is None)
