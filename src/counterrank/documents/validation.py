"""Documents are held to their schema before anything reads them: what is not understood is refused.

Of JSON Schema this knows the words that document.schema.json uses, and no others.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

KINDS: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "null": type(None), "number": (int, float),
    "integer": int, "boolean": bool,
}  # fmt: skip
KEY = ("system", "measure", "reward", "estimator", "segment", "baseline")
ENDS = (
    ("low", "high"), ("family_low", "family_high"), ("lift_low", "lift_high"),
    ("lift_family_low", "lift_family_high"), ("bound_low", "bound_high"),
    ("lift_bound_low", "lift_bound_high"), ("selected_low", "selected_high"),
)  # fmt: skip
DECIDES = ("evaluate", "estimate", "funnel", "strata")  # kinds that compare rankers
DEEPEST = 200  # lists and objects inside each other


def parse_document(text: str) -> Any:
    """JSON without NaN, infinity or a key that stands twice in an object."""

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
            raise ValueError(f'"{twice}" stands twice')
        return found

    try:
        return json.loads(
            text, parse_constant=refuse, object_pairs_hook=distinct, parse_float=_finite
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:20]} is too large")
    return value


def fault(document: Any) -> str:
    """What is wrong with a document, where; nothing if it is as the schema says."""
    return next(_faults(document), "")


def _faults(document: Any) -> Iterator[str]:
    yield from _depth(document)
    yield from _against(document, _schema(), "")
    for part in ("estimates", "comparisons"):
        rows = document[part]
        for n, row in enumerate(rows):
            for low, high in ENDS:
                ends = row.get(low), row.get(high)
                if None not in ends and ends[0] > ends[1]:
                    yield f"{part}[{n}] has {low} above {high}"
        if document["kind"] in DECIDES:
            seen = Counter(tuple(row.get(key) for key in KEY) for row in rows)
            if seen and seen.most_common(1)[0][1] > 1:
                yield f"{part} have two rows of {seen.most_common(1)[0][0][:2]}"


def _depth(value: Any) -> Iterator[str]:
    level, layer = 0, [value]
    while layer and level <= DEEPEST:
        inner = (v.values() if isinstance(v, dict) else v for v in layer if _is_several(v))
        layer, level = [x for several in inner for x in several if _is_several(x)], level + 1
    if layer:
        yield "it is nested too deeply"


def _is_several(value: Any) -> bool:
    return isinstance(value, (dict, list))


@cache
def _schema() -> dict[str, Any]:
    text = files("counterrank.documents").joinpath("document.schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _against(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """Faults of a value, the first that make others moot alone."""
    if "$ref" in schema:
        schema = _schema()["$defs"][schema["$ref"].rpartition("/")[2]]
    where = place or "the document"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{where} is not {' or '.join(kinds)}"
        return
    if "const" in schema and (value != schema["const"] or isinstance(value, bool)):
        yield f"{where} is not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is none of {', '.join(schema['enum'])}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where} is no name"
    bounds = [schema.get(key, value) for key in ("minimum", "maximum")]
    if _is(value, "number") and not bounds[0] <= value <= bounds[1]:
        yield f"{where} is out of bounds"
    if isinstance(value, dict):
        lacking = [key for key in schema.get("required", ()) if key not in value]
        if lacking:
            yield f'{where} has no "{lacking[0]}"'
            return
        inner = schema.get("properties", {})
        for key, own in value.items():
            if key in inner:
                yield from _against(own, inner[key], f"{place}.{key}".lstrip("."))
            elif schema.get("additionalProperties") is False:
                yield f'{where} has "{key}", which is not known'
    if isinstance(value, list) and "items" in schema:
        for n, own in enumerate(value):
            yield from _against(own, schema["items"], f"{place}[{n}]")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, KINDS[kind])
