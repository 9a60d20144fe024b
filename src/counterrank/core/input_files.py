"""The one place where names become files that are read, and what is written is kept off them."""

from __future__ import annotations

import fnmatch
import glob
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from counterrank.core.arguments import is_text
from counterrank.core.errors import InputError, UsageError, brief

PARQUET = (".parquet", ".pq")
ENDINGS = (*PARQUET, ".csv", ".csv.gz", ".tsv", ".tsv.gz")
RESULT = ("result.json", "units.parquet")
State = tuple[int, ...]


def files_of(path: str) -> list[Path]:
    """The files that a path, a folder or a glob stands for, in order of name."""
    files = [Path(os.path.abspath(p)) if str(p)[0] == "~" else p for p in _files(path)]  # no home
    for file in files:
        if not is_text(file):
            raise InputError(
                f'The name of "{file}" is not UTF-8 text.', todo="Give it another name."
            )
    return files


def _files(path: str) -> list[Path]:
    found = Path(path)
    mode = _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        return _inside(found)
    if mode is not None:
        _refuse_pipe(path, mode)
        return [found]
    matches = sorted(Path(p) for p in glob.glob(path, recursive=True) if not os.path.isdir(p))
    _refuse_broken(matches)
    if not matches:
        raise InputError(
            f'No file "{path}".',
            found=f"Looked from {Path.cwd()}." if not found.is_absolute() else "",
            todo="Check the path; a glob must match at least one file.",
        )
    return matches


def read_document(path: str | os.PathLike[str]) -> str:
    """The text of a small file: a result, a model, options. OSError and ValueError as they come."""
    _refuse_pipe(os.fspath(path), os.stat(path).st_mode)
    return Path(path).read_text(encoding="utf-8")


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        _refuse_broken([Path(path)])
        return None
    except (OSError, ValueError) as error:
        raise InputError(
            f"{brief(path)} cannot be read.",
            found=f"The system says: {getattr(error, 'strerror', None) or error}.",
            todo="Check the path, and that you have the right to read it.",
        ) from error


def _refuse_pipe(path: str, mode: int) -> None:
    """Tables are read more than once, and a pipe that nobody writes to would be waited for."""
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(
            f'"{path}" is no file.',
            found="It is a pipe, a socket or a device, which cannot be read twice.",
            todo="Write what it gives to a file, and name that.",
        )


def _inside(folder: Path) -> list[Path]:
    """The tables of a folder, but no hidden or bookkeeping files that engines leave behind."""
    found: list[Path] = []
    locked: list[OSError] = []
    for place, names in _walk(folder, locked.append):
        found += [Path(place, n) for n in names if n.lower().endswith(ENDINGS) and n[0] not in "._"]
    _refuse_broken(found)
    found = [file for file in found if not _is_special(file)]
    if locked:
        raise InputError(
            f'Folder "{locked[0].filename}" cannot be read.',
            found=f"The system says: {locked[0].strerror}.",
            todo="Ask for the right to read it.",
        )
    if not found:
        raise InputError(
            f'Folder "{folder}" holds no table.',
            found="None of its files ends in " + ", ".join(ENDINGS) + ".",
            todo="Point to the folder that holds the Parquet or CSV files.",
        )
    return sorted(found)


def all_below(folder: Path, name: str) -> Iterator[Path]:
    """Files and folders of a name below a folder; what cannot be listed there is passed over."""
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise InputError(
            f'"{folder}" cannot be read.',
            found=f"The system says: {error.strerror}.",
            todo="Name the folder of the inputs.",
        ) from error
    for place, folders, names in os.walk(folder):
        folders.sort()
        if name and name in (*folders, *names):
            yield Path(place, name)


def _walk(folder: Path, locked: Callable[[OSError], object]) -> Iterator[tuple[str, list[str]]]:
    """Folders that are read, each once, and the names in them; links lead to folders, too."""
    seen = {_identity(folder)}

    def is_new(inner: str) -> bool:
        own = _identity(Path(inner))
        return own not in seen and not seen.add(own)  # type: ignore[func-returns-value]

    for place, folders, names in os.walk(folder, onerror=locked, followlinks=True):
        shown = sorted(name for name in folders if name[0] not in "._")
        folders[:] = [name for name in shown if is_new(os.path.join(place, name))]
        yield place, names


def _refuse_broken(files: Iterable[Path]) -> None:
    """A link to nothing: what it stood for would be missing without a word."""
    for file in files:
        if file.is_symlink() and not os.path.lexists(os.path.realpath(file)):
            raise InputError(
                f'"{file}" is a link to nothing.',
                found=f'It leads to "{os.path.realpath(file)}".',
                todo="Bring back what it leads to, or remove the link.",
            )


def _is_special(file: Path) -> bool:
    """A pipe, a socket, a device; not what we may not look at, of which its reader will tell."""
    try:
        return not stat.S_ISREG(file.stat().st_mode)
    except OSError:
        return False


def state(file: Path) -> State:
    """Which file it is and when it was last changed, by name or by content."""
    found = file.stat()
    return (
        found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns,
    )  # fmt: skip


def refuse_changed(file: Path, before: State) -> None:
    """Refuse what was replaced while it was read: no checksum would be that of the numbers."""
    try:
        same = state(file) == before
    except OSError:
        same = False
    if not same:
        raise InputError(
            f'"{file}" changed while it was read.',
            found="The numbers may be of the old file, of the new one, or of both.",
            todo="Run again when nobody writes to it.",
        )


def refuse_inputs(targets: Iterable[str], inputs: Iterable[str]) -> None:
    """Refuse outputs that are inputs, or that an input folder or glob would read next time."""
    targets = list(targets)
    for given in inputs:
        if "://" in given:
            continue
        try:
            read = {_identity(file) for file in files_of(given)} if given else set()
        except InputError:  # which is told by whoever reads it
            read = set()
        read |= _result_of(given)
        for target in targets:
            if _identity(Path(target)) in read or _would_read(given, target):
                raise UsageError(
                    f'"{target}" is one of the inputs.',
                    found=f'It lies where "{given}" is read.',
                    todo="Write the results somewhere else.",
                )


def _result_of(given: str) -> set[tuple[object, ...]]:
    """The files of the saved result that is read, or that a file belongs to which is read."""
    folder, name = (given, "") if os.path.isdir(given) else os.path.split(given)
    files = [Path(folder, own) for own in RESULT if name in ("", *RESULT)]
    return {_identity(file) for file in files if file.exists()}


def _identity(path: Path) -> tuple[object, ...]:
    """What it is, whatever its name; where there is nothing yet, its name."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return (os.path.realpath(path),)
    return found.st_dev, found.st_ino


def _would_read(given: str, target: str) -> bool:
    if not given:
        return False
    real, name = os.path.realpath(target), os.path.basename(target)
    if os.path.isdir(given):
        home = next(p for p in Path(real).parents if os.path.exists(p))
        hidden = any(part[:1] in "._" for part in Path(real).relative_to(home).parts)
        read = {_identity(Path(place)) for place, _ in _walk(Path(given), lambda _: None)}
        return not hidden and name.lower().endswith(ENDINGS) and _identity(home) in read
    if os.path.exists(given) or not glob.has_magic(given):
        return os.path.realpath(given) == real
    above, pattern = os.path.split(given)
    if glob.has_magic(above):
        return fnmatch.fnmatchcase(real, os.path.abspath(given))
    return os.path.dirname(real) == os.path.realpath(above) and fnmatch.fnmatchcase(name, pattern)
