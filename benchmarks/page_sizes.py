"""Size of the page of so many rankers in ten measures, and how long it takes to make: as JSON."""

from __future__ import annotations

import json
import time

import counterrank as cr
from counterrank.report import page
from counterrank.simulate import judged_world

MEASURES = [f"{m}@{k}" for m in ("nDCG", "DCG", "P", "Recall", "AP") for k in (5, 10)]


def main() -> None:
    world, rows = judged_world(users=40), []
    runs = list(world.runs.values())
    for systems in (5, 100):
        named = {f"system {n}": runs[n % len(runs)] for n in range(systems)}
        asked = {"measure": MEASURES, "baseline": "system 0", "test": "t"}
        document = cr.evaluate(world.judgments, named, **asked).to_dict()
        began = time.perf_counter()
        size = len(page([document]).encode())
        took = time.perf_counter() - began
        rows.append({"rankers": systems, "megabytes": size / 1e6, "seconds": took})
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
