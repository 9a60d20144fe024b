"""Saved results in folders, and the day that each is of."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from counterrank.core.input_files import all_below

DAY = re.compile(r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")


def expanded(path: str) -> list[str]:
    """The results in a folder that is none itself, at any depth; else the path alone."""
    where = Path(path)
    if not path.strip() or not os.path.isdir(where) or (where / "result.json").exists():
        return [path]
    return sorted(str(file.parent) for file in all_below(where, "result.json")) or [path]


def day_of(path: str | os.PathLike[str]) -> date:
    """The last day in the names of a path, like 2030-01-31; else when its file was written."""
    for found in reversed(DAY.findall(os.fspath(path))):
        try:
            return date(*map(int, found))
        except ValueError:
            continue
    file = Path(path)
    file = file / "result.json" if file.is_dir() else file
    return datetime.fromtimestamp(file.stat().st_mtime, UTC).date()


def labels_of(paths: Sequence[str]) -> list[str]:
    """Paths without what they have in common in front."""
    shared = os.path.commonpath([os.path.dirname(os.path.abspath(p)) for p in paths])
    return [os.path.relpath(os.path.abspath(path), shared) for path in paths]


def dated(
    results: Sequence[Any], documents: Sequence[Mapping[str, Any]]
) -> list[tuple[str, date, Mapping[str, Any]]]:
    """Each document with where it is from, and its day; what is in memory is of today."""
    paths = [os.fspath(r) for r in results if isinstance(r, (str, os.PathLike))]
    labels = iter(labels_of(paths) if paths else [])
    return [
        (next(labels), day_of(r), document)
        if isinstance(r, (str, os.PathLike))
        else (str(document["kind"]), date.today(), document)
        for r, document in zip(results, documents, strict=True)
    ]
