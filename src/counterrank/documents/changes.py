"""What two documents of one result say differently."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from counterrank.documents.document import as_json


def comparable(document: Mapping[str, Any]) -> dict[str, Any]:
    """What must be said again: all but version, command and where files lay."""
    found: dict[str, Any] = json.loads(as_json(document))
    inputs = found.pop("provenance")["inputs"]
    for row in found["tables"].get("tables", []):  # what check says of each table
        row["table"] = Path(row["table"]).name
    return {"inputs": [i | {"name": Path(i["name"]).name} for i in inputs], **found}


ABOUT = ("name", "subject", "system", "baseline", "measure", "reward", "estimator", "segment")


def changes(old: Any, new: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where they differ, what it was and what it is; a row is named by what it is about."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from changes(old.get(key), new.get(key), f"{place}.{key}".lstrip("."))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for n, (a, b) in enumerate(zip(old, new, strict=True)):
            told = [str(a[key]) for key in ABOUT if a.get(key)] if isinstance(a, dict) else []
            yield from changes(a, b, f"{place}[{', '.join(told) or n}]")
    elif old != new:
        yield place, old, new
