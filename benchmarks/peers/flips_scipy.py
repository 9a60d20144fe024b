"""SciPy's paired permutation test of a few pairs: VALUES DRAWS, seconds per pair printed."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from scipy.stats import permutation_test

PAIRS = ((0, 1), (2, 3))
BATCH = 1_000  # the quickest of 50, 200, 1,000 and 5,000


def difference(
    x: np.typing.NDArray[np.float64], y: np.typing.NDArray[np.float64], axis: int
) -> np.typing.NDArray[np.float64]:
    return np.mean(x - y, axis=axis)


def one(x: np.typing.NDArray[np.float64], y: np.typing.NDArray[np.float64], draws: int) -> float:
    found = permutation_test(
        (x, y),
        difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=draws,
        batch=BATCH,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)


def main() -> None:
    values = np.load(sys.argv[1])[0]
    draws = int(sys.argv[2])
    one(values[:, 0], values[:, 1], 100)  # warm up
    began = time.perf_counter()
    p = [one(values[:, a], values[:, b], draws) for a, b in PAIRS]
    seconds = (time.perf_counter() - began) / len(PAIRS)
    print(json.dumps({"seconds": seconds, "p": p}))


if __name__ == "__main__":
    main()
