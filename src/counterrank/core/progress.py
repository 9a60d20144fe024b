"""Progress of long work: a bar on a terminal after a second, nothing otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Progress(Protocol):
    """Called with the steps and a word for them; yields the steps."""

    def __call__(self, steps: Sequence[T], word: str, /) -> Iterable[T]:
        """Yield the steps, showing how far they are."""
        ...


def quiet(steps: Sequence[T], word: str, /) -> Iterable[T]:
    """No bar."""
    return steps


def bar(steps: Sequence[T], word: str, /) -> Iterator[T]:
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
