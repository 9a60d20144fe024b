"""Pages that are made from the code while the site is built, so that they cannot be out of date.

``{commands}`` has every command and its help; ``{document-keys}`` every key of a result's document.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

WIDTH = 80
PARTS = {  # definitions of the schema, and where they stand
    "estimate": "estimates[]",
    "comparison": "comparisons[]",
    "diagnostic": "diagnostics[]",
    "provenance": "provenance",
}


def command_page() -> list[str]:
    """A section for each command: what it prints for ``--help``, and its examples."""
    from counterrank.cli.commands import COMMANDS, overview

    os.environ["COLUMNS"] = str(WIDTH)
    lines = ["## All commands", "", "```text", *overview().splitlines(), "```", ""]
    for name, command in COMMANDS.items():
        text, examples = help_text(command)
        lines += [f"## {name}", "", "```text", *text, "```", "", "```sh", *examples, "```", ""]
    return lines


def help_text(command: Any) -> tuple[list[str], list[str]]:
    """The help of a command, and its examples with long lines continued."""
    from counterrank.cli.command import parser

    text, _, examples = parser(command).format_help().partition("examples:\n")
    lines = [line.strip() for line in examples.splitlines()]
    return text.rstrip().splitlines(), [part for line in lines for part in continued(line)]


def continued(line: str) -> Iterator[str]:
    """A command in lines that fit, as a shell reads it."""
    while len(line) > WIDTH:
        cut = line.rindex(" ", 0, WIDTH - 1)
        yield f"{line[:cut]} \\"
        line = f"    {line[cut + 1 :]}"
    yield line


def document_page() -> list[str]:
    """One table of every key, by the part of the document in which it stands."""
    schema = json.loads(
        (files("counterrank.documents") / "document.schema.json").read_text(encoding="utf-8")
    )
    lines = ["| where | key | what it holds | what it says |", "|---|---|---|---|"]
    lines += key_rows("", schema)
    for part, place in PARTS.items():
        lines += key_rows(place, schema["$defs"][part])
    return lines


def key_rows(place: str, part: dict[str, Any]) -> Iterator[str]:
    """A row of the table for each key."""
    where = f"`{place}`" if place else "the document"
    for key, about in part["properties"].items():
        free = "" if key in part["required"] else " May be absent."
        yield f"| {where} | `{key}` | {kind(about)} | {about['description']}{free} |"


def kind(about: dict[str, Any]) -> str:
    """What a key holds, in words."""
    if "const" in about:
        return f"`{about['const']}`"
    if "enum" in about:
        return ", ".join(f"`{word}`" for word in about["enum"])
    if "$ref" in about:
        return "object"
    several = about["type"] if isinstance(about["type"], list) else [about["type"]]
    if several == ["array"]:
        inner = about["items"]
        return f"list of {inner['type']}s" if "type" in inner else "list of rows"
    return " or ".join(several)


class Generated(Directive):
    """Markdown that a function made, read as if it stood in the page."""

    lines: Any

    def run(self) -> list[nodes.Node]:
        """The nodes of the page."""
        made = type(self).lines()
        place = nodes.Element()
        self.state.nested_parse(StringList(made, "generated"), self.content_offset, place, True)
        return list(place.children)


class Commands(Generated):
    """Every command."""

    lines = staticmethod(command_page)


class DocumentKeys(Generated):
    """Every key of the document."""

    lines = staticmethod(document_page)


def setup(app: Any) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("commands", Commands)
    app.add_directive("document-keys", DocumentKeys)
    return {"parallel_read_safe": True}
