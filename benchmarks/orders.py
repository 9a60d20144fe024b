"""Parts (l) and (m): the same rows in other orders, and with other ids.

What is timed beside ``make bench``'s friendliest files: rows as a warehouse writes them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import report
import work
from environments import ROOT, WORK
from larger import estimate
from report import Bar
from timing import Item, by_name, measure
from work import script

LISTS = {  # and how many times as long as reading it may take
    "sorted": ("sorted", 5.0),
    "within": ("shuffled within users", 5.0),
    "shuffled": ("shuffled rows", 5.0),
    "ties": ("shuffled rows, heavy ties", 5.0),
    "text": ("shuffled rows, ids of text", 6.0),
    "ranks": ("shuffled rows, with ranks", 7.0),
    "ragged": ("shuffled rows, lists of 1 to 1,000", 7.0),
}
LOGS = {
    "sorted": "ranked",
    "reordered": "target within sessions in another order",
    "shuffled": "both shuffled",
    "text": "both shuffled, ids of 36 characters",
}
PEERS = [
    ("pytrec_eval", "with_pytrec_eval", "pytrec_eval", []),
    ("ranx", "with_ranx_arrays", "ranx, ready arrays", ["--sort"]),
]
OFF, ON = 1.3, 2.0  # times the query that sums the same, without bounds and with them


def lists(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (l)."""
    items, bars = [], []
    for name, (label, _) in LISTS.items():
        folder = (data / "listorders" / name).relative_to(ROOT)
        files = [str(folder / f"{table}.parquet") for table in ("judgments", "run")]
        command = work.ours(files[0], files[1:], WORK / "out" / f"l-{name}.parquet")
        floor = script("counterrank", "reading", *files)
        key = "ours" if name == "sorted" else name
        items += [
            Item(f"l-floor-{name}", f"reading only (Polars), {label}", floor, "the floor"),
            Item(f"l-{key}", f"counterrank, {label}", command, "all nine", given.repeats),
        ]
    files = [
        str((data / "listorders" / "shuffled" / f"{n}.parquet").relative_to(ROOT))
        for n in ("judgments", "run")
    ]
    for env, name, label, words in PEERS:
        peer = script(env, name, *files, *words)
        items.append(
            Item(
                f"l-{name}",
                f"{label}, shuffled rows",
                peer,
                "sorts first",
                given.repeats + 1,
                needs_gb=6,
            )
        )
    measure(items, print)
    by = by_name(items)
    for name, (label, most) in LISTS.items():
        mine = by["ours" if name == "sorted" else name].cpu
        bars.append(Bar(f"{label}: time over reading", mine / by[f"floor-{name}"].cpu, most, True))
    note = "One system's lists, all in memory. Each is held against reading its own files."
    return [report.evaluations("(l) Lists in any order", items, bars, note, "cpu")]


def logs(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (m)."""
    items, bars = [], []
    for name, label in LOGS.items():
        folder = data / "logorders" / name
        where = str(folder.relative_to(ROOT))
        bare = script("duckdb", "bare_join_duckdb", where, "16GB", str(WORK / "duckdb"))
        same = Item(
            f"m-same-{name}", f"DuckDB, the same sums, {label}", [*bare, "sums"], "", given.repeats
        )
        key = "ours" if name == "sorted" else name
        items += [
            Item(f"m-bare-{name}", f"DuckDB, bare join, {label}", bare, "two threads"),
            same,
            Item(f"m-{key}", f"counterrank, {label}", estimate(folder), "", given.repeats),
            Item(
                f"m-off-{name}",
                f"counterrank without bounds, {label}",
                estimate(folder, "--bounds", "none"),
                "",
                given.repeats,
            ),
        ]
    measure(items, print)
    by = by_name(items)
    for name, label in LOGS.items():
        same = by[f"same-{name}"]
        mine, off = by["ours" if name == "sorted" else name], by[f"off-{name}"]
        if same.seconds:
            text = f"{label}: time over the same sums"
            bars.append(Bar(f"{text}, without bounds", off.cpu / same.cpu, OFF, True))
            bars.append(Bar(text, mine.cpu / same.cpu, ON, True))
    note = (
        "IPS and SNIPS with intervals clustered by user, compared and audited. The query of the"
        " same sums matches the rows and sums by session and by user what both estimators and their"
        " errors are made of. The bare join, which is the floor, sums one product of matched rows."
    )
    return [report.evaluations("(m) Logs in any order", items, bars, note, "cpu")]
