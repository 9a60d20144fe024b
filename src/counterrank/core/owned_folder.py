"""Folders for files on their way: each is known as ours by a mark that is locked while it is used.

A folder is removed by whoever made it. One that was left behind (``kill -9``) is removed by a later
run, if its mark has the token of its name and nobody holds its lock: by this kernel's word, or by
that of an earlier start of this very machine; or if it has such a name and nothing is in it.
Whatever else there is, is not touched.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from counterrank.core.arguments import is_text

MARK = ".counterrank-owner"
BOOT = Path("/proc/sys/kernel/random/boot_id")

if sys.platform == "win32":
    import msvcrt

    def lock(handle: int, *, wait: bool = False) -> bool:
        """Take the lock of an open file until it is closed; False if another has it.

        It is on a byte far behind the end: there, nobody can read what is locked.
        """
        here = os.lseek(handle, 0, os.SEEK_CUR)
        try:
            os.lseek(handle, 1 << 30, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(handle, here, os.SEEK_SET)
        return True

else:
    import fcntl

    def lock(handle: int, *, wait: bool = False) -> bool:
        """Take the lock of an open file until it is closed; False if another has it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            return False
        return True


@contextmanager
def owned_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder in ``parent``, gone when the work ends; those left of dead ones go, too.

    Its name is whole: Polars takes a ``~`` at the begin of a name for the home of the user.
    """
    parent = parent.absolute()
    if not is_text(parent):
        raise OSError(errno.EILSEQ, "The name of the folder is not UTF-8 text")
    clear_left(parent, prefix)
    folder, handle = parent, -1
    try:
        while handle < 0:  # until none is taken, empty as it is, for one that was left
            token = secrets.token_hex(8)
            folder = parent / f"{prefix}{token}"
            folder.mkdir(mode=0o700)
            handle = _marked(folder, token)
        yield folder
    finally:
        if sys.platform == "win32" and handle >= 0:
            os.close(handle)  # an open file cannot be removed there
            handle = -1
        try:
            if folder != parent:
                _remove(folder)
        finally:
            if handle >= 0:
                os.close(handle)


def _marked(folder: Path, token: str) -> int:
    """The locked mark of a new folder; -1 if another removed it meanwhile."""
    handle = -1
    try:
        handle = os.open(folder / MARK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        lock(handle, wait=True)  # another may just be looking whose it is
        os.write(handle, json.dumps({"token": token, **_machine()}).encode())
        os.stat(folder / MARK)
    except BaseException as error:  # such as a full disk, on which an open file would stay
        if handle >= 0:
            os.close(handle)
        if isinstance(error, FileNotFoundError):
            return -1
        raise
    return handle


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """One writer at a time in a folder, where folders can be locked."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # as on Windows
        yield
        return
    try:
        lock(handle, wait=True)
        yield
    finally:
        os.close(handle)


def clear_left(parent: Path, prefix: str) -> None:
    """Remove the folders of this prefix whose owner is dead for sure."""
    shape = re.compile(re.escape(prefix) + r"([0-9a-f]{16})")
    with suppress(OSError), os.scandir(parent) as entries:
        found = [(e.name, match[1]) for e in entries if (match := shape.fullmatch(e.name))]
        for name, token in found:
            with suppress(OSError, ValueError):
                _clear(parent / name, token)


def _clear(folder: Path, token: str) -> None:
    if folder.is_symlink():
        return
    with suppress(OSError):  # stopped before its mark was there, or after it was gone
        os.rmdir(folder)  # only of an empty one
        return
    handle = os.open(folder / MARK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        written = os.read(handle, 1000)
        if not written and os.listdir(folder) == [MARK] and lock(handle):
            os.unlink(folder / MARK)  # stopped before it was written
            os.rmdir(folder)
            return
        mark = json.loads(written)
        here = _machine()
        told = isinstance(mark, dict) and mark.get("token") == token
        known = told and (
            (mark.get("boot") == here["boot"] != "") or mark.get("host") == here["host"]
        )
        dead = known and lock(handle)
    finally:
        os.close(handle)
    if dead:
        _remove(folder)


def _remove(folder: Path) -> None:
    """The mark goes last: killed in the middle, what is left is still known as ours."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in [e for e in entries if e.name != MARK]:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(entry.path)
    shutil.rmtree(folder, ignore_errors=True)


def _machine() -> dict[str, str]:
    """The kernel's start, whose word on locks can be trusted, and the machine's name."""
    try:
        boot = BOOT.read_text(encoding="ascii").strip()
    except (OSError, ValueError):  # not on Linux
        boot = ""
    return {"boot": boot, "host": socket.gethostname()}
