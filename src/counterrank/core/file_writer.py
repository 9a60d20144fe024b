"""The one writer: a file is whole or as it was, links stay links, and modes stay as they are."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from counterrank.core.errors import UsageError, first_line
from counterrank.core.owned_folder import lock, owned_folder

Refuse = Callable[[Path, OSError], UsageError]
GENERATOR = '<meta name="generator" content="Counterrank">'  # by which pages are known as ours
STAGE = ".counterrank-new-"  # begins the names of folders beside what is written


def whole(path: Path, write: Callable[[Path], object], refuse: Refuse | None = None) -> None:
    """Write aside, then move into place: never half a file.

    What is no plain file (a device, a pipe) gets the bytes; a link is written through. A file that
    cannot be moved away, as one that is mounted by itself, is overwritten when all is there.
    """
    target = Path(os.path.realpath(path))
    try:
        mode, plain = _mode(path), not is_stream(path)
        aside = not plain or (mode is not None and not _can_stage(target.parent))
        with owned_folder(Path(tempfile.gettempdir()) if aside else target.parent, STAGE) as stage:
            new = stage / "new"
            with system_words():
                write(new)
            if aside:
                (_overwrite if plain else _pour)(new, target if plain else path)
                return
            os.chmod(new, 0o666 & ~umask() if mode is None else stat.S_IMODE(mode))
            if mode is not None and hasattr(os, "chown"):
                with suppress(OSError):
                    os.chown(new, target.stat().st_uid, target.stat().st_gid)
            try:
                os.replace(new, target)
            except OSError as error:
                if error.errno not in (errno.EBUSY, errno.EXDEV):
                    raise
                _overwrite(new, target)
    except OSError as error:
        raise (refuse or unwritable)(path, error) from error


def whole_text(path: str | Path, text: str) -> None:
    """A file of text, whole or not at all."""
    whole(Path(path), lambda new: new.write_text(text, encoding="utf-8"))


def append(path: str, text: str) -> None:
    """Add to the end of a file in one write, under its lock: what others add stays.

    What does not fit is taken back.
    """
    raw = text.encode()
    try:
        handle, plain = _open(Path(path), os.O_CREAT | os.O_APPEND), not is_stream(Path(path))
        try:
            if plain:
                lock(handle, wait=True)
            size = os.fstat(handle).st_size
            written = os.write(handle, raw)
            if written < len(raw) and plain:
                os.ftruncate(handle, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            while written < len(raw):
                written += os.write(handle, raw[written:])
        finally:
            os.close(handle)
    except OSError as error:
        raise unwritable(Path(path), error) from error


def refuse_unwritable(path: str) -> None:
    """Refuse, before the work, a file that could not be written after it."""
    refuse_address(path)
    if is_stream(Path(path)):
        return
    target = Path(os.path.realpath(path))
    if os.path.isdir(target):
        raise UsageError(f'"{path}" is a folder.', todo="Name a file.")
    try:
        mode = _mode(target)
        if not stat.S_ISDIR(target.parent.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if mode is not None:
            os.close(os.open(target, os.O_WRONLY))
        if mode is None or not os.access(target, os.W_OK):
            with owned_folder(target.parent, STAGE):
                pass
    except OSError as error:
        raise unwritable(Path(path), error) from error


def refuse_address(path: str) -> None:
    """Refuse an address: what it names is not here, and a folder of that name would be made."""
    if "://" in path:
        raise UsageError(
            f'"{path}" cannot be written.',
            found="It is an address, and results are written to files here.",
            todo="Name a file or a folder, and copy it there.",
        )


@contextmanager
def system_words() -> Iterator[None]:
    """Polars tells of full disks in words of its own: here they are errors of the system."""
    try:
        yield
    except BaseException as error:
        if not type(error).__module__.startswith(("polars", "pyo3_runtime")):
            raise
        full = any(word in str(error) for word in ("os error 28", "No space left"))
        number = errno.ENOSPC if full else errno.EIO
        raise OSError(number, os.strerror(number) if full else first_line(error)) from error


STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
STREAM = re.compile(r"/(?:dev|proc/self)/fd/(\d{1,9})")


def _descriptor(path: Path) -> int | None:
    """The number of the open file that a path stands for, itself or by links, as /dev/stdout."""
    for _ in range(40):
        text = os.path.abspath(path)
        if text in STREAMS:
            return STREAMS[text]
        if found := STREAM.fullmatch(text):
            return int(found[1])
        if not os.path.islink(text):
            return None
        path = Path(os.path.dirname(text), os.readlink(text))
    return None


def is_stream(path: Path) -> bool:
    """Whether bytes go on from here: a device, a pipe, or what a shell has opened for us."""
    try:
        mode = _mode(path)
    except OSError:  # where we may not look, as whoever opens it will be told
        mode = None
    special = mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
    return special or _descriptor(path) is not None


def _open(path: Path, how: int) -> int:
    """A number to write to; what a shell has opened goes on where it is, and is not cut."""
    number = _descriptor(path)
    if number is None:
        return os.open(path, os.O_WRONLY | how | getattr(os, "O_BINARY", 0), 0o666)
    for stream in (sys.stdout, sys.stderr):  # what was printed comes first
        stream.flush()
    return os.dup(number)


def _mode(target: Path) -> int | None:
    try:
        return target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _can_stage(folder: Path) -> bool:
    """Whether new files can be made there; where the file is, but not its folder, ours to write."""
    return os.access(folder, os.W_OK | os.X_OK)


def _pour(new: Path, stream: Path) -> None:
    """The bytes into what takes them; a reader may leave early."""
    number = _open(stream, 0)
    with suppress(BrokenPipeError), new.open("rb") as source, os.fdopen(number, "wb") as sink:
        shutil.copyfileobj(source, sink, 1 << 16)


def _overwrite(new: Path, target: Path) -> None:
    """The bytes over those of a file, which are put back where there is no room for all."""
    old = new.with_name("old")
    shutil.copyfile(target, old)
    try:
        _over(new, target)
    except BaseException:
        _over(old, target)
        raise


def _over(source: Path, target: Path) -> None:
    with source.open("rb") as there, target.open("r+b") as file:
        shutil.copyfileobj(there, file, 1 << 20)
        file.truncate()


def umask() -> int:
    """What new files are denied."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def unwritable(path: Path, error: OSError) -> UsageError:
    """The message for what cannot be written."""
    return UsageError(
        f'"{path}" cannot be written.',
        found=f"The system says: {error.strerror or error}.",
        todo="Check that the folder exists and has room.",
    )
