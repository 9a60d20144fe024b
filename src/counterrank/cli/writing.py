"""Files the command line writes: each whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from counterrank.errors import UsageError

if TYPE_CHECKING:
    from counterrank.evaluation import Evaluation

ENDINGS = (".parquet", ".csv")


def check_ending(path: str | None) -> None:
    """Refuse an unknown ending before the work, not after it."""
    if path is not None and not path.lower().endswith(ENDINGS):
        raise UsageError(
            f'--by-unit cannot write "{path}".', todo="Let it end in .parquet or .csv."
        )


def by_unit(result: Evaluation, path: str | None) -> None:
    """Per-unit values, Parquet or CSV by the ending."""
    if path is None:
        return
    frame = result.by_unit()
    csv = path.lower().endswith(".csv")
    whole(
        Path(path), lambda temporary: (frame.write_csv if csv else frame.write_parquet)(temporary)
    )


def folder(result: Evaluation, path: str | None) -> None:
    """``result.json`` and ``units.parquet``."""
    if path is None:
        return
    where = Path(path)
    try:
        where.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(where, error) from error
    text = result.to_json()
    whole(where / "result.json", lambda temporary: temporary.write_text(text, encoding="utf-8"))
    whole(where / "units.parquet", lambda temporary: result.by_unit().write_parquet(temporary))


def whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the target, then move into place: never half a file."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _unwritable(path, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


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
