"""Parquet, CSV, TSV and TREC text, each as a Polars frame; what cannot be read says why."""

from __future__ import annotations

import errno
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from counterrank.core.errors import InputError, first_line
from counterrank.core.input_files import PARQUET

SEPARATORS = {".csv": ",", ".tsv": "\t"}
POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)  # the latter on damaged files
BLANKS = r"[ \t\x0B\x0C\r]+"  # C's isspace: other Unicode spaces belong to the id


def column_names(path: Path, trec: Sequence[str]) -> list[str]:
    """Names of the columns, without reading the rows."""
    with readable(path):
        _refuse_disguise(path)
        if ending(path) in PARQUET:
            return pl.scan_parquet(path, glob=False).collect_schema().names()
        if ending(path) in SEPARATORS:
            mark = SEPARATORS[ending(path)]
            names = pl.read_csv(
                io.BytesIO(_head(path)), separator=mark, infer_schema=False, n_rows=0, glob=False
            ).columns
            _refuse_separator(path, names, mark)
            _refuse_namesakes(path, names)
            return names
    if trec:
        return list(trec)
    with readable(path):
        fields = fields_of(_head(path))["line"]
    return [str(place + 1) for place in range(len(fields[0]))] if len(fields) else []


def read_columns(
    path: Path, wanted: list[str], trec: Sequence[str], rows: int | None = None
) -> pl.DataFrame:
    """Some columns of a file; of Parquet the first ``rows``.

    Text files give text: types are settled by schemas.
    """
    with readable(path):
        if ending(path) in PARQUET:
            return pl.read_parquet(path, columns=wanted, n_rows=rows, glob=False)
        if ending(path) in SEPARATORS:
            return pl.read_csv(
                _content(path),
                columns=wanted,
                separator=SEPARATORS[ending(path)],
                infer_schema=False,
                glob=False,
            ).select(wanted)
    return trec_columns(path, _fields(path), trec).select(wanted)


def _refuse_disguise(path: Path) -> None:
    """A file whose first or last bytes are not those of its kind, told before a reader trips."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(1024)
        file.seek(max(size - 4, 0))
        tail = file.read(4)
    parquet = head[:4] == b"PAR1"
    if ending(path) in PARQUET and size and not (parquet and tail == b"PAR1"):
        end = "begin" if not parquet else "end"
        raise InputError(
            f'"{path}" cannot be read as Parquet.',
            found=f"It does not {end} as a Parquet file does; it has {size:,} bytes.",
            todo="It may be cut off, damaged or of another format: write it again, or rename it.",
        )
    text = ending(path) not in PARQUET and not path.name.lower().endswith(".gz")
    if text and b"\r" in head and b"\n" not in head and b"\n" not in _head(path):
        raise InputError(
            f'"{path}" has lines that end in a carriage return alone.',
            found="No line feed is in it.",
            todo="Save it with line ends of Unix or Windows.",
        )
    if text and b"\0" in head:
        raise InputError(
            f'"{path}" cannot be read as text.',
            found="It is a Parquet file." if parquet else "It holds zero bytes.",
            todo="Let its name end in .parquet." if parquet else "Write it as UTF-8 text.",
        )


def _refuse_namesakes(path: Path, names: list[str]) -> None:
    """The reader renames the second of two columns of one name; which was meant is not known."""
    for name in names:
        base = re.sub(r"_duplicated_\d+$", "", name)
        if base != name and base in names:
            raise InputError(
                f'"{path}" has two columns named "{base}".', todo="Give each a name of its own."
            )


def _refuse_separator(path: Path, names: list[str], mark: str) -> None:
    """One column whose name holds another separator is several columns."""
    for other, word in ((",", "a comma"), (";", "a semicolon"), ("\t", "a tab"), ("|", "a bar")):
        if len(names) == 1 and other != mark and other in names[0]:
            raise InputError(
                f'"{path}" seems to be separated by {word}.',
                found=f"Its only column is called {names[0]!r}.",
                todo="Write .csv files with commas and .tsv files with tabs.",
            )


def ending(path: Path) -> str:
    """What a file's name says it is; packing aside."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


HEAD = 1 << 20  # bytes that are unpacked at a time until there is a line
LINE = 1 << 26  # and at most


def _head(path: Path) -> bytes:
    """The first lines, unpacked if need be; never more of a packed file than these."""
    with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
        head = b""
        while (more := file.read(HEAD)) and len(head) < LINE:
            head += more
            if b"\n" in more:
                return head[: head.rindex(b"\n") + 1]
        if more:
            raise InputError(
                f'"{path}" has no line of a table.',
                found=f"There is no end of line within {len(head):,} bytes.",
                todo="Write one row a line.",
            )
    return head


def _content(path: Path) -> io.BytesIO | Path:
    """The file, unpacked if need be (a cut-off archive must not pass for a shorter table)."""
    if path.name.lower().endswith(".gz"):
        return io.BytesIO(gzip.decompress(path.read_bytes()))
    return path


def _fields(path: Path) -> pl.DataFrame:
    """All lines of a file as lists of fields."""
    with readable(path):
        content = _content(path)
        raw = content.read_bytes() if isinstance(content, Path) else content.getvalue()
        return fields_of(raw)


def fields_of(raw: bytes, *, first: int = 1) -> pl.DataFrame:
    """Lines as lists of fields between blanks; # before a blank begins a comment line.

    ``first`` is the number of the first line.
    """
    lines = pl.Series("line", raw.decode("utf-8-sig").split("\n"), dtype=pl.String)
    return (
        lines.to_frame()
        .with_row_index("number", offset=first)
        .with_columns(pl.col("line").str.replace_all(BLANKS, " ").str.strip_chars(" "))
        .filter((pl.col("line") != "") & ~pl.col("line").str.contains("^#( |$)"))
        .with_columns(pl.col("line").str.split(" "))
    )


def trec_columns(path: Path, fields: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Qrels or run lines; what follows the tag of a run line is reserved, as for trec_eval."""
    count = pl.col("line").list.len()
    wrong = fields.filter(count < len(names) if names[-1] == "tag" else count != len(names))
    if wrong.height:
        number, words = wrong.row(0)
        raise InputError(
            f'"{path}" is not TREC text of {len(names)} fields ({" ".join(names)}).',
            found=f"Line {number} has {len(words)} fields; {wrong.height} such lines.",
            todo="Tables with a header must end in .csv, .tsv or .parquet.",
        )
    return fields.select(
        pl.col("line").list.get(place).alias(name) for place, name in enumerate(names)
    )


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn whatever a reader throws into a message about the file."""
    try:
        yield
    except pl.exceptions.NoDataError as error:
        raise InputError(
            f'"{path}" is empty.', todo="Write the table with its header and rows, then try again."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f'"{path}" is not UTF-8 text.',
            found=f"Byte {error.start} is 0x{error.object[error.start]:02x}.",
            todo="Save it as UTF-8.",
        ) from error
    except (OSError, EOFError, zlib.error, *POLARS) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise  # not the file's fault
        raise unreadable(path, error) from error


def unreadable(path: Path, error: BaseException) -> InputError:
    """The message for a file that a reader gave up on."""
    kind = "Parquet" if ending(path) in PARQUET else "text"
    reason = first_line(error)
    broken = isinstance(error, pl.exceptions.PanicException) or "Panic" in reason
    if isinstance(error, PermissionError):
        return InputError(
            f'"{path}" cannot be read.',
            found="The system says: Permission denied.",
            todo="Ask for the right to read it.",
        )
    if kind == "text" and ("utf-8" in reason.lower() or "utf8" in reason.lower()):
        return InputError(f'"{path}" is not UTF-8 text.', found=reason, todo="Save it as UTF-8.")
    return InputError(
        f'"{path}" cannot be read as {kind}.',
        found="Its contents are damaged." if broken else f"The reader says: {reason}.",
        todo="It may be cut off, damaged or of another format: write it again, or rename it.",
    )
