"""``repeat``: run a saved result again, and say what differs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from counterrank.api import verb as v
from counterrank.core.arguments import arguments
from counterrank.core.errors import InputError, UsageError
from counterrank.core.parallel import quiet

if TYPE_CHECKING:
    from counterrank.results.result import Result


@dataclass(frozen=True)
class Repetition:
    """The new result, and what differs from the old one: where, what it was, what it is."""

    result: Result
    differences: tuple[tuple[str, Any, Any], ...]

    @property
    def same(self) -> bool:
        """Whether inputs and numbers are what they were."""
        return not self.differences


@v.verb
def repeat(
    result: Annotated[str | os.PathLike[str] | Result, ""],
    *,
    data: str = ".",
    progress: v.Bar = quiet,
) -> Repetition:
    """Run a saved result again from its recorded options, and say what differs.

    Inputs are looked for in the folder ``data``, where they were or by their base names. Their
    checksums and every number are held against the saved ones; only version and command may differ.
    """
    old = v.document_of(result)
    kind, told = str(old["kind"]), old["provenance"].get("options")
    if told is None:
        raise UsageError("The result does not say how it was made.", todo="Make it anew.")
    module = kind.replace(" ", "_")
    function = getattr(import_module(f"counterrank.api.{module}"), module)
    known = arguments(function)
    given = {name: _found(value, known[name].mark, Path(data)) for name, value in told.items()}
    rest = [value for name, value in given.items() if known[name].place == "rest"]
    keywords = {name: value for name, value in given.items() if known[name].place != "rest"}
    if "progress" in known:
        keywords["progress"] = progress
    new: Result = function(*(rest[0] if rest else ()), **keywords)
    return Repetition(new, tuple(_differences("", _told(old), _told(new.to_dict()))))


def _found(value: Any, mark: str, data: Path) -> Any:
    """An option as it is passed: tables by their base names in the folder."""
    if value == v.IN_MEMORY:
        raise UsageError(
            "A table or a model of this result was in memory, so it cannot be had again.",
            todo="Repeat results that were made from files and labels.",
        )
    if mark not in ("table", "lists") or value is None:
        return value
    if isinstance(value, Mapping):
        return {name: _found(path, mark, data) for name, path in value.items()}
    if isinstance(value, list):
        return [_named(entry, mark, data) for entry in value]
    name = Path(value).name
    places = [data / value, data / name, *(sorted(data.rglob(name)) if not _is_word(value) else ())]
    here = next((place for place in places if place.exists()), None)
    if here is None and not _is_word(value):
        raise InputError(
            f'There is no "{name}" in "{data}".', todo="Name the folder of the inputs: --data."
        )
    return value if here is None else str(here)


def _named(entry: Any, mark: str, data: Path) -> Any:
    if isinstance(entry, list):  # a name and a path
        return (entry[0], _found(entry[1], mark, data))
    return _found(entry, mark, data)


def _is_word(value: str) -> bool:
    """Whether an option that takes a table was given a word, as ``popularity``."""
    return os.sep not in value and not Path(value).suffix


def _told(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a repetition must say again: all but the version, the command and where files lay."""
    import json

    from counterrank.documents.document import as_json

    found: dict[str, Any] = json.loads(as_json(document))
    inputs = found.pop("provenance")["inputs"]
    for row in found["tables"].get("tables", []):  # what check says of each table
        row["table"] = Path(row["table"]).name
    return {"inputs": [i | {"name": Path(i["name"]).name} for i in inputs], **found}


def _differences(place: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from _differences(f"{place}.{key}".lstrip("."), old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for n, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{place}[{n}]", a, b)
    elif old != new:
        yield place, old, new
