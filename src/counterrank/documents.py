"""The JSON document of a result: the same shape for every verb."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from counterrank.command import COMMAND
from counterrank.schema import Input
from counterrank.version import __version__


def document(
    kind: str,
    protocol: Mapping[str, Any],
    inputs: Sequence[Input],
    *,
    estimates: Sequence[object] = (),
    comparisons: Sequence[object] = (),
    diagnoses: Sequence[object] = (),
    further: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A result as plain values; ``further`` holds what only this verb has."""
    rows = {"estimates": estimates, "comparisons": comparisons, "diagnoses": diagnoses}
    return {
        "kind": kind,
        **{key: [dict(vars(row)) for row in found] for key, found in rows.items()},
        **(further or {}),
        "protocol": dict(protocol),
        "provenance": {
            "version": __version__,
            **({"command": list(COMMAND)} if COMMAND else {}),
            "inputs": [dict(vars(i)) for i in inputs],
        },
    }


def as_json(value: Mapping[str, Any]) -> str:
    """One document, a row a line; what has no value is null."""
    parts = [f" {json.dumps(key)}: {_rows(item)}" for key, item in plain(dict(value)).items()]
    return "{\n" + ",\n".join(parts) + "\n}"


def plain(value: Any) -> Any:
    """Values JSON can hold: not-a-number and infinity become null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _rows(value: Any) -> str:
    """JSON with one line for each row of a list of records."""
    if not (isinstance(value, list) and value):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    rows = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value)
    return "[\n  " + ",\n  ".join(rows) + "\n ]"
