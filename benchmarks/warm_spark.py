"""Seconds of one estimate in memory and on Spark, in a process that has done both before: as JSON.

Usage: ``warm_spark.py FOLDER PARTITIONS REPEATS``.
"""

from __future__ import annotations

import json
import sys
import time

import counterrank as cr


def main() -> None:
    folder, partitions, repeats = sys.argv[1:]
    spark = cr.Spark(master="local[2]", partitions=int(partitions))
    asked = {"estimator": ["IPS", "SNIPS"], "reward": "click", "position_bias": "log2"}
    took: dict[str, list[float]] = {"local": [], "spark": []}
    for _ in range(int(repeats) + 1):
        for name, engine in (("local", cr.Local()), ("spark", spark)):
            began = time.perf_counter()
            cr.estimate(f"{folder}/log", {"new": f"{folder}/new"}, engine=engine, **asked)
            took[name].append(time.perf_counter() - began)
    print(json.dumps({name: min(times[1:]) for name, times in took.items()}))


if __name__ == "__main__":
    main()
