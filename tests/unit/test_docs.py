"""Pages made from the code have all of it, and documents have the keys that the pages list."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from counterrank.cli.commands import COMMANDS
from counterrank.version import __version__

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "src" / "counterrank" / "documents" / "document.schema.json"
FROZEN = ROOT / "tests" / "frozen" / "stored"
# Spark's are held to Spark by tests/parity, and are written there.
STORED = [path for path in sorted(FROZEN.glob("*/*.json")) if path.parent.name != "spark"]


@pytest.fixture
def generated(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    monkeypatch.setenv("COLUMNS", "80")
    return pytest.importorskip("generated")


def test_every_command_has_its_section_and_fits(generated):
    lines = generated.command_page()
    assert [line[3:] for line in lines if line.startswith("## ")] == ["All commands", *COMMANDS]
    examples = [line for c in COMMANDS.values() for line in generated.help_text(c)[1]]
    assert max(map(len, examples)) <= 80
    text = "\n".join(lines)
    for command in COMMANDS.values():
        for argument in command.arguments.values():
            if not argument.place:
                assert f"--{argument.name.replace('_', '-')}" in text


def test_every_key_is_in_the_table(generated):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    parts = [schema, *schema["$defs"].values()]
    keys = [key for part in parts for key in part["properties"]]
    rows = [line for line in generated.document_page() if line.startswith(("| the", "| `"))]
    assert [row.split(" | ")[1].strip("`") for row in rows] == keys


def test_documents_of_every_verb_fit_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    check = jsonschema.Draft202012Validator(schema)
    kinds = set()
    for path in STORED:
        document = json.loads(path.read_text(encoding="utf-8"))
        if "kind" in document:  # others say only how they differ
            document["provenance"]["version"] = __version__  # not stored
            wrong = [f"{path.name}: {e.json_path} {e.message}" for e in check.iter_errors(document)]
            assert not wrong
            kinds.add(document["kind"])
    assert kinds == set(schema["properties"]["kind"]["enum"])


def test_pages_are_listed_once():
    """Guides, definitions and decisions stand in the order of the reader's way, each once."""
    listed = []
    for page in ("index", "definitions/index", "decisions/index"):
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        folder = Path(page).parent
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
            entries = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed += [(folder / entry).as_posix() for entry in entries]
    pages = {p.relative_to(ROOT / "docs").with_suffix("").as_posix()
             for p in (ROOT / "docs").rglob("*.md")}  # fmt: skip
    assert sorted(listed) == sorted(pages - {"index"})
