"""The working code against documents, terminal text and messages written once (see write.py)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import counterrank as cr
from frozen import faults, terminal, worlds
from frozen.cases import CASES, REDRAWN, Case
from frozen.compare import STORED, differences, document, stored

SHOWN = 12  # differences of one case
DOCUMENTS = Path(cr.__file__).parent / "documents"
SCHEMA = json.loads((DOCUMENTS / "document.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frozen")
    worlds.write(folder)
    return folder


@pytest.fixture(scope="module", params=[*CASES, *REDRAWN], ids=lambda c: f"{c.verb}: {c.name}")
def made(request: pytest.FixtureRequest, tables: Path) -> Iterator[tuple[Case, Any]]:
    """A case and its result, which is computed once for all that is asked of it."""
    before = Path.cwd()
    os.chdir(tables)
    try:
        yield request.param, request.param.result()
    finally:
        os.chdir(before)


@pytest.fixture(autouse=True)
def _beside_the_tables(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tables)


def test_document(made: tuple[Case, Any]):
    case, result = made
    found = differences(stored(case), document(case, result), case)
    assert not found, "\n".join([f"{case.verb}, {case.name}:", *found[:SHOWN]])


def test_every_document_is_of_the_schema(made: tuple[Case, Any]):
    _, result = made
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(result.to_json()))


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_terminal():
    wrong = []
    for name, now in terminal.printed().items():
        text = (STORED / "terminal" / f"{name}.txt").read_text(encoding="utf-8")
        as_read = terminal.words if name in terminal.REDRAWN else terminal.rounded
        lines = list(unified_diff(as_read(text), as_read(now), "frozen", "now", lineterm="", n=0))
        wrong += [f"{name}:", *lines[:SHOWN]] if lines else []
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("group", faults.GROUPS)
def test_messages(group: str):
    told = json.loads((STORED / "messages" / f"{group}.json").read_text(encoding="utf-8"))
    found = differences(told, faults.refused(group))
    assert not found, "\n".join([f"messages of {group}:", *found[:SHOWN]])


def test_names_are_apart():
    every = [(case.verb, case.name) for case in [*CASES, *REDRAWN]]
    assert len(set(every)) == len(every)
