r"""Where a Plackett-Luce ranker puts each item, exactly.

A Plackett-Luce ranking draws items one after the other, each time item :math:`a` among those left
with probability proportional to :math:`\lambda_a = e^{s_a}`. The same ranking comes from a race:
arrival times :math:`T_a` are independent, exponential with rate :math:`\lambda_a`, and the first to
arrive is ranked first. So, with :math:`F_b(t) = 1 - e^{-\lambda_b t}`,

.. math::

    P(\text{rank of } a = r) = \int_0^\infty \lambda_a e^{-\lambda_a t}\,
        P\Big(\sum_{b \ne a} \mathrm{Bernoulli}(F_b(t)) = r - 1\Big)\, dt .

The inner probability is a Poisson-binomial one, built item by item. In :math:`z = \log t` the
integrand is smooth and dies out at both ends, where equally spaced points converge at an
exponential rate (Trefethen and Weideman, 2014, doi:10.1137/130932132).
"""

from __future__ import annotations

import numpy as np

from counterrank.core.arrays import Bools, Floats
from counterrank.core.errors import InputError

CELLS = 1 << 20


def rank_probabilities(scores: Floats, ranks: int) -> Floats:
    """Probability of each item at each of the first ``ranks`` ranks.

    ``scores`` has a row per list and a column per item; the result is lists x items x ranks, exact
    to about 1e-11. An item with score minus infinity comes after all others; several such items
    come in random order.
    """
    scores = _checked(scores)
    lists, items = scores.shape
    ranks = min(ranks, items)
    out = np.zeros((lists, items, ranks))
    barred = np.isneginf(scores)
    scores = scores - scores.max(axis=1, keepdims=True)
    lowest = float(scores.min(initial=0, where=~barred))
    step = min(0.25, 0.7 / np.sqrt(ranks))
    z = np.arange(-31, 4 - lowest, step)
    size = max(1, CELLS // (ranks * len(z)))
    for start in range(0, lists, size):
        part = slice(start, start + size)
        with np.errstate(over="ignore"):
            log_rate_time = scores[part, :, None] + z
            late = np.exp(-np.exp(log_rate_time))
            density = step * np.exp(log_rate_time - np.exp(log_rate_time))
        before = np.zeros((ranks, len(late), len(z)))
        before[0] = 1
        _leave_one_out(before, late, density, 0, items, out[part])
    _place_barred(barred, out)
    return out


def _leave_one_out(
    before: Floats, late: Floats, density: Floats, first: int, last: int, out: Floats
) -> None:
    """Fill ``out`` for the items ``first`` to ``last``.

    ``before`` is the probability that 0, 1, 2, ... of the items outside that range came earlier.
    Halving the range adds each item to log2(items) sums instead of to all the others.
    """
    if last - first == 1:
        out[:, first] = np.einsum("rlz,lz->lr", before, density[:, first])
        return
    middle = (first + last) // 2
    for own, others in (
        ((first, middle), range(middle, last)),
        ((middle, last), range(first, middle)),
    ):
        count = before
        for b in others:
            # one more item: it came early, and the count is one higher, or late
            more = count * late[:, b]
            more[1:] += count[:-1] * (1 - late[:, b])
            count = more
        _leave_one_out(count, late, density, *own, out)


def _place_barred(barred: Bools, out: Floats) -> None:
    """Items with no rate share the ranks behind all others evenly."""
    count = barred.sum(axis=1)
    behind = np.arange(out.shape[2]) >= (barred.shape[1] - count)[:, None]
    share = behind / np.maximum(count, 1)[:, None]
    np.copyto(out, share[:, None, :], where=barred[:, :, None])


def _checked(scores: Floats) -> Floats:
    scores = np.asarray(scores, float)
    if scores.ndim != 2:
        raise InputError(
            "Scores of a Plackett-Luce ranker need a row per list and a column per item.",
            found=f"Got an array of {scores.ndim} dimension(s).",
        )
    wrong = np.isnan(scores) | np.isposinf(scores)
    if wrong.any():
        raise InputError(
            "Scores of a Plackett-Luce ranker must be numbers.",
            found=f"{wrong.sum():,} are missing or infinite (first: list {wrong.any(1).argmax()}).",
        )
    blank = np.isneginf(scores).all(axis=1)
    if blank.any():
        raise InputError(
            "A Plackett-Luce list needs an item that can be drawn.",
            found=f"List {int(blank.argmax())} has none: all its scores are minus infinity.",
        )
    return scores
