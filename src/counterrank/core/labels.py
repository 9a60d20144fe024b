"""Values that print as a label, the grammar that reads labels back, and who is known by a name.

A label is ``name(option=value,...)@k``; what equals the default is left out. A value may itself be
a label: ``DCG(discount=geometric(p=0.9))@10``. A `Registry` has the classes of one kind, ours and
those that users `register` or have installed under the entry-point group ``counterrank``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import entry_points
from typing import Any, ClassVar, Generic, TypeVar

from counterrank.core.errors import CounterrankError, UsageError, brief, first_line, nearest

TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?)|(?P<word>[A-Za-z_]\w*)|(?P<mark>[(),=@]))"
)


LONGEST = 1000
DEEPEST = 2**31 - 1
EXACT = 2**53  # whole numbers below are floats, too


class Value:
    """A frozen dataclass whose ``str`` is its label and whose fields are its options.

    Its name is that of the class, where it says no other.
    """

    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = cls.__name__

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
        k, rest = _number(rest[1][1], label), rest[2:]
        if k > DEEPEST:
            raise UsageError(
                f'"{label}" cuts below any list.', todo=f"A cut-off is at most {DEEPEST:,}."
            )
    return Call(name, named, tuple(placed), k), rest


def _value(
    tokens: list[tuple[str, str, int]], label: str
) -> tuple[Any, list[tuple[str, str, int]]]:
    if tokens and tokens[0][0] == "number":
        return _number(tokens[0][1], label), tokens[1:]
    if len(tokens) > 1 and tokens[0][0] == "word" and tokens[1][1] in ("(", "@"):
        return _call(tokens, label)
    if tokens and tokens[0][0] == "word":
        return tokens[0][1], tokens[1:]
    raise _nonsense(label, tokens)


def _number(text: str, label: str) -> Any:
    """A whole number where it is exact, otherwise a float; one beyond all floats is refused."""
    value = float(text)
    if math.isinf(value):
        raise UsageError(
            f"{brief(label)} has a number that is too large.", todo="Write inf for no bound."
        )
    return int(text) if text.lstrip("+-").isdigit() and abs(value) < EXACT else value


def options(call: Call, kind: type) -> dict[str, Any]:
    """The options of a label, each known to the class and of the right sort.

    Values without a name are for the option that takes several numbers, if there is one.
    """
    known = {field.name: field for field in fields(kind) if field.name != "k"}
    several = next((name for name, f in known.items() if isinstance(f.default, tuple)), "")
    if call.placed and not several:
        raise UsageError(
            f"{call.name}({call.placed[0]}) gives a value without its option.",
            todo=f"Options are: {', '.join(known)}. Write {call.name}(option=value).",
        )
    if several in call.named or not all(isinstance(x, (int, float)) for x in call.placed):
        raise UsageError(f"{call.name}(...) takes numbers, as in {call.name}(1,0.6,0.4).")
    out: dict[str, Any] = {several: tuple(map(float, call.placed))} if call.placed else {}
    for name, value in call.named.items():
        if name not in known:
            raise UsageError(
                f'{call.name} has no option "{name}".',
                found=nearest(name, known),
                todo=f"Options are: {', '.join(known)}." if known else "It has none.",
            )
        default = known[name].default
        number = isinstance(default, (int, float))
        if isinstance(default, Value):
            value = next(r for r in Registry.every if r.takes(type(default)))(value)
        elif number and value == "inf":
            value = float("inf")
        elif number != isinstance(value, (int, float)) and name != "top":
            sort = "a number" if number else "a word"
            raise UsageError(f"{call.name}({name}=...) takes {sort}.", found=f'Got "{value}".')
        out[name] = value
    return out


# classes by name

T = TypeVar("T")
K = TypeVar("K", bound=type)


class Registry(Generic[T]):
    """The classes of one kind by name: called with a label, it gives the value that it stands for.

    ``base`` is what they derive from, ``only`` which of them it takes.
    """

    every: ClassVar[list[Registry[Any]]] = []
    registered: ClassVar[list[type]] = []

    def __init__(
        self,
        what: str,
        base: Any,
        kinds: Iterable[type],
        *,
        aliases: Mapping[str, str] | None = None,
        only: Callable[[Any], bool] = bool,
    ) -> None:
        self.what, self.base, self.only, self.aliases = what, base, only, aliases or {}
        self.kinds: dict[str, type] = {}
        for kind in [*kinds, *filter(self.takes, Registry.registered)]:
            self.kinds[kind.name] = kind  # type: ignore[attr-defined]
        Registry.every.append(self)

    def takes(self, kind: type) -> bool:
        """Whether a class belongs here."""
        return issubclass(kind, self.base) and self.only(kind)

    def __call__(self, label: object) -> T:
        """The value that a label, or a part of one already parsed, stands for; case is no matter.

        A value stands for itself.
        """
        if self.takes(type(label)):
            return label  # type: ignore[return-value]
        if not isinstance(label, (str, Call)):
            example = f"Write a label, like {next(iter(self.kinds))}."
            raise UsageError(f"{brief(label)} is not {self.what}.", todo=example)
        call = label if isinstance(label, Call) else parse(label)
        kind = self.kind(call.name)
        given = options(call, kind)
        if call.k is not None and "k" not in {field.name for field in fields(kind)}:
            raise UsageError(
                f'"{call.name}@{call.k}" is not a label of {self.what}.',
                todo="A cut-off belongs to the position model or the measure: log2@10, DCG@10.",
            )
        made: T = kind(**given | ({} if call.k is None else {"k": call.k}))
        return made

    def kind(self, name: str) -> Any:
        """The class of a name; plugins are loaded where none is known."""
        if self._find(name) is None:
            broken, names = load_plugins(), [*self.kinds, *self.aliases]
            if self._find(name) is None:
                raise UsageError(
                    f'"{name}" is not {self.what}.',
                    found=" ".join(filter(None, [nearest(name, names), *broken])),
                    todo=f"There are: {', '.join(names)}.",
                )
        return self._find(name)

    def _find(self, name: str) -> type | None:
        names = {known.lower(): kind for known, kind in self.kinds.items()}
        names |= {other.lower(): self.kinds[own] for other, own in self.aliases.items()}
        return names.get(name.lower())

    def label(self, given: object) -> str:
        """The label of what is given, as results have it; other text stays."""
        try:
            return str(self(given))
        except CounterrankError:
            return str(given)

    def add(self, kind: Any) -> None:
        """Take a class, unless another one has its name."""
        there: Any = self._find(kind.name)
        if there is not None and _place(there) != _place(kind):
            raise UsageError(
                f'"{kind.name}" is already the name of {self.what}: {_place(there)}.',
                todo=f'Give {kind.__name__} another: name = "...".',
            )
        self.kinds[kind.name] = kind


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def register(kind: K) -> K:
    """Make a class of yours known by its ``name``, wherever a label is read. Also a decorator.

    It derives from `Measure`, `Estimator` or `PositionModel`, is made a frozen dataclass if it is
    none, and every option needs a default.
    """
    homes = [r for r in Registry.every if isinstance(kind, type) and issubclass(kind, r.base)]
    if not homes:
        raise UsageError(
            f"{brief(kind)} cannot be registered.",
            todo="Derive a class from counterrank.Measure, Estimator or PositionModel.",
        )
    if "__dataclass_fields__" not in vars(kind):
        dataclass(frozen=True)(kind)
    try:
        if taken := [
            f.name for f in fields(kind) if callable(getattr(homes[0].base, f.name, None))
        ]:
            raise UsageError(f'the option "{taken[0]}" has the name of a method.')
        parse(str(kind()))
    except (TypeError, ValueError, CounterrankError) as error:
        raise UsageError(
            f"{kind.__name__} cannot be registered.",
            found=f"{kind.__name__}() says: {first_line(error).rstrip('.')}.",
            todo="Write what is missing, and give every option a default.",
        ) from error
    for home in homes:
        if home.takes(kind):
            home.add(kind)
    Registry.registered.append(kind)
    return kind


@cache
def load_plugins() -> list[str]:
    """Load what is installed under the group ``counterrank``; a sentence for each that fails."""
    broken = []
    for entry in entry_points(group="counterrank"):
        try:
            found = entry.load()
            if isinstance(found, type):  # a module registers its classes itself
                register(found)
        except Exception as error:
            why = f"{type(error).__name__}: {first_line(error).rstrip('.')}"
            broken.append(f'The plugin "{entry.name}" ({entry.value}) does not load: {why}.')
    return broken


def _nonsense(label: str, rest: list[tuple[str, str, int]]) -> UsageError:
    where = f'at "{rest[0][1]}" (character {rest[0][2] + 1})' if rest else "at its end"
    return UsageError(
        f'"{label}" cannot be read as a label.',
        found=f"It stops making sense {where}.",
        todo="Write it like nDCG@10, AP(rel=4)@100 or DCG(discount=power(eta=1))@20.",
    )
