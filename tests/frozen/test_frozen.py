"""The working code against documents, terminal text and messages written once (see write.py)."""

from __future__ import annotations

import json
from difflib import unified_diff
from pathlib import Path

import pytest

from frozen import faults, terminal, worlds
from frozen.cases import CASES, REDRAWN, Case
from frozen.compare import STORED, differences, document, stored

SHOWN = 12  # differences of one case


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frozen")
    worlds.write(folder)
    return folder


@pytest.fixture(autouse=True)
def _beside_the_tables(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tables)


@pytest.mark.parametrize("case", [*CASES, *REDRAWN], ids=lambda c: f"{c.verb}: {c.name}")
def test_document(case: Case):
    found = differences(stored(case), document(case, case.result()), case)
    assert not found, "\n".join([f"{case.verb}, {case.name}:", *found[:SHOWN]])


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
