"""The partition of a unit, by a hash of its id."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl


def bucket_of(ids: pl.Series, count: int) -> npt.NDArray[np.unsignedinteger]:
    """The bucket of each id: equal ids share one, and buckets fill evenly."""
    if ids.dtype == pl.String:
        mixed = ids.hash(0).to_numpy()
    else:
        mixed = ids.to_physical().to_numpy().astype(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed = mixed >> np.uint64(32)
    mixed *= np.uint64(count)
    mixed >>= np.uint64(32)
    small: type[np.unsignedinteger] = np.uint8 if count <= 1 << 8 else np.uint16
    return mixed.astype(small)
