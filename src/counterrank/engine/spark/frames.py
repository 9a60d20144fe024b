"""Tables as Spark frames, cut by their unit, so that one shuffle brings its rows together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import polars as pl

from counterrank.core.errors import InputError
from counterrank.core.input_files import PARQUET
from counterrank.data.checks import some_rows
from counterrank.data.schema import Schema
from counterrank.data.sources import Source
from counterrank.data.sources.dataframes import frame_of, from_arrow, is_spark
from counterrank.data.sources.files import BLANKS, SEPARATORS, column_names, ending, readable
from counterrank.engine.disk import with_common_ids
from counterrank.engine.partitions import Tables
from counterrank.engine.spark.executor import CUT, ROWS, Lane, Share, on_departure, on_files


def shuffle(session: Any, tables: Tables, count: int) -> tuple[Any, dict[str, Lane]]:
    """The rows of all tables in ``count`` partitions by their unit; ids of one type."""
    schemas, frames, empty = tables.schemas, {}, {}
    for name, schema in schemas.items():
        if _is_parquet(schema.source):
            empty[name] = schema.roles.renamed(schema.source.read(schema.roles.choose, rows=0))
        else:
            frames[name] = _with_roles(session, schema)
            empty[name] = _empty(frames[name])
    heads = {name: schema.part(empty[name]) for name, schema in schemas.items()}
    lanes = {
        name: Lane(tag, name, schemas[name].check, head, tables.unit, tables.ids)
        for tag, (name, head) in enumerate(with_common_ids(heads, tables.ids).items())
    }
    keys = _keys(session, count)
    parts = [frame.mapInArrow(on_departure(lanes[n], keys), CUT) for n, frame in frames.items()]
    shares = [
        share for name, lane in lanes.items() if name not in frames
        for share in _shares(lane, schemas[name], empty[name].schema)
    ]  # fmt: skip
    if len(frames) < len(lanes):
        tasks = min(-(-sum(share.rows for share in shares) // ROWS), len(shares)) or 1
        dealt = [shares[start::tasks] for start in range(tasks)]
        parts.append(session.range(0, tasks, 1, tasks).mapInArrow(on_files(dealt, keys), CUT))
    return reduce(lambda a, b: a.union(b), parts).repartition(count, "key"), lanes


def _is_parquet(source: Source) -> bool:
    """Whether executors read a table themselves: Spark would hand them its rows one by one."""
    return bool(source.files) and all(ending(file) in PARQUET for file in source.files)


def _shares(lane: Lane, schema: Schema, kinds: pl.Schema) -> Iterator[Share]:
    """The row groups of a table's files, small ones together."""
    from pyarrow.parquet import read_metadata

    for file in schema.source.files:
        played = schema.roles.played(schema.roles.choose(column_names(file, ())))
        columns = {role: (column, kinds[role]) for role, column in played.items()}
        with readable(file):
            about = read_metadata(file)
        start = end = 0
        for group in range(about.num_row_groups):
            end += about.row_group(group).num_rows
            if end - start >= ROWS or end == about.num_rows > start:
                yield Share(lane, file.resolve(), columns, start, end - start)
                start = end


_known: dict[int, list[int]] = {}  # the hash is the same on every cluster


def _keys(session: Any, count: int) -> list[int]:
    """For every place a number that Spark's shuffle sends to a partition of its own."""
    from pyspark.sql import functions as F  # noqa: N812

    if count not in _known:
        at = F.pmod(F.hash("id"), F.lit(count)).alias("at")
        tried = session.range(40 * count).select("id", at).toArrow()
        _known[count] = from_arrow(tried).unique("at")["id"].to_list()
    return _known[count]


def _with_roles(session: Any, schema: Schema) -> Any:
    """A table's columns under the names of their roles."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = _read(session, schema)
    there = list(frame.columns)
    schema.roles.choose(there)
    played = schema.roles.played(there)
    return frame.select(*(F.col(_quoted(c)).alias(role) for role, c in played.items()))


def _empty(frame: Any) -> pl.DataFrame:
    """The columns and types that executors will see: by the schema, which costs no job.

    Times depend on the session's zone, so it is asked.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    timed = any("timestamp" in kind for _, kind in frame.dtypes)
    table = frame.limit(0).toArrow() if timed else to_arrow_schema(frame.schema).empty_table()
    return from_arrow(table)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _read(session: Any, schema: Schema) -> Any:
    """The table as a Spark frame: as given, read by Spark, or sent from memory."""
    source = schema.source
    if not source.files:
        if is_spark(source.table):
            return source.table
        frame = source.read(schema.roles.choose)
        some_rows(frame, source.name)
        return session.createDataFrame(_arrow(frame))
    kinds: dict[tuple[object, ...], list[Path]] = {}
    for file in source.files:
        kinds.setdefault(_shape(file, len(source.files)), []).append(file)
    parts = [_files(session, source, files) for files in kinds.values()]
    if len(parts) == 1:
        return parts[0]
    picked = [part.select(*map(_quoted, schema.roles.choose(part.columns))) for part in parts]
    return reduce(lambda a, b: a.unionByName(b), picked)


def _shape(file: Path, count: int) -> tuple[object, ...]:
    """Files of one shape are read together: Spark takes the first one's columns for all."""
    if count == 1:
        return ()
    if ending(file) in PARQUET:
        return tuple(pl.scan_parquet(file, glob=False).collect_schema().items())
    if ending(file) in SEPARATORS:
        return (ending(file), *column_names(file, ()))
    return ("text",)


def _files(session: Any, source: Source, files: Sequence[Path]) -> Any:
    paths = ["file://" + re.sub(r"([\[\]{}*?\\])", r"\\\1", str(f.resolve())) for f in files]
    kind = ending(files[0])
    if kind in PARQUET or kind in SEPARATORS:
        return frame_of(session, paths, kind)
    return _trec(session, source, paths)


def _trec(session: Any, source: Source, paths: list[str]) -> Any:
    """Qrels or run lines, by the rules of the local reader."""
    from pyspark.sql import functions as F  # noqa: N812

    names = source.trec
    line = F.regexp_replace(F.regexp_replace("value", "^\ufeff", ""), BLANKS, " ")
    lines = session.read.text(paths, lineSep="\n").select(F.trim(line).alias("line"))
    lines = lines.filter((F.col("line") != "") & ~F.col("line").rlike("^#( |$)"))
    fields = lines.select(F.split("line", " ").alias("fields"))
    count = F.size("fields")
    wrong = fields.filter(count < len(names) if names[-1] == "tag" else count != len(names))
    few = wrong.agg(F.count("fields").alias("lines"), F.min(count).alias("least")).first()
    if few["lines"]:
        raise InputError(
            f'"{source.name}" is not TREC text of {len(names)} fields ({" ".join(names)}).',
            found=f"{few['lines']:,} lines are otherwise; one has {few['least']} fields.",
            todo="Tables with a header must end in .csv, .tsv or .parquet.",
        )
    return fields.select(*(F.col("fields")[i].alias(name) for i, name in enumerate(names)))


def _arrow(frame: pl.DataFrame) -> Any:
    """A frame in memory, in types that Spark knows."""
    for name, kind in frame.schema.items():
        if isinstance(kind, (pl.Categorical, pl.Enum)) or kind in (pl.Int128, pl.UInt128):
            frame = frame.with_columns(pl.col(name).cast(pl.String))
        elif kind.is_unsigned_integer():
            wide = kind == pl.UInt64 and (frame[name] >= 1 << 63).any()
            frame = frame.with_columns(pl.col(name).cast(pl.String if wide else pl.Int64))
    return frame.to_arrow()
