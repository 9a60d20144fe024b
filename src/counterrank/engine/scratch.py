"""A folder for temporary files that goes away with the work, however it ends."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from counterrank.core.errors import UsageError

PREFIX = "counterrank-"
SPARE = 1.1  # of the room that files are expected to take
TODO = "Make room, or name a folder on a larger disk: --scratch DIR (or the variable TMPDIR)."


@contextmanager
def scratch(parent: str | None) -> Iterator[Path]:
    """A new folder in ``parent``, or where the system keeps temporary files."""
    where = Path(parent or tempfile.gettempdir())
    try:
        _clear(where)
        folder = Path(tempfile.mkdtemp(dir=where, prefix=f"{PREFIX}{os.getpid()}-"))
    except OSError as error:
        raise UsageError(
            f'No temporary folder can be made in "{where}".',
            found=f"The system says: {error.strerror or error}.",
            todo="Name another: --scratch DIR.",
        ) from error
    try:
        yield folder
    except (OSError, pl.exceptions.PolarsError) as error:
        if not _full(error):
            raise
        raise _no_room(folder) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def refuse_small(folder: Path, size: float) -> None:
    """Refuse a disk that cannot hold what is to be written."""
    free = shutil.disk_usage(folder).free
    if free < SPARE * size:
        raise UsageError(
            f'"{folder.parent}" has too little room for temporary files.',
            found=f"{free / 1e9:.1f} GB are free, about {SPARE * size / 1e9:.1f} GB are needed.",
            todo=TODO,
        )


def _no_room(folder: Path) -> UsageError:
    held = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return UsageError(
        f'The disk that holds "{folder.parent}" is full.',
        found=f"{held / 1e9:.1f} GB of temporary files were written; they are removed now.",
        todo=TODO,
    )


def _full(error: Exception) -> bool:
    """Whether the disk was full; Polars says it in words."""
    told = f"os error {errno.ENOSPC}" in str(error) or "No space left" in str(error)
    return told or (isinstance(error, OSError) and error.errno == errno.ENOSPC)


def _clear(where: Path) -> None:
    """Remove what a process that was killed outright left behind."""
    for folder in where.glob(f"{PREFIX}*"):
        owner = re.match(rf"{PREFIX}(\d+)-", folder.name)
        if owner and not _alive(int(owner[1])):
            with suppress(OSError):
                shutil.rmtree(folder)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
