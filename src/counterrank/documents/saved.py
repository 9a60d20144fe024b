"""Saved results: the JSON document back from a file, a folder, or what ``--out`` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from counterrank.core.errors import InputError, brief


def saved(path: str | Path) -> dict[str, Any]:
    """The document of a result: ``result.json``, or the folder that holds one."""
    file = Path(path)
    file = file / "result.json" if file.is_dir() else file
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"There is no result {brief(str(file))}.",
            todo="Name a folder that --out wrote, or a file of --format json.",
        ) from error
    except OSError as error:
        raise InputError(
            f"{brief(str(file))} cannot be read.", found=f"The system says: {error.strerror}."
        ) from error
    except ValueError as error:
        raise InputError(
            f"{brief(str(file))} is not a result.",
            found=f"It is not JSON: {str(error)[:80]}.",
            todo="Name a folder that --out wrote, or a file of --format json.",
        ) from error
    if not isinstance(found, dict) or "kind" not in found or "provenance" not in found:
        raise InputError(
            f"{brief(str(file))} is not a result.",
            found='It has no "kind" and "provenance", which every result has.',
            todo="Name a folder that --out wrote, or a file of --format json.",
        )
    return found
