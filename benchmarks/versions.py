"""This checkout beside another one on the same work: ``versions.py OTHER [--only a,b,f]``.

Both run from source with the same interpreter and libraries, in turn, round after round. CPU time
and peak memory of whole processes are compared, the least of each; a change that should cost
nothing keeps the ratios near 1. Parts of one letter, and the files, are those of ``run.py``; more
letters are such a part asked for something else. What a part asks for is asked of both, by their
defaults otherwise; second intervals, which not every version has, are left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from environments import HERE, ROOT, WORK
from work import CUTS, LOGGED, MEASURES, SALES

Words = list[str]
CURVE = str(WORK / "out" / "versions-curve.json")


@dataclass
class Runs:
    """CPU seconds, wall seconds and megabytes of one version at one part."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)


def each(flag: str, values: tuple[str, ...]) -> Words:
    """The flag before each value."""
    return [word for value in values for word in (flag, value)]


def evaluation(folder: Path, test: str, systems: int | None = None) -> list[Words]:
    """Lists in nine measures, all pairs of systems by a test."""
    files = [folder / "judgments.parquet", *sorted(folder.glob("run*.parquet"))[:systems]]
    units = ["--by-unit", str(WORK / "out" / "versions.parquet")] if test == "none" else []
    return [["evaluate", *map(str, files), *each("-m", MEASURES), "--test", test, *units]]


def estimation(folder: Path, estimators: tuple[str, ...], bias: str = "log2") -> list[Words]:
    """A log and a target; the position model may be learned from the same log.

    By way of a file: a version that takes it into the interval learns once more, as no file has
    the influences of sessions. In a part "at once" it learns in the call.
    """
    ending = ".parquet" if folder.name.startswith("log") else ""
    log, new = (str(folder / f"{name}{ending}") for name in ("log", "new"))
    large = ["--memory", "4GB", "--scratch", str(WORK / "scratch")] if not ending else []
    asked = ["--reward", "click", "--position-bias", bias, *each("-e", estimators), *large]
    if bias == "log2":
        return [["estimate", log, f"new={new}", *asked]]
    first = ["exposure", log, "--method", bias, "--reward", "click", "--out", CURVE]
    again = [CURVE if word == bias else word for word in asked]
    return [first, ["estimate", log, f"new={new}", *again]]


def stratification(folder: Path) -> list[Words]:
    """Many systems within strata, and the paradox audit."""
    files = [folder / "judgments.parquet", *sorted(folder.glob("run*.parquet"))]
    wanted = each("-m", tuple(f"nDCG(gain=binary,rel=4)@{k}" for k in CUTS))
    return [["strata", *map(str, files), *wanted, "--test", "none"]]


def conversion(folder: Path) -> list[Words]:
    """What lists bring if clicked."""
    files = [str(folder / f"{name}.parquet") for name in ("funnel", "run")]
    return [["funnel", *files, *each("-e", SALES), "-m", "DCG@100", "--test", "none"]]


PARTS: dict[str, tuple[str, Callable[[Path], list[Words]]]] = {
    "a": ("many", partial(evaluation, test="none")),
    "a-default": ("many", partial(evaluation, test="permutation")),
    "a-t": ("many", partial(evaluation, test="t")),
    "a-t-12": ("many", partial(evaluation, test="t", systems=12)),
    "o-t": ("systems", partial(evaluation, test="t")),
    "b": ("large", partial(evaluation, test="none")),
    "f": ("log10", partial(estimation, estimators=LOGGED)),
    "f-DR": ("log10", partial(estimation, estimators=("DR",))),
    "f-harvest": ("log10", partial(estimation, estimators=("DR",), bias="harvest")),
    "f-views": ("logviews", partial(estimation, estimators=("DR",), bias="views")),
    "f-harvest-at-once": ("log10", partial(estimation, estimators=("DR",), bias="harvest")),
    "f-views-at-once": ("logviews", partial(estimation, estimators=("DR",), bias="views")),
    "h": ("strata", stratification),
    "i": ("funnel", conversion),
    "j": ("big100", partial(estimation, estimators=("IPS", "SNIPS"))),
}


def once(source: Path, commands: list[Words], runs: Runs, *, at_once: bool) -> None:
    """One run of the commands by a checkout, those of a learned curve in one call if it can."""
    env = dict(os.environ, PYTHONPATH=str(source / "src"))
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled once
    bounded = "bounds:" in (source / "src/counterrank/api/estimate.py").read_text("utf-8")
    if at_once and bounded:  # such a version learns in the call
        first, asked = commands
        commands = [[first[3] if word == CURVE else word for word in asked]]
    cpu, peak, began = 0.0, 0.0, time.perf_counter()
    for command in commands:
        plain = ["--bounds", "none"] if bounded and command[0] == "estimate" else []
        call = [sys.executable, "-m", "counterrank", *command, *plain]
        call += ["--format", "json", "--quiet"]
        child = subprocess.Popen(call, env=env, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(f"{source.name}: {' '.join(command)} failed.")
        cpu += used.ru_utime + used.ru_stime
        peak = max(peak, used.ru_maxrss / 1024)
    runs.cpu.append(cpu)
    runs.wall.append(time.perf_counter() - began)
    runs.peak.append(peak)


def main() -> None:
    """Both versions at every part, and a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the checkout to compare with")
    parser.add_argument("--only", default="a,b,f,j", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    data, wanted = WORK / "data", [(part, *PARTS[part]) for part in given.only.split(",")]
    missing = {name for _, name, _ in wanted if not (data / name).exists()}
    if missing:
        make = [sys.executable, str(HERE / "data.py"), str(data), *sorted(missing)]
        subprocess.run(make, check=True)
    for folder in ("out", "scratch"):
        (WORK / folder).mkdir(parents=True, exist_ok=True)
    print("| part | CPU before | CPU now | ratio | MB before | MB now | ratio |")
    print("|---|---|---|---|---|---|---|")
    for part, name, commands in wanted:
        before, now = Runs(), Runs()
        for _ in range(given.repeats):
            for source, runs in ((given.other.resolve(), before), (ROOT, now)):
                once(source, commands(data / name), runs, at_once=part.endswith("at-once"))
        cells = []
        for old, new in ((min(before.cpu), min(now.cpu)), (min(before.peak), min(now.peak))):
            cells += [f"{old:.2f}", f"{new:.2f}", f"{new / old:.3f}"]
        print(f"| ({part}) | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
