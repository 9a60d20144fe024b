r"""Shares with their limits, and the page that holds them.

A share of comparisons is :math:`\hat p = \sum_l h_l / \sum_l n_l` over logs l. Candidates of one
log err together, so its limits are Wilson's at the number of independent comparisons that would say
as much, :math:`n / d`, with the design effect

.. math:: d = \max\left(1, \frac{\sum_l (h_l - \hat p n_l)^2}{n\, \hat p (1 - \hat p)}\right).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from calibration.cells import DAYS, GRID, HORIZON
from calibration.run import file_of, lines_of

Z = 1.959964
CLEAR = 0.15  # a true lift beyond this is to be claimed
INTRO = f"""# Calibration: what pass means

Every number here comes from logs whose truth is known: a grid of worlds in which each assumption
is broken by several strengths, alone and together, and in which nothing is. Each log of {DAYS} days
has six candidates: clearly better, clearly worse, equal, 3 % worse, and two that load on a kind of
item that no column names. The truth is their lift in the {HORIZON} days after the log. *Outside*
says how often the true lift lay outside the second interval (allowing for what the log cannot rule
out), *called better* how often a candidate that is truly worse was claimed to be better, *width*
how many plain intervals wide the second one is, at the median. In brackets are 95 % limits of the
simulation, with candidates of one log taken as dependent.

There are two generators: the library's simulator, and that of `tests/worlds/`, whose authors have
read neither estimators nor audits. `make calibrate` makes this page; every log of a cell is of
another world. Cells are defined in `tests/calibration/cells.py`.
"""
TITLES = {"worlds": "Worlds of another hand", "simulator": "The simulator"}


@dataclass(frozen=True)
class Share:
    """Hits of so many, with limits."""

    hits: int
    n: int
    low: float
    high: float

    @classmethod
    def of(cls, hit: pl.Expr, among: pl.Expr, rows: pl.DataFrame) -> Share:
        """The share of the rows ``among`` for which ``hit`` holds, logs being independent."""
        logs = rows.filter(among).group_by(SAME).agg(h=hit.sum(), n=pl.len())
        h, n = logs["h"].to_numpy().astype(float), logs["n"].to_numpy().astype(float)
        return cls(int(h.sum()), int(n.sum()), *limits(h, n))

    def __str__(self) -> str:
        if not self.n:
            return "-"
        return f"{self.hits / self.n:.1%} [{self.low:.1%}, {self.high:.1%}]"


def limits(h: np.ndarray, n: np.ndarray) -> tuple[float, float]:
    """Wilson's limits of a share of hits h among n by log."""
    every = n.sum()
    if not every:
        return 0.0, 1.0
    p = float(h.sum() / every)
    effect = ((h - p * n) ** 2).sum() / (every * p * (1 - p)) if 0 < p < 1 else 1.0
    m = float(every / max(1.0, effect))
    middle = (p + Z**2 / (2 * m)) / (1 + Z**2 / m)
    half = Z / (1 + Z**2 / m) * math.sqrt(p * (1 - p) / m + Z**2 / (4 * m**2))
    return max(0.0, middle - half), min(1.0, middle + half)


TRUTH = pl.col("truth")
OUTSIDE = ~TRUTH.is_between("second_low", "second_high")
OFF = ~TRUTH.is_between("low", "high")
WORSE, BETTER = TRUTH < -1e-6, pl.col("claim") == "better"
REFUSED = {"verdict": "refused", "claim": "cannot_tell"}
PASS, ALL = pl.col("verdict") == "pass", pl.lit(True)
RIGHT = pl.when(TRUTH > 0).then(BETTER).otherwise(pl.col("claim") == "worse")
PROMISES = (
    ("outside if pass", OUTSIDE, PASS, 0.05),
    ("worse called better", BETTER, WORSE, 0.025),
)
WIDTH = (pl.col("second_high") - pl.col("second_low")) / (pl.col("high") - pl.col("low"))


CELL = ("generator", "cell", "sessions")
SAME = (*CELL, "seed")
LOWER, UPPER = ("low", "second_low"), ("high", "second_high")


def told_rows(kept: Path, store: Path | None = None) -> pl.DataFrame:
    """A row for each comparison of each log: those of the lines, and what else is stored.

    Only of the grid's cells. What was refused has one row, without a number.
    """
    grid = pl.DataFrame(
        [(g, c.name, n, c.group) for g, cells in GRID.items() for c in cells for n in c.sizes],
        schema=[*CELL, "group"],
        orient="row",
    )
    rows = [] if store is None or not store.exists() else [pl.read_parquet(store)]
    found = []
    for generator, cell, sessions in grid.select(CELL).iter_rows():
        for line in lines_of(file_of(kept, generator, cell, sessions)):
            log = {"generator": generator} | {k: line[k] for k in (*CELL[1:], "seed", "commit")}
            found += [log | row for row in line["rows"] or [REFUSED]]
    if found:
        lines = pl.DataFrame(found, infer_schema_length=None)
        rows = [old.join(lines, on=SAME, how="anti") for old in rows] + [lines]
    if not rows:
        return grid.clear().with_columns(seed=pl.lit(0))
    every = pl.concat(rows, how="diagonal_relaxed").sort("seed", maintain_order=True)
    return grid.join(every.drop("group", strict=False), on=CELL, maintain_order="left_right")


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def width(rows: pl.DataFrame) -> str:
    found = rows.filter(pl.col("verdict") != "refused").select(WIDTH.median()).item()
    return "-" if found is None else f"{found:.1f}"


def verdicts(rows: pl.DataFrame) -> list[str]:
    """Shares of pass, caution, fail; what was refused counts as fail."""
    share = [rows.select((pl.col("verdict") == v).mean()).item() for v in ("pass", "caution")]
    return [f"{s:.0%}" for s in (*share, 1 - sum(share))]


def by_word(rows: pl.DataFrame) -> str:
    """The pooled table: for each verdict and claim."""
    found = []
    for verdict in ("pass", "caution", "fail"):
        for claim in ("better", "worse", "cannot_tell"):
            among = (pl.col("verdict") == verdict) & (pl.col("claim") == claim)
            outside = Share.of(OUTSIDE, among, rows)
            wrong = WORSE if claim == "better" else TRUTH > 1e-6
            turned = "-" if claim == "cannot_tell" else str(Share.of(wrong, among, rows))
            part, word = rows.filter(among), claim.replace("_", " ")
            found.append([verdict, word, f"{part.height:,}", str(outside), turned, width(part)])
    heads = ["verdict", "claim", "comparisons", "outside", "truth of the other sign", "width"]
    return table(heads, found)


def by_cell(rows: pl.DataFrame) -> str:
    """A line for each cell and size."""
    found = []
    for (cell, sessions), part in rows.group_by("cell", "sessions", maintain_order=True):
        found.append(
            [
                str(cell),
                f"{sessions:,}",
                str(part["seed"].n_unique()),
                *verdicts(part),
                str(Share.of(OUTSIDE, PASS, part)),
                str(Share.of(OUTSIDE, pl.col("verdict") == "caution", part)),
                str(Share.of(BETTER, WORSE, part)),
                width(part),
                ", ".join(f"`{c}`" for c in part["commit"].unique(maintain_order=True)),
            ]
        )
    heads = ["cell", "sessions", "logs", "pass", "caution", "fail", "outside if pass",
             "outside if caution", "worse called better", "width", "commit"]  # fmt: skip
    return table(heads, found)


def by_regime(rows: pl.DataFrame) -> str:
    """The eight kinds of logs in which pass used to mean little."""
    found = []
    for (cell, sessions), part in rows.group_by("cell", "sessions", maintain_order=True):
        found.append(
            [
                str(cell),
                f"{sessions:,}",
                *verdicts(part),
                str(Share.of(OUTSIDE, PASS, part)),
                str(Share.of(OFF, PASS, part)),
                str(Share.of(BETTER, WORSE, part)),
            ]
        )
    heads = ["regime", "sessions", "pass", "caution", "fail", "outside if pass",
             "outside the plain interval if pass", "worse called better"]  # fmt: skip
    return table(heads, found)


def held_back(rows: pl.DataFrame) -> str:
    """Clean logs: how often they pass, and how often a clear lift is claimed."""
    found = []
    for (cell, sessions), part in rows.group_by("cell", "sessions", maintain_order=True):
        claimed = Share.of(RIGHT, TRUTH.abs() > CLEAR, part)
        passed = Share.of(PASS, ALL, part)
        outside = Share.of(OUTSIDE, ALL, part)
        found.append(
            [str(cell), f"{sessions:,}", str(passed), str(claimed), str(outside), width(part)]
        )
    heads = ["clean log", "sessions", "pass", f"right claim beyond {CLEAR:.0%}", "outside", "width"]
    return table(heads, found)


def pooled(rows: pl.DataFrame) -> str:
    """What has to hold of all cells together."""
    asked = {
        "the truth lies outside the second interval, if pass": (OUTSIDE, PASS),
        "the truth lies outside the second interval, if caution": (
            OUTSIDE,
            pl.col("verdict") == "caution",
        ),
        "the truth lies outside the plain interval, if pass": (OFF, PASS),
        "better is claimed of what is truly worse": (BETTER, WORSE),
        "a log in which nothing is broken does not pass, whatever it lacks": (
            ~PASS,
            pl.col("group") == "clean",
        ),
    }
    return table(
        ["how often", "share", "comparisons"],
        [
            [words, str(share), f"{share.n:,}"]
            for words, (hit, among) in asked.items()
            for share in [Share.of(hit, among, rows)]
        ],
    )


def beyond(rows: pl.DataFrame) -> str:
    """The cells in which more is wrong than was promised, beyond the chance of so few logs."""
    found = []
    for (cell, sessions), part in rows.group_by("cell", "sessions", maintain_order=True):
        for words, hit, among, promise in PROMISES:
            share = Share.of(hit, among, part)
            if share.low > promise:
                found.append(f"{cell} ({sessions:,} sessions): {words} {share}")
    return "Cells in which a lower limit is above what is promised: " + (
        "; ".join(found) + ".\n" if found else "none.\n"
    )


def so_many(rows: pl.DataFrame) -> str:
    """How many logs all is from."""
    each = rows.group_by("generator", "cell", "sessions").agg(pl.col("seed").n_unique())["seed"]
    few, many = each.min(), each.max()
    number = f"{few}" if few == many else f"{few} to {many}"
    return (
        f"This page is of {each.sum():,} logs: {number} of each of {len(each)} cells and sizes.\n"
    )


def write(rows: pl.DataFrame, page: Path) -> None:
    """The page, of the rows there are."""
    rows = rows.with_columns(pl.col(LOWER).fill_null(-math.inf), pl.col(UPPER).fill_null(math.inf))
    parts = [INTRO, so_many(rows)]
    for generator in rows["generator"].unique(maintain_order=True):
        mine = rows.filter(generator=generator)
        grid = mine.filter(pl.col("group").is_in(["clean", "broken"]))
        title = TITLES[generator]
        if not grid.is_empty():
            parts += [f"## {title}, all cells\n", pooled(grid), beyond(mine), by_word(grid)]
        for group, head, made in (
            ("table", "where pass used to mean little", by_regime),
            ("large", "large clean logs", held_back),
            ("clean", "clean logs", held_back),
        ):
            part = mine.filter(group=group)
            if not part.is_empty():
                parts += [f"## {title}, {head}\n", made(part)]
        if not grid.is_empty():
            parts += [f"## {title}, cell by cell\n", by_cell(grid)]
    if (rows["second"] == "family").any():
        parts.append(
            "Some of these results have no second interval; there the one that holds for all"
            " candidates at once stands for it.\n"
        )
    page.write_text("\n".join(parts), encoding="utf-8")
