"""ranx's Fisher randomization test of a few pairs: VALUES DRAWS, seconds per pair printed.

The test is called directly. ``ranx.compare`` calls the same function after evaluating the runs,
which would be counted here for nothing. The first call compiles and is not timed.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from ranx.statistical_tests import fisher_randomization_test

PAIRS = ((0, 1), (2, 3))


def main() -> None:
    values = np.ascontiguousarray(np.load(sys.argv[1])[0].T)
    draws = int(sys.argv[2])
    fisher_randomization_test(values[0], values[1], 10, 0.05, 0)
    began = time.perf_counter()
    p = [fisher_randomization_test(values[a], values[b], draws, 0.05, 0)[0] for a, b in PAIRS]
    seconds = (time.perf_counter() - began) / len(PAIRS)
    print(json.dumps({"seconds": seconds, "p": p}))


if __name__ == "__main__":
    main()
