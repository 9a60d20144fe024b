"""Can this log tell a position model at all? If not: why, and what to log instead."""

from __future__ import annotations

import numpy as np

from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import InputError
from counterrank.position.learn.impressions import DEEPEST, Catalogue, RankStatistics

FEWEST = 5  # clicks at a rank below which its curve would be a guess
LOG = "Log whether each row was viewed (column viewed), or show some items at other ranks by chance"


def every_rank(statistics: RankStatistics) -> None:
    """Refuse a log that leaves out ranks above its deepest, or goes down without end."""
    near = max(min(statistics.deepest, DEEPEST), 1)
    empty = np.flatnonzero(np.append(statistics.shown, np.zeros(near))[:near] == 0) + 1
    if len(empty):
        raise InputError(
            "The log shows nothing at some ranks, so their exposure cannot be learned.",
            found=f"No row has rank {list_ranks(empty)}; the deepest is {statistics.deepest}.",
            todo="Log every rank from 1 on, or learn only the ranks above (--ranks).",
        )
    if statistics.deepest > DEEPEST:
        raise InputError(
            f"Curves are learned down to rank {DEEPEST:,}.",
            found=f"The deepest rank is {statistics.deepest:,}.",
            todo="Learn only the first ranks: --ranks 100.",
        )


def counts_suffice(statistics: RankStatistics, method: str, length: int | None) -> None:
    """Refuse what counts by rank tell against learning by this method."""
    every_rank(statistics)
    if method == "views":
        have_views(statistics)
    elif method == "depth":
        have_depth(statistics, length)
    else:
        have_rewards(statistics, method)
        if method == "swap":
            enough_clicks(statistics.sums["rewarded"][1:])


def have_views(statistics: RankStatistics) -> None:
    """Refuse to count views where none, or nothing else, was logged."""
    if not statistics.viewed:
        raise InputError(
            'The log has no column "viewed", so views cannot be counted.',
            found="Its rows may all be views, or all be shown.",
            todo="Log 1 for rows that were on screen and 0 for the rest; if the log has viewed rows"
            " only, use --method depth; if ranks of items vary, use --method harvest.",
        )
    share = float(statistics.sums["viewed"].sum() / statistics.rows)
    if share in (0.0, 1.0):
        raise InputError(
            f'Column "viewed" is {share:g} in every row: it says nothing about ranks.',
            found=f"Found {statistics.rows:,} rows.",
            todo="Log the rows that were shown and not viewed too"
            + (", or use --method depth, which needs viewed rows only." if share else "."),
        )


def have_depth(statistics: RankStatistics, length: int | None) -> None:
    """Refuse to read scrolling from lists that were logged whole."""
    sessions = statistics.sums["depth"]
    there = np.flatnonzero(sessions)
    if not sessions[1:].any():
        raise InputError(
            "No row was viewed, so no session has a depth.",
            found=f"Found {statistics.sessions:,} sessions.",
            todo="Log 1 in the column viewed for rows that were on screen.",
        )
    if length is not None and there[-1] > length:
        raise InputError(
            f"Some sessions are deeper than the lists are said to be long ({length}).",
            found=f"Found {int(sessions[max(length + 1, 0) :].sum()):,}"
            f" (deepest: rank {there[-1]}).",
            todo="Give the length of the longest list (--length).",
        )
    if len(there) == 1 and statistics.sessions > 1:
        raise InputError(
            "Every session ends at the same rank, so nobody is seen to stop.",
            found=f"All {statistics.sessions:,} sessions reach rank {there[0]} exactly:"
            " these look like all shown rows, not like viewed ones.",
            todo="Log only rows that were on screen, or log all rows with a column viewed.",
        )


def have_rewards(statistics: RankStatistics, method: str) -> None:
    """Refuse to learn from rewards that are not there, or below 0."""
    if statistics.low == statistics.high == 0:
        raise InputError(
            f"Method {method} learns from rewards, and there are none.",
            found=f"All {statistics.rows:,} rows have reward 0, or no column was named.",
            todo="Name a reward that came back sometimes: --reward click.",
        )
    if statistics.low < 0:
        raise InputError(
            "Rewards below 0 cannot tell how much is seen.",
            found=f"The least is {statistics.low:g}.",
            todo="Learn from clicks or another reward that is 0 or more.",
        )


def enough_clicks(clicks: Floats) -> None:
    """Refuse ranks with too few clicks to speak of a rate."""
    few = np.flatnonzero(clicks < FEWEST) + 1
    if len(few):
        deep = int(few[0]) - 1
        raise InputError(
            f"Some ranks have fewer than {FEWEST} rewards: too few to learn from.",
            found=f"Ranks {list_ranks(few)}; the fewest is {clicks.min():g}.",
            todo="Log more sessions"
            + (f", or learn only the first {deep} ranks: --ranks {deep}." if deep > 1 else "."),
        )


def items_move(cell: Catalogue, depth: int) -> None:
    """Refuse a log whose items stay where they are, or whose ranks no item connects."""
    moved = cell.moved()
    if moved.items.height == 0:
        raise InputError(
            "No item was ever shown at two ranks in the same context, so what is due to rank and"
            " what to the item cannot be told apart.",
            found=f"Found {cell.items.height:,} items, each at one rank only.",
            todo=f"{LOG}; or widen what counts as the same context (--context).",
        )
    cut = _cut_off(moved, depth)
    if len(cut):
        raise InputError(
            "Some ranks share no clicked item with rank 1, not even by way of other ranks.",
            found=f"Cut off: rank {list_ranks(cut)}.",
            todo=f"{LOG}; or learn only the ranks that are connected (--ranks).",
        )
    enough_clicks(np.append(moved.per_rank(moved.positive), np.zeros(depth))[:depth])


def _cut_off(cell: Catalogue, depth: int) -> Ints:
    """Ranks not connected with rank 1 in the graph of ranks that share a clicked item."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    clicked = (cell.per_item(cell.clicks) > 0)[cell.item]
    item, rank = cell.item[clicked], cell.rank[clicked] - 1
    size = depth + cell.items.height
    graph = csr_array((np.ones(len(item)), (rank, depth + item)), shape=(size, size))
    part = connected_components(graph, directed=False)[1][:depth]
    return np.flatnonzero(part != part[0]) + 1


def list_ranks(ranks: Ints) -> str:
    """Ranks in a sentence; many are counted."""
    shown = ", ".join(map(str, ranks[:8]))
    return shown if len(ranks) <= 8 else f"{shown} and {len(ranks) - 8} more"
