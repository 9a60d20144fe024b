"""Commands, made from the signatures of their functions.

A command's flags are its function's keywords; defaults and words stand in the signature, the first
line of its help is the docstring's, and `counterrank.cli.help` has a line for each option. So a
flag cannot drift from its keyword: it is nowhere written down.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NoReturn

from counterrank.cli import help as texts
from counterrank.core.arguments import REQUIRED, Argument, arguments
from counterrank.core.errors import UsageError, nearest, unknown
from counterrank.core.input_files import read_document

FORMATS = ("table", "json", "csv")


@dataclass(frozen=True)
class Command:
    """A function by its address, and what is done with what it returns.

    ``output`` are the flags that say where a result goes; ``show`` prints what is no result, and
    gives the exit code. Functions that print by themselves have neither.
    """

    name: str
    home: str
    output: tuple[str, ...] = ()
    show: str = ""

    @property
    def function(self) -> Callable[..., Any]:
        """The function, which is loaded only now."""
        module, _, name = self.home.partition(":")
        found: Callable[..., Any] = getattr(import_module(f"counterrank.{module}"), name)
        return found

    @property
    def arguments(self) -> dict[str, Argument]:
        """What can be said on the command line."""
        return {n: a for n, a in arguments(self.function).items() if a.mark != "python"}

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return " ".join((self.function.__doc__ or "").split("\n\n")[0].split())


PAIRS = {
    "roles": "Write ROLE=NAME, as in user=uid,item=sku.",
    "shares": "Write NAME=SHARE, as in near=0.5 or near=50%.",
}


class Parser(argparse.ArgumentParser):
    """A parser that refuses like everything else here: what was wrong, and what to do."""

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The words by their names; an unknown flag is told before what is missing."""
        flags = [flag for action in self._actions for flag in action.option_strings]
        for word in (text.partition("=")[0] for text in words):
            if word.startswith("--") and word not in (*flags, "--"):
                raise UsageError(
                    f'{self.prog} has no option "{word}".',
                    found=nearest(word, flags),
                    todo=f"{self.prog} --help lists them.",
                )
        return self.parse_intermixed_args(words)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", todo=f"See {self.prog} --help.")


def parser(command: Command, *, complete: bool = True) -> Parser:
    """The parser of one command; not ``complete``, a file says the rest."""
    wide = min(shutil.get_terminal_size().columns, 100)
    examples = "".join(
        "\n  " + " \\\n      ".join(_wrap(f"counterrank {line}", wide - 4))
        for line in texts.EXAMPLES[command.name]
    )
    places = [a for a in command.arguments.values() if a.place]
    words = [_text(command.name, a.name)[1] + "..." * (a.mark == "lists") for a in places]
    made = Parser(
        f"counterrank {command.name}",
        usage=" ".join([f"counterrank {command.name}", *words, "[options]"]),
        description=textwrap.fill(command.summary, wide),
        epilog=f"examples:{examples}",
        formatter_class=_Help,
        allow_abbrev=False,
        add_help=False,
    )
    groups = {name: made.add_argument_group(name) for name in texts.GROUPS}
    for argument in command.arguments.values():
        _add(groups, command.name, argument, complete)
    for name in command.output:
        _add_output(groups, command.name, name)
    if command.output:
        for name in ("config", "dry_run"):
            _add_output(groups, command.name, name)
    groups[texts.OUTPUT].add_argument("-h", "--help", action="help", help="Show this and exit.")
    return made


def _wrap(line: str, wide: int) -> list[str]:
    """A command on lines that do not part a flag from its value."""
    whole = re.sub(r"(?<= )(--?[\w-]+) (?=[^-])", "\\1\0", line)
    parts = textwrap.wrap(whole, wide, break_on_hyphens=False)
    return [part.replace("\0", " ") for part in parts]


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        wide = min(shutil.get_terminal_size().columns, 100)
        super().__init__(prog, max_help_position=26, width=wide)


def _text(verb: str, name: str) -> tuple[str, str, str]:
    return texts.HELP.get(f"{verb}.{name}") or texts.HELP[name]


def flag(name: str) -> str:
    """The flag of a keyword."""
    return f"--{name.replace('_', '-')}"


def _add(groups: dict[str, Any], verb: str, a: Argument, complete: bool) -> None:
    """One argument of the function, as its annotation says."""
    group, metavar, text = _text(verb, a.name)
    if a.place and a.name != "columns":
        several = a.place == "rest" or a.mark == "lists" or a.several
        needed = complete and a.default is REQUIRED
        many = ("+" if needed else "*") if several else (None if needed else "?")
        groups[group].add_argument(a.name, nargs=many, metavar=metavar, help=text)
        return
    names = [texts.SHORT[a.name]] if a.name in texts.SHORT else []
    if isinstance(a.default, bool):
        groups[group].add_argument(flag(a.name), action="store_true", help=text)
        return
    metavar = metavar or "|".join(a.words) or {int: "N", float: "X"}.get(a.kind, "WORD")
    default = a.default
    if default not in (None, (), "", REQUIRED) and "[default" not in text:
        shown = ", ".join(map(str, default)) if isinstance(default, tuple) else default
        text += f" [default: {shown}]"
    groups[group].add_argument(
        *names,
        flag(a.name),
        action="append" if repeats(a) else "store",
        metavar=metavar,
        help=text.replace("%", "%%"),
    )


def _add_output(groups: dict[str, Any], verb: str, name: str) -> None:
    group, metavar, text = _text(verb, name)
    if name in ("strict", "quiet", "dry_run"):
        groups[group].add_argument(flag(name), action="store_true", help=text)
    elif name == "format":
        words = "|".join(FORMATS)
        text += " [default: table]"
        groups[group].add_argument(flag(name), metavar=words, help=text)
    else:
        groups[group].add_argument(flag(name), metavar=metavar, help=text)


def repeats(a: Argument) -> bool:
    """Whether a flag may be given more than once."""
    return a.several or a.mark in ("lists", "roles", "shares")


def values(command: Command, given: argparse.Namespace) -> dict[str, Any]:
    """What the words stand for, by keyword; what was not said is left to the function."""
    told = {name: getattr(given, name) for name in command.arguments}
    return {
        name: convert(command.arguments[name], text)
        for name, text in told.items()
        if text is not None and text != []
    }


def convert(a: Argument, text: Any) -> Any:
    """The value of an argument from its text, or from several."""
    if isinstance(text, bool):
        return text
    if a.mark == "lists":
        return named_tables(text)
    if a.mark in ("roles", "shares"):
        pairs = dict(_pair(a, part) for part in labels(text))
        return pairs if a.mark == "roles" else {k: _number(a, v) for k, v in pairs.items()}
    if a.mark == "texts":
        return text
    if a.several and not a.place:
        return [_one(a, part) for part in labels(text)]
    return [_one(a, one) for one in text] if isinstance(text, list) else _one(a, text)


def _one(a: Argument, text: str) -> Any:
    return _number(a, text) if a.kind in (int, float) else text


def _number(a: Argument, text: str) -> int | float:
    try:
        if a.kind is not int and text.endswith("%"):
            return float(text[:-1]) / 100
        return int(text) if a.kind is int else float(text)
    except ValueError:
        sort = "a whole number" if a.kind is int else "a number"
        shown = text if len(text) <= 60 else f"{text[:40]}..."
        raise UsageError(
            f'{flag(a.name)} must be {sort}, not "{shown}".', todo=f"Like {flag(a.name)} 10."
        ) from None


def labels(given: Iterable[str]) -> list[str]:
    """Labels, also several in one word: commas within parentheses belong to a label."""
    parts: list[str] = []
    for text in given:
        depth, begin = 0, 0
        for place, sign in enumerate(f"{text},"):
            depth += (sign == "(") - (sign == ")" and depth > 0)
            if sign == "," and (not depth or place == len(text)):
                parts.append(text[begin:place].strip())
                begin = place + 1
    return [part for part in parts if part]


def named_tables(given: Iterable[str]) -> list[tuple[str, str]]:
    """``name=path`` or ``path`` as names (empty: from the file) and paths."""
    pairs = []
    for text in given:
        name, mark, path = text.partition("=")
        named = mark and path and not os.path.exists(text) and os.sep not in name
        pairs.append((name, path) if named else ("", text))
    return pairs


def _pair(a: Argument, text: str) -> tuple[str, str]:
    key, mark, value = text.rpartition("=") if a.mark == "shares" else text.partition("=")
    if not (mark and key.strip() and value.strip()):
        raise UsageError(f'{flag(a.name)} cannot read "{text}".', todo=PAIRS[a.mark])
    return key.strip(), value.strip()


def read_options(command: Command, given: argparse.Namespace) -> dict[str, Any]:
    """What the file of ``--config`` says, by keyword; output flags that were not given are set."""
    try:
        found = tomllib.loads(read_document(given.config))
    except OSError as error:
        raise UsageError(f'"{given.config}" cannot be read.', found=f"{error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f'"{given.config}" is not TOML.', found=f"{error}.") from error
    known = [*command.arguments, *command.output]
    told = {name.replace("-", "_"): value for name, value in found.items()}  # flags have hyphens
    for name, value in told.items():
        if name not in known:
            wrong = f'"{given.config}" has the option "{name}", which {command.name} does not know.'
            raise unknown(wrong, name, known, "It takes")
        mark = command.arguments[name].mark if name in command.arguments else name
        if not isinstance(value, SORTS.get(mark, object)) or not _texts(mark, value):
            raise UsageError(f'"{given.config}": {name} cannot be {value!r}.', todo=TODO[mark])
        if name in command.output:
            setattr(given, name, getattr(given, name) or value)
    known_here = {name: value for name, value in told.items() if name in command.arguments}
    return {name: _from_file(command.arguments[name], value) for name, value in known_here.items()}


SORTS: dict[str, Any] = {
    "table": str, "lists": (str, list, dict), "roles": dict, "folder": str, "out": str,
    "by_unit": str, "picture": str, "format": str, "strict": bool, "quiet": bool,
}  # fmt: skip
TODO = {
    **dict.fromkeys(("table", "folder", "out", "by_unit", "picture"), "Write a path in quotes."),
    "lists": 'Write paths, ["a.parquet"], or names and paths, {new = "a.parquet"}.',
    "roles": 'Write roles and names, {user = "uid"}.',
    "format": f"It takes one of: {', '.join(FORMATS)}.",
    **dict.fromkeys(("strict", "quiet"), "Write true or false."),
}


def _texts(mark: str, value: Any) -> bool:
    """Whether what holds several texts holds nothing else."""
    if mark not in ("lists", "roles") or isinstance(value, str):
        return True
    return all(isinstance(x, str) for x in (value.values() if isinstance(value, dict) else value))


def _from_file(a: Argument, value: Any) -> Any:
    """As the command line has it: several labels in one text, pairs of a name and a path."""
    if a.several and not a.place and isinstance(value, str) and a.mark != "texts":
        return labels([value])
    if a.mark != "lists" or not isinstance(value, (dict, list, str)):
        return value
    if isinstance(value, dict):
        return list(value.items())
    return named_tables([value] if isinstance(value, str) else value)


def call(command: Command, asked: dict[str, Any]) -> Any:
    """The function, called with what is told by place and what by name."""
    places = [a for a in command.arguments.values() if a.place]
    left = dict(asked)
    by_place = [left.pop(a.name) for a in places if a.place == "one" and a.name in left]
    more = next((left.pop(a.name) for a in places if a.place == "rest" and a.name in left), ())
    return command.function(*by_place, *more, **left)
