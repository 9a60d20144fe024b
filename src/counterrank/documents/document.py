"""The JSON document of a result: the same shape for every verb."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from counterrank.core.errors import InputError, brief
from counterrank.core.provenance import COMMAND
from counterrank.data.schema import Input
from counterrank.documents.estimand_sentences import estimand
from counterrank.version import __version__

SCHEMA = 1  # the shape of documents; see document.schema.json


def document(
    kind: str,
    protocol: Mapping[str, Any],
    inputs: Sequence[Input],
    *,
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    tables: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A result as plain values, in one shape; ``tables`` hold what only this verb has."""
    command = {"command": list(COMMAND)} if COMMAND else {}
    return {
        "schema": SCHEMA,
        "kind": kind,
        "estimand": estimand(kind, protocol),
        **rows,
        "tables": dict(tables),
        "protocol": dict(protocol),
        "provenance": {
            "version": __version__,
            **command,
            **({} if options is None else {"options": dict(options)}),
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


PARTS = {
    "kind": str, "provenance": dict, "protocol": dict, "tables": dict, "estimates": list,
    "comparisons": list, "diagnostics": list,
}  # fmt: skip


def saved(path: str | os.PathLike[str]) -> dict[str, Any]:
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
    if isinstance(found, dict) and "provenance" in found and found.get("schema") != SCHEMA:
        version = dict(found["provenance"]).get("version", "unknown")
        raise InputError(
            f"{brief(str(file))} has another shape.",
            found=f"Counterrank {version} made it, as schema {found.get('schema', 0)}.",
            todo=f"Make it anew with counterrank {__version__}, whose documents are schema 1.",
        )
    lacking = [
        name
        for name, kind in PARTS.items()
        if not isinstance(found, dict) or not isinstance(found.get(name), kind)
    ]
    if lacking:
        raise InputError(
            f"{brief(str(file))} is not a result.",
            found=f'It has no "{lacking[0]}", or not as every result has it.',
            todo=todo,
        )
    return dict(found)
