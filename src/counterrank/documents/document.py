"""The JSON document of a result: the same shape for every verb."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from counterrank.core.errors import InputError, brief
from counterrank.core.provenance import COMMAND
from counterrank.data.schema import Input
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
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A result as plain values; ``further`` holds what only this verb has."""
    rows = {"estimates": estimates, "comparisons": comparisons, "diagnoses": diagnoses}
    parts = {key: [_record(row) for row in found] for key, found in rows.items()}
    parts |= further or {}
    return {
        "kind": kind,
        **{key: parts[key] for key in ORDER.get(kind, parts)},
        "protocol": dict(protocol),
        "provenance": {
            "version": __version__,
            **({"command": list(COMMAND)} if COMMAND else {}),
            **({} if options is None else {"options": dict(options)}),
            "inputs": [dict(vars(i)) for i in inputs],
        },
    }


def _record(row: object) -> dict[str, Any]:
    return row if isinstance(row, dict) else dict(vars(row))


def columns_of(kind: str, rows: str) -> Mapping[str, str] | None:
    """The names of a document's columns, and what they are in `Row` and `Comparison`.

    None: the rows' own names.
    """
    if (kind, rows) in FURTHER:
        return FURTHER[kind, rows]
    names = NAMES.get(kind)
    if names is None or rows not in COLUMNS:
        return None
    columns = dict(names)
    if rows == "comparisons":
        columns = {name: part for name, part in columns.items() if name != "system"}
        columns |= {"system": "system", "baseline": "baseline"}
    columns |= {name: name for name in COLUMNS[rows] if name not in ABSENT.get((kind, rows), ())}
    return columns


# What each verb calls the parts of a key in its documents.
NAMES = {
    "evaluate": {"system": "system", "measure": "measure"},
    "estimate": {"system": "system", "measure": "estimator", "reward": "measure"},
    "funnel": {
        "system": "system", "measure": "estimator", "exposure": "measure", "reward": "reward",
    },
    "strata": {"system": "system", "measure": "measure", "method": "method"},
}  # fmt: skip
COLUMNS = {
    "estimates": ("value", "se", "low", "high", "level", "units", "clusters", "verdict"),
    "comparisons": (
        "difference", "se", "low", "high", "lift", "lift_low", "lift_high", "p", "p_corrected",
        "test", "correction", "family", "draws", "detectable", "units",
    ),
    "by_unit": (),
}  # fmt: skip
ABSENT = {
    ("evaluate", "estimates"): ("clusters", "verdict"),
    ("evaluate", "comparisons"): ("lift_low", "lift_high"),
    ("estimate", "comparisons"): ("draws",),
    ("funnel", "estimates"): ("clusters",),
    ("funnel", "comparisons"): ("draws",),
    ("strata", "estimates"): ("clusters", "verdict"),
    ("strata", "comparisons"): ("lift_low", "lift_high", "draws"),
}
FURTHER = {  # tables of one verb whose columns Python cannot name
    ("strata", "strata"): {
        "name": "name", "from": "low", "to": "high", "share": "share", "users": "users",
        "items": "items", "ratings": "ratings",
    },
}  # fmt: skip


# Where what only one verb has does not come last.
ORDER = {
    "exposure": (
        "model", "label", "estimates", "comparisons", "parameters", "basis", "refused", "diagnoses",
    ),
}  # fmt: skip


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


def saved(path: str | Path) -> dict[str, Any]:
    """The document of a result: ``result.json``, or the folder that holds one."""
    file = Path(path)
    file = file / "result.json" if file.is_dir() else file
    todo = "Name a folder that --out wrote, or a file of --format json."
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"There is no result {brief(str(file))}.", todo=todo) from error
    except OSError as error:
        raise InputError(
            f"{brief(str(file))} cannot be read.", found=f"The system says: {error.strerror}."
        ) from error
    except ValueError as error:
        raise InputError(
            f"{brief(str(file))} is not a result.",
            found=f"It is not JSON: {str(error)[:80]}.",
            todo=todo,
        ) from error
    if not isinstance(found, dict) or "kind" not in found or "provenance" not in found:
        raise InputError(
            f"{brief(str(file))} is not a result.",
            found='It has no "kind" and "provenance", which every result has.',
            todo=todo,
        )
    return found
