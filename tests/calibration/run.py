"""``make calibrate``: how often what is said of a log is true, as a page of the docs.

Run from the root: ``python tests/calibration/run.py [--generator worlds] [--cells trust drift]
[--share 0.1] [--workers 2]``. Every log that is done is a line of JSON under build/calibration, so
that a run that was stopped goes on where it was; at its end all are rows of ``rows.parquet`` beside
this file, and the next run goes on from there, on whatever machine. A row has the commit that made
it, and the page names those of each cell. ``--anew`` makes logs again, as is due when estimates,
audits or bounds have changed; ``--page-only`` makes none.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEPT = ROOT / "build" / "calibration"
STORE = HERE / "rows.parquet"
LOGS = 100  # of each cell and size
PIECE = 5  # logs that are made and kept together
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))
for name in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # workers share the cores, threads would fight over them


def made_by() -> str:
    """The commit, and of changes to the code that were not committed a fingerprint."""

    def git(*words: str) -> str:
        call = ["git", "-C", str(ROOT), *words]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout

    changes = git("diff", "HEAD", "--", "src", "tests/worlds", "tests/calibration")
    mark = "-" + hashlib.sha256(changes.encode()).hexdigest()[:6] if changes else ""
    return git("rev-parse", "--short=9", "HEAD").strip() + mark


def told(generator: str, cell: str, sessions: int, seed: int) -> dict[str, Any]:
    """One log: what is said of each candidate by the estimator that decides, and the truth.

    The second interval is ``lift_bound_low`` to ``lift_bound_high``; where a result has none, that
    which holds for all candidates at once, and ``second`` says which it was.
    """
    import counterrank as cr
    from calibration.cells import GRID

    began = time.perf_counter()
    case = next(c for c in GRID[generator] if c.name == cell).case(generator, sessions, seed)
    drawn = time.perf_counter()
    line: dict[str, Any] = {"cell": cell, "sessions": sessions, "seed": seed, "rows": []}
    try:
        found = cr.estimate(case.log, case.runs, **case.call).to_dict()
    except cr.InputError as said:
        return {**line, "refused": str(said)}
    decides = found["protocol"]["decides"]["estimator"]
    for c in found["comparisons"]:
        if c["estimator"] != decides:
            continue
        second = "bound" if "lift_bound_low" in c else "family"
        line["rows"].append(
            {
                "system": c["system"],
                "truth": case.lifts[c["system"]],
                "lift": c["lift"],
                "low": c["lift_low"],
                "high": c["lift_high"],
                "second_low": c[f"lift_{second}_low"],
                "second_high": c[f"lift_{second}_high"],
                "second": second,
                "claim": c["claim"],
                "verdict": c["verdict"],
            }
        )
    loud = {d["name"]: d["state"] for d in found["diagnostics"] if d["state"] != "pass"}
    seconds = [round(drawn - began, 3), round(time.perf_counter() - drawn, 3)]
    return {**line, "loud": loud, "seconds": seconds}


def piece(generator: str, cell: str, sessions: int, seeds: list[int]) -> list[dict[str, Any]]:
    """Some logs of a cell."""
    return [told(generator, cell, sessions, seed) for seed in seeds]


def file_of(kept: Path, generator: str, cell: str, sessions: int) -> Path:
    """Where the lines of a cell are."""
    plain = "".join(c if c.isalnum() or c == "." else "-" for c in cell)
    return kept / generator / f"{plain}-{sessions}.jsonl"


def lines_of(file: Path) -> list[dict[str, Any]]:
    """The lines of a file; one that a stop cut short is left out, and made again."""
    found = []
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def pieces(
    kept: Path, store: Path | None, generators: list[str], cells: list[str], logs: int
) -> list[tuple]:
    """What is still to do, by rounds of as many sessions, so that a stop leaves a bit of each."""
    from calibration.cells import GRID
    from calibration.page import told_rows

    rows, found = told_rows(kept, store), []
    for generator in generators:
        for cell in GRID[generator]:
            if cells and not any(part in cell.name for part in cells):
                continue
            for sessions in cell.sizes:
                same = {"generator": generator, "cell": cell.name, "sessions": sessions}
                done = set(rows.filter(**same)["seed"])
                due = [seed for seed in range(logs) if seed not in done]
                found += [
                    (n * sessions, (generator, cell.name, sessions, due[n : n + PIECE]))
                    for n in range(0, len(due), PIECE)
                ]
    return [task for _, task in sorted(found, key=lambda f: f[0])]


def make(kept: Path, todo: list[tuple], workers: int) -> None:
    """All pieces, by some processes; this one alone writes."""
    began, done, commit = time.perf_counter(), 0, made_by()
    apart = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=apart) as pool:
        for task, made in zip(todo, pool.map(piece, *zip(*todo, strict=True)), strict=True):
            file = file_of(kept, *task[:3])
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as out:
                whole = not file.stat().st_size or file.read_bytes().endswith(b"\n")
                lines = [json.dumps({**line, "commit": commit}) + "\n" for line in made]
                out.write("".join(["" if whole else "\n", *lines]))
            done += 1
            if done % 20 == 0 or done == len(todo):
                spent = time.perf_counter() - began
                left = spent / done * (len(todo) - done)
                print(
                    f"{done} of {len(todo)} pieces, {spent:.0f} s, {left:.0f} s to go", flush=True
                )


def main() -> None:
    """The logs that are not done yet, and the page."""
    from calibration.cells import GRID
    from calibration.page import told_rows, write

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", default=str(ROOT / "docs" / "calibration.md"))
    parser.add_argument("--generator", nargs="*", choices=list(GRID), default=list(GRID))
    parser.add_argument("--cells", nargs="*", default=[], help="parts of names of cells")
    parser.add_argument("--share", type=float, default=1.0, help=f"of {LOGS} logs of each cell")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--anew", action="store_true", help="no log that was made before counts")
    parser.add_argument("--page-only", action="store_true")
    given = parser.parse_args()
    if given.anew:
        shutil.rmtree(KEPT, ignore_errors=True)
    logs, store = max(1, round(LOGS * given.share)), None if given.anew else STORE
    todo = [] if given.page_only else pieces(KEPT, store, given.generator, given.cells, logs)
    if todo:
        make(KEPT, todo, given.workers)
    rows = told_rows(KEPT, STORE)
    rows.write_parquet(STORE, compression_level=19)
    write(rows, Path(given.page))


if __name__ == "__main__":
    main()
