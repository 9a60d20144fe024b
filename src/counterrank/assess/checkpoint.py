"""Results so far, on disk: long work goes on where it stopped, even after ``kill -9``."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.core.errors import UsageError
from counterrank.core.file_writer import STAGE, refuse_address, whole
from counterrank.core.owned_folder import clear_left
from counterrank.version import __version__

ENDING = ".npy"
DIGEST = 32  # bytes of a SHA-256


def fingerprint(*parts: Any) -> str:
    """A digest of inputs and options: arrays by their bytes, other values as JSON.

    Work is taken up again only where it is the same, so everything that changes a number belongs
    in here; the version of the program is.
    """
    digest = hashlib.sha256(__version__.encode())
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype} {part.shape}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(json.dumps(part, sort_keys=True, default=str).encode())
        digest.update(b"\0")
    return digest.hexdigest()


class Checkpoint:
    """The pieces of some work, a file each, in a folder named by the work's fingerprint.

    A file is written aside and moved into place, so it is whole or not there at all. It ends with
    a digest of itself: a piece that a disk has changed is computed again. Without a ``folder``
    nothing is kept.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, key: str) -> None:
        self.folder = None if folder is None else Path(folder) / key[:16]
        if folder is not None and self.folder is not None:
            refuse_address(os.fspath(folder))
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise _unwritable(self.folder, error) from error
            clear_left(self.folder, STAGE)  # a piece that was whole is not written again

    def __call__(self, name: str, work: Callable[[], Floats], /) -> Floats:
        """The piece called ``name``: as it was left, or computed now and kept."""
        if self.folder is None:
            return work()
        file = self.folder / (quote(name, safe="") + ENDING)  # a day may be called 1/11/2024
        array = _stored(file)
        if array is None:
            array = work()
            _store(file, array)
        return array


def _stored(file: Path) -> Floats | None:
    """The array in a file, or none if it is not there or not what was written."""
    try:
        raw = file.read_bytes()
    except OSError:
        return None
    body, digest = raw[:-DIGEST], raw[-DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        return None
    array: Floats = np.load(io.BytesIO(body), allow_pickle=False)
    return array


def _store(file: Path, array: Floats) -> None:
    """Flushed to the disk before it is moved into place."""
    body = io.BytesIO()
    np.save(body, array, allow_pickle=False)

    def write(temporary: Path) -> None:
        with temporary.open("wb") as out:
            out.write(body.getvalue() + hashlib.sha256(body.getvalue()).digest())
            out.flush()
            os.fsync(out.fileno())

    whole(file, write, _unwritable)


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f'Results so far cannot be kept in "{path}".',
        found=f"The system says: {error.strerror or error}.",
        todo="Name another folder (--resume DIR), or check that this one has room.",
    )
