"""The propensity of each judgment, and strata: cut by propensity, or by the values of a column.

A cut is made once, from how often each propensity or value stands in all the feedback; the stratum
of a judgment then follows from the judgment alone, wherever it is held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, Ints, sum_by
from counterrank.core.errors import InputError, UsageError
from counterrank.data.checks import shares
from counterrank.data.ids import positions, unify_ids
from counterrank.data.schema import Table
from counterrank.propensity.popularity import Support, frequency, law_support, popularity

RULES = ("popularity", "published", "frequency")
LAW, FREQUENCY = "power law", "frequency"


@dataclass(frozen=True, eq=False)
class Propensities:
    """Where the propensity of a judgment comes from: ``source`` in words.

    ``of_item`` has that of each item of the catalogue (NaN: unknown). Otherwise it stands in a
    ``column`` of the judgments or, ``by_user``, in a table of users and items. ``rule`` says what
    popularity was made of, and ``support`` what the counts say of a power law.
    """

    source: str
    of_item: Floats | None = None
    column: str = ""
    by_user: bool = False
    rule: str | None = None
    support: Support | None = None

    @property
    def protocol(self) -> dict[str, Any]:
        """Where they come from, and the power law, where one is used."""
        tried = self.support or Support(None, None, "")
        used = tried.law if self.rule != FREQUENCY else None
        return {
            "propensity": self.source,
            "rule": self.rule,
            "alpha": used.alpha if used else None,
            "xmin": used.xmin if used else None,
            "fit": tried.p,
            "no_power_law": tried.reason,
        }

    def rows(self, judged: Mapping[str, pl.Series], item: Ints, given: Table | None) -> Floats:
        """The propensity of each of some judgments, NaN where unknown.

        ``judged`` are their columns, ``item`` their items' places in the catalogue, ``given`` the
        rows of the table of propensities for the same users.
        """
        if self.of_item is not None:
            return self.of_item[item]
        if self.column:
            frame = judged[self.column].alias(self.column).to_frame()
            return shares(frame, self.column, "the judgments")[self.column].to_numpy()
        assert given is not None
        return look_up(judged, given)


def from_popularity(
    items: pl.DataFrame, word: str, counts: pl.DataFrame | None, users: int
) -> Propensities:
    """By how much feedback ``items`` got: in the judgments (item, count), or in ``counts``.

    ``popularity`` is the paper's power where the counts support a power law, otherwise a frequency.
    """
    names, own, place = items["item"], items["count"].to_numpy(), np.arange(items.height)
    count = own
    if counts is not None:
        there, names = unify_ids([counts["item"], names])
        unseen = names.filter(pl.Series(positions(names, there) < 0))
        count = np.append(counts["count"].to_numpy(), np.zeros(len(unseen), np.int64))
        place = positions(names, pl.concat([there, unseen]))
    tried = None if word == FREQUENCY else law_support(count)
    if tried is not None and (word == "published" or not tried.reason):
        rule = {"popularity": "paper"}.get(word, word)
        value = popularity(count, rule=rule).value[place]
        return Propensities(word, value, rule=LAW, support=tried)
    value = frequency(count[place], float(own.sum() / (users * len(own))))
    return Propensities(word, value, rule=FREQUENCY, support=tried)


def from_items(items: pl.Series, given: Table) -> Propensities:
    """A table of item and propensity; what it does not have is unknown."""
    validate_once(given)
    value = look_up({"item": items}, given)
    if np.isnan(value).all():
        raise nothing_known(given.name, ("item",))
    return Propensities(f"table {given.name}", value)


def look_up(ids: Mapping[str, pl.Series], given: Table) -> Floats:
    """The propensities of pairs of user and item, or of items, in a table; NaN: not there."""
    keys = [key for key in ("user", "item") if key in given.frame.columns]
    own = {key: unify_ids([ids[key], given.frame[key]]) for key in keys}
    left = pl.DataFrame({key: pair[0] for key, pair in own.items()})
    right = given.frame.with_columns(pair[1].alias(key) for key, pair in own.items())
    p = left.join(right, on=keys, how="left", maintain_order="left")["propensity"]
    return p.fill_null(np.nan).to_numpy()


def validate_once(given: Table) -> None:
    """Refuse two propensities for the same rows."""
    keys = [key for key in ("user", "item") if key in given.frame.columns]
    if given.frame.select(keys).is_duplicated().any():
        raise InputError(
            f'"{given.name}" gives more than one propensity for the same {" and ".join(keys)}.',
            todo="Keep one row for each.",
        )


def nothing_known(table: str, keys: tuple[str, ...]) -> InputError:
    """What is said of a table of propensities that meets no judgment."""
    return InputError(
        f'"{table}" has a propensity for none of the judgments.',
        todo=f"Check that both use the same ids ({', '.join(keys)}).",
    )


CUTS = ("width", "quantile", "items")
MOST = 20  # strata; more say more about noise than about groups
UNKNOWN = "unknown"
SHOWN = 1000  # values of a column that are looked at: far more than can be strata


@dataclass(frozen=True, eq=False)
class PropensitySpread:
    """How propensities stand in the feedback: ``count`` rows at ``p``, all of one ``item``.

    ``least`` and ``most`` are the ends of what ``p`` is the mean of. ``unknown`` counts rows
    without a propensity; the catalogue has so many ``items``.
    """

    p: Floats
    item: Ints
    count: Ints
    least: Floats
    most: Floats
    unknown: int
    items: int

    @classmethod
    def of(cls, p: Floats, item: Ints, count: Ints) -> PropensitySpread:
        """Of propensities, NaN where unknown."""
        known = ~np.isnan(p)
        own, items = p[known], int(item.max(initial=-1)) + 1
        return cls(own, item[known], count[known], own, own, int(count[~known].sum()), items)

    def within(self, code: Ints) -> float:
        r"""Share of the variance of :math:`\ln p` over rows that lies within strata ``code``."""
        x, n = np.log(self.p), self.count.astype(float)
        rows, sums = (sum_by(code, y, int(code.max(initial=0)) + 1) for y in (n, n * x))
        mean = np.divide(sums, rows, out=np.zeros_like(sums), where=rows > 0)
        total = float(n @ (x - np.average(x, weights=n)) ** 2)
        return float(n @ (x - mean[code]) ** 2) / total if total > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Strata:
    """What is cut: ``names`` of the strata, their propensities from ``low`` to ``high``.

    ``empty`` are bins of the cut that no feedback fell into; ``place`` is the stratum of each bin.
    A judgment's bin is the number of ``edges`` below its propensity, or that of its item
    (``of_item``), or the place of its value among ``values``.
    """

    by: str
    names: tuple[str, ...]
    low: Floats
    high: Floats
    empty: tuple[str, ...]
    place: Ints
    edges: Floats | None = None
    of_item: Ints | None = None
    values: pl.Series | None = None

    def code(self, propensity: Floats, item: Ints) -> Ints:
        """The stratum of each judgment, of a cut by propensity; NaN is unknown."""
        if self.edges is not None:
            bin_of = np.searchsorted(self.edges, propensity, side="left")
        else:
            assert self.of_item is not None
            bin_of = self.of_item[item]
        return self.place[np.where(np.isnan(propensity), len(self.place) - 1, bin_of)]

    def code_of(self, column: pl.Series) -> Ints:
        """The stratum of each judgment, of a cut by the values of a column."""
        place = pl.DataFrame({"value": self.values}).with_row_index("place")
        rows = column.alias("value").to_frame().join(place, on="value", maintain_order="left")
        return rows["place"].to_numpy().astype(np.int64)


def cut_strata(known: PropensitySpread, *, bins: int, how: str) -> Strata:
    """Strata Q1 (least propensity) to Qx of feedback.

    ``width``: bins of equal width. ``quantile``: about the same number of rows in each.
    ``items``: about the same number of items, each at its mean propensity. Rows without a
    propensity (NaN) are a stratum of their own.
    """
    if not isinstance(bins, (int, np.integer)) or not 1 <= bins <= MOST:
        raise UsageError(
            f"The number of strata must lie between 1 and {MOST}, not {bins}.",
            todo="Two to five are usual: each needs some 30 users with something to find.",
        )
    if not len(known.p):
        raise InputError("No feedback row has a propensity.", todo="Give one that covers the data.")
    p = known.p
    edges, of_item = None, None
    if how == "width":
        code, wide = equal_width(p, bins)
        edges, low, high = wide[1:-1], np.append(p.min(), wide[1:-1]), wide[1:]
    else:
        if how == "quantile":
            code = equal_parts(p, known.count, bins)
            edges = np.array([p[code < q].max(initial=-np.inf) for q in range(1, bins)])
        else:
            of_item = _by_items(known, bins)
            code = of_item[known.item]
        low = np.array([known.least[code == q].min(initial=np.inf) for q in range(bins)])
        high = np.array([known.most[code == q].max(initial=-np.inf) for q in range(bins)])
    names = [*(f"Q{q + 1}" for q in range(bins)), UNKNOWN]
    full = np.append(np.bincount(code, minlength=bins) > 0, known.unknown > 0)
    empty = [
        f"{name} ({low[q]:.4g} to {high[q]:.4g})" if low[q] <= high[q] else name
        for q, name in enumerate(names[:-1])
        if not full[q]
    ]
    return Strata(
        by=how,
        names=tuple(name for name, there in zip(names, full, strict=True) if there),
        low=np.append(low, np.nan)[full],
        high=np.append(high, np.nan)[full],
        empty=tuple(empty),
        place=np.cumsum(full) - 1,
        edges=edges,
        of_item=of_item,
    )


def equal_width(p: Floats, bins: int) -> tuple[Ints, Floats]:
    """Bins of equal width between the least and the greatest value, closed on the right.

    The lowest edge is moved down by 0.1 % of the range, so that the least value is inside. Where
    all values are equal, all are in the first bin.
    """
    edges = np.linspace(p.min(), p.max(), bins + 1)
    edges[0] -= 0.001 * (p.max() - p.min())
    return np.searchsorted(edges[1:-1], p, side="left").astype(np.int64), edges


def equal_parts(x: Floats, count: Ints, bins: int) -> Ints:
    r"""Bins of about the same number of rows, ``count`` of each value; equal values stay together.

    A value goes to bin :math:`\lfloor X\,s \rfloor`, where :math:`s` is the share of rows below
    it plus half the share equal to it.
    """
    kinds, place = np.unique(x, return_inverse=True)
    rows = sum_by(place, count.astype(float), len(kinds))
    middle = (np.cumsum(rows) - rows / 2) / rows.sum()
    bin_of: Ints = np.minimum((bins * middle).astype(np.int64), bins - 1)
    return bin_of[place]


def _by_items(known: PropensitySpread, bins: int) -> Ints:
    """The bin of each item, at the mean propensity of its rows; about as many items in each."""
    rows = sum_by(known.item, known.count.astype(float), known.items)
    there = rows > 0
    mean = sum_by(known.item, known.p * known.count, known.items)[there] / rows[there]
    bin_of = np.zeros(known.items, np.int64)
    # means of equal values are equal
    bin_of[there] = equal_parts(np.round(mean, 14), np.ones(len(mean), np.int64), bins)
    return bin_of


def by_values(name: str, values: pl.Series, distinct: str) -> Strata:
    """One stratum for each of the ``values`` of a column, of which there are ``distinct``."""
    values = values.unique().sort()
    if len(values) > MOST:
        shown = ", ".join(str(v) for v in values.head(3))
        raise InputError(
            f'Column "{name}" has too many values to be strata.',
            found=f"It has {distinct} ({shown}, ...); at most {MOST} make sense.",
            todo="Group them where the table is made, or cut by propensity: --cut width.",
        )
    none = np.full(len(values), np.nan)
    return Strata(
        by=name,
        names=tuple(f"{name}={value}" for value in values.cast(pl.String)),
        low=none,
        high=none,
        empty=(),
        place=np.arange(len(values)),
        values=values,
    )


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """The first of the ``distinct`` values of a column (``more``: there may be more of them)."""

    first: pl.Series
    distinct: int
    more: bool = False

    @classmethod
    def of(cls, column: pl.Series) -> ColumnValues:
        """Of one partition."""
        values = column.unique().sort()
        return cls(values.head(SHOWN), len(values))

    @classmethod
    def merge(cls, parts: Sequence[ColumnValues]) -> ColumnValues:
        """Of all partitions."""
        values = pl.concat([part.first for part in parts]).unique().sort()
        more = any(part.more or len(part.first) < part.distinct for part in parts)
        distinct = max(len(values), *(part.distinct for part in parts))
        return cls(values.head(SHOWN), distinct, more)

    @property
    def words(self) -> str:
        """How many there are."""
        return f"{'at least ' * self.more}{self.distinct:,}"
