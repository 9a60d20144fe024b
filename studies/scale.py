"""What an estimate costs, by a model fitted to measured runs, and the cluster for a day's log.

    python studies/scale.py --sessions 1e9 --cores 100 400

Prints Markdown. A pass over r rows in n tasks on c cores is taken to last

    (a r + b n) / c

seconds, with an ``a`` of its own for each pass; the first pass, in which workers start, and the run
itself have a time of their own besides. The constants follow from the runs of ``scale.json`` by
least squares (none is below 0), each engine by itself. A run is foretold by the constants that runs
of *other sizes* give. What Spark's shuffle spends on each piece was measured by itself, since only
very many partitions make it felt.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

RUNS = Path(__file__).with_name("scale.json")
PASSES = ("cut", "facts", "model", "values")
LISTED = ("cut", "values")  # passes over the rows of targets, too
CONSTANTS = (*PASSES, "task", "workers", "start")
LENGTH = 10  # rows of a session
HELD = 250  # bytes of memory that a row of a partition takes while it is worked on
MOVED = 5  # bytes that a row of numbers takes in the shuffle
SESSION = 26  # bytes of a session's sums on their way to its user
PARTITION = 5_000_000  # rows
BATCH = 1_300_000  # rows that are cut into pieces at once, one for each partition
PIECE = 0.24e-3, 1_200  # seconds and bytes that a piece takes, however small


@dataclass(frozen=True)
class Run:
    """One measured estimate: seconds of each pass, and of the whole process."""

    engine: str
    log: int
    target: int
    partitions: int
    cores: int
    passes: dict[str, float]
    seconds: float

    def rows(self, name: str) -> int:
        """Rows that a pass goes over."""
        return self.log + (self.target if name in LISTED else 0)

    def tasks(self, name: str) -> int:
        """Tasks of a pass; values are found by session, then summed by user."""
        return self.partitions * (2 if name == "values" else 1)

    @property
    def pieces(self) -> float:
        """Pieces of Spark's shuffle."""
        return (self.log + self.target) / BATCH * self.partitions if self.engine == "spark" else 0

    def known(self, name: str) -> float:
        """Seconds of a pass that need no fit."""
        return self.pieces * PIECE[0] / self.cores if name == "cut" else 0.0

    def design(self, name: str) -> list[float]:
        """What each constant is multiplied by in the time of a pass; no name: of the start."""
        if name not in PASSES:
            return [float(c == "start") for c in CONSTANTS]
        known = {name: self.rows(name) / self.cores, "workers": float(name == "cut")}
        known["task"] = self.tasks(name) / self.cores if self.engine == "spark" else 0.0
        return [known.get(c, 0.0) for c in CONSTANTS]


def measured(path: Path = RUNS) -> list[Run]:
    """The runs that were timed."""
    return [Run(**run) for run in json.loads(path.read_text())["runs"]]


def fitted(runs: Sequence[Run]) -> dict[str, float]:
    """The constants of one engine; errors count as shares of a run's whole time."""
    left, right = [], []
    for run in runs:
        times = {**run.passes, "start": run.seconds - sum(run.passes.values())}
        for name, seconds in times.items():
            left.append(np.array(run.design(name)) / run.seconds)
            right.append((seconds - run.known(name)) / run.seconds)
    unit = np.array([1e-9 if c in PASSES else 1.0 for c in CONSTANTS])  # of a like size
    found, _ = nnls(np.array(left) * unit, np.array(right))
    return dict(zip(CONSTANTS, (found * unit).tolist(), strict=True))


def predicted(run: Run, constants: dict[str, float]) -> float:
    """Seconds of a run."""
    values = np.array(list(constants.values()))
    passes = (*run.passes, "start")
    return float(sum(values @ run.design(name) + run.known(name) for name in passes))


def checked(runs: Sequence[Run]) -> list[tuple[Run, float]]:
    """Every run with its time as runs of its engine on other numbers of rows foretell it."""
    found = []
    for run in runs:
        others = [r for r in runs if r.engine == run.engine and r.log != run.log]
        found.append((run, predicted(run, fitted(others))))
    return found


def day(sessions: float, targets: int, passes: Sequence[str], cores: int) -> Run:
    """A day's log on a cluster, yet to be timed."""
    log = int(sessions) * LENGTH
    partitions = -(-log * (1 + targets) // PARTITION)
    return Run("spark", log, log * targets, partitions, cores, dict.fromkeys(passes, 0.0), 0.0)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def rates(runs: Sequence[Run]) -> str:
    """Rows per second and core of each pass, and what is paid whatever the rows."""
    rows = []
    for engine in dict.fromkeys(run.engine for run in runs):
        found = fitted([run for run in runs if run.engine == engine])
        speeds = [f"{1e-6 / found[name]:.1f}" for name in PASSES]
        task = f"{1000 * found['task']:.0f} ms" if engine == "spark" else ""
        rows.append([engine, *speeds, task, f"{found['workers']:.1f} s", f"{found['start']:.1f} s"])
    head = ["engine", *(f"{name}, million rows/s" for name in PASSES)]
    return _table([*head, "a task", "first pass", "start"], rows)


def predictions(runs: Sequence[Run]) -> str:
    """Measured against foretold."""
    rows = [
        [
            run.engine, f"{run.log / 1e6:g} + {run.target / 1e6:g} million", str(run.partitions),
            ", ".join(run.passes), f"{run.seconds:.1f}", f"{guess:.1f}",
            f"{guess / run.seconds - 1:+.0%}",
        ]
        for run, guess in checked(runs)
    ]  # fmt: skip
    head = ["engine", "log + target rows", "partitions", "passes", "measured s", "foretold s"]
    return _table([*head, "error"], rows)


def cluster(runs: Sequence[Run], sessions: float, cores: Sequence[int]) -> str:
    """What a day's log asks for."""
    found = fitted([run for run in runs if run.engine == "spark"])
    plain = ("cut", "facts", "values")
    asked = {"one target": (1, plain), "one target, DR": (1, PASSES), "two targets": (2, plain)}
    rows = []
    for label, (targets, passes) in asked.items():
        one = day(sessions, targets, passes, 1)
        total = one.log + one.target
        move = total * MOVED + one.pieces * PIECE[1] + sessions * SESSION
        hours = (predicted(one, found) - found["start"]) / 3600
        each = [predicted(day(sessions, targets, passes, c), found) / 60 for c in cores]
        told = [f"{total / 1e9:g} billion", f"{one.partitions:,}", f"{move / 1e9:.0f} GB"]
        rows.append([label, *told, f"{hours:.1f}", *(f"{minutes:.1f} min" for minutes in each)])
    head = ["asked for", "rows", "partitions", "shuffled", "core-hours"]
    return _table([*head, *(f"on {c} cores" for c in cores)], rows)


def main() -> None:
    """Print the constants, how well they foretell, and the cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=float, default=1e9, help="a day")
    parser.add_argument("--cores", type=int, nargs="+", default=[100, 400])
    given = parser.parse_args()
    runs = measured()
    print(rates(runs), predictions(runs), cluster(runs, given.sessions, given.cores), sep="\n")


if __name__ == "__main__":
    main()
