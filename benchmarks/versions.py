"""This checkout beside another one on the same work: ``versions.py OTHER [--only abfj]``.

Both run from source with the same interpreter and libraries, in turn, round after round. CPU time
and peak memory of whole processes are compared, the least of each; a change that should cost
nothing keeps the ratios near 1. Parts and files are those of ``run.py``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from environments import HERE, ROOT, WORK
from work import LOGGED, MEASURES

DATA = {"a": "many", "b": "large", "f": "log10", "j": "big100"}


@dataclass
class Runs:
    """CPU seconds, wall seconds and megabytes of one version at one part."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)


def words(part: str, data: Path) -> list[str]:
    """The command of a part."""
    folder = data / DATA[part]
    if part in "ab":
        files = [folder / "judgments.parquet", *sorted(folder.glob("run*.parquet"))]
        wanted = [word for m in MEASURES for word in ("-m", m)]
        units = WORK / "out" / f"versions-{part}.parquet"
        return ["evaluate", *map(str, files), *wanted, "--test", "none", "--by-unit", str(units)]
    log, new = (folder / (f"{n}.parquet" if part == "f" else n) for n in ("log", "new"))
    labels = LOGGED if part == "f" else ("IPS", "SNIPS")
    wanted = [word for label in labels for word in ("-e", label)]
    where = ["--memory", "4GB", "--scratch", str(WORK / "scratch")] if part == "j" else []
    reward = ["--reward", "click", "--position-bias", "log2"]
    return ["estimate", str(log), f"new={new}", *wanted, *reward, *where]


def once(source: Path, command: list[str], runs: Runs) -> None:
    """One run of the command by a checkout."""
    env = dict(os.environ, PYTHONPATH=str(source / "src"))
    call = [sys.executable, "-m", "counterrank", *command, "--format", "json", "--quiet"]
    began = time.perf_counter()
    child = subprocess.Popen(call, env=env, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{source.name}: {' '.join(command)} failed.")
    runs.cpu.append(used.ru_utime + used.ru_stime)
    runs.wall.append(time.perf_counter() - began)
    runs.peak.append(used.ru_maxrss / 1024)


def main() -> None:
    """Both versions at every part, and a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the checkout to compare with")
    parser.add_argument("--only", default="abfj")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    data = WORK / "data"
    missing = [DATA[part] for part in given.only if not (data / DATA[part]).exists()]
    if missing:
        make = [sys.executable, str(HERE / "data.py"), str(data), *missing]
        subprocess.run(make, check=True)
    for folder in ("out", "scratch"):
        (WORK / folder).mkdir(parents=True, exist_ok=True)
    print("| part | CPU before | CPU now | ratio | MB before | MB now | ratio |")
    print("|---|---|---|---|---|---|---|")
    for part in given.only:
        before, now = Runs(), Runs()
        for _ in range(given.repeats):
            for source, runs in ((given.other.resolve(), before), (ROOT, now)):
                once(source, words(part, data), runs)
        cells = []
        for old, new in ((min(before.cpu), min(now.cpu)), (min(before.peak), min(now.peak))):
            cells += [f"{old:.2f}", f"{new:.2f}", f"{new / old:.3f}"]
        print(f"| ({part}) | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
