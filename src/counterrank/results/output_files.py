"""Files the command line writes: each whole, or not at all."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterrank.core.errors import UsageError

if TYPE_CHECKING:
    from counterrank.results.result import Result


ENDINGS = (".parquet", ".csv")
NAMES = ("result.json", "units.parquet", "report.html")


def refuse_early(file: str | None, folder: str | None, inputs: list[str]) -> None:
    """Refuse what cannot be written before the work, not after it."""
    targets = [file] if file else []
    targets += [os.path.join(folder, name) for name in NAMES] if folder else []
    for target in targets:
        if any(os.path.realpath(target) == os.path.realpath(path) for path in inputs):
            raise UsageError(
                f'"{target}" is one of the inputs.', todo="Write the results somewhere else."
            )
    if file is not None and not file.lower().endswith(ENDINGS):
        raise UsageError(
            f'--by-unit cannot write "{file}".', todo="Let it end in .parquet or .csv."
        )
    if file is not None and (Path(file).is_dir() or not _writable(Path(file).parent)):
        raise UsageError(f'"{file}" cannot be written.', todo="Check that its folder exists.")
    if folder is not None:
        above = next(p for p in (Path(folder), *Path(folder).absolute().parents) if p.exists())
        if not _writable(above):
            raise UsageError(
                f'"{folder}" cannot be written.', found=f'"{above}" is not a folder to write to.'
            )


def _writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK)


def by_unit(result: Result, path: str | None) -> list[str]:
    """Per-unit values, Parquet or CSV by the ending; says what was written."""
    if path is None:
        return []
    frame = result.by_unit()
    csv = path.lower().endswith(".csv")
    whole(Path(path), frame.write_csv if csv else partial(frame.write_parquet, compression="lz4"))
    return [path]


def make_folder(path: str) -> Path:
    """The folder, made if need be."""
    where = Path(path)
    try:
        where.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(where, error) from error
    return where


def folder(result: Result, path: str | None) -> list[str]:
    """``result.json``, ``report.html`` and, if kept, ``units.parquet``; says what was written.

    All appear in one step: killed at any moment, the folder holds the old result or the new.
    Where the folder also holds files of others, each of the three is replaced by itself.
    """
    if path is None:
        return []
    from counterrank.documents.document import as_json
    from counterrank.report import page

    where, document = make_folder(path).resolve(), result.to_dict()
    try:
        fresh = Path(tempfile.mkdtemp(dir=where.parent, prefix=f".{where.name}."))
    except OSError as error:
        raise _unwritable(where.parent, error) from error
    try:
        os.chmod(fresh, 0o777 & ~_umask())
        (fresh / "result.json").write_text(as_json(document), encoding="utf-8")
        names = [n for n in NAMES if n != "units.parquet" or _keeps_units(document)]
        if "units.parquet" in names:
            result.by_unit().write_parquet(fresh / "units.parquet", compression="lz4")
        (fresh / "report.html").write_text(page([document]), encoding="utf-8")
        alone = {entry.name for entry in where.iterdir()} <= set(NAMES)
        if not (alone and replace_folder(fresh, where)):
            for name in names:
                os.replace(fresh / name, where / name)
            for name in set(NAMES) - set(names):  # of an earlier result, which it does not fit
                (where / name).unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(where, error) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return [os.path.join(path, name) for name in names]


def _keeps_units(document: Mapping[str, Any]) -> bool:
    """Whether a result has values per unit; of too many units only moments were kept."""
    inference = document.get("protocol", {}).get("inference", {})
    return bool(inference.get("inference") != "moments") if isinstance(inference, dict) else True


def append(path: str, text: str) -> None:
    """Add to the end of a file, which may not be there yet."""
    file = Path(path)
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
    except (OSError, ValueError) as error:
        raise UsageError(f'"{path}" cannot be added to.', found=str(error)[:120]) from error
    whole_text(file, before + text)


def discard(path: str) -> None:
    """Remove a folder of results so far, now that they are written; other files stay."""
    for inner in [p for p in Path(path).glob("*") if p.is_dir()]:
        for file in inner.glob("*.npy*"):
            file.unlink(missing_ok=True)
        with suppress(OSError):
            inner.rmdir()
    with suppress(OSError):
        Path(path).rmdir()


def whole(
    path: Path,
    write: Callable[[Path], object],
    refuse: Callable[[Path, OSError], UsageError] | None = None,
) -> None:
    """Write beside the target, then move into place: never half a file."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        temporary = Path(name)
        try:
            write(temporary)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise (refuse or _unwritable)(path, error) from error


def whole_text(path: str | Path, text: str) -> None:
    """A file of text, whole or not at all."""
    whole(Path(path), lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f'"{path}" cannot be written.',
        found=f"The system says: {error.strerror or error}.",
        todo="Check that the folder exists and has room.",
    )


HERE = -100  # AT_FDCWD: paths count from the working folder
SWAP = 2  # RENAME_EXCHANGE on Linux and RENAME_SWAP on macOS are the same bit


def replace_folder(new: Path, old: Path) -> bool:
    """Put ``new`` where ``old`` is and remove what was there; False if that cannot be one step."""
    if not old.exists() or not any(old.iterdir()):
        os.replace(new, old)
        return True
    if not _swap(os.fsencode(new), os.fsencode(old)):
        return False
    shutil.rmtree(new, ignore_errors=True)
    return True


def _swap(a: bytes, b: bytes) -> bool:
    """Exchange two folders by the system's own call, where it has one."""
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            return int(library.renamex_np(a, b, SWAP)) == 0
        return int(library.renameat2(HERE, a, HERE, b, SWAP)) == 0
    except AttributeError:
        return False
