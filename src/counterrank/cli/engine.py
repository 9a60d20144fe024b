"""The options that say where a verb runs, added to every verb that can run anywhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from counterrank.core.errors import UsageError, one_of

if TYPE_CHECKING:
    from counterrank.engine import Engine

OPTIONS: dict[str, tuple[Any, str | None]] = {
    "engine": (
        Annotated[str, typer.Option("--engine", help="Where it runs: local or spark.")],
        "local",
    ),
    "master": (
        Annotated[
            str | None,
            typer.Option(metavar="URL", help="Spark's: spark://host:7077, local[*], sc://host."),
        ],
        None,
    ),
    "memory": (
        Annotated[
            str | None,
            typer.Option(metavar="SIZE", help="Tables that need more, say 4GB, go by the disk."),
        ],
        None,
    ),
    "partitions": (
        Annotated[int | None, typer.Option(help="Number of partitions. [default: by size]")],
        None,
    ),
    "inference": (
        Annotated[
            str,
            typer.Option(help="Keep units' values, or moments only; auto: units while they fit."),
        ],
        "auto",
    ),
    "scratch": (
        Annotated[
            str | None,
            typer.Option(metavar="DIR", help="Where temporary files go. [default: TMPDIR]"),
        ],
        None,
    ),
}


def with_engine(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with these options, which reach it as one ``engine``."""
    signature = inspect.signature(verb)
    told = get_type_hints(verb, localns={"Engine": object}, include_extras=True)
    own = [
        p.replace(annotation=told[p.name])
        for p in signature.parameters.values()
        if p.name != "engine"
    ]
    place = next(n for n, p in enumerate(own) if p.name == "columns")
    added = [
        inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind
        )
        for name, (kind, default) in OPTIONS.items()
    ]

    @wraps(verb)
    def run(**given: Any) -> None:
        said = {name: given.pop(name) for name in OPTIONS}
        if given.get("by_unit") is not None and said["inference"] == "auto":
            said["inference"] = "units"  # they are to be written
        verb(**given, engine=engine(**said))

    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*own[:place], *added, *own[place:]]
    )
    run.__annotations__ = {p.name: p.annotation for p in (*own, *added)}
    return run


def engine(
    engine: str,
    master: str | None,
    memory: str | None,
    partitions: int | None,
    inference: str,
    scratch: str | None,
) -> Engine:
    """The engine that the options ask for."""
    from counterrank.engine.engines import Local, Spark

    one_of("--engine", engine, ("local", "spark"))
    if engine == "local" and master is None:
        return Local(memory, partitions, scratch, inference)
    for option, value in (("--memory", memory), ("--scratch", scratch)):
        if value is not None:
            raise UsageError(
                f"{option} is for the local engine.",
                todo="Spark's memory and disk are set where it is started.",
            )
    return Spark(master=master, partitions=partitions, inference=inference)
