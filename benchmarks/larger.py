"""Parts (j) and (k): logs larger than memory, and the same work by Spark."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import report
from environments import ROOT, WORK, python
from report import Bar
from timing import Item, by_name, call, measure
from work import script

SPARK = ["--engine", "spark", "--master", "local[2]", "--partitions", "32"]
# One partition for each of two cores, then two: none waits for the other, as with the 25 or so that
# the engine makes of 100 million rows.
CUT = {"1": ["--partitions", "2"], "10": ["--partitions", "4"], "100": []}


def estimate(folder: Path, *words: str, bias: str = "log2") -> list[str]:
    """Two estimators of one reward with clustered intervals, compared and audited."""
    command = str(Path(python("counterrank")).with_name("counterrank"))
    log, new = (str((folder / name).relative_to(ROOT)) for name in ("log", "new"))
    plain = ["-e", "IPS", "-e", "SNIPS", "--reward", "click", "--position-bias", bias]
    return [command, "estimate", log, f"new={new}", *plain, "--format", "json", "--quiet", *words]


def larger(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (j)."""
    memory = "100MB" if given.quick else "4GB"
    scratch = WORK / "scratch"
    scratch.mkdir(exist_ok=True)
    within = ["--memory", memory, "--scratch", str(scratch.relative_to(ROOT))]

    def item(key: str, label: str, command: list[str], remark: str = "") -> Item:
        return Item(f"j-{key}", label, command, remark, repeats=given.repeats)

    items = [item("memory", "counterrank, 1 million", estimate(data / "big1"), "in memory")]
    for size, cut in CUT.items():
        folder = data / f"big{size}"
        key, rows = "" if size == "100" else size, f"{size} million"
        on_disk = "partitions on disk"
        told = f"{cut[1]} {on_disk}" if cut else f"{on_disk}, as the engine chooses"
        where = str(folder.relative_to(ROOT))
        peer = script("duckdb", "bare_join_duckdb", where, memory, str(scratch / "duckdb"))
        items += [
            item(f"duckdb{key}", f"DuckDB, bare join, {rows}", peer),
            item(f"ours{key}", f"counterrank, {rows}", estimate(folder, *within, *cut), told),
        ]
    dr = estimate(data / "big100", *within, "-e", "DR")
    items.append(item("dr", "counterrank with DR, 100 million", dr, "partitions on disk"))
    measure(items, print)
    shutil.rmtree(scratch)
    by = by_name(items)
    one, ten, all_ = by["ours1"].best, by["ours10"].best, by["ours"].best
    bars = [
        Bar("100 million rows: peak memory", by["ours"].peak * 1024**2 / 1e9, 4, True, "GB"),
        Bar("time of 100 over 10 million rows", all_ / ten, 11, less=True),
        Bar("time of 10 over 1 million rows", ten / one, 11, less=True),
    ]
    if by["duckdb"].seconds:
        text = "100 million rows: time over DuckDB's bare join"
        bars.insert(0, Bar(text, all_ / by["duckdb"].best, 2.5, less=True))
    note = (
        "Rows of the log, and as many of a target; lists of ten, four sessions a user. IPS and"
        f" SNIPS with intervals clustered by user, compared and audited, in {memory} of memory, by"
        " way of the disk. The bare join matches the rows in the same memory on two threads, sums"
        " one product and does no more. Linear growth is a factor of 10; the bar allows a tenth"
        " more. What every process spends alike is gone from the difference to"
        f" 1 million rows: that of 100 million is {(all_ - one) / (ten - one):.3g} times that of 10"
        f" million, and linear is 11. {_same(data / 'big1', by['duckdb1'])}"
    )
    return [report.evaluations("(j) Logs larger than memory", items, bars, note)]


def spark(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (k)."""
    folder = data / "big20"
    items = [
        Item("k-ours", "counterrank", estimate(folder), "in memory", repeats=given.repeats),
        Item(
            "k-disk",
            "counterrank, by the disk",
            estimate(folder, "--partitions", "8"),
            "8 partitions",
            repeats=given.repeats,
        ),
        Item(
            "k-spark",
            "counterrank, Spark on local[2]",
            estimate(folder, *SPARK),
            "32 partitions; memory without Java and workers",
            repeats=given.repeats,
        ),
    ]
    measure(items, print)
    by = by_name(items)
    note = "Whole processes: Spark's time includes the start of its Java machine. No bar."
    if by["spark"].seconds:
        pairs = zip(_values(by["ours"]), _values(by["spark"]), strict=True)
        worst = max(abs(mine - theirs) for mine, theirs in pairs)
        note += (
            f" Spark takes {by['spark'].best / by['ours'].best:.3g} times as long as the local"
            f" engine in memory. Largest difference of a value: {worst:.1e}."
        )
    rows = "200,000" if given.quick else "20 million"
    title = f"(k) Spark's overhead: {rows} log rows and as many of a target"
    return [report.evaluations(title, items, [], note)]


def _same(folder: Path, peer: Item) -> str:
    """One more run, not timed, whose IPS is the sum that the join has found."""
    if not peer.seconds:
        return ""
    told = json.loads(call(estimate(folder, bias="power(eta=1)")))
    ips = next(row for row in told["estimates"] if row["measure"] == "IPS")
    _, total = json.loads(peer.printed[0])
    apart = abs(ips["value"] * ips["units"] / total - 1)
    return f"With exposure 1/rank both find the same sum of 1 million rows, to {apart:.1e} of it."


def _values(item: Item) -> list[float]:
    return [row["value"] for row in json.loads(item.printed[0])["estimates"]]
