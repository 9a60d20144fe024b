"""Public data sets as a study reads them. Nothing is downloaded: a missing set says where it is.

Each is read from Parquet tables under the set's own name, or from the files of its publisher.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from counterrank.core.errors import InputError, UsageError, first_line, nearest

VARIABLE = "COUNTERRANK_DATA"
POLICIES, CAMPAIGNS = ("random", "bts"), ("all", "men", "women")
GROUPLENS = "GroupLens terms: research with acknowledgement, no commercial use, no redistribution"


@dataclass(frozen=True)
class DataSet:
    """Where a set is published, under which licence, what its files are called, how to read them.

    ``folders`` are names its folder may have, ``files`` any one file (or pattern) of each layout.
    """

    name: str
    publisher: str
    licence: str
    folders: tuple[str, ...]
    files: Mapping[str, Callable[[Path], Any]]


def read_movielens(folder: Path) -> pl.DataFrame:
    """user, item, and rating and timestamp where they are known."""
    file = next(folder.glob("ratings.parquet"), folder / "interactions.parquet")
    return pl.read_parquet(file)


def read_u_data(folder: Path) -> pl.DataFrame:
    """``u.data``: user, item, rating, timestamp, between tabs."""
    columns = ["user", "item", "rating", "timestamp"]
    return pl.read_csv(folder / "u.data", separator="\t", has_header=False, new_columns=columns)


def read_ratings_dat(folder: Path) -> pl.DataFrame:
    """``ratings.dat``: the same between double colons, which are two separators to a reader."""
    table = pl.read_csv(folder / "ratings.dat", separator=":", has_header=False)
    names = dict(zip(table.columns[::2], ("user", "item", "rating", "timestamp"), strict=True))
    return table.select(list(names)).rename(names)


def read_two_parts(folder: Path) -> dict[str, pl.DataFrame]:
    """``train`` and ``test``: user, item, rating; and other tables that lie beside them."""
    return {file.stem: pl.read_parquet(file) for file in sorted(folder.glob("*.parquet"))}


def read_matrices(folder: Path) -> dict[str, pl.DataFrame]:
    """``train.ascii`` and ``test.ascii``: a line per user, a column per item, 0 where not rated."""
    return {part: _cells(np.loadtxt(folder / f"{part}.ascii")) for part in ("train", "test")}


def _cells(matrix: np.ndarray[Any, Any]) -> pl.DataFrame:
    user, item = matrix.nonzero()
    rating = matrix[user, item].astype(np.int8)
    return pl.DataFrame({"user": user, "item": item, "rating": rating})


YAHOO = "ydata-ymusic-rating-study-v1_0-{}.txt"


def read_yahoo(folder: Path) -> dict[str, pl.DataFrame]:
    """``train`` (chosen by users) and ``test`` (songs at random): user, item, rating by tabs."""
    columns = ["user", "item", "rating"]
    return {
        part: pl.read_csv(
            folder / YAHOO.format(part), separator="\t", has_header=False, new_columns=columns
        )
        for part in ("train", "test")
    }


def read_netflix(folder: Path) -> pl.DataFrame:
    """Files in which ``7:`` begins film 7 and ``user,rating,date`` are lines of it."""
    files = sorted([*folder.glob("combined_data_*.txt"), *folder.glob("training_set/mv_*.txt")])
    return pl.concat(_films(file) for file in files)


def _films(file: Path) -> pl.DataFrame:
    lines = pl.read_csv(file, has_header=False, separator="\n", new_columns=["line"])
    film = pl.col("line").str.strip_suffix(":").cast(pl.Int32, strict=False)
    parts = pl.col("line").str.split_exact(",", 2)
    rows = lines.with_columns(item=film.forward_fill(), parts=parts).filter(film.is_null())
    fields = rows["parts"].struct
    return pl.DataFrame(
        {
            "user": fields[0].cast(pl.Int32),
            "item": rows["item"],
            "rating": fields[1].cast(pl.Int8),
        }
    )


Logs = dict[tuple[str, str], pl.DataFrame]


def read_bandit(folder: Path) -> Logs:
    """Logs by policy and campaign: item, position, click, propensity, features."""
    return {
        (policy, campaign): pl.read_parquet(file)
        for policy in POLICIES
        for campaign in CAMPAIGNS
        if (file := folder / f"{policy}_{campaign}.parquet").exists()
    }


def read_bandit_csv(folder: Path) -> Logs:
    """``random/all/all.csv`` and so on, under the same names of columns."""
    names = {"item_id": "item", "propensity_score": "propensity"}
    return {
        (policy, campaign): pl.read_csv(file).rename(names, strict=False)
        for policy in POLICIES
        for campaign in CAMPAIGNS
        if (file := folder / policy / campaign / f"{campaign}.csv").exists()
    }


SETS = {
    made.name: made
    for made in (
        DataSet(
            "movielens-100k", "GroupLens, grouplens.org/datasets/movielens/100k", GROUPLENS,
            ("movielens-100k", "ml-100k"),
            {"ratings.parquet": read_movielens, "u.data": read_u_data},
        ),
        DataSet(
            "movielens-1m", "GroupLens, grouplens.org/datasets/movielens/1m", GROUPLENS,
            ("movielens-1m", "ml-1m"),
            {"ratings.parquet": read_movielens, "ratings.dat": read_ratings_dat,
             "interactions.parquet": read_movielens},
        ),
        DataSet(
            "coat", "Schnabel et al. 2016, www.cs.cornell.edu/~schnabts/mnar",
            "none stated: research use with citation", ("coat",),
            {"train.parquet": read_two_parts, "train.ascii": read_matrices},
        ),
        DataSet(
            "yahoo-r3", "Yahoo! Webscope R3, webscope.sandbox.yahoo.com",
            "Webscope agreement: named researchers only, no redistribution",
            ("yahoo-r3", "yahoo", "R3"),
            {"train.parquet": read_two_parts, YAHOO.format("train"): read_yahoo},
        ),
        DataSet(
            "netflix", "Netflix Prize data, withdrawn by the publisher",
            "Netflix Prize rules: research, no redistribution", ("netflix", "netflix-prize"),
            {"ratings.parquet": read_movielens, "combined_data_*.txt": read_netflix,
             "training_set/mv_*.txt": read_netflix},
        ),
        DataSet(
            "open-bandit", "ZOZO, research.zozo.com/data.html; a sample comes with obp",
            "research use with citation (the data), Apache 2.0 (the sample)",
            ("open-bandit", "open_bandit_dataset", "open-bandit-sample", "obd"),
            {"random_*.parquet": read_bandit, "random/*/*.csv": read_bandit_csv},
        ),
    )
}  # fmt: skip


def data_root(given: str | os.PathLike[str] | None) -> Path | None:
    """The folder of ``--data``, or of the environment."""
    told = given or os.environ.get(VARIABLE)
    if told and not os.path.isdir(told):
        raise UsageError(f'"{told}" is no folder.', todo="Name the folder that holds the sets.")
    return Path(told) if told else None


def find_set(name: str, root: Path | None) -> tuple[Path, Callable[[Path], Any]] | None:
    """The folder of a set and the reader of its layout; the fullest layout comes first."""
    return next(_places(SETS[name], root), None) if root else None


def _places(one: DataSet, root: Path) -> Iterator[tuple[Path, Callable[[Path], Any]]]:
    for pattern, read in one.files.items():
        for folder in one.folders:
            if any((root / folder).glob(pattern)):
                yield root / folder, read


def load_set(name: str, root: Path | None) -> Any:
    """A set by its name; see its reader for what it gives."""
    if name not in SETS:
        raise UsageError(f'There is no data set "{name}".', found=nearest(name, SETS))
    place = find_set(name, root)
    if place is None:
        raise missing_set(name, root)
    folder, read = place
    try:
        return read(folder)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f'"{folder}" is not laid out as {name} is.', found=first_line(error), todo=layout(name)
        ) from error


def missing_set(name: str, root: Path | None) -> InputError:
    """Its name, where it is published, its licence and the layout expected."""
    one = SETS[name]
    where = f'It is not in "{root}".' if root else f"Neither --data nor {VARIABLE} names a folder."
    published = f"Published by {one.publisher}. Licence: {one.licence}."
    return InputError(f"The data set {name} is needed.", found=where, todo=published + layout(name))


def layout(name: str) -> str:
    """How files must lie."""
    one = SETS[name]
    files = " or ".join(f"{one.folders[0]}/{pattern}" for pattern in one.files)
    return f" Expected under --data DIR: {files} (the folder may be {', '.join(one.folders)})."
