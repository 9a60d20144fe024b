"""When sessions were: what is a date, what a day, and what only a place in time."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from counterrank.ope.times import session_dates, session_days, time_columns

SECONDS = 1_893_456_000  # 2030-01-01
START = np.array([0, 2])


@pytest.mark.parametrize(
    "times",
    [
        [SECONDS + 3600, SECONDS + 86_400],
        [1000 * (SECONDS + 3600), 1000 * (SECONDS + 86_400)],
        ["2030-01-01T01:00:00", "2030-01-02T00:00:00"],
        [datetime(2030, 1, 1, 1), datetime(2030, 1, 2)],
    ],
)
def test_dates_are_told_by_type_and_by_size(times):
    frame = pl.DataFrame({"timestamp": [times[0], times[0], times[1]]})
    days = session_dates(frame, START)
    assert days == pytest.approx([SECONDS / 86_400 + 1 / 24, SECONDS / 86_400 + 1])
    gaps, dated = session_days(frame, START)
    assert gaps == pytest.approx([0, 23 / 24])
    assert dated


@pytest.mark.parametrize(
    ("column", "times", "length", "dated"),
    [
        ("timestamp", [7, 7, 9], 14, False),
        ("day", [7, 7, 9], 2, True),
        ("day", ["Monday", "Monday", "Friday"], None, False),
        ("timestamp", [5, 5, 5], None, False),
    ],
)
def test_counters_are_no_dates(column, times, length, dated):
    frame = pl.DataFrame({column: times})
    assert session_dates(frame, START) is None
    days, told = session_days(frame, START)
    assert (None if days is None else pytest.approx(np.ptp(days))) == length
    assert told == dated


def test_a_day_is_a_date_where_the_timestamp_counts():
    frame = pl.DataFrame(
        {"timestamp": [1, 1, 2], "day": [date(2030, 1, 1), date(2030, 1, 1), date(2030, 1, 3)]}
    )
    days = session_dates(frame, START)
    assert np.ptp(days) == 2
    assert session_days(frame, START)[1]


def test_a_file_of_text_is_timed_as_the_same_numbers_are():
    """CSV has nothing but text, by whose order 10 comes before 9."""
    for name, times in {"timestamp": [SECONDS, SECONDS + 86_400], "day": [9, 10]}.items():
        numbers = pl.DataFrame({name: [times[0], times[0], times[1]]})
        text = numbers.cast(pl.String)
        days, dated = session_days(text, START)
        assert list(days) == list(session_days(numbers, START)[0]) == [0, 1]
        assert dated
        (said,) = time_columns(text, START)
        assert said.rank("dense").to_list() == [1, 2]
    (said,) = time_columns(pl.DataFrame({"day": ["mon", "mon", "tue"]}), START)
    assert said.to_list() == ["mon", "tue"]
