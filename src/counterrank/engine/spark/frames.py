"""Tables as Spark frames, cut by their unit, so that one shuffle brings its rows together."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
from counterrank.data.sources.files import BLANKS, SEPARATORS, column_names, ending
from counterrank.engine.partitions import Tables
from counterrank.engine.spark.executor import CUT, PLACE, Lane, on_departure

KINDS: dict[type[pl.DataType], str] = {pl.Int64: "bigint", pl.String: "string"}


def shuffle(session: Any, tables: Tables, count: int) -> tuple[Any, dict[str, Lane]]:
    """The rows of all tables in ``count`` partitions by their unit; ids of one type."""
    from pyspark.sql import functions as F  # noqa: N812

    schemas = tables.schemas
    frames = {name: _with_roles(session, schema) for name, schema in schemas.items()}
    empty = {name: _empty(frame) for name, frame in frames.items()}
    heads = {name: schema.part(empty[name]) for name, schema in schemas.items()}
    for column in dict.fromkeys((tables.unit, *tables.ids)):
        names = [name for name, head in heads.items() if column in head.frame.columns]
        kind = _common([heads[name].frame.schema[column] for name in names])
        for name in names:
            frames[name] = frames[name].withColumn(column, F.col(column).cast(KINDS[kind]))
            empty[name] = empty[name].with_columns(pl.col(column).cast(kind))
    keys, lanes, parts = _keys(session, count), {}, []
    place = F.pmod(F.xxhash64(F.col(tables.unit)), F.lit(count))
    for tag, (name, schema) in enumerate(schemas.items()):
        lanes[name] = Lane(tag, schema.check, schema.made, schema.part(empty[name]))
        cuts = frames[name].withColumn(PLACE, place).mapInArrow(on_departure(tag, keys), CUT)
        parts.append(cuts)
    return reduce(lambda a, b: a.union(b), parts).repartition(count, "key"), lanes


def _keys(session: Any, count: int) -> list[int]:
    """For every place a number that Spark's shuffle sends to a partition of its own."""
    from pyspark.sql import functions as F  # noqa: N812

    tried = session.range(40 * count).select("id", F.pmod(F.hash("id"), F.lit(count)).alias("at"))
    return from_arrow(tried.toArrow()).unique("at")["id"].to_list()


def _common(kinds: Sequence[pl.DataType]) -> type[pl.DataType]:
    """Ids are compared as integers where all are, otherwise by their text."""
    return pl.Int64 if all(kind.is_integer() for kind in kinds) else pl.String


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
