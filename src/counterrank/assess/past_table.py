"""A table of past experiments: offline figures and online ones, long or wide, as cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from counterrank.assess.online import Cases
from counterrank.assess.request import OnlineRequest
from counterrank.core.arrays import Floats
from counterrank.core.errors import InputError, UsageError, nearest
from counterrank.data.checks import identifiers, real, texts
from counterrank.data.schema import ColumnNames, Input, Roles, Table, label, read_alone
from counterrank.data.sources import open_source

NAMES = ("experiment", "system", "reward")
FIGURES = ("online", "offline", "online_se", "offline_se")
EFFECTS = ("effect", "effect_se", "online_effect", "online_effect_se")


def read_past_table(
    request: OnlineRequest,
) -> tuple[list[Cases], tuple[Input, ...], dict[str, Any]]:
    """The cases of each measure and reward, what was read, and nothing of where it ran.

    Long: measure, offline (and offline_se) and online in each row. Wide: a column for each measure,
    named by ``offline`` or else every numeric column without a role. Rows are ``values`` of
    systems, whose effects are differences from the ``baseline`` of the same experiment, or are
    ``effects`` already.
    """
    read = _read(request.source, request.offline, request.columns)
    frame = _long(read, request.offline)
    _refuse_repeats(frame, read.name)
    _refuse_two_truths(frame, read.name)
    if request.kind == "values" and request.baseline is not None:
        frame = _differences(frame, request.baseline, read.name)
    else:
        own = request.kind == "effects"
        frame = frame.with_columns(
            (pl.col(c) if own else pl.lit(None, pl.Float64)).alias(name)
            for name, c in zip(
                EFFECTS, ("offline", "offline_se", "online", "online_se"), strict=True
            )
        )
    parts = frame.partition_by("measure", "reward", maintain_order=True)
    series = _days(read, request.columns)
    return [_cases(part, series) for part in parts], (read.input(),), {}


def _read(table: object, offline: Sequence[str], columns: Mapping[str, str] | None) -> Table:
    source = open_source(table, trec=(), name=label(table, "the table"))
    there = source.columns()
    names = ColumnNames(columns)
    if "experiment" not in names and "experiment" not in there and "day" in there:
        names["experiment"] = "day"
    optional = ("system", "reward", "measure", *FIGURES[1:])
    roles = Roles(source.name, ("experiment", "online"), optional, names, tuple(offline))
    long = roles.column("measure", there) in there and roles.column("offline", there) in there
    if not (long or offline):
        taken = {roles.column(role, there) for role in ("experiment", "online", *optional)}
        wide = tuple(name for name in there if name not in taken)
        roles = Roles(source.name, ("experiment", "online"), optional, names, wide)
    return read_alone(source, roles, _check_past)


def _check_past(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    marks = [c for c in (*NAMES, "measure") if c in frame.columns]
    frame = texts(frame, [c for c in marks if not frame.schema[c].is_integer()], name)
    return texts(identifiers(frame, marks, name), marks, name)


def _long(table: Table, offline: Sequence[str]) -> pl.DataFrame:
    """One row per experiment, system, reward and measure; standard errors missing where unknown."""
    frame, name = table.frame, table.name
    blank = [c for c in ("system", "reward") if c not in frame.columns]
    frame = frame.with_columns(pl.lit("").alias(c) for c in blank)
    if not ("measure" in frame.columns and "offline" in frame.columns and not offline):
        roles = {*NAMES, "measure", *FIGURES}
        wide = list(offline) or [c for c in frame.columns if c not in roles and _numeric(frame[c])]
        if not wide:
            raise InputError(
                f'"{name}" has no offline figures.',
                found=f"Its columns are: {', '.join(table.source.columns()[:12])}.",
                todo="Give measure and offline in each row, or a column per measure (--offline).",
            )
        frame = frame.drop("measure", "offline", "offline_se", strict=False)
        for column in wide:  # said of the column as the table has it
            real(frame.select(column), column, name)
        frame = frame.unpivot(
            wide, index=[c for c in frame.columns if c not in wide],
            variable_name="measure", value_name="offline",
        )  # fmt: skip
    for column in [c for c in FIGURES if c in frame.columns]:
        frame = real(frame, column, name)
        if column.endswith("_se") and (frame[column].to_numpy() < 0).any():
            raise InputError(f'Column "{column}" of "{name}" must not be negative.')
    missing = [c for c in ("online_se", "offline_se") if c not in frame.columns]
    return frame.with_columns(pl.lit(None, pl.Float64).alias(c) for c in missing)


def _numeric(column: pl.Series) -> bool:
    """Numbers, or text that is nothing but numbers, as CSV files give it."""
    if column.dtype == pl.String:
        return column.str.strip_chars().cast(pl.Float64, strict=False).null_count() == 0
    return column.dtype.is_numeric()


def _refuse_repeats(frame: pl.DataFrame, name: str) -> None:
    again = frame.filter(frame.select(*NAMES, "measure").is_duplicated())
    if again.height:
        row = again.row(0, named=True)
        raise InputError(
            f'"{name}" has several rows of one experiment, system and measure.',
            found=f"Found {again.height:,} (first: {row['experiment']}, {row['system']},"
            f" {row['measure']}).",
            todo="Keep one row each, or name the experiments apart.",
        )


def _refuse_two_truths(frame: pl.DataFrame, name: str) -> None:
    """One experiment, system and metric was measured once, however many measures foretold it."""
    several = frame.group_by(NAMES, maintain_order=True).agg(pl.col("online").unique())
    odd = several.filter(pl.col("online").list.len() > 1)
    if odd.height:
        row = odd.row(0, named=True)
        case = ", ".join(row[c] for c in NAMES if row[c])
        low, high = sorted(row["online"])[:2]
        raise InputError(
            f'"{name}" has several online figures of one experiment and system.',
            found=f"Found {odd.height:,} such cases (first: {case}: {low:g} and {high:g}).",
            todo="Repeat the same figure for every measure; online metrics are told apart by a"
            " column reward.",
        )


def _differences(frame: pl.DataFrame, baseline: str, name: str) -> pl.DataFrame:
    """Effects against the baseline of the same experiment; its own rows have none.

    Standard errors are those of independent samples.
    """
    if set(frame["system"]) == {""}:
        raise UsageError(
            f'"{name}" has no column "system", so nothing in it is "{baseline}".',
            todo="Name the system of each row, or say that rows are effects: --kind effects.",
        )
    if baseline not in frame["system"]:
        raise UsageError(
            f'"{name}" has no system "{baseline}" to be the baseline.',
            found=nearest(baseline, frame["system"].unique().to_list()),
            todo=f"Systems are: {', '.join(frame['system'].unique(maintain_order=True))}.",
        )
    keys = ["experiment", "reward", "measure"]
    control = frame.filter(pl.col("system") == baseline).select(
        *keys, *(pl.col(c).alias(f"{c}_0") for c in FIGURES)
    )
    frame = frame.join(control, on=keys, how="left", maintain_order="left")
    other = pl.when(pl.col("system") != baseline)

    def apart(column: str) -> pl.Expr:
        return other.then(pl.col(column) - pl.col(f"{column}_0"))

    def spread(column: str) -> pl.Expr:
        return other.then((pl.col(column) ** 2 + pl.col(f"{column}_0") ** 2).sqrt())

    return frame.with_columns(
        effect=apart("offline"), effect_se=spread("offline_se"),
        online_effect=apart("online"), online_effect_se=spread("online_se"),
    )  # fmt: skip


def _days(read: Table, columns: Mapping[str, str] | None) -> bool:
    """Whether experiments are days: by the name of their column, or as all are dates."""
    there = read.source.columns()
    given = (columns or {}).get("experiment", "experiment" if "experiment" in there else "day")
    dates = read.frame["experiment"].str.to_date("%Y-%m-%d", strict=False)
    return given == "day" or dates.null_count() == 0


def _cases(part: pl.DataFrame, series: bool) -> Cases:
    def array(column: str) -> Floats:
        return part[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()

    figures = ("offline", "online", *EFFECTS)
    names = part["measure"][0], part["reward"][0], tuple(part["experiment"]), tuple(part["system"])
    return Cases(*names, *map(array, figures), series=series)
