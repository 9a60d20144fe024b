"""The page that says what was measured: tables, and under each the bar it is held to."""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from environments import PINS, processor, version
from timing import Item

INTRO = """\
# Benchmarks

The same work by counterrank and by its peers, on the same files, in one run on one machine.
`make bench` makes the environments and the files, times everything and writes this page;
`python benchmarks/run.py --only j,k` renews the tables of some parts, and says so there. A part is
always timed as a whole. Read the ratios; the seconds belong to this machine.

Each time is the wall time of a whole process, from start to exit: imports, reading the Parquet
files, the measures of every user, their means. It is the best of the repeats given with the
table; the tools take turns. CPU seconds are those of all cores; where ratios are of these, which
other work on the machine changes least, the part says so. The CPU is named with the widest vectors
that NumPy uses on it. Peak memory is the largest resident set of that same process. All
files are in the page cache. Counterrank also writes every user's values to a file and the means
with their intervals as JSON; the peers keep the values in memory and print the means.

Each peer is fed the quickest sensible way we found (`peers/`), and computes those of the nine
measures that it has: P, Recall, F1, AP, nDCG, RR, ERR, Bpref, InfAP, at 100, relevant from rating
4 on. Times of ranx are with its compiled code kept from an earlier run, except where part (d)
says otherwise. Two peers have two rows: as their guides show it, and by a quicker way that leaves
more to the caller. Ranx takes ready arrays by its signature but not by its guide; then ids must
be numbers, all lists of one length and sorted, users in one order, and nothing checks it.
RecTools can share the merge of lists and judgments between measures if the caller does it.
"""


@dataclass(frozen=True)
class Bar:
    """What is promised, what was found. ``less`` says which side of the limit is good."""

    text: str
    found: float
    limit: float
    less: bool = False
    unit: str = "x"

    def line(self) -> str:
        good = self.found <= self.limit if self.less else self.found >= self.limit
        sign = "at most" if self.less else "at least"
        verdict = "met" if good else "**not met**"
        limit, found = (_times(x, self.unit) for x in (self.limit, self.found))
        return f"- {self.text}: {sign} {limit}; found {found}: {verdict}."


def machine(revision: str, load: float) -> str:
    """What was run, on what, and how busy that was before we began."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    lines = [
        "## Machine and versions",
        "",
        f"{os.cpu_count()} cores, {total:.0f} GB of memory, {platform.system()} "
        f"{platform.machine()}, {processor()}, Python {platform.python_version()}. "
        f"Load before the run: {load:.1f}. Source of counterrank: {revision}.",
        "",
        "| environment | versions |",
        "|---|---|",
        *(f"| {name} | {version(name)} |" for name in PINS),
    ]
    return "\n".join(lines) + "\n"


def evaluations(
    title: str, items: list[Item], bars: list[Bar], note: str = "", clock: str = "best"
) -> str:
    """Seconds, ratios, memory; ``clock``: what ratios are of, the ``best`` wall time or ``cpu``."""
    done = {item.key.split("-", 1)[1]: item for item in items if item.seconds}
    base = {key: getattr(done[key], clock) for key in ("floor", "ours") if key in done}
    head = ["who", "seconds", "CPU seconds", "of reading", "of counterrank", "peak MB"]
    head += ["repeats", "remark"]
    note = f"{note} Ratios are of CPU time." if clock == "cpu" else note
    rows = []
    for item in sorted(items, key=lambda i: getattr(i, clock) if i.seconds else float("inf")):
        if not item.seconds:
            rows.append([item.label, *[""] * 6, item.skipped])
            continue
        took = getattr(item, clock)
        rows.append(
            [
                item.label,
                f"{item.best:.2f}",
                f"{item.cpu:.2f}",
                *(_times(took / base[key]) if key in base else "" for key in ("floor", "ours")),
                f"{item.peak:.0f}",
                str(item.repeats),
                item.remark,
            ]
        )
    return _section(title, note, head, rows, bars)


def flips(title: str, items: list[Item], tests: int, draws: int, some: int, bar: float) -> str:
    """Part (c): the peers' times are extrapolated, and the table says so."""
    us = next(i for i in items if i.key == "c-ours")
    rows = [[us.label, f"{us.best:.1f}", "measured, whole process", "1 x", f"{us.peak:.0f}"]]
    bars = []
    for item in items:
        if item is us:
            continue
        if not item.seconds:
            rows.append([item.label, "", item.skipped, "", ""])
            continue
        one = min(json.loads(text)["seconds"] for text in item.printed)
        whole = one * draws / some * tests
        rows.append(
            [
                item.label,
                f"{whole:,.0f}",
                f"**extrapolated** from {one:.2f} s per test of {some:,} flips",
                _times(whole / us.best),
                f"{item.peak:.0f}",
            ]
        )
        bars.append(Bar(f"faster than {item.label}", whole / us.best, bar))
    note = (
        f"{tests:,} tests (pairs x measures) of {draws:,} flips. Ours also corrects for the family "
        "by max-T. The peers are timed inside a warm process on 2 pairs, without imports, reading "
        f"or compiling, and scaled by {draws:,}/{some:,} flips and {tests:,} tests. Repeats: "
        f"{us.repeats}."
    )
    head = ["who", "seconds", "how", "of counterrank", "peak MB"]
    return _section(title, note, head, rows, bars)


def agreement(found: str) -> str:
    """Speed counts only if the values are the same."""
    told = json.loads(found)
    rows = [[m, name, f"{worst:.1e}"] for m, (name, worst) in told["largest"].items()]
    worst = max(w for _, w in told["largest"].values())
    verdict = "met" if worst <= 1e-9 else "**not met**"
    note = (
        f"{told['values']:,} per-user values of part (a) that both compute. Largest difference "
        f"{worst:.1e}; held to 1e-9: {verdict}."
    )
    head = ["counterrank", "pytrec_eval", "largest difference"]
    return _section("The same values as pytrec_eval", note, head, rows, [])


def pages(title: str, found: list[dict[str, float]], bars: list[Bar]) -> str:
    """Sizes of pages, seconds to make them from a result, and to open them."""
    rows = [
        [f"{one['rankers']:.0f}", *(f"{one[key]:.2f}" for key in ("megabytes", "seconds", "opens"))]
        for one in found
    ]
    note = (
        "One file each, which opens without a network. Seconds are the page's alone; to open it is"
        " what headless Chromium says from the call of the page to the end of its load event."
    )
    return _section(title, note, ["rankers", "MB", "seconds to make", "to open"], rows, bars)


def write(path: Path, sections: list[str], *, quick: bool) -> None:
    warning = ["**A quick run on little data: its ratios mean nothing.**\n"] if quick else []
    path.write_text("\n".join([INTRO, *warning, *sections]))


def renew(path: Path, sections: list[str], revision: str, load: float) -> None:
    """Sections of a run of its own in place of those with the same letter; the others stay."""
    kept = re.split(r"^(?=## )", path.read_text(), flags=re.MULTILINE)
    for section in sections:
        head, rest = section.split("\n", 1)
        told = (
            f"\nTimed in a run of its own at {revision}, load {load:.1f} before, {processor()}.\n"
        )
        mark = head[: len("## (j)")] if head.startswith("## (") else head
        places = [i for i, old in enumerate(kept) if old.startswith(mark)] or [len(kept)]
        kept[places[0] : places[0] + 1] = [f"{head}\n{told}{rest}\n"]
    path.write_text("".join([INTRO + "\n", *kept[1:]]).rstrip("\n") + "\n")


def _section(title: str, note: str, head: list[str], rows: list[list[str]], bars: list[Bar]) -> str:
    table = [head, ["---"] * len(head), *rows]
    lines = ["| " + " | ".join(row) + " |" for row in table]
    held = ["Held to:", "", *(bar.line() for bar in bars), ""] if bars else []
    return "\n".join([f"## {title}", "", *([note, ""] if note else []), *lines, "", *held])


def _times(x: float, unit: str = "x") -> str:
    return f"{x:,.0f} {unit}" if x >= 100 else f"{x:.3g} {unit}"
