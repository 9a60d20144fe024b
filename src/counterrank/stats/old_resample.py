"""Bootstrap over units, or over clusters of them: weights drawn once, shared by all estimates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.core.errors import UsageError
from counterrank.core.progress import Progress, quiet
from counterrank.estimates import Estimate, Uncertain
from counterrank.moments import Merged

CELLS = 1 << 22  # weights held at a time


def resampled(
    estimates: Sequence[Uncertain], *, draws: int, seed: int, progress: Progress = quiet
) -> Floats:
    """The value of each estimate (columns) in each resample (rows).

    All estimates must be over the same units and clusters, so that differences stay paired. Those
    made of moments bring resamples with them, paired by the ids of units.
    """
    merged = [e for e in estimates if isinstance(e, Merged)]
    if merged:
        return np.stack([e.resampled(draws) for e in merged], axis=1)
    return _resampled([e for e in estimates if isinstance(e, Estimate)], draws, seed, progress)


def _resampled(estimates: Sequence[Estimate], draws: int, seed: int, progress: Progress) -> Floats:
    """By weights drawn now."""
    groups, sizes = _groups(estimates)
    sums = [_sums(e, groups) for e in estimates]
    cuts = np.cumsum([s.shape[1] for s in sums])[:-1]
    stacked = np.hstack([*sums, sizes[:, None]])
    rng = np.random.default_rng(seed)
    out = np.empty((draws, len(estimates)))
    chunk = max(1, CELLS // len(sizes))
    for start in progress(range(0, draws, chunk), "resampling"):
        rows = min(chunk, draws - start)
        totals = weights(rng, rows, len(sizes)) @ stacked
        means = totals[:, :-1] / totals[:, -1:]
        for column, part in enumerate(np.split(means, cuts, axis=1)):
            out[start : start + rows, column] = estimates[column].finish(part)
    return out


def weights(rng: np.random.Generator, rows: int, n: int) -> Floats:
    """How often each of ``n`` units is drawn, ``rows`` times over."""
    drawn = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(float)


def _groups(estimates: Sequence[Estimate]) -> tuple[np.typing.NDArray[np.int64] | None, Floats]:
    first = estimates[0]
    for other in estimates[1:]:
        grouped = [e.cluster for e in (first, other) if e.cluster is not None]
        alike = len(grouped) == 0 or (len(grouped) == 2 and np.array_equal(grouped[0], grouped[1]))
        if other.n != first.n or not alike:
            raise UsageError("Estimates can be resampled together only over the same units.")
    if first.cluster is None:
        return None, np.ones(first.n)
    return first.cluster, np.bincount(first.cluster).astype(float)


def _sums(estimate: Estimate, groups: np.typing.NDArray[np.int64] | None) -> Floats:
    if groups is None:
        return estimate.columns
    return np.stack([np.bincount(groups, column) for column in estimate.columns.T], axis=1)
