"""The JSON document of a result: the same shape for every verb."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counterrank.core.errors import CounterrankError, InputError, brief, first_line
from counterrank.core.input_files import read_document
from counterrank.core.provenance import COMMAND
from counterrank.data.schema import Input
from counterrank.documents.estimand_sentences import estimand
from counterrank.documents.validation import fault, parse_document
from counterrank.version import __version__

CONTROLS = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # for terminals
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
NUMBERS = {float, int, bool, type(None)}  # values that are no text
SCHEMA = 1  # the shape of documents; see document.schema.json


def document(
    kind: str,
    protocol: Mapping[str, Any],
    inputs: Sequence[Input],
    *,
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    tables: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A result as plain values, in one shape; ``tables`` hold what only this verb has."""
    command = {"command": command_words(COMMAND)} if COMMAND else {}
    told = {} if options is None else {"options": dict(options)}
    paths = [i.name for i in inputs] + list(_texts(told))
    found = {
        "schema": SCHEMA,
        "kind": kind,
        "estimand": estimand(kind, protocol),
        **rows,
        "tables": dict(tables),
        "protocol": dict(protocol),
        "provenance": {
            "version": __version__,
            **command,
            **told,
            "inputs": [dict(vars(i)) for i in inputs],
        },
    }
    return _without_folders(found, short_names(paths)) if any(map(_is_path, paths)) else found


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Paths by as little of their ends as tells them apart: where files lay is nobody's business.

    Addresses may hold passwords, which stand before the last part.
    """
    every = {
        path: [p for p in re.split(r"[/\\]", path) if p not in ("", ".", "..")] for path in paths
    }
    short: dict[str, str] = {}
    for path, parts in every.items():
        others = {tuple(o) for o in every.values() if o != parts}
        many = next(
            (n for n in range(1, len(parts)) if all(o[-n:] != tuple(parts[-n:]) for o in others)),
            1 if "://" in path else len(parts),
        )
        if _is_path(path) and parts:
            short[path] = "/".join(parts[-many:])
    return short


def command_words(words: Sequence[str]) -> list[str]:
    """What was typed without folders, and without a cluster's address: it may hold a secret."""
    told: list[str] = []
    for word in words:
        if told and told[-1] == "--master":
            told.pop()
        elif not word.startswith("--master="):
            name, mark, rest = word.partition("=")
            split = mark and not _is_path(name)
            own = rest if split else word
            own = short_names([own]).get(own, own)
            told.append(f"{name}{mark}{own}" if split else own)
    return told


def _is_path(text: str) -> bool:
    return ("/" in text or os.sep in text) and "(" not in text.partition("/")[0]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for own in value.values() if isinstance(value, dict) else value:
            yield from _texts(own)


def _without_folders(value: Any, short: Mapping[str, str]) -> Any:
    """The same values with short names, where a text is a path or speaks of one."""
    if isinstance(value, str):
        if "/" in value or os.sep in value:
            for path in sorted((p for p in short if p in value), key=len, reverse=True):
                shape = rf"(?<![\w/.\-]){re.escape(path)}(?![\w/\-])"
                value = re.sub(shape, lambda _, own=short[path]: own, value)  # type: ignore[misc]
        return value
    if isinstance(value, dict):  # of a hundred systems a million values, most of them numbers
        return {
            key: own
            if type(own) in NUMBERS or (type(own) is str and "/" not in own and os.sep not in own)
            else _without_folders(own, short)
            for key, own in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_without_folders(own, short) for own in value]
    return value


def as_json(value: Mapping[str, Any]) -> str:
    """One document, a row a line; what has no value is null."""
    parts = [f" {json.dumps(key)}: {_rows(item)}" for key, item in value.items()]
    text = "{\n" + ",\n".join(parts) + "\n}"
    if text.isascii() and "\x7f" not in text:
        return text
    return CONTROLS.sub(lambda c: f"\\u{ord(c[0]):04x}", text)


def plain(value: Any) -> Any:
    """Values JSON can hold: not-a-number and infinity become null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _rows(value: Any) -> str:
    """JSON with one line for each row of a list of records."""
    if not (isinstance(value, list) and value):
        return _line(value)
    return "[\n  " + ",\n  ".join(map(_line, value)) + "\n ]"


def _line(value: Any) -> str:
    try:
        return ENCODER.encode(value)
    except ValueError:  # not a number
        return ENCODER.encode(plain(value))


def saved(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The document of a result: ``result.json``, or the folder that holds one."""
    file = Path(path)
    file = file / "result.json" if os.path.isdir(file) else file
    name, todo = brief(str(file)), "Name a folder that --out wrote, or a file of --format json."
    try:
        found = parse_document(read_document(file))
    except FileNotFoundError as error:
        raise InputError(f"There is no result {name}.", todo=todo) from error
    except OSError as error:
        raise InputError(
            f"{name} cannot be read.", found=f"The system says: {error.strerror}."
        ) from error
    except ValueError as error:
        raise InputError(
            f"{name} is not a result.", found=f"It is not JSON: {str(error)[:80]}.", todo=todo
        ) from error
    if isinstance(found, dict) and "provenance" in found and found.get("schema") != SCHEMA:
        source = found["provenance"]
        version = source.get("version", "unknown") if isinstance(source, dict) else "unknown"
        raise InputError(
            f"{name} has another shape.",
            found=f"Counterrank {version} made it, as schema {found.get('schema', 0)}.",
            todo=f"Make it anew with counterrank {__version__}, whose documents are schema 1.",
        )
    if wrong := fault(found):
        raise InputError(
            f"{name} is not a result.", found=f"{wrong[:1].upper()}{wrong[1:300]}.", todo=todo
        )
    return dict(found)


@contextmanager
def understood(what: str) -> Iterator[None]:
    """Refuse a document with a part that its schema leaves free and no verb writes so."""
    try:
        yield
    except Exception as error:
        kinds = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
        if isinstance(error, CounterrankError) or not isinstance(error, kinds):
            raise
        raise InputError(
            f"{what} is not a result that can be read.",
            found=f"A part of it is not as its verb writes it: {first_line(error)[:120]}.",
            todo="Make it anew.",
        ) from error
