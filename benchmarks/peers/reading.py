"""The floor: only read the judgments and the three columns of every run, one after the other."""

from __future__ import annotations

import sys

import polars as pl

pl.read_parquet(sys.argv[1], columns=["user", "item", "rating"])
for path in sys.argv[2:]:
    order = "score" if "score" in pl.read_parquet_schema(path) else "rank"
    pl.read_parquet(path, columns=["user", "item", order])
