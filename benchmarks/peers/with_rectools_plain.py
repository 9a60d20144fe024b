"""RecTools as its guide shows it: each measure is asked on its own and merges again."""

from __future__ import annotations

import json
import sys

import polars as pl
from rectools.metrics import MAP, MRR, NDCG, F1Beta, Precision, Recall
from with_rectools import frame

MEASURES = (Precision, Recall, F1Beta, MAP, NDCG, MRR)


def main() -> None:
    judgments, runs = sys.argv[1], sys.argv[2:]
    judged = frame(pl.read_parquet(judgments).filter(pl.col("rating") >= 4))
    for path in runs:
        run = frame(pl.read_parquet(path))
        values = {m.__name__: m(k=100).calc_per_user(run, judged) for m in MEASURES}
        means = {m: float(x.mean()) for m, x in values.items()}
        print(json.dumps({path.rsplit("/", 1)[-1].split(".")[0]: means}))


if __name__ == "__main__":
    main()
