"""When sessions were: in days since 1970 where times are dates, or since the log began."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, Ints

EPOCHS = [(10.0**k, 10.0 ** (k + 3), 86_400 * 10.0 ** (k - 8)) for k in (8, 11, 14, 17)]
WEEK = 7.0
COLUMNS = ("timestamp", "day")


def session_dates(frame: pl.DataFrame, start: Ints) -> Floats | None:
    """When each session was, in days since 1970; None if the log has no dates.

    ``start`` is the first row of each session. Numbers in a column ``timestamp`` are dates by
    their size: seconds since 1970, or thousandths and so on.
    """
    every = (_dates(x) for x in time_columns(frame, start))
    return next((days for days in every if days is not None and np.isfinite(days).all()), None)


def session_days(frame: pl.DataFrame, start: Ints) -> tuple[Floats | None, bool]:
    """When each session was, in days since the first; None if that is not known. Whether indeed.

    Other numbers are days in a column ``day``, and in a column ``timestamp`` places in time: the
    log is taken to last two weeks.
    """
    for x in time_columns(frame, start):
        days, dated = _dates(x), True
        if days is None:
            if not x.dtype.is_numeric():
                continue
            days = x.to_numpy().astype(float)
            if x.name == "timestamp":
                if "day" in frame.columns and frame["day"].n_unique() > 1:
                    continue
                days, dated = days / (max(float(np.ptp(days)), 1e-300) / (2 * WEEK)), False
        if np.isfinite(days).all() and np.ptp(days) > 0:
            return np.asarray(days - days.min(), float), dated
    return None, False


def time_columns(frame: pl.DataFrame, start: Ints) -> Iterator[pl.Series]:
    """The columns of times as they are at the first row of each session; text of numbers as such.

    A CSV file has nothing but text, by whose order 10 comes before 9.
    """
    for name in COLUMNS:
        if name in frame.columns:
            x = frame[name].gather(start)
            if x.dtype == pl.String:
                numbers = x.str.strip_chars().cast(pl.Float64, strict=False)
                x = x if numbers.null_count() else numbers
            yield x


def _dates(x: pl.Series) -> Floats | None:
    """Days since 1970, if these are times or dates."""
    if x.dtype == pl.String:
        try:
            x = x.str.to_datetime(strict=False)
        except pl.exceptions.ComputeError:  # names of days, in no form of dates
            return None
    if x.dtype in (pl.Date, pl.Datetime):
        days: Floats = x.cast(pl.Datetime("us")).to_physical().to_numpy() / 86_400e6
        return days
    if x.name != "timestamp" or not x.dtype.is_numeric():
        return None
    days = x.to_numpy().astype(float)
    unit = next((u for low, high, u in EPOCHS if low < days.max() < high), None)
    return None if unit is None else days / unit
