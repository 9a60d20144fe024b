"""Coat with its own features: what people chose to rate are the clicks, 4 and 5 the conversions."""

from __future__ import annotations

import numpy as np
import polars as pl

import counterrank as cr


def test_features_of_coat(data):
    folder = data / "coat"
    rated = pl.read_parquet(folder / "train.parquet")
    table = rated.select(
        "user", "item", click=pl.lit(1), conversion=(pl.col("rating") >= 4).cast(pl.Int8)
    )
    users = 290
    liked = table.group_by("item").agg(pl.col("conversion").sum()).sort("item")
    best = np.argsort(-liked["conversion"].to_numpy(), kind="stable")[:20]
    grid = {"user": np.repeat(np.arange(users), 20), "item": np.tile(best, users)}
    run = pl.DataFrame(grid | {"rank": np.tile(np.arange(1, 21), users)})
    result = cr.funnel(
        table, {"popular": run}, estimator=["IPS", "DR"], measure="CG@20", ctr="logistic",
        cvr="logistic", user_features=folder / "user_features.parquet",
        item_features=folder / "item_features.parquet",
    )  # fmt: skip
    said = result.protocol["features"]
    assert [len(said[of]["columns"]) for of in ("user", "item")] == [14, 33]
    assert {x["name"].rsplit("/")[-1] for x in result.to_dict()["provenance"]["inputs"]} >= {
        "user_features.parquet", "item_features.parquet"
    }  # fmt: skip
    at = {d.name: d for d in result.diagnostics}
    assert at["click model"].state == "pass"
    # features do not know that these 20 coats are the ones that pleased, and the weights tell
    assert at["mean weight"].state == "fail"
    opened = pl.read_parquet(folder / "test.parquet").filter(pl.col("item").is_in(best.tolist()))
    truth = 20 * float((opened["rating"] >= 4).mean() or 0)
    ips, dr = (result.estimate("popular", label).value for label in ("IPS", "DR"))
    assert truth < dr < ips
