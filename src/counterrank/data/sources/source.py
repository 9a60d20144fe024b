"""Where a table comes from: files, folders, globs, or a dataframe in memory."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from counterrank.core.errors import InputError, brief, first_line
from counterrank.data.digest import sha256
from counterrank.data.sources.dataframes import from_memory, memory_columns
from counterrank.data.sources.files import ENDINGS, column_names, read_columns
from counterrank.data.sources.lake import frame_at, is_address

Choose = Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class Source:
    """One table before it is read. ``trec`` names the columns of headerless TREC text."""

    name: str
    files: tuple[Path, ...]
    table: object = None
    trec: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, object]:
        """What goes to other processes, with the doors: all but the rows."""
        return {**self.__dict__, "table": None}

    def read(self, choose: Choose) -> pl.DataFrame:
        """The columns that ``choose`` picks from those there are."""
        if not self.files:
            return from_memory(self.table, self.name, choose)
        parts = []
        for file in self.files:
            wanted = choose(column_names(file, self.trec))
            parts.append(read_columns(file, wanted, self.trec))
        if len(parts) == 1:
            return parts[0]
        try:
            return pl.concat(parts, how="vertical_relaxed")
        except pl.exceptions.PolarsError as error:
            raise InputError(
                f'The files of "{self.name}" do not fit together.',
                found=first_line(error),
                todo="Give a column the same type in every file.",
            ) from error

    def columns(self) -> list[str]:
        """Names of the columns; of TREC text without names, the numbers of its fields."""
        if self.files:
            return column_names(self.files[0], self.trec)
        return memory_columns(self.table, self.name)

    def sha256(self) -> str | None:
        """Checksum of the file; of several files, of their checksums in order of path."""
        if not self.files:
            return None
        digests = [sha256(file) for file in self.files]
        if len(digests) == 1:
            return digests[0].hex()
        return hashlib.sha256(b"".join(digests)).hexdigest()


def opened(table: object, *, trec: Sequence[str], name: str = "") -> Source:
    """A source for ``table``: a path, a glob, a folder, an address, or a dataframe."""
    if isinstance(table, (str, os.PathLike)):
        path = os.fspath(table)
        if is_address(path):
            return Source(name or str(path), (), frame_at(str(path)), tuple(trec))
        return Source(name or str(path), tuple(_expand(str(path))), None, tuple(trec))
    return Source(name or "table in memory", (), table, tuple(trec))


def _expand(path: str) -> list[Path]:
    """The files a path stands for, in order of name."""
    found = Path(path)
    try:
        found.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise InputError(
            f"No file {brief(path)}.", found=f"The system says: {error}."[:120]
        ) from error
    if found.is_dir():
        inside = sorted(p for p in found.rglob("*") if p.is_file() and _is_data(p, found))
        if not inside:
            raise InputError(
                f'Folder "{path}" holds no table.',
                found="None of its files ends in " + ", ".join(ENDINGS) + ".",
                todo="Point to the folder that holds the Parquet or CSV files.",
            )
        return inside
    if found.exists():
        return [found]
    matches = sorted(Path(p) for p in glob.glob(path, recursive=True) if Path(p).is_file())
    if not matches:
        raise InputError(
            f'No file "{path}".',
            found=f"Looked from {Path.cwd()}." if not found.is_absolute() else "",
            todo="Check the path; a glob must match at least one file.",
        )
    return matches


def _is_data(path: Path, folder: Path) -> bool:
    """Known ending, and not one of the hidden or bookkeeping files engines leave behind."""
    shown = not any(part[0] in "._" for part in path.relative_to(folder).parts)
    return shown and path.name.lower().endswith(ENDINGS)
