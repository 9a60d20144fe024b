"""Pieces of bytes under keys, in one file for each key.

A file for each piece costs more than what is in it: half a millisecond of the system's time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

HEAD = struct.Struct("<qq")  # the number of a piece, and its bytes


class GrowingFiles:
    """Files of a new ``folder``, named by their keys; threads may add to them at a time."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder, self.lock = folder, Lock()

    def add(self, key: int, number: int, data: bytes | memoryview) -> None:
        """A piece more under a key."""
        with self.lock, (self.folder / str(key)).open("ab") as file:
            file.write(HEAD.pack(number, len(data)))
            file.write(data)

    def keys(self) -> list[int]:
        """The keys that have pieces, in order."""
        return sorted(int(path.name) for path in self.folder.iterdir())

    def read(self, key: int) -> Iterator[bytes]:
        """The pieces of a key, which has some, in the order of their numbers."""
        with (self.folder / str(key)).open("rb") as file:
            places = {}
            while head := file.read(HEAD.size):
                number, size = HEAD.unpack(head)
                places[number] = file.tell(), size
                file.seek(size, 1)
            for _, (start, size) in sorted(places.items()):
                file.seek(start)
                yield file.read(size)
