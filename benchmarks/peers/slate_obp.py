"""The Open Bandit Pipeline's slate estimators with their bootstrap intervals: LOG RUN.

The log and the run are joined by Polars, sorted by session and rank; everything after that is obp's
own. Its intervals have 10,000 resamples, its default.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import polars as pl
from obp.ope import (
    SelfNormalizedSlateIndependentIPS,
    SelfNormalizedSlateRewardInteractionIPS,
    SelfNormalizedSlateStandardIPS,
    SlateIndependentIPS,
    SlateRewardInteractionIPS,
    SlateStandardIPS,
)

KINDS = {
    "SIPS": SlateStandardIPS,
    "IIPS": SlateIndependentIPS,
    "RIPS": SlateRewardInteractionIPS,
    "SNSIPS": SelfNormalizedSlateStandardIPS,
    "SNIIPS": SelfNormalizedSlateIndependentIPS,
    "SNRIPS": SelfNormalizedSlateRewardInteractionIPS,
}


def main() -> None:
    log, run = (pl.read_parquet(path) for path in sys.argv[1:3])
    both = log.join(run, on=["session", "item", "rank"], suffix="_new").sort("session", "rank")
    length = int(both["rank"].max())
    logged, new = (
        both[name].to_numpy().reshape(-1, length) for name in ("propensity", "propensity_new")
    )
    given = {
        "slate_id": both["session"].to_numpy(),
        "position": both["rank"].to_numpy().astype(int) - 1,
        "reward": both["click"].to_numpy().astype(float),
        "pscore": np.repeat(logged.prod(axis=1), length),
        "pscore_cascade": logged.cumprod(axis=1).ravel(),
        "pscore_item_position": logged.ravel(),
        "evaluation_policy_pscore": np.repeat(new.prod(axis=1), length),
        "evaluation_policy_pscore_cascade": new.cumprod(axis=1).ravel(),
        "evaluation_policy_pscore_item_position": new.ravel(),
    }
    found = {}
    for label, kind in KINDS.items():
        estimator = kind(len_list=length)
        interval = estimator.estimate_interval(**given, random_state=0)
        found[label] = [estimator.estimate_policy_value(**given), *list(interval.values())[1:]]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
