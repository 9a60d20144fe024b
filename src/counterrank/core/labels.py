"""Values that print as a label, and the grammar that reads labels back.

A label is ``name(option=value,...)@k``; what equals the default is left out. A value may itself be
a label: ``DCG(discount=geometric(p=0.9))@10``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from counterrank.core.errors import UsageError, nearest

TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?)|(?P<word>[A-Za-z_]\w*)|(?P<mark>[(),=@]))"
)


LONGEST = 1000


class Value:
    """A frozen dataclass whose ``str`` is its label and whose fields are its options."""

    name: ClassVar[str]

    def __str__(self) -> str:
        options, cut = [], ""
        own_first = sorted(fields(self), key=lambda field: bool(field.kw_only))  # type: ignore[arg-type]
        for field in own_first:
            value = getattr(self, field.name)
            if field.name == "k":
                cut = "" if value is None else f"@{value}"
            elif isinstance(value, tuple):
                options += [shown(v) for v in value]
            elif value != field.default:
                options.append(f"{field.name}={shown(value)}")
        return self.name + (f"({','.join(options)})" if options else "") + cut


def shown(value: object) -> str:
    """A value as a label writes it; whole numbers without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


@dataclass(frozen=True)
class Call:
    """A parsed label: name, options by name, options by place, cut-off."""

    name: str
    named: dict[str, Any]
    placed: tuple[Any, ...]
    k: int | None


def parse(label: str) -> Call:
    """Read a label, or say where it stops making sense."""
    if len(label) > LONGEST:
        raise UsageError(f'"{label[:40]}..." is no label: it has {len(label):,} characters.')
    tokens = _tokens(label)
    call, rest = _call(tokens, label)
    if rest:
        raise _nonsense(label, rest)
    return call


def _tokens(label: str) -> list[tuple[str, str, int]]:
    tokens, place = [], 0
    text = label.rstrip()
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise _nonsense(label, [("", text[place], place)])
        kind = match.lastgroup or ""
        tokens.append((kind, match.group(kind), match.start(kind)))
        place = match.end()
    return tokens


def _call(
    tokens: list[tuple[str, str, int]], label: str
) -> tuple[Call, list[tuple[str, str, int]]]:
    if not tokens or tokens[0][0] != "word":
        raise _nonsense(label, tokens)
    name, rest = tokens[0][1], tokens[1:]
    named: dict[str, Any] = {}
    placed: list[Any] = []
    if rest and rest[0][1] == "(":
        rest = rest[1:]
        while rest and rest[0][1] != ")":
            key = ""
            if len(rest) > 1 and rest[1][1] == "=":
                key, rest = rest[0][1], rest[2:]
                if key in named:
                    raise UsageError(f'"{label}" gives the option "{key}" twice.')
            value, rest = _value(rest, label)
            if key:
                named[key] = value
            else:
                placed.append(value)
            if rest and rest[0][1] == ",":
                rest = rest[1:]
            elif not rest or rest[0][1] != ")":
                raise _nonsense(label, rest)
        if not rest:
            raise _nonsense(label, rest)
        rest = rest[1:]
    k = None
    if rest and rest[0][1] == "@":
        if len(rest) < 2 or rest[1][0] != "number" or not rest[1][1].isdigit():
            raise UsageError(f'"{label}" needs a whole number after "@".', todo="Like nDCG@10.")
        k, rest = int(rest[1][1]), rest[2:]
    return Call(name, named, tuple(placed), k), rest


def _value(
    tokens: list[tuple[str, str, int]], label: str
) -> tuple[Any, list[tuple[str, str, int]]]:
    if tokens and tokens[0][0] == "number":
        text = tokens[0][1]
        return (int(text) if text.lstrip("+-").isdigit() else float(text)), tokens[1:]
    if len(tokens) > 1 and tokens[0][0] == "word" and tokens[1][1] in ("(", "@"):
        return _call(tokens, label)
    if tokens and tokens[0][0] == "word":
        return tokens[0][1], tokens[1:]
    raise _nonsense(label, tokens)


def known_name(
    word: str, known: Iterable[str], wrong: str, *, aliases: Mapping[str, str] | None = None
) -> str:
    """The known name a word stands for, whatever its case; otherwise a message that lists all."""
    by_lower = {name.lower(): (aliases or {}).get(name, name) for name in known}
    if word.lower() not in by_lower:
        raise UsageError(wrong, found=nearest(word, known), todo=f"There are: {', '.join(known)}.")
    return by_lower[word.lower()]


def options(
    call: Call, kind: type, *, inner: Callable[[object], object] | None = None
) -> dict[str, Any]:
    """Named options, each known to the class and of the right sort.

    ``inner`` reads an option whose default is itself a labelled value.
    """
    known = {field.name: field for field in fields(kind) if field.name != "k"}
    if call.placed:
        raise UsageError(
            f"{call.name}({call.placed[0]}) gives a value without its option.",
            todo=f"Options are: {', '.join(known)}. Write {call.name}(option=value).",
        )
    out = {}
    for name, value in call.named.items():
        if name not in known:
            raise UsageError(
                f'{call.name} has no option "{name}".',
                found=nearest(name, known),
                todo=f"Options are: {', '.join(known)}.",
            )
        default = known[name].default
        if inner is not None and isinstance(default, Value):
            value = inner(value)
        elif isinstance(default, (int, float)) != isinstance(value, (int, float)) and name != "top":
            sort = "a number" if isinstance(default, (int, float)) else "a word"
            raise UsageError(f"{call.name}({name}=...) takes {sort}.", found=f'Got "{value}".')
        out[name] = value
    return out


def _nonsense(label: str, rest: list[tuple[str, str, int]]) -> UsageError:
    where = f'at "{rest[0][1]}" (character {rest[0][2] + 1})' if rest else "at its end"
    return UsageError(
        f'"{label}" cannot be read as a label.',
        found=f"It stops making sense {where}.",
        todo="Write it like nDCG@10, AP(rel=4)@100 or DCG(discount=power(eta=1))@20.",
    )
