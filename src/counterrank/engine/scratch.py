"""A folder for temporary files that goes away with the work, however it ends."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from counterrank.core.errors import UsageError
from counterrank.core.format import byte_words
from counterrank.core.owned_folder import owned_folder

PREFIX = "counterrank-"
SPARE = 1.1  # of the room that files are expected to take
TODO = "Make room, or name a folder on a larger disk: --scratch DIR (or the variable TMPDIR)."


@contextmanager
def scratch(parent: str | None) -> Iterator[Path]:
    """A new folder in ``parent``, or where the system keeps temporary files."""
    named = parent or os.environ.get("TMPDIR")
    where = Path(named or tempfile.gettempdir())
    begun = False
    try:
        with owned_folder(where, PREFIX) as folder:
            begun = True
            try:
                yield folder
            except (OSError, pl.exceptions.PolarsError) as error:
                if not _full(error):
                    raise
                raise _no_room(folder) from error
    except OSError as error:
        if begun:
            raise
        raise UsageError(
            f'No temporary folder can be made in "{where}".',
            found=f"The system says: {error.strerror or error}.",
            todo="Name another: --scratch DIR (or the variable TMPDIR).",
        ) from error


def refuse_small(folder: Path, size: float) -> None:
    """Refuse a disk that cannot hold what is to be written."""
    free = shutil.disk_usage(folder).free
    if free < SPARE * size:
        raise UsageError(
            f'"{folder.parent}" has too little room for temporary files.',
            found=f"{byte_words(free)} are free, about {byte_words(int(SPARE * size))} are needed.",
            todo=TODO,
        )


def _no_room(folder: Path) -> UsageError:
    held = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return UsageError(
        f'The disk that holds "{folder.parent}" is full.',
        found=f"{byte_words(held)} of temporary files were written; they are removed now.",
        todo=TODO,
    )


def _full(error: Exception) -> bool:
    """Whether the disk was full; Polars says it in words."""
    told = f"os error {errno.ENOSPC}" in str(error) or "No space left" in str(error)
    return told or (isinstance(error, OSError) and error.errno == errno.ENOSPC)
