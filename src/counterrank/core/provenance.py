"""Where a result comes from: what was typed, and the checksums of its files.

It loads no library, so that checksums can begin before anything else.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from counterrank.core.input_files import state

COMMAND: list[str] = []  # what was typed, where the command line is what runs
WINDOW = 1 << 26  # bytes mapped at a time: one step without Python's lock, and little memory

_begun: dict[tuple[object, ...], Future[bytes]] = {}


def hash_ahead(paths: Iterable[str]) -> None:
    """Hash these files aside, while this process is still loading its libraries.

    What is no plain file is left for whoever reads it.
    """
    files = [Path(path).absolute() for path in paths if os.path.isfile(path)]
    team = ThreadPoolExecutor(1)
    _begun.update({_state(file): team.submit(_sha256, file) for file in files})
    team.shutdown(wait=False)


def sha256(file: Path) -> bytes:
    """SHA-256 of a file; the one begun ahead if that was of this file as it is now."""
    job = _begun.pop(_state(file), None)
    return _sha256(file) if job is None else job.result()


def _state(file: Path) -> tuple[object, ...]:
    """Which file, wherever the process has gone since, and in which state."""
    return str(file.absolute()), state(file)


def _sha256(file: Path) -> bytes:
    digest = hashlib.sha256()
    with file.open("rb") as handle:
        size = os.fstat(handle.fileno()).st_size
        try:
            for begin in range(0, size, WINDOW):
                with _window(handle.fileno(), begin, min(WINDOW, size - begin)) as window:
                    digest.update(window)
        except (OSError, ValueError):  # a file system that maps no files
            handle.seek(0)
            digest = hashlib.sha256(handle.read())
    return digest.digest()


def _window(file: int, begin: int, length: int) -> mmap.mmap:
    return mmap.mmap(file, length, access=mmap.ACCESS_READ, offset=begin)
