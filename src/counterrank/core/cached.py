"""A property computed once and then kept, like ``functools.cached_property``.

Before Python 3.12 that one holds a lock while it computes, shared by all instances, so that threads
would wait for each other. Here two threads may at worst compute the same value twice; all get the
one that was there first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as once
else:

    class once:  # noqa: N801 - used as a decorator
        """Kept in the instance's own dictionary, where it is found before the class is asked."""

        def __init__(self, compute: Any) -> None:
            self.compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.compute(instance))


__all__ = ["once"]
