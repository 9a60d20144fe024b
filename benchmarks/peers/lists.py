"""Dicts of dicts of strings, which the trec_eval family and ranx want, built the quickest way.

Every item's string is made once and shared: that is faster and smaller than a string per row.
The garbage collector is off: it finds nothing in them and costs some per cent.
"""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass

import numpy as np
import polars as pl

Nested = dict[str, dict[str, float]]
gc.disable()


@dataclass(frozen=True)
class Asked:
    """What every script here is given: JUDGMENTS RUN... [--save PATH]."""

    judgments: str
    runs: list[str]
    save: str | None

    @classmethod
    def given(cls) -> Asked:
        words = sys.argv[1:]
        save = words.pop() if "--save" in words else None
        return cls(words[0], [w for w in words[1:] if w != "--save"], save)


def name(path: str) -> str:
    return path.rsplit("/", 1)[-1].split(".")[0]


def nested(path: str, column: str) -> Nested:
    """``{user: {item: value}}`` of a file; rows that do not stand user by user are sorted."""
    table = pl.read_parquet(path, columns=["user", "item", column])
    if not table["user"].is_sorted():
        table = table.sort("user")
    names = [str(i) for i in range(table["item"].max() + 1)]
    items = list(map(names.__getitem__, table["item"].to_list()))
    values = table[column].to_list()
    user = table["user"].to_numpy()
    starts = np.flatnonzero(np.diff(user, prepend=-1))
    ends = [*starts[1:].tolist(), len(user)]
    return {
        str(u): dict(zip(items[i:j], values[i:j], strict=True))
        for u, i, j in zip(user[starts].tolist(), starts.tolist(), ends, strict=True)
    }
