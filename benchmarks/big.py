"""A log larger than memory and a target that re-ranks it, made file by file in little memory.

The log is in the order of its sessions. The target's sessions come in the order of a hash, over
all files, as a warehouse would write them; it is not the hash that any engine here cuts by.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl

SEED = 20_011
RANKS = 10
FILE = 500_000  # sessions in a file

Ints = np.typing.NDArray[np.integer]


def big(folder: Path, sessions: int, per_file: int = FILE) -> None:
    """Folders ``log`` and ``new``; left alone if they stand."""
    stamp = folder / "made.txt"
    told = f"seed {SEED}, {sessions} sessions, {per_file} in a file"
    if stamp.exists() and stamp.read_text() == told:
        return
    shutil.rmtree(folder, ignore_errors=True)
    aside = folder / "aside"
    for name in ("log", "new", "aside"):
        (folder / name).mkdir(parents=True)
    files = -(-sessions // per_file)
    for number in range(files):
        start = number * per_file
        log, new = _part(start, min(per_file, sessions - start), users=max(sessions // 4, 1))
        new = new.with_columns(file=pl.col("place") % files)
        log.write_parquet(folder / "log" / f"{number:03}.parquet")
        for (there,), rows in new.partition_by("file", as_dict=True).items():
            rows.write_ipc(aside / f"{there:03}-{number:03}.arrow")
    for number in range(files):
        rows = pl.concat([pl.read_ipc(p) for p in sorted(aside.glob(f"{number:03}-*.arrow"))])
        rows = rows.sort("place", "session", "rank").drop("place", "file")
        rows.write_parquet(folder / "new" / f"{number:03}.parquet")
    shutil.rmtree(aside)
    stamp.write_text(told)


def _part(start: int, sessions: int, users: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The log of some sessions, and their target with the place that a hash gives each."""
    rng = np.random.default_rng((SEED, start))
    shown = np.argsort(rng.random((sessions, 2 * RANKS), np.float32), axis=1)[:, :RANKS] * 37
    shown = (shown + 1000 * rng.integers(0, 500, (sessions, 1))).astype(np.int32)
    moved = np.argsort(rng.random((sessions, RANKS), np.float32) + 0.05 * np.arange(RANKS), axis=1)
    session = np.arange(start, start + sessions)
    rank = np.tile(np.arange(1, RANKS + 1, dtype=np.int16), sessions)
    click = rng.random(len(rank), np.float32) < 0.2 / np.log2(rank + 1)
    log = {
        "session": np.repeat(session, RANKS),
        "user": np.repeat(rng.integers(0, users, sessions), RANKS),
        "item": shown.ravel(),
        "rank": rank,
        "click": click.astype(np.int8),
    }
    place = _mixed(session)
    new = {
        "session": log["session"],
        "item": np.take_along_axis(shown, moved, axis=1).ravel(),
        "rank": rank,
        "place": np.repeat(place, RANKS),
    }
    return pl.DataFrame(log), pl.DataFrame(new)


def _mixed(session: Ints) -> Ints:
    """The finaliser of MurmurHash3."""
    x = session.astype(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x ^= x >> np.uint64(33)
        x *= np.uint64(factor)
    return x ^ (x >> np.uint64(33))
