"""A folder put in the place of another in one step, so that no moment shows half of each."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

HERE = -100  # AT_FDCWD: paths count from the working folder
SWAP = 2  # RENAME_EXCHANGE on Linux and RENAME_SWAP on macOS are the same bit


def replaced(new: Path, old: Path) -> bool:
    """Put ``new`` where ``old`` is and remove what was there; False if that cannot be one step."""
    if not old.exists() or not any(old.iterdir()):
        os.replace(new, old)
        return True
    if not _swapped(os.fsencode(new), os.fsencode(old)):
        return False
    shutil.rmtree(new, ignore_errors=True)
    return True


def _swapped(a: bytes, b: bytes) -> bool:
    """Exchange two folders by the system's own call, where it has one."""
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            return int(library.renamex_np(a, b, SWAP)) == 0
        return int(library.renameat2(HERE, a, HERE, b, SWAP)) == 0
    except AttributeError:
        return False
