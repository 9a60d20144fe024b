"""A result of a verb: printed as a table, one JSON document or CSV, and written to files."""

from __future__ import annotations

import csv
import os
import shutil
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterrank.cli.command import Command, call
from counterrank.core.arguments import arguments
from counterrank.core.errors import UsageError, brief, printable
from counterrank.core.file_writer import is_stream, refuse_unwritable, whole_text
from counterrank.core.format import terminal_text
from counterrank.core.input_files import refuse_inputs
from counterrank.core.parallel import bar
from counterrank.results import output_files as files

if TYPE_CHECKING:
    from counterrank.api.repeat import Repetition
    from counterrank.documents.gate import Gate
    from counterrank.results.result import Result

CSV = (
    "kind", "system", "measure", "reward", "estimator", "segment", "baseline", "value", "se", "low",
    "high", "family_low", "family_high", "level", "lift", "lift_low", "lift_high", "p",
    "p_corrected", "detectable", "units", "effective_units", "claim", "verdict",
)  # fmt: skip
UNFINISHED = "unfinished"
MOST = 20  # differences of a repetition that are shown
ELSEWHERE = ("engine", "master", "memory", "partitions")


def run_verb(command: Command, asked: dict[str, Any], given: Namespace) -> int:
    """Call a verb, print what it returns, write the files asked for; the exit code."""
    from counterrank.core.provenance import hash_ahead

    paths = list(_paths(command, asked))
    out, by_unit, picture = (getattr(given, name, None) for name in ("out", "by_unit", "picture"))
    for name, path in (("--out", out), ("--by-unit", by_unit), ("--picture", picture)):
        if path is not None and not (isinstance(path, str) and path.strip()):
            raise UsageError(f"{name} must name a file or folder, not {path!r}.")
    model = command.name == "exposure"
    named = (asked.get("position_bias"), given.config)
    read = [*paths, *(x for x in named if isinstance(x, str) and os.path.isfile(x))]
    if model:
        _refuse_file(out, ".json", "Like --out pbm.json.", read)
    else:
        files.refuse_early(by_unit, out, read)
    _refuse_file(picture, ".svg", "Like --picture lifts.svg.", read)
    if by_unit is not None and "inference" in command.arguments:
        asked.setdefault("inference", "units")  # they are to be written
    unfinished = os.path.join(out or "", UNFINISHED)
    own = out and "resume" in command.arguments and "resume" not in asked
    if own and not (command.name == "assess online" and any(name in asked for name in ELSEWHERE)):
        asked["resume"] = unfinished
    if given.dry_run:
        return rehearse(command, asked, [path for path in (out, by_unit, picture) if path])
    hash_ahead(paths)  # while libraries are still being loaded
    if "progress" in arguments(command.function) and not getattr(given, "quiet", True):
        asked["progress"] = bar
    result: Result = call(command, asked)
    written: list[str] = []
    if not model:
        written = files.by_unit(result, by_unit) + files.folder(result, out)
        if own:
            files.discard(unfinished)
    elif out is not None:
        whole_text(out, result.to_json())
    if picture is not None:
        from counterrank.report.figures import figure_of_file

        written.append(figure_of_file(result.to_dict(), picture).save(picture))
    show(result, given.format)
    if model and out is not None:
        name = printable(out)
        print(f"Saved as {name}: use it with --position-bias {name}", file=sys.stderr)
    if written and not getattr(given, "quiet", True):
        print(terminal_text(f"Wrote {printable(', '.join(written))}.", sys.stderr), file=sys.stderr)
    if any(table.fault for table in result.tables.get("tables", ())):
        return 2
    return 3 if given.strict and result.verdict == "fail" else 0


RATES = {"estimate": 8.0, "exposure": 8.0}  # million rows a second on two cores, about
RATE, START = 12.0, 1.0  # of the others, and seconds before anything is read
HELD = 120  # bytes that a row takes in memory while it is worked on, about
LIBRARIES = 200 * 10**6  # bytes before any row is read


def rehearse(command: Command, asked: dict[str, Any], written: list[str]) -> int:
    """What was understood, and what the work would take; nothing is read or written.

    The verb itself is called, and left where it asks for rows.
    """
    from counterrank.api.verb import recorded_options
    from counterrank.core.format import byte_words, wrap_text
    from counterrank.data.rehearsal import TablePlan, rehearsal
    from counterrank.data.sources import open_source
    from counterrank.data.sources.source import count_source_rows

    with rehearsal() as tables:
        call(command, asked)
    for path in _paths(command, asked):  # those that are opened later
        if path not in tables and (os.path.exists(path) or command.name == "check"):
            source = open_source(path, trec=(), name=path)
            names = {name: name for name in source.columns()}
            tables[path] = TablePlan(path, count_source_rows(source), names)
    lines = [f"{command.name} would read"]
    for table in tables.values():
        roles = [r if r == c else f"{r}={c}" for r, c in table.columns.items()]
        lines.append(f"  {table.name}: {table.rows:,} rows; {', '.join(roles)}")
    marks = {name: a.mark for name, a in command.arguments.items()}
    said = {
        name: value
        for name, value in recorded_options(command.function, asked).items()
        if marks.get(name) not in ("table", "lists")
    }
    words = [(name, _words(value)) for name, value in said.items()]
    lines += ["with", *(f"  {name}: {value}" for name, value in words if value)]
    rows = sum(table.rows for table in tables.values())
    seconds = START + rows / 1e6 / RATES.get(command.name, RATE)
    held = byte_words(LIBRARIES + HELD * rows)
    where = f"within {asked['memory']}" if "memory" in asked else held
    lines.append(f"It would take about {seconds:.0f} s here and {where} of memory, tests aside.")
    lines += [f"It would write {', '.join(written)}."] if written else []
    wide = shutil.get_terminal_size().columns
    say([part for line in lines for part in wrap_text(line, wide, "    ")])
    return 0


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def show_gate(gate: Gate) -> int:
    """The summary; 3 if the gate stays shut."""
    for line in gate.markdown().splitlines():
        print(line if line.startswith("|") else terminal_text(line, sys.stdout))
    return 0 if gate.passed else 3


def show_repetition(found: Repetition) -> int:
    """What differs; 3 if anything does."""
    result = found.result
    for place, old, new in found.differences[:MOST]:
        told = f"{printable(place)}: {brief(old)} was saved, {brief(new)} came out."
        print(terminal_text(told, sys.stdout))
    if found.same:
        rows = f"{len(result.estimates)} estimates, {len(result.comparisons)} comparisons"
        print(f"The same: {rows}, {len(result.diagnostics)} diagnostics; inputs as they were.")
        return 0
    more = len(found.differences) - MOST
    print(
        *([f"and {more} more"] if more > 0 else []), f"{len(found.differences)} differ.", sep=". "
    )
    return 3


def show_page(path: str) -> int:
    """Where the page is."""
    print(f"Wrote {printable(path)}.", file=sys.stderr)
    return 0


def _paths(command: Command, asked: dict[str, Any]) -> list[str]:
    """The files that are read."""
    marks = {name: a.mark for name, a in command.arguments.items() if name in asked}
    paths = [asked[name] for name, mark in marks.items() if mark == "table"]
    return paths + [path for n, mark in marks.items() if mark == "lists" for _, path in asked[n]]


def _refuse_file(path: str | None, ending: str, todo: str, inputs: list[str]) -> None:
    if path is None:
        return
    if not path.lower().endswith(ending) and not is_stream(Path(path)):
        raise UsageError(f'"{path}" must end in {ending}.', todo=todo)
    refuse_inputs([path], inputs)
    refuse_unwritable(path)


def show(result: Result, format: str) -> None:
    """Print the whole result."""
    from counterrank.report.terminal import lines

    if format == "json":
        print(result.to_json())
    elif format == "csv":
        _csv(result)
    else:
        say(lines(result, shutil.get_terminal_size().columns))


def say(lines: list[str]) -> None:
    """Print lines as they are; on a terminal headings and decisions stand out."""
    from rich.console import Console
    from rich.text import Text

    from counterrank.report.terminal.bars import plain_signs

    console = Console(highlight=False, soft_wrap=True)
    styles = {"+ ": "green", "- ": "red", "fail ": "bold red", "caution ": "bold yellow"}
    styles["Decision: "] = "bold"
    for line in (plain_signs(line, sys.stdout.encoding) for line in lines):
        text = Text(line)
        for begin, style in styles.items():
            if line.startswith(begin):
                text.stylize(style, 0, len(begin))
        if " users" in line and not line.startswith(" ") and ", " in line:
            text.stylize("bold")
        console.print(text)


def _csv(result: Result) -> None:
    """One row per estimate and per comparison; the value of a comparison is the difference."""
    own = {"check": "tables", "exposure": "ranks"}.get(result.kind)
    if own:
        print(files.guard_cells(result.to_frame(own)).write_csv(), end="")
        return
    writer = csv.DictWriter(sys.stdout, CSV, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in result.rows("estimates"):
        writer.writerow(_guarded({"kind": "estimate", **row}))
    for row in result.rows("comparisons"):
        writer.writerow(_guarded({"kind": "comparison", **row, "value": row["difference"]}))


def _guarded(row: dict[str, Any]) -> dict[str, Any]:
    return {k: files.guard_cell(x) if isinstance(x, str) else x for k, x in row.items()}
