r"""What stands for units whose rows are too many to hold: means and products that merge.

Units are rows of :math:`K` columns; :math:`n_g` of them form cluster :math:`g`, and :math:`S_g` are
their sums. With the mean :math:`m` and :math:`d_g = S_g - n_g m` all inference needs

.. math:: D = \sum_g d_g d_g^\top, \quad E = \sum_g n_g d_g, \quad N_2 = \sum_g n_g^2

About another centre :math:`m - \delta` they are :math:`D + E \delta^\top + \delta E^\top + N_2
\delta \delta^\top`, :math:`E + N_2 \delta` and :math:`N_2`, so those of two parts are brought to
one centre and added (Chan, Golub and LeVeque 1983). Held is a root of them: a :math:`R` with

.. math:: R^\top R = \begin{pmatrix} D & E \\ E^\top & N_2 \end{pmatrix}

A shift is a product, :math:`R \begin{pmatrix} I & 0 \\ \delta^\top & 1 \end{pmatrix}`, and two
parts merge by the QR decomposition of one root above the other. Nothing is squared, so columns that
are nearly alike keep the digits of their difference. :math:`R \nabla f` has the products of the
influence values of :math:`f`, so it serves as their vector: :math:`K` rows instead of :math:`n`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from operator import add
from typing import Annotated

import numpy as np

from counterrank.core.arrays import Floats, Ints, sum_by
from counterrank.core.merge import first, merge
from counterrank.core.parallel import cached_property
from counterrank.stats.draws import ClusterSums, Flips, flip_codes
from counterrank.stats.estimates import ClusterSizes
from counterrank.stats.functions_of_means import Function, about, gradient
from counterrank.stats.units import ROUNDING, Estimate, Key, Units, estimate_over, once_each

Pair = tuple[Key, Key]
ROWS = 4096  # clusters decomposed at a time
WIDEST = 7  # columns, their number of units among them, whose third and fourth powers are kept


@dataclass(frozen=True, eq=False)
class Root:
    r"""Units in clusters of some ``sizes``, and their root about ``centre``.

    ``lean`` is the sum of all units less ``centre``, which is the mean but for rounding. ``fourth``
    is :math:`\sum_g (r_g \otimes r_g)(r_g \otimes r_g)^\top` with :math:`r_g = (d_g, n_g)` and
    ``third`` :math:`\sum_g (r_g \otimes r_g)\, r_g^\top`, where columns are few: how many clusters
    an error rests on, and how skewed it is, are read off them.
    """

    sizes: ClusterSizes
    centre: Floats
    lean: Floats
    root: Floats
    third: Floats | None = None
    fourth: Floats | None = None

    @classmethod
    def of(cls, columns: Floats, cluster: Ints | None = None) -> Root:
        """Of one part: units x columns, each unit's ``cluster`` a number from 0 without gaps.

        A cluster must be in one part with all its units. Without clusters each unit is its own.
        """
        n, wide = columns.shape
        centre = columns.mean(axis=0) if n else np.zeros(wide)
        known = np.isfinite(centre)
        size = np.ones(n) if cluster is None else np.bincount(cluster).astype(float)
        rows, lean = np.empty((len(size), wide + 1)), np.zeros(wide)
        rows[:, -1] = size
        for j in range(wide):  # column by column: a copy of all of them need not fit a cache
            x = columns[:, j] - centre[j] if known[j] else np.zeros(n)
            lean[j] = x.sum()
            rows[:, j] = x if cluster is None else sum_by(cluster, x, len(size))
        return cls(ClusterSizes.of(size), centre, lean, _root(rows), *_powers(rows))

    def __add__(self, other: Root) -> Root:
        """Of both parts together."""
        sizes = merge([self.sizes, other.sizes])
        if not self.sizes.n or not other.sizes.n:
            return self if self.sizes.n else other
        centre = self.mean + other.sizes.n / sizes.n * (other.mean - self.mean)
        a, b = self.about(centre), other.about(centre)
        both = ((a.third, b.third), (a.fourth, b.fourth))
        powers = [None if x is None or y is None else x + y for x, y in both]
        root = _root(np.vstack([a.root, b.root]))
        return Root(sizes, centre, a.lean + b.lean, root, *powers)

    def about(self, centre: Floats) -> Root:
        """The same moments about another centre."""
        shift = _known(self.centre - centre)
        root = self.root.copy()
        root[:, :-1] += root[:, -1:] * shift
        third, fourth = self.third, self.fourth
        if third is not None and fourth is not None:
            move = np.eye(len(shift) + 1)
            move[-1, :-1] = shift
            twice = np.kron(move, move)
            third, fourth = twice.T @ third @ move, twice.T @ fourth @ twice
        return Root(self.sizes, centre, self.lean + self.sizes.n * shift, root, third, fourth)

    @classmethod
    def merge(cls, parts: Sequence[Root]) -> Root:
        """Of all parts together."""
        return reduce(add, parts)

    def among(self, n: int) -> Root:
        """Over ``n`` of the units, each its own cluster, where the others are 0 in every column.

        Then the sums are the same, and so are influence values of functions that a factor common
        to all means does not change.
        """
        mean = self.mean * (self.sizes.n / max(n, 1))
        root = np.column_stack([self.centred, self.root[:, -1]])
        return Root(ClusterSizes.ones(n), mean, np.zeros(len(mean)), root)

    @cached_property
    def mean(self) -> Floats:
        """Mean of each column."""
        return self.centre + self.lean / max(self.sizes.n, 1)

    @cached_property
    def centred(self) -> Floats:
        """The root about the mean to the last digit, not about the centre."""
        shift = -_known(self.lean / max(self.sizes.n, 1))
        return self.root[:, :-1] + self.root[:, -1:] * shift

    def influence(self, gradient: Floats, columns: Ints | slice = slice(None)) -> Floats:
        r""":math:`R \nabla f` of some columns: a vector with the products of influence values."""
        terms = self.centred[:, columns] * gradient
        psi: Floats = terms.sum(axis=1)
        if np.linalg.norm(psi) <= ROUNDING * np.linalg.norm(np.abs(terms).sum(axis=1)):
            return np.zeros_like(psi)
        return psi

    def influence_powers(self, gradient: Floats, columns: Ints) -> tuple[float, float]:
        """Sums of the third and fourth powers of influence values; NaN where they were not kept."""
        if self.third is None or self.fourth is None:
            return float("nan"), float("nan")
        slope = np.zeros(len(self.centre) + 1)
        slope[columns] = gradient
        slope[-1] = -slope[:-1] @ _known(self.lean / max(self.sizes.n, 1))
        twice = np.kron(slope, slope)
        return float(twice @ self.third @ slope), float(twice @ self.fourth @ twice)


def _powers(rows: Floats) -> tuple[Floats | None, Floats | None]:
    wide = rows.shape[1]
    if wide > WIDEST:
        return None, None
    third, fourth = np.zeros((wide**2, wide)), np.zeros((wide**2, wide**2))
    for start in range(0, len(rows), ROWS):
        some = rows[start : start + ROWS]
        twice = (some[:, :, None] * some[:, None, :]).reshape(len(some), -1)
        third += twice.T @ some
        fourth += twice.T @ twice
    return third, fourth


def _root(rows: Floats) -> Floats:
    """The triangle of a QR decomposition, block by block."""
    found = rows[:0]
    step = max(ROWS, 4 * rows.shape[1])
    for start in range(0, len(rows), step):
        found = np.asarray(np.linalg.qr(np.vstack([found, rows[start : start + step]]), mode="r"))
    return found


def _known(shift: Floats) -> Floats:
    """A column with a value that is no number has no mean; the others keep theirs."""
    return np.where(np.isfinite(shift), shift, 0.0)


@dataclass(frozen=True, eq=False)
class Block:
    """Moments of some keys' columns side by side, over the units that all of them have.

    ``places`` say which of the columns each key has; what keys share is there once. ``drawn`` is
    what resamples are made of, where they are asked for, and ``among`` the places of the columns
    in it: blocks may share one.
    """

    places: Annotated[dict[Key, Ints], first]
    root: Root
    drawn: ClusterSums | None = None
    among: Annotated[Ints | None, first] = None
    _estimates: dict[tuple[Key, Function], Estimate] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, units: Units, keys: Sequence[Key], drawn: Drawn | None = None) -> Block:
        """Of one part of the units, in which clusters are whole; ``drawn`` if others share it."""
        view = units.over(*keys)
        code, _ = view.coded_clusters
        columns, places = view.distinct(keys)
        block = cls(places, Root.of(np.stack(columns, axis=1), code))
        if not units.draws.resamples:
            return block
        sums, place = drawn or _drawn(view, keys)
        return replace(block, drawn=sums, among=np.array([place[id(x)] for x in columns]))

    def over(self, *keys: Key) -> Block:
        """Itself: the units were settled when it was made."""
        return self

    @property
    def n(self) -> int:
        """How many units there are."""
        return self.root.sizes.n

    def means(self, key: Key) -> Floats:
        """The mean of each of a key's columns."""
        return self.root.mean[self.places[key]]

    def estimate(self, key: Key, function: Function) -> Estimate:
        """As `Units.estimate`, from the root."""
        if (key, function) not in self._estimates:
            self._estimates[key, function] = self._estimate(key, function)
        return self._estimates[key, function]

    def _estimate(self, key: Key, function: Function) -> Estimate:
        place, root, means, drawn, seed = self.places[key], self.root, self.means(key), None, 0
        function = about(function, means)
        slope = gradient(function, means)
        if self.drawn is not None and self.among is not None:
            drawn, seed = self.drawn.means(self.among[place]), self.drawn.draws.seed
        psi = root.influence(slope, place)
        estimate = estimate_over(self, function, means, psi, root.sizes, drawn, seed)
        apart, (third, fourth) = estimate.influence[len(psi) :], root.influence_powers(slope, place)
        powers = third + float(np.sum(apart**3)), fourth + float(np.sum(apart**4))
        grouped = root.sizes.clusters < root.sizes.n
        return replace(estimate, dependent=grouped, powers=powers)


@dataclass(frozen=True, eq=False)
class Moments:
    """``blocks`` of keys that are read together, and ``flips`` of those that are tested."""

    blocks: dict[tuple[Key, ...], Block]
    flips: Flips | None = None

    @classmethod
    def of(
        cls, units: Units, keys: Iterable[Key], groups: Sequence[Sequence[Pair]] = ()
    ) -> Moments:
        """Of one part: a block for each key, and for the keys of each group of pairs.

        Where all units count for everyone, a key in a group needs no block of its own, unless the
        group is too wide for powers.
        """
        together = list(dict.fromkeys(keys_of(group) for group in groups if group))
        narrow = [own for own in together if len(units.distinct(own)[0]) < WIDEST]
        covered = {key for own in narrow for key in own} if not units.masks else set()
        alone = [(key,) for key in keys if key not in covered]
        drawn = flips = None
        if units.draws.resamples and not units.masks:  # weights cost more than sums: drawn once
            drawn = _drawn(units, [key for own in (*alone, *together) for key in own])
        blocks = {own: Block.of(units, own, drawn) for own in (*alone, *together)}
        if units.draws.flips and together:
            scores = [tested_values(units, own) for own in together]
            bits = (units.draws.flips - 1).bit_length()
            code = flip_codes(units.cluster_hashes, bits, units.draws.seed)
            flips = Flips.of(scores, places_of(groups), code, bits)
        return cls(blocks, flips)

    @classmethod
    def merge(cls, parts: Sequence[Moments]) -> Moments:
        """Of all parts; what blocks share stays shared."""
        shared, blocks = once_each(lambda *same: merge(same)), {}
        for own in parts[0].blocks:
            each = [part.blocks[own] for part in parts]
            drawn = shared(*(block.drawn for block in each))
            alone = merge([replace(block, drawn=None) for block in each])
            blocks[own] = replace(alone, drawn=drawn)
        return cls(blocks, merge([part.flips for part in parts]))

    def over(self, *keys: Key) -> Block:
        """The block of these keys."""
        if keys in self.blocks:
            return self.blocks[keys]
        return next(block for block in self.blocks.values() if block.places.keys() >= set(keys))

    @property
    def resampled_groups(self) -> int:
        """As of `Units`."""
        drawn = (block.drawn for block in self.blocks.values())
        return max((len(x.ids) for x in drawn if x is not None and x.grouped), default=0)

    def estimate(self, key: Key, function: Function) -> Estimate:
        """Of one key over its own units."""
        return self.over(key).estimate(key, function)

    def count(self, key: Key) -> int:
        """How many units a key has."""
        return self.over(key).n


Table = Units | Moments
Drawn = tuple[ClusterSums, dict[int, int]]  # what resamples are made of, and places by id() in it


def _drawn(units: Units, keys: Iterable[Key]) -> Drawn:
    columns, _ = units.distinct(keys)
    return units.cluster_sums(columns), {id(x): place for place, x in enumerate(columns, 1)}


def keys_of(group: Sequence[Pair]) -> tuple[Key, ...]:
    """The keys of a group of pairs, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(map(reversed, group))))


def places_of(groups: Sequence[Sequence[Pair]]) -> Ints:
    """Where the two sides of each pair stand among the keys of its group, the same in all groups.

    Groups that are tested together are alike: the same systems, another measure.
    """
    found = []
    for group in groups:
        place = {key: number for number, key in enumerate(keys_of(group))}
        found.append([(place[a], place[b]) for a, b in group])
    found = [places for places in found if places]
    assert all(places == found[0] for places in found), "groups compare different systems"
    return np.array(found[0], np.int64).reshape(-1, 2)


def tested_values(units: Units, keys: Sequence[Key]) -> Floats:
    """Units x keys: the first column of each key, 0 for units that not all of them have."""
    shared = np.logical_and.reduce([units.mask(key) for key in keys])
    return np.stack([np.where(shared, units.columns[key][0], 0.0) for key in keys], axis=1)
