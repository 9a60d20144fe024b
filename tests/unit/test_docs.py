"""Pages made from the code have all of it, and documents have the keys that the pages list."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import counterrank
from counterrank.cli.commands import COMMANDS
from counterrank.diagnostics.diagnostic import STATES
from counterrank.stats.compare import VERDICTS
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
    for page in ("index", "definitions/index", "decisions/index", "reproductions"):
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        folder = Path(page).parent
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
            entries = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed += [(folder / entry).as_posix() for entry in entries]
    pages = {p.relative_to(ROOT / "docs").with_suffix("").as_posix()
             for p in (ROOT / "docs").rglob("*.md")}  # fmt: skip
    assert sorted(listed) == sorted(pages - {"index"})


def test_every_public_name_is_in_the_reference():
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\.\. auto\w+:: (?:[\w.]+\.)?(\w+)$", page, re.MULTILINE))
    assert set(counterrank.__all__) - {"__version__"} <= told


def names_of_diagnostics():
    """Those that stand in the source, and those of all stored documents."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                called = getattr(node.func, "id", "")
                if called in ("Diagnostic", "advise"):
                    yield node.args[0].value
    for path in STORED:
        document = json.loads(path.read_text(encoding="utf-8"))
        yield from (d["name"] for d in document.get("diagnostics", ()) if "name" in d)


def test_every_diagnostic_and_state_is_in_the_glossary():
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    section = page.split("## What is looked at")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)
    every = [name for row in rows for name in row.split(", ")]
    told = set(every)
    assert not [name for name in told - {"name"} if every.count(name) > 1]
    names = set(names_of_diagnostics())
    assert len(names) > 50
    assert not sorted(names - told)
    assert all(f"`{state}`" in section for state in STATES)
    verdicts = [line for line in page.splitlines() if line.startswith("| verdict ")]
    assert len(verdicts) == 1
    assert all(verdict in verdicts[0] for verdict in VERDICTS)


def test_a_verdict_is_never_a_decision():
    """Test, keep, open and distrust are decisions, on every page and in what is printed."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "src").rglob("*.py")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(?i)verdict(:| is| says)? .?(test|keep|open|distrust)\b", text), page


def test_nothing_offline_says_ship():
    """Offline data speak for an A/B test, on every page and in what is printed."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "src").rglob("*.py")]
    for page in pages:
        assert not re.search(r"(?i)\bship(s|ped|ping)?\b", page.read_text(encoding="utf-8")), page


def test_docstrings_of_the_reference_have_no_bare_bars():
    """|x| is a substitution where the site is built, which fails if there is none."""
    for command in COMMANDS.values():
        told = re.sub(r"``[^`]*``", "", command.function.__doc__)
        assert not re.search(r"\|\w+\|", told), command.name
