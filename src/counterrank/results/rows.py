"""A row of a verb's own table as one that every verb has: an estimate or a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterrank.results.result import COMPARISON, ROW, Row
from counterrank.stats.compare import Comparison


def as_row(own: object, **given: Any) -> Row:
    """A row of a verb's own table as one of the estimates; ``given`` says what it has not."""
    return Row(**_parts(own, given, ROW))


def as_comparison(own: object, **given: Any) -> Comparison:
    """The same for comparisons."""
    return Comparison(**_parts(own, {"claim": "cannot_tell", **given}, COMPARISON))


def _parts(own: object, given: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    none: dict[str, Any] = dict.fromkeys(
        ("system", "measure", "estimator", "correction", "family"), ""
    )
    none |= {"reward": None, "segment": None, "draws": None, "lift": None, "units": 0}
    none |= dict.fromkeys(
        ("selected_difference", "selected_low", "selected_high", "effective_units")
    )
    return {
        name: given[name] if name in given else getattr(own, name, none.get(name, float("nan")))
        for name in names
    }
