"""All pairs of systems in all measures at once: VALUES DRAWS, as one whole process."""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np

from counterrank.stats.permutation import permutation_test


def main() -> None:
    values = np.load(sys.argv[1])  # measures x users x systems
    pairs = list(combinations(range(values.shape[2]), 2))
    found = permutation_test(list(values), pairs, draws=int(sys.argv[2]))
    print(f"{found.p.size} tests, {np.sum(found.p < 0.05)} with p < 0.05")


if __name__ == "__main__":
    main()
