"""Wall time, time of all cores, and peak memory of whole processes.

This process must stay small: Linux counts the memory of the parent at the start of a child as
the child's own peak. So nothing that runs here imports NumPy or Polars.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from environments import ROOT, WORK

LIMIT = 1_200  # seconds; a process that needs longer is stopped and reported as such
CACHE = WORK / "numba"


@dataclass
class Item:
    """One row of a table: a command, and how often it ran in how many seconds and megabytes."""

    key: str
    label: str
    command: list[str]
    remark: str = ""
    repeats: int = 3
    fresh: bool = False  # with an empty compiler cache each time
    needs_gb: float = 0
    seconds: list[float] = field(default_factory=list)
    cores: list[float] = field(default_factory=list)  # user and system, children included
    peaks: list[float] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    skipped: str = ""

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def cpu(self) -> float:
        """Seconds of all cores together, the least: other work on the machine adds little."""
        return min(self.cores)

    @property
    def peak(self) -> float:
        """Of the quickest repeat: a first one may hold a compiler besides."""
        return self.peaks[self.seconds.index(self.best)]

    @property
    def output(self) -> Path:
        return WORK / "out" / f"{self.key}.txt"


def measure(items: list[Item], say: Callable[[str], None]) -> None:
    """Run the items in turn, round after round: a busy minute of the machine hits all alike."""
    for turn in range(max(item.repeats for item in items)):
        for item in items:
            if turn < item.repeats and not item.skipped:
                _once(item)
                took = item.skipped
                if not took:
                    took = f"{item.seconds[-1]:.2f} s, CPU {item.cores[-1]:.2f} s"
                    took += f", {item.peaks[-1]:.0f} MB"
                say(f"  {item.label} ({turn + 1} of {item.repeats}): {took}")


def _once(item: Item) -> None:
    if item.needs_gb > available_gb():
        item.skipped = f"needs about {item.needs_gb:g} GB of free memory"
        return
    cache = CACHE / "fresh" if item.fresh else CACHE / "kept"
    if item.fresh:
        shutil.rmtree(cache, ignore_errors=True)
    env = dict(os.environ, NUMBA_CACHE_DIR=str(cache))
    item.output.parent.mkdir(parents=True, exist_ok=True)
    errors = item.output.with_suffix(".err")
    with item.output.open("wb") as out, errors.open("wb") as err:
        began = time.perf_counter()
        child = subprocess.Popen(item.command, cwd=ROOT, env=env, stdout=out, stderr=err)
        signal.signal(signal.SIGALRM, lambda *_: child.kill())
        signal.alarm(LIMIT)
        _, status, used = os.wait4(child.pid, 0)
        took = time.perf_counter() - began
        signal.alarm(0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        lines = errors.read_text(errors="replace").strip().splitlines() or ["no message"]
        late = f"stopped after {LIMIT} s"
        item.skipped = late if took >= LIMIT else f"failed: {lines[-1][:120]}"
        return
    item.seconds.append(took)
    item.cores.append(used.ru_utime + used.ru_stime)
    item.peaks.append(used.ru_maxrss / 1024)
    item.printed.append(item.output.read_text())


def by_name(items: list[Item]) -> dict[str, Item]:
    """The items of one part, without its letter."""
    return {item.key.split("-", 1)[1]: item for item in items}


def call(command: list[str]) -> str:
    """What a command prints that is not timed."""
    return subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True).stdout


def warm(folders: list[Path]) -> None:
    """Read every file once, so that all tools find them in memory."""
    for path in sorted(path for folder in folders for path in folder.rglob("*.parquet")):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def available_gb() -> float:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) / 1024**2
    return 0.0
