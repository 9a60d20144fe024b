"""Results of partitions as bytes, so that they can go to another process or to disk. No pickle.

A result is turned into a JSON tree whose leaves refer to blobs: arrays and columns as they lie in
memory. Only dataclasses and named tuples of this package are made again.
"""

from __future__ import annotations

import io
import json
import struct
from dataclasses import fields, is_dataclass
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
    tree = json.dumps(_tree(value, blobs)).encode()
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
    return _value(json.loads(bytes(parts[0])), parts[1:])


def _tree(value: Any, blobs: list[bytes]) -> Any:
    """Plain JSON for what JSON holds exactly, otherwise ``[kind, ...]``."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        return [*_tree(np.asarray(value), blobs), "scalar"]
    if isinstance(value, int):
        return ["int", str(value)]
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        blobs.append(np.ascontiguousarray(value).tobytes())
        return ["array", len(blobs) - 1, value.dtype.str, list(value.shape)]
    if isinstance(value, bytes):
        blobs.append(value)
        return ["bytes", len(blobs) - 1]
    if isinstance(value, pl.Series):
        return ["series", _tree(value.to_frame("x"), blobs), value.name]
    if isinstance(value, pl.DataFrame):
        file = io.BytesIO()
        value.write_ipc(file, compression="uncompressed")
        blobs.append(file.getvalue())
        return ["frame", len(blobs) - 1]
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        inner = {f.name: _tree(getattr(value, f.name), blobs) for f in fields(value) if f.init}
        return ["dataclass", kind.__module__, kind.__qualname__, inner]
    if isinstance(value, dict):
        return ["dict", [[_tree(k, blobs), _tree(v, blobs)] for k, v in value.items()]]
    if type(value) in PLAIN.values():
        return [type(value).__name__, [_tree(v, blobs) for v in value]]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        place = [type(value).__module__, type(value).__qualname__]
        return ["named", *place, [_tree(v, blobs) for v in value]]
    raise TypeError(f"a {type(value).__qualname__} cannot be sent")


def _value(tree: Any, blobs: list[memoryview]) -> Any:
    if not isinstance(tree, list):
        return tree
    kind, rest = tree[0], tree[1:]
    if kind == "int":
        return int(rest[0])
    if kind == "float":
        return float.fromhex(rest[0])
    if kind == "array":
        found = np.frombuffer(blobs[rest[0]], rest[1]).reshape(rest[2])
        return found[()] if rest[-1] == "scalar" else found.copy()
    if kind == "bytes":
        return bytes(blobs[rest[0]])
    if kind == "frame":
        return pl.read_ipc(io.BytesIO(blobs[rest[0]]))
    if kind == "series":
        return _value(rest[0], blobs)["x"].alias(rest[1])
    if kind == "dataclass":
        return _made(*rest[:2])(**{name: _value(v, blobs) for name, v in rest[2].items()})
    if kind == "dict":
        return {_value(k, blobs): _value(v, blobs) for k, v in rest[0]}
    if kind == "named":
        return _made(*rest[:2])(*(_value(v, blobs) for v in rest[2]))
    return PLAIN[kind](_value(v, blobs) for v in rest[0])


def _made(module: str, name: str) -> Any:
    """A dataclass or named tuple of this package, by its place."""
    found: Any = import_module(module) if module.split(".")[0] == HOME else None
    for part in name.split("."):
        found = getattr(found, part)
    if not (isinstance(found, type) and (is_dataclass(found) or hasattr(found, "_fields"))):
        raise TypeError(f"{module}.{name} is no dataclass or named tuple of {HOME}")
    return found
