"""What the questions of ``assess`` share: options, the way to files, and aligned lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.wording import shortened, wrapped

if TYPE_CHECKING:
    from counterrank.assess_result import Assessment

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE...",
        help="JUDGMENTS RUN..., or one table of per-unit values (unit, system, measure, value),"
        " or a folder that --out wrote.",
    ),
]
Resamples = Annotated[int, typer.Option(help="Resamples of the users, for intervals.")]
Resume = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Keep results so far here, and go on from them. [default: inside --out]",
    ),
]
UNFINISHED = "unfinished"


def resumed(resume: str | None, out: str | None) -> str | None:
    """Where results so far are kept."""
    return resume or (os.path.join(out, UNFINISHED) if out else None)


def finish(
    result: Assessment,
    lines: Callable[[Assessment, int], list[str]],
    *,
    format: str,
    out: str | None,
    by_unit: str | None,
    strict: bool,
    quiet: bool,
    resume: str | None = None,
) -> None:
    """Print and write the result; what was kept inside ``out`` is then no longer needed."""
    from counterrank.cli import output, writing

    def told(found: Assessment, wide: int) -> list[str]:
        advice = wrapped(" ".join(found.recommendation), wide)
        return [*lines(found, wide), "", "Recommendation", *advice]

    output.show(result, format, told)
    written = writing.by_unit(result, by_unit) + writing.folder(result, out)
    if out and not resume:
        writing.discard(os.path.join(out, UNFINISHED))
    if written and not quiet:
        typer.echo(f"Wrote {', '.join(written)}.", err=True)
    if strict and result.verdict == "fail":
        raise typer.Exit(3)


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], wide: int) -> list[str]:
    """Columns under their heads: names to the left, shortened; numbers to the right, whole."""
    widths = [max(len(head[n]), *(len(row[n]) for row in rows)) for n in range(len(head))]
    room = wide - sum(w + 2 for w in widths[1:])
    widths[0] = max(min(widths[0], room), 10)
    return [
        "  ".join(
            shortened(cell, w).ljust(w) if n == 0 else cell.rjust(w)
            for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]
