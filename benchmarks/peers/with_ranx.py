"""ranx through its documented ``Qrels`` and ``Run``; it has neither ERR nor InfAP."""

from __future__ import annotations

import json

from lists import Asked, name, nested
from ranx import Qrels, Run, evaluate

MEASURES = [
    "precision@100-l4",
    "recall@100-l4",
    "f1@100-l4",
    "map@100-l4",
    "ndcg@100",
    "mrr@100-l4",
    "bpref-l4",
]


def main() -> None:
    asked = Asked.given()
    qrels = Qrels(nested(asked.judgments, "rating"))
    for path in asked.runs:
        run = Run(nested(path, "score"))
        means = evaluate(qrels, run, MEASURES)  # per-user values are now in run.scores
        print(json.dumps({name(path): {m: float(x) for m, x in means.items()}}))


if __name__ == "__main__":
    main()
