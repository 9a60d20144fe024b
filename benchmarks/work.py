"""What is timed: one list of commands for each part."""

from __future__ import annotations

from pathlib import Path

from environments import ROOT, python
from timing import Item

MEASURES = (
    "P(rel=4)@100",
    "Recall(rel=4)@100",
    "F1(rel=4)@100",
    "AP(rel=4)@100",
    "nDCG@100",
    "RR(rel=4)@100",
    "ERR@100",
    "Bpref(rel=4)@100",
    "InfAP(rel=4,variant=trec)@100",
)
LOGGED = ("IPS", "IPS(clip=200)", "SNIPS", "DM", "DR")
SLATE = ("SIPS", "IIPS", "RIPS", "SNSIPS", "SNIIPS", "SNRIPS")
SEVEN = "no ERR, InfAP"
SIX = "no ERR, Bpref, InfAP; nDCG binary"
SALES = ("Naive", "IPS", "SNIPS", "DM", "DR", "SNDR")
CUTS = (5, 10, 20, 30, 50, 100)


def script(env: str, name: str, *words: str) -> list[str]:
    """A script of ``peers/`` in its environment; -W keeps compilers' warnings out of the way."""
    return [python(env), "-W", "ignore", f"benchmarks/peers/{name}.py", *words]


def ours(judgments: str, runs: list[str], out: Path) -> list[str]:
    wanted = [word for m in MEASURES for word in ("-m", m)]
    command = str(Path(python("counterrank")).with_name("counterrank"))
    rest = ["--test", "none", "--by-unit", str(out), "--format", "json", "--quiet"]
    return [command, "evaluate", judgments, *runs, *wanted, *rest]


def evaluations(part: str, folder: Path, out: Path, repeats: int, peers: int) -> list[Item]:
    """Parts (a) and (b): the same measures by everyone, from the same files."""
    folder = folder.relative_to(ROOT)
    judgments = str(folder / "judgments.parquet")
    runs = sorted(str(p.relative_to(ROOT)) for p in (ROOT / folder).glob("run*.parquet"))
    ranked = [str(Path(r).parent / "ranked" / Path(r).name) for r in runs]
    both = [judgments, *runs]
    large = 6 if part == "b" else 0
    items = [
        ("floor", "reading only (Polars)", script("counterrank", "reading", *both), "the floor"),
        ("ours", "counterrank", ours(judgments, runs, out / f"{part}-units.parquet"), "all nine"),
        (
            "ranked",
            "counterrank, files with a rank",
            ours(judgments, ranked, out / f"{part}-ranked.parquet"),
            "all nine",
        ),
        (
            "pytrec_eval",
            "pytrec_eval",
            script("pytrec_eval", "with_pytrec_eval", *both),
            "no ERR",
        ),
        ("ir_measures", "ir-measures", script("ir_measures", "with_ir_measures", *both), "no ERR"),
        ("ranx", "ranx", script("ranx", "with_ranx", *both), SEVEN),
        (
            "ranx_arrays",
            "ranx, ready arrays",
            script("ranx", "with_ranx_arrays", *both),
            f"{SEVEN}; undocumented entry",
        ),
        (
            "rectools_plain",
            "RecTools",
            script("rectools", "with_rectools_plain", judgments, *ranked),
            SIX,
        ),
        (
            "rectools",
            "RecTools, merged once",
            script("rectools", "with_rectools", judgments, *ranked),
            SIX,
        ),
    ]
    us = ("floor", "ours", "ranked")
    return [
        Item(
            f"{part}-{key}",
            label,
            command,
            remark,
            repeats=repeats if key in us else peers,
            needs_gb=0 if key in us else large,
        )
        for key, label, command, remark in items
    ]


def flips(values: Path, draws: int, some: int, repeats: int) -> list[Item]:
    """Part (c): ours in full, the peers on a few pairs."""
    path = str(values.relative_to(ROOT))
    return [
        Item(
            "c-ours",
            "counterrank",
            script("counterrank", "flips_counterrank", path, str(draws)),
            repeats=repeats,
        ),
        Item(
            "c-scipy",
            "scipy.stats.permutation_test",
            script("scipy", "flips_scipy", path, str(some)),
            repeats=repeats,
        ),
        Item(
            "c-ranx",
            "ranx fisher_randomization_test",
            script("ranx", "flips_ranx", path, str(some)),
            repeats=repeats,
        ),
    ]


def starts(folder: Path, out: Path, repeats: int, first: int) -> list[Item]:
    """Part (d): three users."""
    judgments, run = (
        str((folder / n).relative_to(ROOT)) for n in ("judgments.parquet", "run.parquet")
    )
    ranx = script("ranx", "with_ranx", judgments, run)
    return [
        Item("d-ours", "counterrank", ours(judgments, [run], out / "d.parquet"), repeats=repeats),
        Item(
            "d-pytrec_eval",
            "pytrec_eval",
            script("pytrec_eval", "with_pytrec_eval", judgments, run),
            repeats=repeats,
        ),
        Item("d-ranx", "ranx, first time", ranx, "compiles", repeats=first, fresh=True),
        Item("d-ranx-kept", "ranx, later", ranx, "compiled code kept", repeats=repeats + 1),
    ]


def slates(folder: Path, repeats: int) -> list[Item]:
    """Part (e): slate estimators with intervals, from the same two files."""
    log, new = (str((folder / n).relative_to(ROOT)) for n in ("log.parquet", "new.parquet"))
    command = str(Path(python("counterrank")).with_name("counterrank"))
    wanted = [word for label in SLATE for word in ("-e", label)]
    rest = ["--logged", "propensity", "--test", "none", "--format", "json", "--quiet"]
    ours = [command, "estimate", log, f"new={new}", *wanted, *rest]
    drawn = [*ours, "--interval", "bootstrap", "--resamples", "10000"]
    peer = script("obp", "slate_obp", log, new)
    return [
        Item("e-ours", "counterrank", ours, "intervals by influence", repeats=repeats),
        Item("e-drawn", "counterrank, bootstrap", drawn, "10,000 resamples", repeats=repeats),
        Item("e-obp", "Open Bandit Pipeline", peer, "10,000 resamples", repeats=repeats),
    ]


def logs(folder: Path, sizes: tuple[str, ...], repeats: int) -> list[Item]:
    """Part (f): five estimators with intervals from logs of several sizes; the query at one."""
    command = str(Path(python("counterrank")).with_name("counterrank"))
    wanted = [word for label in LOGGED for word in ("-e", label)]
    rest = ["--reward", "click", "--position-bias", "log2", "--format", "json", "--quiet"]
    items = []
    for size in sizes:
        log, new = (
            str((folder / f"log{size}" / n).relative_to(ROOT))
            for n in ("log.parquet", "new.parquet")
        )
        ours = [command, "estimate", log, f"new={new}", *wanted, *rest]
        key = "f-ours" if size == "10" else f"f-ours{size}"
        items.append(Item(key, f"counterrank, {size} million rows", ours, repeats=repeats))
        if size == "10":
            query = script("duckdb", "joins_duckdb", log, new)
            items.append(
                Item("f-duckdb", "DuckDB, one query, 10 million rows", query, repeats=repeats)
            )
    return items


def assessments(folder: Path, *, samples: int, draws: int) -> list[Item]:
    """Part (g): one plain evaluation, and what `assess` asks of the same files."""
    command = str(Path(python("counterrank")).with_name("counterrank"))
    files = [folder / "judgments.parquet", *sorted(folder.glob("run*.parquet"))]
    paths = [str(p.relative_to(ROOT)) for p in files]
    wanted = [word for m in MEASURES for word in ("-m", m)]
    rest = ["--format", "json", "--quiet"]
    plain = [command, "evaluate", *paths, *wanted, "--test", "none", *rest]
    robust = [command, "assess", "robustness", *paths, *wanted, "--samples", str(samples), *rest]
    power = [command, "assess", "power", *paths, *wanted, "--draws", str(draws), *rest]
    return [
        Item("g-ours", "one plain evaluation", plain, repeats=3),
        Item("g-robustness", "assess robustness", robust, "both means", repeats=1),
        Item("g-power", "assess power", power, "with intervals of DP", repeats=1),
    ]


def strata(folder: Path, repeats: int) -> list[Item]:
    """Part (h): one plain evaluation, and the same runs within strata and audited."""
    command = str(Path(python("counterrank")).with_name("counterrank"))
    inputs = [folder / "judgments.parquet", *sorted(folder.glob("run*.parquet"))]
    words = [str(path.relative_to(ROOT)) for path in inputs]
    wanted = [word for k in CUTS for word in ("-m", f"nDCG(gain=binary,rel=4)@{k}")]
    rest = [*words, *wanted, "--test", "none", "--format", "json", "--quiet"]
    return [
        Item("h-plain", "counterrank evaluate", [command, "evaluate", *rest], repeats=repeats),
        Item(
            "h-ours",
            "counterrank strata",
            [command, "strata", *rest],
            "six methods and the paradox audit",
            repeats=repeats,
        ),
    ]


def sales(folder: Path, repeats: int) -> list[Item]:
    """Part (i): one plain evaluation of the lists, and what they would bring if clicked."""
    command = str(Path(python("counterrank")).with_name("counterrank"))
    judgments, funnel, run = (
        str((folder / f"{name}.parquet").relative_to(ROOT))
        for name in ("judgments", "funnel", "run")
    )
    wanted = [word for label in SALES for word in ("-e", label)]
    rest = ["-m", "DCG@100", "--test", "none", "--format", "json", "--quiet"]
    return [
        Item("i-plain", "counterrank evaluate", [command, "evaluate", judgments, run, *rest],
             repeats=repeats),
        Item("i-ours", "counterrank funnel", [command, "funnel", funnel, run, *wanted, *rest],
             "six estimators", repeats=repeats),
    ]  # fmt: skip
