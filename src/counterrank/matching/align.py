"""One block of lists and judgments in, hits out: ranks by a tie rule, then the join.

``align`` is a pure function of its block. It knows nothing of files, engines or other blocks, so
the same code serves data in memory, out of core and on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from counterrank.core.arrays import (
    AnyFloats,
    AnyInts,
    Ints,
    alike,
    falling_bits,
    order_lists,
    sort_order,
    take_rows,
)
from counterrank.matching.hashjoin import pair_keys, repeated_rows, sparse_join


@dataclass(frozen=True)
class Order:
    """Rank of each row; the first and last rank it could have had among equal scores.

    ``repeated`` holds the rows that claim a rank another row of their list has. ``natural`` says
    that every list stands in the order 1, 2, 3, ...
    """

    rank: Ints
    first: Ints
    last: Ints
    repeated: Ints
    natural: bool = False

    def depth(self, length: Ints) -> Ints:
        """The largest rank of each list."""
        if self.natural:
            return length
        return np.maximum.reduceat(self.rank, np.cumsum(length) - length)


def natural_rank(length: Ints) -> Ints:
    """1, 2, 3, ... within each list, in the order of rows."""
    if alike(length):
        return np.tile(np.arange(1, length[0] + 1), len(length))
    start = np.cumsum(length) - length
    return np.arange(length.sum()) - np.repeat(start, length) + 1


def by_rank(given: AnyInts, length: Ints) -> Order:
    """Ranks as given."""
    natural = natural_rank(length)
    if np.array_equal(given, natural):
        return Order(natural, natural, natural, np.empty(0, np.int64), natural=True)
    rank = given.astype(np.int64)
    by = order_lists(rank.view(np.uint64), length)
    again = (np.diff(rank[by]) == 0) & (natural[1:] > 1)
    return Order(rank, rank, rank, by[1:][again])


def by_score(
    score: AnyFloats, length: Ints, *, ties: str, text_rank: Callable[[], AnyInts]
) -> Order:
    """Ranks by falling score; ``text_rank`` is asked for where scores tie.

    It gives for every row a number that falls as the text of its id rises.
    """
    score = score.astype(np.float32) if ties == "id32" else score
    rank = natural_rank(length)
    none = np.empty(0, np.int64)
    if _falls(score, length):
        return Order(rank, rank, rank, none, natural=True)
    starts = rank[1:] == 1
    if np.all((score[1:] <= score[:-1]) | starts):
        by = np.arange(len(score))
    else:
        by = order_lists(falling_bits(score), length)
    ordered = score[by]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]) | starts])
    if new.all():
        rank = _scatter(by, rank)
        return Order(rank, rank, rank, none)
    begin, group = np.flatnonzero(new), np.cumsum(new) - 1
    if ties in ("id", "id32"):  # in descending byte order of the ids, as trec_eval does
        text = text_rank().astype(np.int64)[by]
        key = (group << int(text.max()).bit_length()) | text
        by = by[order_lists(key.view(np.uint64), length)]
    size = np.diff(begin, append=len(new))
    first = rank[begin][group]
    return Order(
        rank=_scatter(by, rank),
        first=_scatter(by, first),
        last=_scatter(by, first + size[group] - 1),
        repeated=none,
    )


def _falls(score: AnyFloats, length: Ints) -> bool:
    """Whether the scores of every list fall, and none repeats."""
    if alike(length):
        grid = score.reshape(len(length), -1)
        return bool(np.all(grid[:, 1:] < grid[:, :-1]))
    begins = np.zeros(len(score), bool)
    begins[(np.cumsum(length) - length)[length > 0]] = True
    return bool(np.all((score[1:] < score[:-1]) | begins[1:]))


def _scatter(by: Ints, x: Ints) -> Ints:
    """``x``, listed in the order ``by``, back in the order of rows."""
    out = np.empty_like(x)
    out[by] = x
    return out


@dataclass(frozen=True)
class ListBlock:
    """Lists one after the other, and the judgments of their users.

    ``length`` is the number of rows of each list. ``rank`` or ``score`` orders a list, and
    ``text_rank`` what ties in it (see `by_score`). ``judged`` is the number of judgments of each
    list's user; their items follow list by list.
    """

    length: Ints
    item: AnyInts
    rank: AnyInts | None
    score: AnyFloats | None
    text_rank: Callable[[], AnyInts]
    judged: Ints
    judged_item: AnyInts

    def order(self, ties: str) -> Order:
        """Rank of every row."""
        if self.rank is not None:
            return by_rank(self.rank, self.length)
        assert self.score is not None
        return by_score(self.score, self.length, ties=ties, text_rank=self.text_rank)


@dataclass(frozen=True)
class BlockHits:
    """What one block yields: hits sorted by list and rank, list depths, faulty rows.

    ``judgment`` is the place of each hit among the judgments of the block. ``duplicates`` are
    rows whose item stood in the list already, ``repeated`` rows whose rank did.
    """

    list: Ints
    rank: Ints
    judgment: Ints
    first: Ints
    last: Ints
    depth: Ints
    duplicates: Ints
    repeated: Ints


@dataclass(frozen=True)
class MatchedBlock:
    """Every row of a block with its rank, and the rows whose item is judged.

    ``lists`` is the list of each row, ``row`` and ``judgment`` are the judged rows and their places
    among the judgments of the block. Of an item that stands twice in a list only the better
    place is here; ``selected`` are then the rows of the given block that are (None: all of them).
    """

    block: ListBlock
    lists: Ints
    order: Order
    row: Ints
    judgment: Ints
    selected: Ints | None
    duplicates: Ints
    repeated: Ints

    @property
    def depth(self) -> Ints:
        """The largest rank of each list."""
        return self.order.depth(self.block.length)


def in_rank_order(found: MatchedBlock) -> MatchedBlock:
    """The same with the rows of every list best first, so that sums do not depend on their order.

    What is left without meaning by that, the tied and the repeated ranks, stays as it was.
    """
    if found.order.natural:
        return found
    by = order_lists(found.order.rank.astype(np.uint64), found.block.length)
    place = np.empty_like(by)
    place[by] = np.arange(len(by))
    turn = np.argsort(place[found.row])
    return replace(
        found,
        block=_only(found.block, found.lists, by),
        order=replace(found.order, rank=found.order.rank[by]),
        row=place[found.row][turn],
        judgment=found.judgment[turn],
        selected=by if found.selected is None else found.selected[by],
    )


def match_block(block: ListBlock, *, ties: str) -> MatchedBlock:
    """Rank all rows and look up their judgments."""
    lists = np.repeat(np.arange(len(block.length)), block.length)
    order = block.order(ties)
    key, judged = pair_keys((block.length, block.item), (block.judged, block.judged_item))
    duplicates = repeated_rows(key, block.length)
    if len(duplicates):
        keep = _best_copies(block, lists, order.rank)
        left = match_block(_only(block, lists, keep), ties=ties)
        return replace(left, selected=keep, duplicates=duplicates, repeated=keep[left.repeated])
    row, judgment = sparse_join(key, judged)
    return MatchedBlock(block, lists, order, row, judgment, None, duplicates, order.repeated)


def align(block: ListBlock, *, ties: str, limit: int | None) -> BlockHits:
    """Find the judged items in their lists.

    ``limit`` is the largest rank any measure looks at. An item that stands twice in a list keeps
    its better rank; the other rows are reported and the list is ranked without them.
    """
    match = match_block(block, ties=ties)
    order, row, judgment, depth = match.order, match.row, match.judgment, match.depth
    if limit is not None and depth.max() > limit:
        near = order.first[row] <= limit
        row, judgment = row[near], judgment[near]
    if not order.natural:
        by = sort_order(match.lists[row], order.rank[row])
        row, judgment = row[by], judgment[by]
    rank = order.rank[row]
    tied = order.first is not order.rank
    return BlockHits(
        list=match.lists[row],
        rank=rank,
        judgment=judgment,
        first=order.first[row] if tied else rank,
        last=order.last[row] if tied else rank,
        depth=depth,
        duplicates=match.duplicates,
        repeated=match.repeated,
    )


def _best_copies(block: ListBlock, lists: Ints, rank: Ints) -> Ints:
    """Rows that hold the best rank of their item in their list, in order."""
    by = np.lexsort((rank, block.item, lists))
    again = (np.diff(block.item[by]) == 0) & (np.diff(lists[by]) == 0)
    return np.sort(by[np.concatenate([[True], ~again])])


def _only(block: ListBlock, lists: Ints, keep: Ints) -> ListBlock:
    """The block with some of its rows."""
    length = np.bincount(lists[keep], minlength=len(block.length))
    own = take_rows(block, keep, "item", "rank", "score")
    return replace(own, length=length, text_rank=lambda: block.text_rank()[keep])
