"""Files the command line writes: each whole, or not at all."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from counterrank.core.errors import UsageError
from counterrank.core.file_writer import (
    GENERATOR,
    STAGE,
    is_stream,
    refuse_address,
    refuse_unwritable,
    system_words,
    unwritable,
    whole,
)
from counterrank.core.file_writer import whole_text as whole_text
from counterrank.core.input_files import refuse_inputs
from counterrank.core.owned_folder import owned_folder, turn

if TYPE_CHECKING:
    import polars as pl

    from counterrank.results.result import Result


ENDINGS = (".parquet", ".csv")
PAGE = re.compile(r"\d{4}-\d\d-\d\d-\d+\.html")  # of a result in a site
NAMES = ("result.json", "units.parquet", "report.html")


def refuse_early(file: str | None, folder: str | None, inputs: list[str]) -> None:
    """Refuse what cannot be written before the work, not after it."""
    targets = [file] if file else []
    targets += [os.path.join(folder, name) for name in NAMES] if folder else []
    refuse_inputs(targets, inputs)
    if file is not None:
        if not file.lower().endswith(ENDINGS) and not is_stream(Path(file)):
            raise UsageError(
                f'--by-unit cannot write "{file}".', todo="Let it end in .parquet or .csv."
            )
        refuse_unwritable(file)
    if folder is not None:
        refuse_address(folder)
        every = (Path(folder), *Path(folder).absolute().parents)
        above = next(p for p in every if os.path.exists(p))
        if not above.is_dir():
            raise UsageError(
                f'"{folder}" cannot be written.', found=f'"{above}" is not a folder to write to.'
            )
        try:
            with owned_folder(above, STAGE):
                pass
        except OSError as error:
            raise unwritable(Path(folder), error) from error


def by_unit(result: Result, path: str | None) -> list[str]:
    """Per-unit values, Parquet or CSV by the ending; says what was written."""
    if path is None:
        return []
    frame = result.by_unit()
    csv = not path.lower().endswith(".parquet")
    write = guard_cells(frame).write_csv if csv else partial(frame.write_parquet, compression="lz4")
    whole(Path(path), write)
    return [path]


def make_folder(path: str) -> Path:
    """The folder, made if need be."""
    where = Path(path)
    try:
        where.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(where, error) from error
    return where


def folder(result: Result, path: str | None) -> list[str]:
    """``result.json``, ``report.html`` and, if kept, ``units.parquet``; says what was written.

    All appear in one step: killed at any moment, the folder holds the old result or the new.
    Where that cannot be (it holds files of others, is mounted, or is where we are), each of the
    three is replaced by itself when all are there, and put back if one cannot be.
    """
    if path is None:
        return []
    from counterrank.documents.document import as_json
    from counterrank.report import page
    from counterrank.stats.units import Units

    where, document = make_folder(path).resolve(), result.to_dict()
    writers: dict[str, Callable[[Path], object]] = {
        "result.json": partial(Path.write_text, data=as_json(document), encoding="utf-8")
    }
    if result.unit_frame is not None or isinstance(result.units, Units):
        writers["units.parquet"] = partial(result.by_unit().write_parquet, compression="lz4")
    writers["report.html"] = partial(Path.write_text, data=page([document]), encoding="utf-8")
    several(where, writers, alone=NAMES)
    return [os.path.join(path, name) for name in writers]


def several(
    where: Path, writers: Mapping[str, Callable[[Path], object]], *, alone: Sequence[str] = ()
) -> list[str]:
    """Files that belong together: put into place when all are there; says what was written.

    A folder that holds nothing but those ``alone`` is replaced as a whole, where it can be; of
    these, what is not written goes.
    """
    try:
        beside = bool(alone) and _in_one_step(where)
        with owned_folder(where.parent if beside else where, STAGE) as stage, system_words():
            fresh = stage / "new"
            for name, write in writers.items():
                (fresh / name).parent.mkdir(parents=True, exist_ok=True)
                write(fresh / name)
            if beside:
                _keep_modes(fresh, where, ("", *alone))
            if not (beside and replace_folder(fresh, where)):
                _replace_files(fresh, where, stage / "old", alone or list(writers))
    except OSError as error:
        raise unwritable(where, error) from error
    return [str(where / name) for name in writers]


def site_folder(path: str, pages: Mapping[str, str]) -> list[str]:
    """The pages of a site into a folder; pages of results that are gone go, too.

    What is not a page of ours is neither replaced nor removed.
    """
    where = make_folder(path).resolve()
    for name in pages:
        if os.path.lexists(where / name) and not _is_ours(where / name):
            raise UsageError(
                f'"{name}" in "{path}" is no page of ours, and would be replaced.',
                todo="Name another folder for the site, or move that file.",
            )
    stale = {file.name for file in where.glob("20*.html") if PAGE.fullmatch(file.name)} - {*pages}
    stale = {name for name in stale if _is_ours(where / name)}
    written = several(
        where,
        {
            name: partial(Path.write_text, data=html, encoding="utf-8")
            for name, html in pages.items()
        },
    )
    for name in stale:
        (where / name).unlink(missing_ok=True)
    return written


def _is_ours(file: Path) -> bool:
    """Whether a page says who made it."""
    try:
        with file.open("rb") as page:
            return GENERATOR.encode() in page.read(1000)
    except OSError:
        return False


def _in_one_step(where: Path) -> bool:
    """Whether the folder itself can be replaced: it is ours alone, and nobody stands in it."""
    alone = {entry.name for entry in where.iterdir()} <= set(NAMES)
    links = any(entry.is_symlink() for entry in where.iterdir())
    if not alone or links or os.path.ismount(where):
        return False
    try:
        if where in ((here := Path.cwd().resolve()), *here.parents):
            return False
    except OSError:  # the folder where we stand is gone
        pass
    try:
        with owned_folder(where.parent, STAGE):
            return True
    except OSError:
        return False


def _replace_files(fresh: Path, where: Path, old: Path, names: Sequence[str]) -> None:
    """The new files into place, and the old ones back if one of them does not go."""
    _keep_modes(fresh, where, names)
    with turn(where):
        for name in names:
            (old / name).parent.mkdir(parents=True, exist_ok=True)
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            if (where / name).exists():
                _keep(where / name, old / name)
        try:
            for name in names:
                _put(fresh / name, where / name)
        except BaseException:
            for name in names:
                with suppress(OSError, UsageError):
                    _put(old / name, where / name)
            raise


def _keep(file: Path, old: Path) -> None:
    """The same file by a second name; its bytes where it is a link or can have but one."""
    try:
        if file.is_symlink():
            raise OSError
        os.link(file, old)
    except OSError:
        shutil.copy2(file, old)


def _put(file: Path, target: Path) -> None:
    """A file into place, through a link if one stands there; where there is none, none stays."""
    if not file.exists():
        target.unlink(missing_ok=True)
    elif target.is_symlink():
        whole(target, partial(shutil.copyfile, file))
    else:
        os.replace(file, target)


def _keep_modes(fresh: Path, where: Path, names: Sequence[str]) -> None:
    """Who may read a folder and its files stays as it was."""
    for new, old in ((fresh / name, where / name) for name in names):
        if new.exists() and old.exists():
            shutil.copymode(old, new)
            if hasattr(os, "chown"):
                with suppress(OSError):
                    os.chown(new, old.stat().st_uid, old.stat().st_gid)


def discard(path: str) -> None:
    """Remove a folder of results so far, now that they are written; other files stay."""
    keys = re.compile("[0-9a-f]{16}")  # what the folders of such results are called
    for inner in [p for p in Path(path).glob("*") if p.is_dir() and keys.fullmatch(p.name)]:
        for file in inner.glob("*.npy*"):
            file.unlink(missing_ok=True)
        with suppress(OSError):
            inner.rmdir()
    with suppress(OSError):
        Path(path).rmdir()


SIGNS = "=+-@"  # with which a spreadsheet's formulas begin
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def guard_cell(text: str) -> str:
    """A text for a spreadsheet: control characters are seen, and no formula is made of it."""
    from counterrank.core.format import printable

    text = printable(text)
    return f"'{text}" if text[:1] in SIGNS and text and not NUMBER.fullmatch(text) else text


def guard_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """The same for every text of a table."""
    import polars as pl

    texts = [n for n, kind in frame.schema.items() if kind in (pl.String, pl.Enum, pl.Categorical)]
    odd = pl.col(texts).cast(pl.String).str.contains(r"^[=+\-@]|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]")
    if not texts or not frame.select(pl.any_horizontal(odd.any())).item():
        return frame
    return frame.with_columns(
        pl.col(texts).cast(pl.String).map_elements(guard_cell, return_dtype=pl.String)
    )


HERE = -100  # AT_FDCWD: paths count from the working folder
SWAP = 2  # RENAME_EXCHANGE on Linux and RENAME_SWAP on macOS are the same bit


def replace_folder(new: Path, old: Path) -> bool:
    """Put ``new`` where ``old`` is and remove what was there; False if that cannot be one step."""
    if not old.exists() or not any(old.iterdir()):
        with suppress(OSError):  # of another that came first
            os.replace(new, old)
            return True
    if not _swap(os.fsencode(new), os.fsencode(old)):
        return False
    if not {entry.name for entry in new.iterdir()} <= set(NAMES):  # of others, come meanwhile
        _swap(os.fsencode(new), os.fsencode(old))
        return False
    shutil.rmtree(new, ignore_errors=True)
    return True


def _swap(a: bytes, b: bytes) -> bool:
    """Exchange two folders by the system's own call, where it has one."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return int(library.renamex_np(a, b, SWAP)) == 0
        return int(library.renameat2(HERE, a, HERE, b, SWAP)) == 0
    except (AttributeError, TypeError, OSError):  # Windows has no library without a name
        return False
