"""The propensity of each judgment: from popularity, from a column, or from a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import InputError
from counterrank.data.checks import shares
from counterrank.data.ids import positions, unify_ids
from counterrank.data.schema import Table
from counterrank.metrics import Measure
from counterrank.propensity.popularity import popularity
from counterrank.stratified.cut import PropensitySpread
from counterrank.stratified.layout import has_labels

RULES = {"popularity": "paper", "published": "published"}


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """The judged items, each once and in order, and the number of judgments of each."""

    items: pl.Series
    count: Ints

    def spread(self, p: Floats) -> PropensitySpread:
        """How propensities of items stand in the judgments."""
        return PropensitySpread.of(p, np.arange(len(self.items)), self.count)


@dataclass(frozen=True, eq=False)
class Propensities:
    """Where the propensity of a judgment comes from: ``source`` in words.

    ``of_item`` has that of each item of the catalogue (NaN: unknown). Otherwise it stands in a
    ``column`` of the judgments or, ``by_user``, in a table of users and items; or there is none,
    for the reason ``missing``. ``alpha`` and ``xmin`` belong to a power law.
    """

    source: str
    of_item: Floats | None = None
    column: str = ""
    by_user: bool = False
    alpha: float | None = None
    xmin: int | None = None
    missing: str = ""

    @property
    def there(self) -> bool:
        """Whether there are any."""
        return self.of_item is not None or bool(self.column) or self.by_user

    def labels(self, measures: Sequence[Measure]) -> tuple[Measure, ...]:
        """The measures for which IPS is also wanted as the published code computes it."""
        if self.source != "published":
            return ()
        return tuple(m for m in measures if has_labels(m))

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
        return looked_up(judged, given)


def from_popularity(known: JudgedItems, word: str, counts: pl.DataFrame | None) -> Propensities:
    """By how much feedback each item got: in the judgments, or in ``counts`` (item, count)."""
    names, count, place = known.items, known.count, np.arange(len(known.items))
    if counts is not None:
        there, names = unify_ids([counts["item"], names])
        unseen = names.filter(pl.Series(positions(names, there) < 0))
        count = np.append(counts["count"].to_numpy().astype(np.int64), np.zeros(len(unseen), int))
        place = positions(names, pl.concat([there, unseen]))
    fitted = popularity(count, rule=RULES[word])
    return Propensities(word, fitted.value[place], alpha=fitted.alpha, xmin=int(fitted.xmin))


def from_items(known: JudgedItems, given: Table) -> Propensities:
    """A table of item and propensity; what it does not have is unknown."""
    refuse_twice(given)
    value = looked_up({"item": known.items}, given)
    if np.isnan(value).all():
        raise nothing_known(given.name, ("item",))
    return Propensities(f"table {given.name}", value)


def looked_up(ids: Mapping[str, pl.Series], given: Table) -> Floats:
    """The propensities of pairs of user and item, or of items, in a table; NaN: not there."""
    keys = [key for key in ("user", "item") if key in given.frame.columns]
    own = {key: unify_ids([ids[key], given.frame[key]]) for key in keys}
    left = pl.DataFrame({key: pair[0] for key, pair in own.items()})
    right = given.frame.with_columns(pair[1].alias(key) for key, pair in own.items())
    found = left.join(right, on=keys, how="left", maintain_order="left")["propensity"]
    return found.fill_null(np.nan).to_numpy()


def refuse_twice(given: Table) -> None:
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
