"""Commands that take words as they are.

Typer converts every value through pydantic, whose import takes longer than a small evaluation.
Here options are text, flags or numbers, and only a number written on the command line goes that
way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """One verb."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, each of which converts only what it must."""
        return [_plain(param) for param in super().get_params(ctx)]


class Group(TyperGroup):
    """All verbs."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, each of which converts only what it must."""
        return [_plain(param) for param in super().get_params(ctx)]


def _plain(param: Any) -> Any:
    if not isinstance(param.process_value, partial):
        param.process_value = partial(_value, param, param.process_value)
    return param


def _value(param: Any, convert: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """The value of one parameter; Typer sees to written numbers and to what is missing."""
    written = isinstance(value, str) and not _is_text(param)
    if written or (param.required and not value):
        return convert(ctx, value)
    return value if param.callback is None else param.callback(ctx, param, value)


def _is_text(param: Any) -> bool:
    """Whether the parameter was declared as text; if that cannot be told, Typer converts it."""
    return getattr(getattr(param, "type_descriptor", None), "annotation", None) is str
