"""``counterrank exposure LOG``: learn how likely each rank is to be seen."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.cli import options
from counterrank.cli.engine import with_engine
from counterrank.cli.options import Columns, Format, Strict
from counterrank.core.errors import UsageError
from counterrank.core.format import decimals, interval_text, number, printable, wrap_text

if TYPE_CHECKING:
    from counterrank.engine import Engine
    from counterrank.position.learn.curve import Parameter
    from counterrank.position.learn.learned import Learned, RankRow

Log = Annotated[str, typer.Argument(metavar="LOG", help="Session, item, rank and what came back.")]
Method = Annotated[str, typer.Option(help="auto, views, depth, harvest, swap or em.")]
Reward = Annotated[str | None, typer.Option(metavar="COLUMN", help="The reward, like click.")]
Family = Annotated[str, typer.Option(help="table, power, geometric, beta_geometric or log2.")]
Context = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN,...", help="Where an item keeps its relevance, like query."),
]
By = Annotated[str | None, typer.Option(metavar="COLUMN", help="One model per value of a column.")]
Level = Annotated[float, typer.Option(help="Level of intervals.")]
Ranks = Annotated[int | None, typer.Option(min=1, help="Learn only the first ranks.")]
Length = Annotated[int | None, typer.Option(min=1, help="Length of lists, for depth.")]
Swapped = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="The rank that was swapped with rank 1, for swap."),
]
Out = Annotated[str | None, typer.Option(metavar="FILE.json", help="Save for --position-bias.")]
BAR = 30


@with_engine
def exposure(
    log: Log,
    method: Method = "auto",
    reward: Reward = None,
    model: Family = "table",
    context: Context = None,
    by: By = None,
    level: Level = 0.95,
    ranks: Ranks = None,
    length: Length = None,
    swapped: Swapped = None,
    out: Out = None,
    columns: Columns = None,
    format: Format = "table",
    strict: Strict = False,
    *,
    engine: Engine,
) -> None:
    """Learn from a log how likely each rank is to be seen, and save it for estimates."""
    from counterrank.api import learn_exposure as verb
    from counterrank.cli import writing
    from counterrank.cli.output import grounds, say

    options.formatted(format)
    if out is not None and not out.lower().endswith(".json"):
        raise UsageError(f'"{out}" must end in .json.', todo="Like --out pbm.json.")
    if out is not None and os.path.realpath(out) == os.path.realpath(log):
        raise UsageError(f'"{out}" is the log.', todo="Write the model somewhere else.")
    result = verb.learn_exposure(
        log, method=method, reward=reward, model=model,
        context=[name for text in context or [] for name in text.split(",") if name], by=by,
        level=level, ranks=ranks, length=length, swapped=swapped,
        engine=engine,
        columns=options.column_names(columns),
    )  # fmt: skip
    if format == "json":
        typer.echo(result.to_json())
    elif format == "csv":
        typer.echo(result.to_frame().drop("system", "measure").write_csv(), nl=False)
    else:
        wide = shutil.get_terminal_size().columns
        say([*_lines(result.learned, wide), "", *grounds(result.diagnoses, wide)])
    if out is not None:
        text = result.to_json()
        writing.whole(Path(out), lambda path: path.write_text(text, encoding="utf-8"))
        typer.echo(f"Saved as {out}: use it with --position-bias {out}", err=True)
    if strict and result.verdict == "fail":
        raise typer.Exit(3)


def _lines(learned: Learned, wide: int) -> list[str]:
    """A block per context: rank, value, interval, bar; then the model and how to read it."""
    asked = learned.request
    lines: list[str] = []
    for value, part in list(learned.parts.items()) or learned.curves():
        head = f"Exposure by rank, {asked.method}, {part.basis.sessions:,} sessions"
        lines.append(f"{head}, {asked.by} {printable(value)}" if value else head)
        lines += _block(part.rows(asked), fitted=asked.model != "table")
        shown = ", ".join(map(_parameter, part.parameters))
        lines += wrap_text(f"{asked.model}: {shown}", wide, "  ") if shown else []
        lines.append("")
    scale = "shares of rank 1" if learned.whole.curve.relative else "chances of being seen"
    text = (
        f"Values are {scale}. [..]: {asked.level:.0%} interval by the delta method, clustered by"
        f" {learned.whole.basis.by}, each rank by itself."
    )
    return [*lines, *wrap_text(text, wide)]


def _parameter(p: Parameter) -> str:
    places = decimals([p.se])
    return f"{p.name} {number(p.value, places)} {interval_text(p.low, p.high, places)}"


def _block(rows: list[RankRow], *, fitted: bool) -> list[str]:
    """One line per rank; ``|`` marks the fitted curve on the bar."""
    places = decimals(row.se for row in rows)
    top = max(max(row.value, row.model) for row in rows) or 1.0
    out = []
    for row in rows:
        bar = "#" * round(BAR * row.value / top)
        if fitted:
            at = round(BAR * row.model / top)
            bar = f"{bar:<{at + 1}}"
            bar = f"{bar[:at]}|{bar[at + 1 :]}"
        ends = interval_text(row.low, row.high, places)
        out.append(f"{row.rank:>5}  {number(row.value, places)}  {ends}  {bar}".rstrip())
    return out
