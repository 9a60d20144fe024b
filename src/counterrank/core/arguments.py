"""What a function takes, read off its signature: kinds, words and bounds stand there alone.

The type checker, the check of a call, the command line, its help and files of options all read the
same annotations: ``Literal`` lists words, ``Annotated[int, Between(1)]`` bounds a number, a
``Sequence`` among the kinds means that one or several are taken, and the marks below say what a
text on the command line stands for.
"""

from __future__ import annotations

import builtins
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from counterrank.core.errors import UsageError, brief, unknown

REQUIRED = inspect.Parameter.empty
MARKS = ("table", "lists", "roles", "shares", "folder", "file", "python", "texts")
"""What a mark says of an argument: ``table`` is a path or a table, ``lists`` are NAME=PATH,
``roles`` ROLE=NAME, ``shares`` NAME=NUMBER, ``folder`` where files are kept, ``file`` what else has
a path, ``texts`` are whole, commas and all; ``python`` has no flag."""
PLACES = ("folder", "file")
NEAR = 1e-9  # so far below a bound that is open itself: half a tail is a number, still


@dataclass(frozen=True)
class Between:
    """Bounds of a number; those that are ``open`` (low, high, both) are not allowed themselves."""

    low: float
    high: float = float("inf")
    open: str = ""

    def __contains__(self, x: float) -> bool:
        above = self.low < x if self.open in ("low", "both") else self.low <= x
        open_end = self.open in ("high", "both")
        return above and (self.high > x <= self.high - NEAR if open_end else x <= self.high)

    def __str__(self) -> str:
        if self.low == -float("inf"):
            return "be finite"
        if self.high == float("inf"):
            return f"be {'more than' if self.open in ('low', 'both') else 'at least'} {self.low:g}"
        return f"lie between {self.low:g} and {self.high:.10g}"


@dataclass(frozen=True)
class Argument:
    """One parameter: its ``kind`` (int, float, str or object), ``words``, ``bounds``, ``mark``.

    ``several`` takes one or more; ``optional`` takes None; ``place`` is ``one`` or ``rest`` for
    what is told by its place, and empty for keywords.
    """

    name: str
    kind: type
    words: tuple[str, ...]
    bounds: Between | None
    mark: str
    several: bool
    optional: bool
    place: str
    default: Any

    def check(self, value: Any, told: str = "") -> None:
        """Refuse what the annotation does not allow; ``told`` is what messages call it."""
        if value is None and (self.optional or self.default is None):
            return
        name, several = told or self.name, self.several and isinstance(value, (list, tuple))
        if value is None and self.mark in ("table", "lists"):
            raise UsageError(f"{name} is None.", todo="Give a path or a table.")
        if self.mark == "roles" and not _named(value):
            raise UsageError(
                f"{name} must map roles to names of columns, not {brief(value)}.",
                todo='Write it like {"user": "uid"}.',
            )
        if self.mark in PLACES and isinstance(value, str) and not value.strip():
            raise UsageError(
                f"{name} is empty.",
                found="A variable of the command may have no value.",
                todo="Name a file or a folder; . is the one where you are.",
            )
        if self.mark == "folder" and not isinstance(value, (str, os.PathLike)):
            raise self._refusal(f"{name} must be a folder", value, "Name one, or leave it out.")
        if self.mark == "python" and callable(self.default) > callable(value):
            raise self._refusal(f"{name} must be a function", value, "Leave it out for none.")
        if several and not value and self.bounds is not None:
            raise self._refusal(f"{name} must have at least one number", value)
        for one in value if several else (value,):
            if self.words and isinstance(one, str):
                one_of(name, one, self.words)
            elif self.kind in SORTS:
                whole, sort = SORTS[self.kind]
                yes_no = isinstance(one, bool) != (self.kind is bool)
                if yes_no or not isinstance(one, whole) or not self._finite(one):
                    raise self._refusal(f"{name} must be {sort}", one)
            if self.bounds is not None and one not in self.bounds:
                share = self.bounds.high == 1 < one <= 100
                todo = f"Write {one / 100:g}." if share else ""
                raise self._refusal(f"{name} must {self.bounds}", one, todo)

    def _finite(self, one: Any) -> bool:
        """Whether it is a number that a float can hold; infinity is one."""
        whole = isinstance(one, Integral) and abs(int(one)) > sys.float_info.max
        return self.kind is not float or not (whole or (one != one and self.bounds is None))

    def _refusal(self, wrong: str, value: Any, todo: str = "") -> UsageError:
        """What was wrong, what was found, what to write instead."""
        like = self.default[0] if self.several and self.default else self.default
        if like in (None, "", (), REQUIRED):
            lowest = self.bounds is not None and self.bounds.low in self.bounds
            usual = {str: "name", int: 10}.get(self.kind, 0.5)
            like = self.bounds.low if self.bounds is not None and lowest else usual
        words = f"It takes one of: {', '.join(self.words)}." if self.words else ""
        small = (
            isinstance(value, (int, float)) and not isinstance(value, bool) and -1e15 < value < 1e15
        )
        found = f"{value:.12g}" if small else brief(value)
        todo = todo or words or f"Write it like {self.name}={like!r}."
        return UsageError(f"{wrong}, not {found}.", todo=todo)


def _named(value: Any) -> bool:
    """Whether it has names of columns by role."""
    texts = [text for pair in value.items() for text in pair] if isinstance(value, Mapping) else [0]
    return all(isinstance(text, str) for text in texts)


SORTS: dict[type, tuple[type, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "text"),
    bool: (bool, "True or False"),
}


COMMON = {"Literal": Literal, "Mapping": Mapping, "Sequence": Sequence, "os": os}


def _hints(of: Any, scope: Mapping[str, Any]) -> dict[str, Any]:
    """Names that only the type checker imports are any object here: nothing heavy is loaded.

    Python 3.14 copies the names it is given, so a dictionary with an answer for all will not do.
    """
    names = {**vars(builtins), **COMMON, **scope}
    while True:
        try:
            return get_type_hints(of, localns=names, include_extras=True)
        except NameError as unknown:
            if not unknown.name:
                raise
            names[unknown.name] = object


@cache
def arguments(function: Callable[..., Any]) -> dict[str, Argument]:
    """The parameters of a function by name, or the fields of a dataclass.

    Those of an unpacked dictionary are its own.
    """
    plain = inspect.unwrap(function)
    hints, found = _hints(plain, vars(sys.modules.get(plain.__module__, builtins))), {}
    for name, parameter in inspect.signature(plain).parameters.items():
        hint = hints.get(name, object)
        if parameter.kind is parameter.VAR_KEYWORD:
            fields = get_args(hint)[0] if get_origin(hint) is Unpack else hint
            assert is_typeddict(fields)
            home = vars(inspect.getmodule(fields))
            for key, kind in _hints(fields, home).items():
                found[key] = _argument(key, kind, "", None)
        else:
            several = parameter.kind is parameter.VAR_POSITIONAL
            places: dict[Any, str] = {
                parameter.POSITIONAL_OR_KEYWORD: "one",
                parameter.VAR_POSITIONAL: "rest",
            }
            default = REQUIRED if several else parameter.default
            found[name] = _argument(name, hint, places.get(parameter.kind, ""), default)
    return found


def _argument(name: str, hint: Any, place: str, default: Any) -> Argument:
    """An argument of a type: looks through ``Annotated`` and unions."""
    bounds, mark, words = None, "", []
    kinds: list[Any] = []
    todo = [hint]
    while todo:
        kind = todo.pop(0)
        if get_origin(kind) is Annotated:
            kind, *marks = get_args(kind)
            bounds = next((m for m in marks if isinstance(m, Between)), bounds)
            mark = next((m for m in marks if m in MARKS), mark)
            todo.insert(0, kind)
        elif get_origin(kind) in (Union, UnionType):
            todo = [*get_args(kind), *todo]
        elif get_origin(kind) is Sequence or kind is Sequence:
            kinds.append(Sequence)
            todo = [*get_args(kind), *todo]
        elif get_origin(kind) is Literal:
            words += [word for word in get_args(kind) if word not in words]
            kinds.append(str)
        else:
            kinds.append(kind)
    simple = {kind for kind in kinds if kind not in (NoneType, Sequence)}
    kind = simple.pop() if len(simple) == 1 else object
    kind = kind if kind in SORTS else object
    return Argument(
        name, kind, tuple(words), bounds, mark, Sequence in kinds, NoneType in kinds, place, default
    )


def check_fields(value: Any, name: str = "") -> None:
    """Refuse a dataclass whose fields have what their annotations do not allow.

    ``name`` is that of a value which prints as a label: its options are told as AP(over=...).
    """
    for option, argument in arguments(value.__class__).items():
        argument.check(getattr(value, option), f"{name}({option}=...)" if name else option)


def check_call(
    function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """What is passed, by name; refused where a name, a word, a kind or a bound is wrong."""
    known = arguments(function)
    for name in kwargs:
        if name not in known:
            wrong = f'{function.__name__} has no argument "{name}".'
            raise unknown(wrong, name, known, "It takes")
    passed: dict[str, Any] = {}
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        places = [name for name, a in known.items() if a.place]
        raise UsageError(
            f"{function.__name__} was called with too few or too many arguments.",
            found=f"{str(error).capitalize()}.",
            todo=f"Tables come first: {', '.join(places)}; all else by its name.",
        ) from None
    for name, value in bound.arguments.items():
        passed |= {name: value} if name in known else value
    for name, value in passed.items():
        if not is_text(value):
            raise UsageError(
                f"{name} is not UTF-8 text.", found=brief(value), todo="Give it another name."
            )
        several = value if known[name].place == "rest" else (value,)
        for one in several:
            known[name].check(one)
    return passed


def plain_number(value: Any) -> Any:
    """Numbers of NumPy and others as Python's own, which a document can say."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain_number, value)) if type(value) in (list, tuple) else value
    own = (int, float) if isinstance(value, Real) else object
    return (
        value if isinstance(value, own) else (int if isinstance(value, Integral) else float)(value)
    )


def is_text(value: object) -> bool:
    """Whether all text in a value can be written down; bytes of a name that are no UTF-8 cannot."""
    if isinstance(value, (str, os.PathLike)):
        return not any("\ud800" <= c <= "\udfff" for c in str(value))
    if isinstance(value, Mapping):
        return all(is_text(key) and is_text(one) for key, one in value.items())
    return not isinstance(value, (list, tuple)) or all(map(is_text, value))


def one_of(option: str, given: str, allowed: Iterable[str]) -> str:
    """``given`` if it is allowed; otherwise a message that lists what is."""
    words = list(allowed)
    if given not in words:
        raise unknown(f'{option} cannot be "{given}".', given, words, "It takes one of")
    return given
