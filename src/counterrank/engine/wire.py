"""Results of partitions as bytes, so that they can go to another process or to disk. No pickle.

A result is turned into a JSON tree whose leaves refer to blobs: arrays and columns as they lie in
memory. Only dataclasses and named tuples of this package are made again. What is shared stays so.
"""

from __future__ import annotations

import json
import struct
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

HOME = "counterrank"
PLAIN: dict[str, type] = {kind.__name__: kind for kind in (list, tuple, set, frozenset)}


def pack(value: Any) -> bytes:
    """The value as bytes."""
    blobs: list[bytes] = []
    tree = json.dumps(_tree(value, blobs, {})).encode()
    parts = [tree, *blobs]
    sizes = struct.pack(f"<{len(parts) + 1}q", len(parts), *map(len, parts))
    return b"".join([sizes, *parts])


def unpack(data: bytes | memoryview) -> Any:
    """The value that was packed."""
    view = memoryview(data)
    (count,) = struct.unpack_from("<q", view)
    sizes = struct.unpack_from(f"<{count}q", view, 8)
    ends = np.cumsum((8 + 8 * count, *sizes)).tolist()
    parts = [view[a:b] for a, b in pairwise(ends)]
    return _value(json.loads(bytes(parts[0])), parts[1:], {})


def _tree(value: Any, blobs: list[bytes], seen: dict[int, tuple[Any, int]]) -> Any:
    """Plain JSON for what JSON holds exactly, otherwise ``[kind, ...]``.

    ``seen`` are the blobs of arrays and the numbers of dataclasses, by id(): they are sent once.
    """
    inner = partial(_tree, blobs=blobs, seen=seen)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        return [*inner(np.asarray(value)), "scalar"]
    if isinstance(value, int):
        return ["int", str(value)]
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        if id(value) not in seen:
            blobs.append(np.ascontiguousarray(value).tobytes())
            seen[id(value)] = value, len(blobs) - 1
        return ["array", seen[id(value)][1], value.dtype.str, list(value.shape)]
    if isinstance(value, bytes):
        blobs.append(value)
        return ["bytes", len(blobs) - 1]
    if isinstance(value, pl.Series):
        return ["series", inner(value.to_frame("x")), value.name]
    if isinstance(value, pl.DataFrame):
        blobs.append(value.write_ipc_stream(None).getvalue())
        return ["frame", len(blobs) - 1]
    if is_dataclass(value) and not isinstance(value, type):
        if id(value) in seen:
            return ["again", seen[id(value)][1]]
        own = {f.name: inner(getattr(value, f.name)) for f in fields(value) if f.init}
        seen[id(value)] = value, len(seen)
        return ["dataclass", type(value).__module__, type(value).__qualname__, own, len(seen) - 1]
    if isinstance(value, dict):
        return ["dict", [[inner(k), inner(v)] for k, v in value.items()]]
    if type(value) in PLAIN.values():
        return [type(value).__name__, list(map(inner, value))]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        place = [type(value).__module__, type(value).__qualname__]
        return ["named", *place, list(map(inner, value))]
    raise TypeError(f"a {type(value).__qualname__} cannot be sent")


def _value(tree: Any, blobs: list[Any], made: dict[int, Any]) -> Any:
    """What a tree stands for; a blob that is an array is made one once, a dataclass, too."""
    if not isinstance(tree, list):
        return tree
    inner = partial(_value, blobs=blobs, made=made)
    kind, rest = tree[0], tree[1:]
    if kind == "int":
        return int(rest[0])
    if kind == "float":
        return float.fromhex(rest[0])
    if kind == "array":
        if isinstance(blobs[rest[0]], memoryview):
            blobs[rest[0]] = np.frombuffer(blobs[rest[0]], rest[1]).reshape(rest[2]).copy()
        return blobs[rest[0]][()] if rest[-1] == "scalar" else blobs[rest[0]]
    if kind == "bytes":
        return bytes(blobs[rest[0]])
    if kind == "frame":
        return pl.read_ipc_stream(bytes(blobs[rest[0]]))
    if kind == "series":
        return inner(rest[0])["x"].alias(rest[1])
    if kind == "dataclass":
        own = {name: inner(v) for name, v in rest[2].items()}
        return made.setdefault(rest[3], _class_at(*rest[:2])(**own))
    if kind == "again":
        return made[rest[0]]
    if kind == "dict":
        return {inner(k): inner(v) for k, v in rest[0]}
    if kind == "named":
        return _class_at(*rest[:2])(*map(inner, rest[2]))
    return PLAIN[kind](map(inner, rest[0]))


def _class_at(module: str, name: str) -> Any:
    """A dataclass or named tuple of this package, by its place."""
    found: Any = import_module(module) if module.split(".")[0] == HOME else None
    for part in name.split("."):
        found = getattr(found, part)
    if not (isinstance(found, type) and (is_dataclass(found) or hasattr(found, "_fields"))):
        raise TypeError(f"{module}.{name} is no dataclass or named tuple of {HOME}")
    return found
