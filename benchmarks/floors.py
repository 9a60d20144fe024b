"""Processor seconds that tests of all pairs cannot go below in NumPy and Python: as JSON.

``pairs`` is to subtract two rows for every pair, flip and measure and to count how many are far
from 0; ``rows`` is to write the comparisons as JSON. Usage: ``floors.py RESULT.JSON``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

TILE = 2048  # flips together: what is read and written fits a cache


def pairs(systems: int, flips: int, measures: int) -> int:
    x, far = np.random.default_rng(0).standard_normal((systems, flips), np.float32), 0
    for _ in range(measures):
        for start in range(0, flips, TILE):
            some = np.ascontiguousarray(x[:, start : start + TILE])
            for one in range(systems - 1):
                z = some[one + 1 :] - some[one]
                np.abs(z, out=z)
                far += np.count_nonzero(z > 3)
    return far


def main() -> None:
    comparisons = json.loads(Path(sys.argv[1]).read_text())["comparisons"]
    count = {name: len({row[name] for row in comparisons}) for name in ("measure", "system")}
    began = time.process_time()
    pairs(count["system"] + 1, comparisons[0]["draws"], count["measure"])
    counted = time.process_time()
    encode = json.JSONEncoder(ensure_ascii=False).encode
    "\n".join(map(encode, comparisons))
    print(json.dumps({"pairs": counted - began, "rows": time.process_time() - counted}))


if __name__ == "__main__":
    main()
