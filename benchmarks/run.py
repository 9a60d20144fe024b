"""Time counterrank and its peers on the same work, and write README.md. Started by `make bench`.

``--only j,k`` runs some parts, and puts their tables into README.md in place of the old ones.
``--quick`` runs everything on little data, as a check of the suite itself; its page goes to
``.work/`` and its ratios mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import costs
import orders
import report
import work
from environments import HERE, ROOT, WORK, python, ready, revision
from larger import larger, spark
from report import Bar
from timing import Item, by_name, call, measure, warm


def many(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (a)."""
    items = work.evaluations("a", data / "many", WORK / "out", given.repeats, given.repeats)
    measure(items, print)
    by = by_name(items)
    bars = [
        *_faster(by, "pytrec_eval", 5),
        Bar("time over reading", by["ours"].best / by["floor"].best, 4, less=True),
    ]
    title = f"(a) {_size(data / 'many')}, per-user values and means"
    return [report.evaluations(title, items, bars), _agreement(data / "many")]


def large(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (b). Everyone runs as often as we do: the best of more tries would not be fair."""
    peers = given.repeats
    items = work.evaluations("b", data / "large", WORK / "out", given.repeats, peers)
    measure(items, print)
    by = by_name(items)
    others = [k for k in by if k not in ("floor", "ours", "ranked") and by[k].seconds]
    shown = [k for k in others if k != "ranx_arrays"]
    bars = [
        *_faster(by, min(others, key=lambda k: by[k].best), 5, "the fastest entry of any peer, "),
        *_faster(by, min(shown, key=lambda k: by[k].best), 5, "the fastest documented entry, "),
        *_faster(by, "pytrec_eval", 5),
        Bar("time over reading", by["ours"].best / by["floor"].best, 5, less=True),
        Bar("peak memory over reading's", by["ours"].peak / by["floor"].peak, 3, less=True),
    ]
    title = f"(b) {_size(data / 'large')}, in one file"
    return [report.evaluations(title, items, bars)]


def flips(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (c), on the per-user values of part (a)."""
    units = WORK / "out" / "c-units.parquet"
    runs = sorted(str(p.relative_to(ROOT)) for p in (data / "many").glob("run*.parquet"))
    judgments = str((data / "many" / "judgments.parquet").relative_to(ROOT))
    call(work.ours(judgments, runs, units))
    values = WORK / "out" / "c-values.npy"
    call([python("counterrank"), "benchmarks/values.py", "matrix", str(units), str(values)])
    draws, some = (2_000, 500) if given.quick else (100_000, 10_000)
    items = work.flips(values, draws, some, given.repeats)
    measure(items, print)
    pairs = len(runs) * (len(runs) - 1) // 2
    title = f"(c) Permutation tests of all {pairs} pairs in nine measures"
    return [report.flips(title, items, pairs * len(work.MEASURES), draws, some, 100)]


def starts(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (d)."""
    first = 1 if given.quick else min(2, given.repeats)
    items = work.starts(data / "small", WORK / "out", given.repeats, first)
    measure(items, print)
    note = (
        "A whole process that reads two small files and prints the measures of three users. "
        '"First time" is with an empty cache of compiled code, as after installing.'
        ' The bar "far below ranx" is taken as 10 times.'
    )
    bars = _faster(by_name(items), "ranx", 10)
    return [report.evaluations("(d) A first small evaluation", items, bars, note)]


def slates(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (e)."""
    items = work.slates(data / "slates", given.repeats)
    measure(items, print)
    by = by_name(items)
    note = (
        "Six slate estimators with 95 % intervals, from a log of slates and a target's whole"
        " distribution. Both read both files; for the peer, Polars joins them."
    )
    if by["obp"].seconds:
        mine = {
            row["measure"]: row["value"]
            for row in json.loads(by["ours"].printed[0])["estimates"]
            if row["system"] == "new"
        }
        theirs = json.loads(by["obp"].printed[0])
        worst = max(abs(mine[label] - theirs[label][0]) for label in work.SLATE)
        note += f" Largest difference of a value: {worst:.1e}."
    rows = "1,000" if given.quick else "20,000"
    title = f"(e) {rows} slates of 5 ranks, 10 items, six estimators with intervals"
    return [report.evaluations(title, items, _faster(by, "obp", 10), note)]


def logs(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (f)."""
    sizes = ("1", "5", "10", "20")
    items = work.logs(data, sizes, given.repeats)
    measure(items, print)
    by = by_name(items)
    small, big = by["ours5"], by["ours20"]
    bars = [
        Bar("time over the DuckDB query's", by["ours"].best / by["duckdb"].best, 1.5, less=True),
        Bar("time of 20 over 5 million rows", big.best / small.best, 4.4, less=True),
        Bar("memory of 20 over 5 million rows", big.peak / small.peak, 4.4, less=True),
    ]
    mine = {row["measure"]: row["value"] for row in json.loads(by["ours"].printed[0])["estimates"]}
    theirs = json.loads(by["duckdb"].printed[0])
    pairs = {"OnPolicy": "OnPolicy", "IPS": "IPS", "SNIPS": "SNIPS", "IPS(clip=200)": "Clipped"}
    worst = max(abs(mine[label] - theirs[name]) for label, name in pairs.items())
    note = (
        "A log of lists of ten and a target that re-ranks each: on-policy mean, IPS, clipped IPS,"
        " SNIPS, DM and DR with intervals clustered by user, comparisons, and the audits of the"
        " log. The query computes the same join, model and sums, and no more. Linear growth is"
        " a factor of at most 4 for 4 times the rows; the bar allows a tenth more."
        f" Largest difference of a value that needs no model: {worst:.1e}."
    )
    return [report.evaluations("(f) Off-policy estimates from a log", items, bars, note)]


def assessed(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (g), on the files of part (a)."""
    samples, draws = (2, 2_000) if given.quick else (50, 100_000)
    items = work.assessments(data / "many", samples=samples, draws=draws)
    measure(items, print)
    by = by_name(items)
    limits = {"robustness": 400, "power": 60}
    bars = [
        Bar(f"assess {key} over one plain evaluation", by[key].best / by["ours"].best, limit, True)
        for key, limit in limits.items()
        if by[key].seconds
    ]
    sets = 3 * 20 * samples + 2 * 20
    note = (
        f"Robustness: {sets:,} reduced sets of judgments (ratings, items and users at random, 20"
        f" sizes x {samples} samples; popular items and large users, 20 sizes), nine measures, two"
        f" means. Power: permutation tests of all pairs with {draws:,} flips. Whole processes."
    )
    title = f"(g) Assessing nine measures, {_size(data / 'many')}"
    return [report.evaluations(title, items, bars, note)]


def strata(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (h)."""
    items = work.strata(data / "strata", given.repeats)
    measure(items, print)
    by = by_name(items)
    bars = [Bar("time over a plain evaluation", by["ours"].best / by["plain"].best, 3, less=True)]
    note = (
        "nDCG at six cut-offs: by holdout, IPS and SNIPS, in two strata and stratified, with"
        " intervals, and every pair of systems audited for Simpson's paradox."
    )
    title = f"(h) {_size(data / 'strata')}, within strata"
    return [report.evaluations(title, items, bars, note)]


def sales(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (i)."""
    items = work.sales(data / "funnel", given.repeats)
    measure(items, print)
    by = by_name(items)
    bars = [Bar("time over a plain evaluation", by["ours"].best / by["plain"].best, 2, less=True)]
    note = (
        "DCG@100 of the same lists: of judgments, and of conversions after clicks by Naive, IPS,"
        " SNIPS, DM, DR and SNDR with intervals and diagnostics. The ctr is a column of the clicks,"
        " the cvr one of the lists, which the evaluation does not read."
    )
    title = f"(i) {_size(data / 'funnel')}, what they would bring if clicked"
    return [report.evaluations(title, items, bars, note)]


def pages(given: argparse.Namespace, data: Path) -> list[str]:
    """Part (n)."""
    found = json.loads(call([python("counterrank"), "benchmarks/page_sizes.py"]))
    bars = [
        Bar(f"page of {one['rankers']} rankers", one["megabytes"], limit, less=True, unit="MB")
        for one, limit in zip(found, (1.5, 3.0), strict=True)
    ]
    bars += [
        Bar(f"opening that of {one['rankers']}", one["opens"], 1.0, less=True, unit="s")
        for one in found
    ]
    return [report.pages("(n) The page of a result, ten measures against a baseline", found, bars)]


EVALUATORS = ("pytrec_eval", "ir_measures", "ranx", "rectools")


@dataclass(frozen=True)
class Part:
    """What makes the tables of a part, from which files, and whose environments it needs."""

    sections: Callable[[argparse.Namespace, Path], list[str]]
    files: tuple[str, ...]
    peers: tuple[str, ...] = ()


PARTS = {
    "a": Part(many, ("many",), EVALUATORS),
    "b": Part(large, ("large",), EVALUATORS),
    "c": Part(flips, ("many",), ("scipy", "ranx")),
    "d": Part(starts, ("small",), ("pytrec_eval", "ranx")),
    "e": Part(slates, ("slates",), ("obp",)),
    "f": Part(logs, ("log1", "log5", "log10", "log20"), ("duckdb",)),
    "g": Part(assessed, ("many",)),
    "h": Part(strata, ("strata",)),
    "i": Part(sales, ("funnel",)),
    "j": Part(larger, ("big1", "big10", "big100"), ("duckdb",)),
    "k": Part(spark, ("big20",)),
    "l": Part(orders.lists, ("listorders",), ("pytrec_eval", "ranx")),
    "m": Part(orders.logs, ("logorders",), ("duckdb",)),
    "n": Part(pages, ()),
    "o": Part(costs.tests, tuple(costs.TESTS)),
    "p": Part(costs.bootstraps, ("big1", "big10")),
    "q": Part(costs.memory, ("logorders",), ("duckdb",)),
    "r": Part(costs.assessed, ("assessed",)),
    "s": Part(costs.factors, ("shown",)),
    "t": Part(costs.warm, ("big5",)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=_letters, default=list(PARTS), metavar="PART,...")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    load, source = os.getloadavg()[0], revision()
    parts = [PARTS[letter] for letter in given.only]
    for name in ("counterrank", *dict.fromkeys(peer for part in parts for peer in part.peers)):
        print(f"environment {name}: {ready(name) or 'ready'}")
    data = WORK / ("data-quick" if given.quick else "data")
    names = list(dict.fromkeys(name for part in parts for name in part.files))
    make = [python("counterrank"), "benchmarks/data.py", str(data), *names]
    if names:
        call([*make, "--quick"] if given.quick else make)
    warm([data / name for name in names])
    sections = []
    for letter, part in zip(given.only, parts, strict=True):
        print(f"part {letter}")
        sections += part.sections(given, data)
    page = (WORK if given.quick else HERE) / "README.md"
    if given.quick or len(parts) == len(PARTS):
        report.write(page, [report.machine(source, load), *sections], quick=given.quick)
    else:
        report.renew(page, sections, source, load)
    print(f"written: {page.relative_to(ROOT)}")


def _letters(text: str) -> list[str]:
    """Parts in the order of the page."""
    wanted = text.split(",")
    if not set(wanted) <= PARTS.keys():
        raise argparse.ArgumentTypeError(f"parts are {', '.join(PARTS)}")
    return [letter for letter in PARTS if letter in wanted]


def _faster(by: dict[str, Item], peer: str, limit: float, prefix: str = "") -> list[Bar]:
    """Nothing is claimed against a peer that did not run; each is met on the files it was given."""
    if not by[peer].seconds:
        return []
    same = by["ranked"] if peer.startswith("rectools") else by["ours"]
    files = " (both from the files with a rank)" if same is not by["ours"] else ""
    return [Bar(f"faster than {prefix}{by[peer].label}{files}", by[peer].best / same.best, limit)]


def _agreement(folder: Path) -> str:
    """One more run of pytrec_eval, not timed, that saves its values."""
    saved = WORK / "out" / "a-pytrec_eval.parquet"
    inputs = [folder / "judgments.parquet", *sorted(folder.glob("run*.parquet"))]
    words = [str(p.relative_to(ROOT)) for p in inputs]
    call(work.script("pytrec_eval", "with_pytrec_eval", *words, "--save", str(saved)))
    units = WORK / "out" / "a-units.parquet"
    command = [python("counterrank"), "benchmarks/values.py", "differ", str(units), str(saved)]
    return report.agreement(call(command))


def _size(folder: Path) -> str:
    runs = len(list(folder.glob("run*.parquet")))
    code = (
        "import sys, polars as pl\n"
        "t = pl.scan_parquet(sys.argv[1])\n"
        "print(*t.select(pl.len(), pl.col('user').n_unique()).collect().row(0))"
    )
    first = str(next(folder.glob("run*.parquet")))
    rows, users = map(int, call([python("counterrank"), "-c", code, first]).split())
    systems = f"{runs} systems x " if runs > 1 else ""
    return f"{systems}{users:,} users x top {rows // users} ({rows * runs:,} rows)"


if __name__ == "__main__":
    main()
