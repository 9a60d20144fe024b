"""Parts (o) to (t): what a choice costs over the plain run of the same command.

Ratios are of the time of all cores, which other work on the machine changes least.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import report
from environments import ROOT, WORK, python
from larger import estimate
from report import Bar
from timing import Item, by_name, call, measure
from work import script

WITHIN = ["--memory", "4GB"]
TESTS = {  # words besides, and how many times the time without a test
    "pair": ("2 systems x 100,000 users", [], 1.3),
    "many": ("21 systems x 6,040 users", [], 1.3),
    "alike": ("21 nearly identical systems x 6,040 users", [], 1.3),
    "systems": ("100 systems x 1,000 users", [], 2.5),
    "wide": ("100 systems x 1,000,000 users, one measure", ["-m", "nDCG@2", *WITHIN], 2.5),
}
LIMITS = {"1GB": 1.0, "600MB": 0.6, "512MB": 0.512}
IDS = {"sorted": "ids as numbers", "text": "sessions of 36 characters, shuffled"}
TWO = ["-m", "nDCG@10", "-m", "DCG@10"]
SAMPLES = 50  # of each size, by default


def judged(verb: str, folder: Path, *words: str) -> list[str]:
    """A verb on the judgments and all runs of a folder."""
    files = [folder / "judgments.parquet", *sorted(folder.glob("run*.parquet"))]
    return _command(*verb.split(), *(str(p.relative_to(ROOT)) for p in files), *words)


def _command(*words: str) -> list[str]:
    command = str(Path(python("counterrank")).with_name("counterrank"))
    return [command, *words, "--format", "json", "--quiet"]


def tests(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (o)."""
    items = []
    for name, (label, words, _) in TESTS.items():
        for key, told, more in (
            (f"none-{name}", "without a test", ["--test", "none"]),
            ("ours" if name == "pair" else name, "with the default test", []),
        ):
            command = judged("evaluate", data / name, *words, *more)
            often = 1 if name == "wide" else given.repeats
            items.append(Item(f"o-{key}", f"{label}, {told}", command, " ".join(words), often))
    t = judged("evaluate", data / "systems", "--test", "t")
    label = f"{TESTS['systems'][0]}, with t tests"
    items.append(Item("o-t", label, t, "as many rows of pairs", given.repeats))
    measure(items, print)
    by, bars, flips = by_name(items), [], []
    for name, (label, _, most) in TESTS.items():
        mine, none = by["ours" if name == "pair" else name], by[f"none-{name}"]
        if mine.seconds and none.seconds:
            bars.append(Bar(f"{label}: time over no test", mine.cpu / none.cpu, most, less=True))
            drawn = json.loads(mine.printed[0])["comparisons"][0]["draws"]
            flips.append(f"{drawn:,} for {label}")
    if by["wide"].seconds:
        found = by["wide"].peak * 1024**2 / 1e9
        bars.append(Bar(f"{TESTS['wide'][0]}: peak memory", found, 4, less=True, unit="GB"))
    note = (
        "Whole evaluations in six measures where nothing else is said, all pairs, max-T. Lists are"
        " short (two rows in the widest, 100 in that of 6,040 users, ten elsewhere), so reading"
        f" hides little. Flips: {', '.join(flips)}. Without a test there are no rows of pairs; of"
        " 100 systems and six measures these are 29,700, with intervals for each and for all, which"
        " a t test has as well: over that, flips take"
        f" {by['systems'].cpu / by['t'].cpu:.3g} times as long."
    )
    if by["systems"].seconds:
        floor = json.loads(
            call([python("counterrank"), "benchmarks/floors.py", str(by["systems"].output)])
        )
        note += (
            f" Of its CPU seconds {floor['pairs']:.2f} are what NumPy takes to subtract all pairs"
            f" in all flips and to count, and {floor['rows']:.2f} what Python takes to write"
            " the rows."
        )
    return [report.evaluations("(o) The default test", items, bars, note, "cpu")]


def bootstraps(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (p)."""
    items = []
    for size, name in (("1", "ours"), ("10", "drawn")):
        for key, kind in ((f"normal-{name}", "normal"), (name, "bootstrap")):
            command = estimate(data / f"big{size}", "--interval", kind)
            label = f"{size} million rows, {kind} intervals"
            items.append(Item(f"p-{key}", label, command, "", given.repeats))
    measure(items, print)
    by = by_name(items)
    bars = [
        Bar(f"{n} users: time over normal intervals", by[k].cpu / by[f"normal-{k}"].cpu, 2, True)
        for k, n in (("ours", "25,000"), ("drawn", "250,000"))
    ]
    note = "IPS and SNIPS by user, 10,000 resamples; four sessions of ten rows a user."
    return [report.evaluations("(p) Bootstrap intervals from a log", items, bars, note, "cpu")]


def memory(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (q)."""
    limits = {"100MB": 0.1} if given.quick else LIMITS
    items = []
    for name, label in IDS.items():
        folder = data / "logorders" / name
        key = "ours" if name == "sorted" else name
        items.append(Item(f"q-{key}", f"in memory, {label}", estimate(folder), "", given.repeats))
        for size in limits:
            command = estimate(folder, "--memory", size)
            items.append(Item(f"q-{name}-{size}", f"{size}, {label}", command, "", given.repeats))
            where = [str(folder.relative_to(ROOT)), size, str(WORK / "duckdb")]
            bare = script("duckdb", "bare_join_duckdb", *where)
            told = f"DuckDB, bare join in {size}, {label}"
            items.append(Item(f"q-bare-{name}-{size}", told, bare, "", 1))
    measure(items, print)
    by, bars = by_name(items), []
    for name, label in IDS.items():
        whole = by["ours" if name == "sorted" else name]
        for size, most in limits.items():
            mine = by[f"{name}-{size}"]
            if mine.seconds:
                told = f"{size}, {label}"
                bars.append(Bar(f"{told}: time over in memory", mine.cpu / whole.cpu, 1.5, True))
                found = mine.peak * 1024**2 / 1e9
                bars.append(Bar(f"{told}: peak memory", found, 1.1 * most, True, "GB"))
    note = (
        "10 million rows of a log and as many of a target. Resident memory, libraries included. The"
        " bare join is what the spill of another engine would cost: it matches rows, sums one"
        " product and does no more."
    )
    return [report.evaluations("(q) Small memory", items, bars, note, "cpu")]


def assessed(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (r)."""
    plain = judged("evaluate", data / "assessed", *TWO, "--test", "none")
    items = [Item("r-ours", "one plain evaluation", plain, "", given.repeats)]
    for key, question, words in (
        ("power", "power", []),
        ("agreement", "agreement", []),
        ("two", "robustness", ["--samples", "2"]),
        ("four", "robustness", ["--samples", "4"]),
    ):
        command = judged(f"assess {question}", data / "assessed", *TWO, *words)
        label = " ".join(["assess", question, *words])
        items.append(Item(f"r-{key}", label, command, "", 1))
    measure(items, print)
    by = by_name(items)
    found = {question: by[question].cpu for question in ("power", "agreement")}
    two, four = by["two"].cpu, by["four"].cpu
    found["robustness, extrapolated"] = two + (SAMPLES - 2) * (four - two) / 2
    bars = [
        Bar(f"assess {question}: plain evaluations", took / by["ours"].cpu, 20, True)
        for question, took in found.items()
    ]
    note = (
        "As asked for without options: lists of ten, nDCG@10 and DCG@10. Robustness is extrapolated"
        f" to its {SAMPLES} samples of each size from two and four: that many reduced sets of"
        " judgments, 2,000 and more, are looked at by every system."
    )
    title = "(r) Assessing 100 systems x 20,000 users in two measures"
    return [report.evaluations(title, items, bars, note, "cpu")]


def factors(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (s)."""
    files = [str((data / "shown" / f"{n}.parquet").relative_to(ROOT)) for n in ("funnel", "run")]
    items = []
    for key, model in (("plain", "rates"), ("ours", "factors")):
        command = _command(
            "funnel", *files, "--estimand", "if-clicked", "--ctr", model, "--cvr", "rates"
        )
        items.append(Item(f"s-{key}", f"clicks by {model}", command, "", given.repeats))
    measure(items, print)
    by = by_name(items)
    took = by["ours"].cpu - by["plain"].cpu
    bars = [Bar("time over that with rates, which is the fit's", took, 2, less=True, unit="s")]
    note = "1,500 users x 40 items, every pair shown once; five folds, each fitted by itself."
    return [report.evaluations("(s) A fitted click model with factors", items, bars, note, "cpu")]


def warm(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (t)."""
    folder = str((data / "big5").relative_to(ROOT))
    command = [python("counterrank"), "benchmarks/warm_spark.py", folder, "8", str(given.repeats)]
    items = [Item("t-ours", "both engines in one process", command, "all runs together", 1)]
    measure(items, print)
    found = json.loads(items[0].printed[0])
    ratio = found["spark"] / found["local"]
    bars = [Bar("wall time on Spark over in memory", ratio, 3, less=True)]
    note = (
        f"5 million rows of a log and as many of a target, local[2], 8 partitions. The best of"
        f" {given.repeats} after one that is not counted: {found['local']:.2f} s in memory,"
        f" {found['spark']:.2f} s on Spark, by the clock, of which other work on the machine takes"
        f" its share. {found['bare']:.2f} s are what Spark takes only to read both tables and hand"
        " their rows to Python, which counts them."
    )
    return [report.evaluations("(t) Spark in a warm process", items, bars, note, "cpu")]
