"""``repeat``: run a saved result again, and say what differs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from counterrank.api import verb as v
from counterrank.core.arguments import arguments
from counterrank.core.errors import InputError, UsageError
from counterrank.core.input_files import all_below
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
    result: Annotated[str | os.PathLike[str] | Result, "file"],
    *,
    data: v.File = ".",
    progress: v.Bar = quiet,
) -> Repetition:
    """Run a saved result again from its recorded options, and say what differs.

    Inputs are looked for in the folder ``data``, where they were or by their base names, of several
    that with the recorded checksum. Checksums and every number are held against the saved ones;
    only version and command may differ.
    """
    from counterrank.documents.changes import changes, comparable
    from counterrank.documents.document import understood

    old = v.document_of(result)
    kind, told = str(old["kind"]), old["provenance"].get("options")
    if told is None:
        raise UsageError("The result does not say how it was made.", todo="Make it anew.")
    module = kind.replace(" ", "_")
    function = getattr(import_module(f"counterrank.api.{module}"), module)
    known = v.recordable(function)
    with understood("The document"):
        before = comparable(old)
        sums = {(Path(row["name"]).name, row["sha256"]) for row in old["provenance"]["inputs"]}
        find = partial(_found, data=Path(data), sums=sums)
        given = {name: find(value, known[name].mark) for name, value in told.items()}
        rest = [list(value) for name, value in given.items() if known[name].place == "rest"]
    keywords = {name: value for name, value in given.items() if known[name].place != "rest"}
    if "progress" in arguments(function):
        keywords["progress"] = progress
    new: Result = function(*(rest[0] if rest else ()), **keywords)
    return Repetition(new, tuple(changes(before, comparable(new.to_dict()))))


def _found(value: Any, mark: str, data: Path, sums: Set[tuple[str, str | None]]) -> Any:
    """An option as it is passed: tables by base names in the folder, of several by checksums."""
    if value == v.IN_MEMORY:
        raise UsageError(
            "A table or a model of this result was in memory, so it cannot be had again.",
            todo="Repeat results that were made from files and labels.",
        )
    if mark not in ("table", "lists") or value is None:
        return value
    if isinstance(value, Mapping):
        return {name: _found(path, mark, data, sums) for name, path in value.items()}
    if isinstance(value, list):
        pairs = [one if isinstance(one, list) else [None, one] for one in value]  # name and path
        found = [(name, _found(path, mark, data, sums)) for name, path in pairs]
        return [path if name is None else (name, path) for name, path in found]
    own, name = Path(value), Path(value).name
    inside = [] if own.is_absolute() or ".." in own.parts else [data / own]
    places = [] if name in ("", "..") else [*inside, data / name]
    here = next((place for place in places if os.path.exists(place)), None)
    if here is None and not _is_word(value):
        same = list(all_below(data, name))
        as_recorded = (p for p in same if len(same) > 1 and (name, _checksum(p)) in sums)
        here = next(as_recorded, same[0] if same else None)
    if here is None and not _is_word(value):
        raise InputError(
            f'There is no "{name}" in "{data}".', todo="Name the folder of the inputs: --data."
        )
    return value if here is None else str(here)


def _checksum(path: Path) -> str | None:
    from counterrank.data.sources.source import open_source

    try:
        return open_source(path, trec=()).sha256()
    except InputError:
        return None


def _is_word(value: str) -> bool:
    """Whether an option that takes a table was given a word, as ``popularity``."""
    return os.sep not in value and not Path(value).suffix
