"""pytrec_eval: all it has of the nine measures; ERR is missing."""

from __future__ import annotations

import json

import polars as pl
import pytrec_eval
from lists import Asked, name, nested

MEASURES = {
    "P.100": "P_100",
    "recall.100": "recall_100",
    "set_F": "set_F",
    "map_cut.100": "map_cut_100",
    "ndcg_cut.100": "ndcg_cut_100",
    "recip_rank": "recip_rank",
    "bpref": "bpref",
    "infAP": "infAP",
}


def main() -> None:
    asked = Asked.given()
    judged = nested(asked.judgments, "rating")
    evaluator = pytrec_eval.RelevanceEvaluator(judged, set(MEASURES), relevance_level=4)
    saved = []
    for path in asked.runs:
        values = evaluator.evaluate(nested(path, "score"))
        means = {m: sum(v[m] for v in values.values()) / len(values) for m in MEASURES.values()}
        print(json.dumps({name(path): means}))
        if asked.save:
            rows = [{"unit": int(u), "system": name(path), **v} for u, v in values.items()]
            saved.append(pl.DataFrame(rows).unpivot(index=["unit", "system"]))
    if asked.save:
        pl.concat(saved).rename({"variable": "measure"}).write_parquet(asked.save)


if __name__ == "__main__":
    main()
