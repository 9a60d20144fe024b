"""Two documents side by side: where they differ by more than rounding."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from frozen.cases import Case

STORED = Path(__file__).parent / "stored"
CLOSE, CLOSE_P = 1e-12, 1e-9
ITERATED = 1e-7  # what iterations end on, where another CPU's last digits send them
FAR, FAR_P = 0.35, 0.05  # of a standard error, and of p, where resamples are drawn anew
UNSTABLE = ("version", "command", "sha256")  # of a result's provenance
DECIMAL = re.compile(r"-?\d+\.\d{9,}")  # a number within a text, such as a label


def document(case: Case, result: Any) -> dict[str, Any]:
    """What is frozen of a result: its document and, if asked for, a look at its units."""
    told = result.to_dict()
    told["provenance"] = {k: v for k, v in told["provenance"].items() if k not in UNSTABLE}
    told["provenance"]["inputs"] = [
        {k: v for k, v in row.items() if k not in UNSTABLE} for row in told["provenance"]["inputs"]
    ]
    if case.units:
        told["by_unit"] = summary(result.by_unit())
    found: dict[str, Any] = json.loads(json.dumps(told, default=_plain))
    return found


def summary(frame: Any) -> dict[str, Any]:
    """Columns, number of rows, the sum of the values, and some rows."""
    some = sorted({0, 1, frame.height // 3, frame.height // 2, frame.height - 1})
    return {
        "columns": frame.columns,
        "rows": frame.height,
        "sum": frame["value"].fill_nan(None).sum(),
        "some": [frame.row(place, named=True) for place in some],
    }


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def file_of(case: Case, kind: str = "") -> Path:
    """Where the document of a case is kept."""
    name = f"{case.name}".replace(", ", "-").replace(" ", "_")
    return STORED / (kind or case.verb) / f"{name}.json"


def dumped(document: dict[str, Any]) -> str:
    """A row a line, floats by their shortest exact text."""

    def rows(value: Any) -> str:
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in value) + "\n]"
        return json.dumps(value, ensure_ascii=False)

    return "{" + ",\n".join(f"{json.dumps(k)}: {rows(v)}" for k, v in document.items()) + "}\n"


def changes(old: Any, new: Any, path: tuple[str | int, ...] = ()) -> Iterator[list[Any]]:
    """What makes one document of another: path and value, but for rounding far below a fault."""
    if isinstance(old, dict) and isinstance(new, dict) and list(old) == list(new):
        for name in old:
            yield from changes(old[name], new[name], (*path, name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from changes(a, b, (*path, place))
    elif isinstance(old, float) and isinstance(new, float):
        if not (math.isclose(old, new, rel_tol=CLOSE / 10) or (old != old and new != new)):
            yield [*path, new]
    elif type(old) is not type(new) or old != new:
        yield [*path, new]


def stored(case: Case, kind: str = "") -> dict[str, Any]:
    """The frozen document; on other engines it is kept as changes of the one in memory."""
    found: dict[str, Any] = json.loads(file_of(case, kind).read_text(encoding="utf-8"))
    if "like" not in found:
        return found
    whole: dict[str, Any] = json.loads((file_of(case).parent / found["like"]).read_text("utf-8"))
    whole.pop("by_unit", None)
    for *path, last, value in found["changes"]:
        part: Any = whole
        for step in path:
            part = part[step]
        part[last] = value
    return whole


def differences(old: Any, new: Any, case: Case | None = None) -> list[str]:
    """Path and both values wherever the documents differ."""
    skipped = () if case is None else case.skipped
    drawn = () if case is None else case.redrawn
    close = ITERATED if case is not None and case.iterated else CLOSE
    left = {k: v for k, v in old.items() if k not in skipped}
    right = {k: v for k, v in new.items() if k not in skipped}
    return list(_differences(left, right, "", "", 0.0, drawn, {}, close))


def _differences(
    old: Any,
    new: Any,
    path: str,
    key: str,
    scale: float,
    drawn: tuple[str, ...],
    row: Any,
    close: float,
) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) != list(new):
            yield f"{path or 'document'}: keys {list(old)}, now {list(new)}"
        for name in old.keys() & new.keys():
            where = f"{path}.{name}" if path else name
            own = scale[name] if isinstance(scale, dict) else 0.0
            yield from _differences(old[name], new[name], where, name, own, drawn, old, close)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{path}: {len(old)} rows, now {len(new)}"
        scales = _scales(old, key)
        for place, (a, b) in enumerate(zip(old, new, strict=False)):
            where = f"{path}[{place}]"
            yield from _differences(a, b, where, key, scales[place], drawn, row, close)
    elif type(old) is not type(new):
        yield f"{path}: {old!r}, now {new!r}"
    elif isinstance(old, float):
        if not _close(old, new, key, scale, drawn, row, close):
            yield f"{path}: {old!r}, now {new!r}"
    elif old != new and not (isinstance(old, str) and _same_words(old, new)):
        yield f"{path}: {old!r}, now {new!r}"


def _same_words(old: str, new: str) -> bool:
    """Whether texts differ only in the last digits of numbers within them."""
    pairs = zip(DECIMAL.findall(old), DECIMAL.findall(new), strict=False)
    return DECIMAL.split(old) == DECIMAL.split(new) and all(
        math.isclose(float(a), float(b), rel_tol=ITERATED) for a, b in pairs
    )


def _scales(rows: list[Any], key: str) -> list[Any]:
    """The largest magnitude in each column of rows, for every row; of diagnostics, by name."""
    if all(isinstance(row, float | int) for row in rows):
        return [max(map(_size, rows), default=0.0)] * len(rows)
    if not all(isinstance(row, dict) for row in rows):
        return [0.0] * len(rows)
    kinds = [row.get("name", "") if key == "diagnostics" else "" for row in rows]
    found: dict[str, dict[str, float]] = {kind: defaultdict(float) for kind in kinds}
    for kind, row in zip(kinds, rows, strict=True):
        for name, value in row.items():
            found[kind][name] = max(found[kind][name], _size(value))
    return [found[kind] for kind in kinds]


def _size(value: Any) -> float:
    known = isinstance(value, float | int) and math.isfinite(value)
    return abs(value) if known else 0.0


def _close(
    old: float,
    new: float,
    key: str,
    scale: float,
    drawn: tuple[str, ...],
    row: dict[str, Any],
    close: float,
) -> bool:
    if not (math.isfinite(old) and math.isfinite(new)):
        return old == new or (old != old and new != new)
    chance = key == "p" or key.startswith("p_") or key.endswith("_p")
    if key in drawn and "se" in row:
        return abs(old - new) <= (FAR_P if chance else FAR * _spread(key, row))
    close = max(CLOSE_P, close) if chance else close
    return math.isclose(old, new, rel_tol=close, abs_tol=close * (1 if chance else scale or 0))


def _spread(key: str, row: dict[str, Any]) -> float:
    """The standard error of what the field bounds."""
    if key.startswith("lift_") and row["difference"]:
        return abs(row["se"] * row["lift"] / row["difference"])
    return float(row["se"])
