"""Whatever holds the tables, the numbers are the same to the last bit."""

from __future__ import annotations

import gzip

import duckdb
import polars as pl
import pytest

import counterrank as cr
from making import world

LABELS = (
    "nDCG@5 DCG@5 pnDCG@5 AP@10 RR ERR@5 Bpref InfAP P@5 Recall@5 F1@5 Rprec Success@1 RBP ARP@10"
    " Judged@5 AP(mean=geometric)@5"
).split()


def tied(table: pl.DataFrame) -> pl.DataFrame:
    """Scores instead of ranks, with ties."""
    return table.select("user", "item", score=-(pl.col("rank") // 3).cast(pl.Float64))


def trec(table: pl.DataFrame) -> str:
    if "rating" in table.columns:
        return "".join(f"{u} 0 {i} {r}\n" for u, i, r in table.iter_rows())
    return "".join(f"{u}\tQ0 {i}  0 {s} tag\n" for u, i, s in table.iter_rows())


def made(kind: str, table: pl.DataFrame, path) -> object:
    mixed = table.sample(fraction=1, shuffle=True, seed=4)
    if kind == "polars":
        return mixed
    if kind == "lazy":
        return mixed.lazy()
    if kind == "pandas":
        return mixed.to_pandas()
    if kind == "pyarrow":
        return mixed.to_arrow()
    if kind == "duckdb":
        return duckdb.from_arrow(mixed.to_arrow())
    if kind == "categorical":
        return mixed.with_columns(pl.col("user", "item").cast(pl.String).cast(pl.Categorical))
    if kind == "folder":
        path.mkdir()
        for n, part in enumerate(mixed.iter_slices(50)):
            part.write_parquet(path / f"part-{n}.parquet")
        return str(path)
    if kind == "glob":
        made("folder", table, path)
        return str(path / "*.parquet")
    name = f"{path}.{kind}"
    if kind == "parquet":
        mixed.write_parquet(name)
    elif kind == "txt":
        with open(name, "w") as file:
            file.write(trec(mixed))
    elif kind.endswith(".gz"):
        text = trec(mixed) if kind == "txt.gz" else mixed.write_csv()
        with open(name, "wb") as file:
            file.write(gzip.compress(text.encode()))
    else:
        mixed.write_csv(name, separator="\t" if kind == "tsv" else ",")
    return name


KINDS = (
    "polars lazy pandas pyarrow duckdb categorical folder glob parquet csv tsv csv.gz txt txt.gz"
).split()


@pytest.mark.parametrize("ids", ["text", "integers"])
@pytest.mark.parametrize("kind", KINDS)
def test_same_to_the_last_bit(kind, ids, tmp_path):
    truth, runs = world(users=30)
    if ids == "integers":
        number = pl.col("user", "item").str.slice(1).cast(pl.Int32)
        truth = truth.with_columns(number)
        runs = {name: table.with_columns(number) for name, table in runs.items()}
    runs = {name: tied(table) for name, table in runs.items()}
    expected = cr.evaluate(truth, runs, measure=LABELS, draws=200)
    tables = {name: made(kind, table, tmp_path / name) for name, table in runs.items()}
    got = cr.evaluate(made(kind, truth, tmp_path / "truth"), tables, measure=LABELS, draws=200)
    before, after = (
        r.by_unit().with_columns(pl.col("unit").cast(pl.String)) for r in (expected, got)
    )
    assert before.equals(after)
    assert expected.estimates == got.estimates
    assert expected.comparisons == got.comparisons
    assert expected.diagnostics == got.diagnostics
