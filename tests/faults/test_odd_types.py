"""Any type in any column of any verb: a result of finite numbers, or a message."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import counterrank as cr

ROWS = 12
USUAL: dict[str, Callable[[int], object]] = {
    "user": lambda i: f"u{i // 3}", "unit": lambda i: f"u{i}", "session": lambda i: i // 3,
    "item": lambda i: f"i{i % 3}", "rating": lambda i: i % 3, "rank": lambda i: i % 3 + 1,
    "click": lambda i: i % 2, "propensity": lambda i: 0.5, "context": lambda i: f"c{i // 6}",
    "viewed": lambda i: 1, "conversion": lambda i: int(i % 4 == 1), "ctr": lambda i: 0.3 + i / 99,
    "cvr": lambda i: 0.3, "arm": lambda i: "ab"[i // 3 % 2], "day": lambda i: f"2024-01-{i // 6}1",
    "timestamp": lambda i: 1.7e9 + i // 3, "system": lambda i: "ab"[i % 2],
    "measure": lambda i: "P@2", "value": lambda i: i / ROWS, "reward": lambda i: "click",
    "estimator": lambda i: "IPS", "estimate": lambda i: 1 + i / 9, "truth": lambda i: 1.1,
    "low": lambda i: 0.5, "high": lambda i: 3.0, "experiment": lambda i: i // 2,
    "offline": lambda i: 0.1 + i / 9, "online": lambda i: 0.2 + i * 5 % 7 / 9,
    "event": lambda i: ("view", "click", "purchase")[i % 3], "time": lambda i: i,
}  # fmt: skip
ODD: dict[str, Callable[[], pl.Series]] = {
    "duration": lambda: pl.Series([datetime.timedelta(i) for i in range(ROWS)]),
    "list": lambda: pl.Series([[i] for i in range(ROWS)]),
    "object": lambda: pl.Series([object() for _ in range(ROWS)], dtype=pl.Object),
    "category": lambda: pl.Series(["ab"[i % 2] for i in range(ROWS)], dtype=pl.Categorical),
    "text": lambda: pl.Series(["x"] * ROWS),
    "i64": lambda: pl.Series([2**63 - 1 - i for i in range(ROWS)]),
    "u64": lambda: pl.Series([2**64 - 1 - i for i in range(ROWS)], dtype=pl.UInt64),
    "i128": lambda: pl.Series([2**100] * ROWS, dtype=pl.Int128),
    "huge": lambda: pl.Series([1e308] * ROWS),
    "tiny": lambda: pl.Series([5e-324] * ROWS),
}
RANKED, PAIRS = ("user", "item", "rank"), ("session", "item", "rank")
CASES: list[tuple[str, tuple[str, ...], tuple[str, ...], dict[str, Any]]] = [
    ("evaluate", ("user", "item", "rating"), RANKED, {"measure": ["DCG@3", "nDCG@3"], "draws": 9}),
    ("strata", ("user", "item", "rating"), RANKED, {"measure": "DCG@3", "draws": 9}),
    ("estimate", (*PAIRS, "click", "user", "context"), PAIRS,
     {"position_bias": "log2", "context": "context"}),
    ("estimate", (*PAIRS, "click", "day", "arm"), PAIRS, {"position_bias": "log2"}),
    ("estimate", (*PAIRS, "click", "viewed", "timestamp", "propensity"), PAIRS, {}),
    ("funnel", ("user", "item", "click", "conversion", "ctr", "cvr"), RANKED, {}),
    ("funnel", ("user", "item", "rank", "click", "conversion", "ctr"), RANKED, {}),
    ("funnel", ("user", "item", "event", "time"), RANKED, {}),
    ("exposure", (*PAIRS, "click", "context"), (), {"method": "em", "context": "context"}),
    ("check", (*PAIRS, "click", "context", "viewed"), (), {}),
    ("check", ("user", "item", "click", "conversion", "ctr"), (), {}),
    ("assess_power", ("unit", "system", "measure", "value"), (), {"resamples": 20}),
    ("assess_robustness", ("user", "item", "rating"), RANKED, {"measure": "P@2", "samples": 2}),
    ("assess_online", ("experiment", "system", "measure", "reward", "offline", "online"), (),
     {"baseline": "a"}),
    ("assess_accuracy", ("system", "estimator", "estimate", "truth", "low", "high"), (), {}),
]  # fmt: skip


def table(columns: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame({name: [USUAL[name](i) for i in range(ROWS)] for name in columns})


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1][-1]}")
@pytest.mark.filterwarnings("ignore")
def test_a_column_of_any_type(case: tuple[Any, ...]) -> None:
    verb, own, runs, options = case
    first = table(own)
    run = table(runs) if runs else None
    tries = [(first.with_columns(odd().alias(c)), run) for c in own for odd in ODD.values()]
    if run is not None:
        some = [ODD[name] for name in ("duration", "object", "u64", "huge")]
        tries += [(first, run.with_columns(odd().alias(c))) for c in runs for odd in some]
    for a, b in [(first, run), *tries]:
        lists = [] if b is None else [{"a": b, "b": table(runs).reverse()}]
        try:
            found = getattr(cr, verb)(a, *lists, **options)
        except cr.CounterrankError:
            continue
        assert not any(math.isinf(getattr(row, "value", None) or 0) for row in found.estimates), a
        json.loads(found.to_json(), parse_constant=pytest.fail)
        assert str(found)
