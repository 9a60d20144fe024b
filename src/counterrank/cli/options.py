"""Options that several verbs share, and how their text becomes values."""

from __future__ import annotations

import os
import re
from typing import Annotated

import typer

from counterrank.core.errors import UsageError, one_of

Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns", metavar="ROLE=NAME,...", help="Columns under other names: user=uid,item=sku."
    ),
]
Level = Annotated[float, typer.Option(help="Confidence of intervals.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Out = Annotated[
    str | None, typer.Option(metavar="DIR", help="Write result.json, units.parquet, report.html.")
]
ByUnit = Annotated[
    str | None, typer.Option(metavar="PATH", help="Write per-unit values, .parquet or .csv.")
]
Format = Annotated[str, typer.Option("--format", help="table, json or csv.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit code 3 if a diagnosis fails.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bars.")]
Missing = Annotated[str, typer.Option(help="Judged users without a list: zero, skip, error.")]
NoRelevant = Annotated[str, typer.Option(help="Users with nothing to find: zero, skip, error.")]
Unjudged = Annotated[str, typer.Option(help="Listed users without judgments: ignore, error.")]
Duplicates = Annotated[str, typer.Option(help="An item twice in a list: error, first.")]
Ties = Annotated[str, typer.Option(help="Order of equal scores: id, id32, file, expected.")]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="LABEL",
        help="A measure, like nDCG@10; repeat for more."
        " [default: DCG@10, nDCG@10, P@10, Recall@10, AP@10, RR@10]",
    ),
]

FORMATS = ("table", "json", "csv")


def formatted(word: str) -> str:
    """The output format, or a message that lists them."""
    return one_of("--format", word, FORMATS)


def labels(given: list[str] | None) -> list[str]:
    """Labels, also several in one word: commas within parentheses belong to a label."""
    return [part for text in given or [] for part in re.split(r",(?![^(]*\))", text) if part]


def column_names(given: list[str] | None) -> dict[str, str]:
    """``user=uid,item=sku`` as a mapping from role to column."""
    names = {}
    for part in [p for text in given or [] for p in text.split(",")]:
        role, mark, name = part.partition("=")
        if not (mark and role.strip() and name.strip()):
            raise UsageError(
                f'--columns cannot read "{part}".', todo="Write ROLE=NAME, as in user=uid,item=sku."
            )
        names[role.strip()] = name.strip()
    return names


def named_runs(arguments: list[str]) -> list[tuple[str, str]]:
    """``name=path`` or ``path`` as names (empty: from the file) and paths."""
    pairs = []
    for argument in arguments:
        name, mark, path = argument.partition("=")
        if mark and path and not os.path.exists(argument) and os.sep not in name:
            pairs.append((name, path))
        else:
            pairs.append(("", argument))
    return pairs


def numbers(option: str, text: str) -> list[float]:
    """``1,0.5,0.1`` as numbers."""
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(
            f'{option} cannot read "{text}".', todo="Write numbers with commas: 1,0.5,0.1."
        ) from None
