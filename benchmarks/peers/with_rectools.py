"""RecTools: six of the nine, its nDCG binary. Lists and judgments are merged once per run.

It wants a rank, so it is given the files that have one. What is relevant is what is listed as
an interaction: judgments below 4 are left out.
"""

from __future__ import annotations

import json
import sys

import pandas as pd
import polars as pl
from rectools.metrics import MAP, MRR, NDCG, F1Beta, Precision, Recall
from rectools.metrics.base import merge_reco
from rectools.metrics.classification import calc_confusions

NAMES = {"user": "user_id", "item": "item_id"}


def frame(table: pl.DataFrame) -> pd.DataFrame:
    """Column by column, without a copy: quicker than pandas' own reading."""
    return pd.DataFrame({NAMES.get(c.name, c.name): c.to_numpy() for c in table}, copy=False)


def main() -> None:
    judgments, runs = sys.argv[1], sys.argv[2:]
    judged = frame(pl.read_parquet(judgments).filter(pl.col("rating") >= 4))
    for path in runs:
        merged = merge_reco(frame(pl.read_parquet(path)), judged)
        confusions = calc_confusions(merged, k=100)
        values = {
            "Precision": Precision(k=100).calc_per_user_from_confusion_df(confusions),
            "Recall": Recall(k=100).calc_per_user_from_confusion_df(confusions),
            "F1Beta": F1Beta(k=100).calc_per_user_from_confusion_df(confusions),
            "MAP": MAP(k=100).calc_per_user_from_fitted(MAP.fit(merged, k_max=100)),
            "NDCG": NDCG(k=100).calc_per_user_from_merged(merged),
            "MRR": MRR(k=100).calc_per_user_from_merged(merged),
        }
        means = {m: float(x.mean()) for m, x in values.items()}
        print(json.dumps({path.rsplit("/", 1)[-1].split(".")[0]: means}))


if __name__ == "__main__":
    main()
