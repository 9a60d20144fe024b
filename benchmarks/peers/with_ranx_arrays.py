"""ranx fed with ready arrays, which skips its ``Run`` and ``Qrels``.

``ranx.evaluate`` takes arrays by its signature, not by its documentation. The caller must see to
it that ids are numbers, that both sides hold the same users in the same order, that all lists
have one length and that they are sorted. It is far quicker, so it is timed as well. ``--sort`` is
for files in any other order.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import polars as pl
from lists import Asked, name
from numba.typed import List
from ranx import evaluate
from with_ranx import MEASURES


def main() -> None:
    mixed = "--sort" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--sort"]
    asked = Asked.given()
    judged = pl.read_parquet(asked.judgments).sort("user", "rating", descending=[False, True])
    pairs = np.column_stack([judged["item"].to_numpy(), judged["rating"].to_numpy()])
    cuts = np.flatnonzero(np.diff(judged["user"].to_numpy())) + 1
    qrels = List(np.split(pairs.astype(np.float64), cuts))
    for path in asked.runs:
        run = pl.read_parquet(path, columns=[*["user"] * mixed, "item", "score"])
        run = run.sort("user", "score", descending=[False, True]) if mixed else run
        lists = np.column_stack([run["item"].to_numpy(), run["score"].to_numpy()])
        values = evaluate(qrels, lists.reshape(len(qrels), -1, 2), MEASURES, return_mean=False)
        print(json.dumps({name(path): {m: float(x.mean()) for m, x in values.items()}}))


if __name__ == "__main__":
    main()
