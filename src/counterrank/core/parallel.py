"""Work in threads: how many there are, what is computed once for all, and how far the work is."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

A = TypeVar("A")
B = TypeVar("B")

_team = threading.local()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the work of this thread stay in it: others do the same for other partitions."""
    _team.alone = True
    try:
        yield
    finally:
        _team.alone = False


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let products of arrays stay in the thread that asks for them.

    Between small products the other threads wait at full speed: ten times the work for nothing.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        yield


def workers() -> int:
    """Cores the work at hand may use."""
    if getattr(_team, "alone", False):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_threads(work: Callable[[A], B], pieces: Iterable[A], threads: int) -> list[B]:
    """``work`` on every piece; one thread is the caller's own, whose memory is warm."""
    if threads == 1:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(threads) as team:
        return list(team.map(work, pieces))


if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 - used as a decorator
        """As that of ``functools``, which before Python 3.12 locks all instances as it computes.

        Here two threads may at worst compute the same value twice; all get the one that was first.
        """

        def __init__(self, compute: Any) -> None:
            self.compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.compute(instance))


class Progress(Protocol):
    """Called with the steps and a word for them; yields the steps."""

    def __call__(self, steps: Sequence[A], word: str, /) -> Iterable[A]:
        """Yield the steps, showing how far they are."""
        ...


def quiet(steps: Sequence[A], word: str, /) -> Iterable[A]:
    """No bar."""
    return steps


def bar(steps: Sequence[A], word: str, /) -> Iterator[A]:
    """A bar on stderr, shown only on a terminal and only once the work has taken a second."""
    if not sys.stderr.isatty():
        yield from steps
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    began = time.monotonic()
    with Bar(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(word, total=len(steps), visible=False)
        for step in steps:
            yield step
            shown.update(task, advance=1, visible=time.monotonic() - began > 1)
