"""Counterrank's per-user values, as arrays and against pytrec_eval's.

Run with the interpreter of counterrank's environment, like ``data.py``:
``values.py matrix OURS OUT`` or ``values.py differ OURS PYTREC_EVAL``.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import polars as pl

SAME = {
    "P_100": "P(rel=4)@100",
    "recall_100": "Recall(rel=4)@100",
    "set_F": "F1(rel=4)@100",
    "map_cut_100": "AP(rel=4)@100",
    "ndcg_cut_100": "nDCG@100",
    "recip_rank": "RR(rel=4)@100",
    "bpref": "Bpref(rel=4)@100",
    "infAP": "InfAP(rel=4,variant=trec)@100",
}


def _ours(path: str) -> pl.DataFrame:
    text = pl.col("system", "measure").cast(pl.String)
    return pl.read_parquet(path).with_columns(text)


def matrix(path: str, out: str) -> None:
    """Measures x users x systems, for the tests of part (c)."""
    table = _ours(path).sort("measure", "unit", "system")
    shape = [table[c].n_unique() for c in ("measure", "unit", "system")]
    np.save(out, table["value"].to_numpy().reshape(shape))


def differ(path: str, other: str) -> None:
    """Print the largest difference over all users and systems, measure by measure."""
    peer = pl.read_parquet(other).with_columns(
        pl.col("measure").replace_strict(SAME), pl.col("unit").cast(pl.Int32)
    )
    keys = ["unit", "system", "measure"]
    both = peer.join(_ours(path), on=keys, how="inner", suffix="_ours")
    if len(both) != len(peer):
        sys.exit(f"{len(peer) - len(both)} of pytrec_eval's values have no counterpart")
    worst = both.group_by("measure").agg((pl.col("value") - pl.col("value_ours")).abs().max())
    found = dict(worst.iter_rows())
    rows = {m: [name, found[m]] for name, m in SAME.items()}
    print(json.dumps({"values": len(both), "largest": rows}))


if __name__ == "__main__":
    {"matrix": matrix, "differ": differ}[sys.argv[1]](sys.argv[2], sys.argv[3])
