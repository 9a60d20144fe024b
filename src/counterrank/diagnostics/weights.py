"""Importance weights: their statistics, and how much of the data speaks for a target.

`estimate` weighs views of a log, `funnel` clicks; both fill the same statistics, each diagnostic
has `Words` for either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from counterrank.core.arrays import Floats, Ints, dot, sum_by
from counterrank.core.merge import largest, same
from counterrank.diagnostics.diagnostic import Diagnostic, advise, graded, graded_size
from counterrank.stats.estimates import Estimate

if TYPE_CHECKING:
    from counterrank.ope.estimators.clipped_weight import Weighted
    from counterrank.ope.estimators.ips import Clipped

NO_CLIP = (float("inf"),)
EDGES = 2.0 ** np.arange(-6.5, 12.5)  # between which weights are counted: 1 is in a middle
FIRST = 6  # added to a power of two gives its place among the edges
LARGEST = 3000  # of the largest weights, for their tail
FAR = 20  # times their mean: a tail of index 0.5 goes as far as the root of their number


@dataclass(frozen=True)
class WeightRow:
    """The share of rows with weights from ``low`` to below ``high``, and of all weight."""

    system: str
    low: float
    high: float
    rows: float
    weight: float


@dataclass(frozen=True)
class WeightStatistics:
    r"""Sums of a target's weights :math:`w_i`, and of what they should add up to.

    ``count`` rows have some weight; ``seen`` is :math:`\sum v_i w_i`, which estimates ``views``,
    the target's expected views :math:`\sum e`; ``unlogged`` is the part of ``views`` on items the
    sessions' logs do not have, ``unknown`` on items no session's log has; ``places`` are the views
    of lists as long as the logged ones; ``heaviest`` is the largest :math:`v_i w_i`, ``largest``
    are the largest :math:`w_i`; ``rows`` and ``mass`` count and add up the weights between
    neighbouring ``EDGES``. ``square`` and ``total`` are :math:`\sum v w^2` and :math:`\sum v w` for
    each of ``clips``, the last of which is infinity: no clipping.
    """

    clips: Annotated[tuple[float, ...], same]
    count: int
    seen: float
    views: float
    unlogged: float
    unknown: float
    places: float
    heaviest: Annotated[float, max]
    largest: Annotated[Floats, largest(LARGEST)]
    rows: Floats
    mass: Floats
    total: Floats
    square: Floats

    @classmethod
    def of(
        cls, rows: Weighted, unlogged: Floats, unknown: Floats, clips: tuple[float, ...] = NO_CLIP
    ) -> WeightStatistics:
        """Of some rows; clicks are what views are in a log, and lists have no logged places."""
        w, seen = rows.weight(float("inf")), rows.seen
        some = w > 0
        total, square = np.empty(len(clips)), np.empty(len(clips))
        for j, clip in enumerate(clips):
            cut = rows.weight(clip)
            total[j] = dot(seen, cut)
            square[j] = dot(seen * cut, cut)
        place = _bin(w[some])
        return cls(
            clips, int(some.sum()), float(total[-1]), float(rows.views.sum()),
            float(unlogged.sum()), float(unknown.sum()), float(rows.place.sum()),
            float((seen * w).max(initial=0)), _largest(w),
            np.bincount(place, minlength=len(EDGES) + 1).astype(float),
            sum_by(place, w[some], len(EDGES) + 1), total, square,
        )  # fmt: skip

    def spread(self, system: str) -> list[WeightRow]:
        """How many rows weigh how much, from the first bin that holds any to the last."""
        ends = np.concatenate([[0], EDGES, [np.inf]])
        held = np.flatnonzero(self.rows)
        whole = np.maximum([[self.count], [self.mass.sum()]], np.finfo(float).tiny)
        shares = np.stack([self.rows, self.mass]) / whole
        return [
            WeightRow(system, float(ends[b]), float(ends[b + 1]), *map(float, shares[:, b]))
            for b in (range(held[0], held[-1] + 1) if len(held) else ())
        ]

    def effective(self, clip: float = float("inf")) -> float:
        r"""Effective number of views, :math:`(\sum v w)^2 / \sum v w^2` (Kish)."""
        j = self.clips.index(clip)
        return float(self.total[j] ** 2 / self.square[j]) if self.square[j] > 0 else 0.0


def _bin(w: Floats) -> Ints:
    """Between which of ``EDGES`` each weight lies: by its power of two, half a power up or down."""
    part, power = np.frexp(w)
    place: Ints = np.clip(power + (part >= 0.5**0.5) + FIRST, 0, len(EDGES))
    return place


def _largest(w: Floats) -> Floats:
    """The largest weights in order; a bound from a sample leaves few to choose from."""
    if len(w) > 16 * LARGEST:
        some = w[::16]
        high = w[w >= np.partition(some, -LARGEST // 8)[-LARGEST // 8]]
        w = high if len(high) >= LARGEST else w
    return np.sort(np.partition(w, -LARGEST)[-LARGEST:] if len(w) > LARGEST else w)


# diagnostics


@dataclass(frozen=True)
class Words:
    """What a verb says of weights: templates, and what to do where a diagnostic does not pass.

    ``nothing`` is said where no row has a weight.
    """

    effective: str
    more_rows: str
    heaviest: str
    which: str
    unsupported: str
    support_todo: str
    too_low: str
    too_high: str
    mean_todo: str
    tail_todo: str
    clipped: str
    nothing: str = ""

    def of(self, weights: WeightStatistics, text: str, todo: str) -> tuple[str, str]:
        """What is said and advised, or that there is nothing to weigh."""
        return (self.nothing, "") if self.nothing and not weights.count else (text, todo)


LOG_WORDS = Words(
    effective="The weighted views say as much as {size:,.0f} equal ones ({share:.1%} of the rows).",
    more_rows=" Log more sessions, or a logger nearer to this target.",
    heaviest="One logged row carries {share:.2%} of the weight.",
    which="that row",
    unsupported="{share:.1%} of the exposure this ranker gives goes to items {where}.",
    support_todo=" What they would earn is unknown and counts 0: log more candidates, or show some"
    " of them to a small share of users.",
    too_low=" Either items it would show were never logged, or logged exposures are too high",
    too_high=" So logged exposures are too low",
    mean_todo=": check them, or log the candidates.",
    tail_todo=" A few rows can still change the answer: clip, or use a logger nearer to it.",
    clipped="It leaves {lost:.1%} of the target's views unweighted",
)
FUNNEL_WORDS = Words(
    effective="The weighted clicks say as much as {size:,.0f} equal ones ({share:.1%} of them).",
    more_rows=" Gather more clicks, or compare lists nearer to what was clicked.",
    heaviest="One user carries {share:.2%} of the weight, one click {one:.2%}.",
    which="that user",
    unsupported="{share:.1%} of the weight of its lists is on {where}.",
    support_todo=" No conversion can speak for them: IPS counts them 0, DR believes the model. Show"
    " such items to some users first.",
    too_low=" So the ctr of listed pairs is too high, or some of them cannot be clicked",
    too_high=" So the ctr of listed pairs is too low",
    mean_todo=": calibrate it; IPS is off by as much, DR only where its model is wrong too.",
    tail_todo=" A few clicks can still change the answer: clip, or set a --floor.",
    clipped="It leaves {lost:.1%} of the listed weight out",
    nothing="Nobody clicked what it lists: there is nothing to weigh. Compare other lists.",
)
SALES_WORDS = replace(
    FUNNEL_WORDS,
    effective="The weighted rows say as much as {size:,.0f} equal ones ({share:.1%} of them).",
    more_rows=" Gather more of what is shown, or compare lists nearer to it.",
    heaviest="One user carries {share:.2%} of the weight, one row {one:.2%}.",
    support_todo=" No sale can speak for them: IPS counts them 0, DR believes the model. Show such"
    " items to some users first.",
    too_low=" So the exposure of listed pairs is too high, or some of them could not be shown",
    too_high=" So the exposure of listed pairs is too low, or rows were shown and not seen"
    " (--views latent)",
    tail_todo=" A few rows can still change the answer: clip, or set a --floor.",
    nothing="Nothing of what it lists was shown: there is nothing to weigh. Compare other lists.",
)


def effective_size(system: str, weights: WeightStatistics, words: Words) -> Diagnostic:
    """Views or clicks that would say as much if all weighed the same (Kish)."""
    size = weights.effective()
    share = size / weights.count if weights.count else 0.0
    said = words.of(weights, words.effective.format(size=size, share=share), words.more_rows)
    return advise("effective sample size", system, size, 1000.0, graded_size(size, share), *said)


def largest_weight(
    system: str, weights: WeightStatistics, words: Words, heaviest: float | None = None
) -> Diagnostic:
    """Share of all weight that one row has, or one unit, where its ``heaviest`` weight is given."""
    one, share = (
        weight / weights.seen if weights.seen > 0 else 1.0
        for weight in (weights.heaviest, weights.heaviest if heaviest is None else heaviest)
    )
    todo = f" Clip the weights (IPS(clip=...)) or look at {words.which} before believing the value."
    said = words.of(weights, words.heaviest.format(share=share, one=one), todo)
    return advise("largest weight", system, share, 0.02, graded(-share, -0.02, -0.1), *said)


def state_of_mean(ratio: Estimate) -> str:
    """State of a mean of weights, which is 1 if chances are right."""
    off = abs(ratio.value - 1)
    if not math.isfinite(ratio.value):
        return "fail"
    return graded(-off, -0.02, -0.1) if off > 3 * ratio.se else "pass"


def mean_weight(system: str, ratio: Estimate, words: Words) -> Diagnostic:
    """Weighted views over expected views of the target: 1 if exposures, or the ctr, are right."""
    text = f"Weights average {ratio.value:.3f} (se {ratio.se:.3f}) where 1 is due."
    todo = (words.too_low if ratio.value < 1 else words.too_high) + words.mean_todo
    return advise("mean weight", system, ratio.value, 1.0, state_of_mean(ratio), text, todo)


def support(
    system: str, weights: WeightStatistics, words: Words, *, missing: float, where: str
) -> Diagnostic:
    """Share of the target's exposure that no data can speak for (Jeunen's Assumption 5).

    ``missing`` is that exposure, ``where`` says of what. A logger without chance supports only what
    it showed in the session; one with chance might have shown more, and only items that no log has
    are certain to be unsupported.
    """
    share = missing / weights.views if weights.views > 0 else 1.0
    verdict, text = graded(-share, -0.01, -0.1), words.unsupported.format(share=share, where=where)
    return advise("support", system, share, 0.01, verdict, text, words.support_todo)


def tail(system: str, weights: WeightStatistics, words: Words) -> Diagnostic:
    """Shape of the largest weights: above 0.7 a mean of them cannot be trusted (PSIS).

    Weights of which none is far above their mean have no tail, whatever a fit to the few values
    they take may say.
    """
    k = pareto_shape(weights.largest, weights.count)
    if weights.largest.max(initial=0) * weights.count < FAR * weights.mass.sum():
        k = -math.inf
    text = f"The tail of the weights has index {k:.2f}; up to 0.5 their mean is well behaved."
    if math.isinf(k):
        text = "No weight is far above the others: they have no tail."
    verdict = graded(-k, -0.5, -0.7)
    return advise("weight tail", system, k, 0.5, verdict, text, words.tail_todo)


def clipping(
    system: str, e: Clipped, left: Estimate, words: Words, value: float | None = None, *, told: bool
) -> Diagnostic:
    """What clipping leaves out: the share of expected views that clipped weights do not reach.

    ``left`` is the mean of clipped weights; of the estimate's ``value``, if given, what is lost.
    ``told``: the interval reaches as far as what was lost can move the value. If it does not, any
    loss that is more than chance is a reason for caution.
    """
    lost = max(1 - left.value, 0.0)
    verdict = graded(-lost, -0.05, -0.25)
    if verdict == "pass" and not told and lost > max(0.002, 3 * left.se):
        verdict = "caution"
    text = words.clipped.format(lost=lost)
    if e.errs == "low":
        text += ", so for rewards of 0 or more it errs on the low side"
        if value is not None and lost < 1:
            text += f", by about {value * lost / (1 - lost):.3g}"
        text += "."
    else:
        text += "; compare it with the estimate without clipping."
    todo = " Its interval is about the clipped value, not about what the ranker would earn."
    todo = " Its interval holds the most that this can do." if told else todo
    return advise("clipping", f"{system}, {e}", lost, 0.05, verdict, text, todo)


SKEWED = 0.04  # squared skewness of the mean, from which a tail counts: docs/coverage.md has rates


def heavy_tail(
    system: str, label: str, reward: str, value: Estimate, who: str, *, alone: bool, cut: str
) -> Diagnostic:
    """How many users (or sessions) the standard error rests on: of a heavy tail, a few.

    Below 15 it was loud in all logs of 500 to 2,000 sessions with log-normal revenue (sigma 2),
    whose intervals cover 70 to 81 %, and in at most 2 % of such logs of clicks. Where users are few
    or unequal, their errors rest on few by nature: then a sixth of the effective users will do.
    Large values of both signs that balance, as of profit, leave the interval right: it passes up to
    a `skewness` of 0.04, at which the interval misses by about 1 % more than it says. ``alone``:
    there is one reward; ``cut`` says how its large values could be cut.
    """
    few = value.carriers
    due = min(15.0, value.sizes.effective / 6)
    text = f"The error of {reward} rests on as good as {few:,.0f} {who}, by weight times reward."
    todo = (
        f" One more large one would move the value by more than its interval says: {cut}decide by a"
        " reward with bounds, or log more."
    )
    state = "pass" if math.isnan(few) else graded(few, due, min(3.0, due / 2))
    if state != "pass" and value.skewness <= SKEWED:
        state, text = "pass", f"{text} They lie to both sides alike, so the interval holds."
    subject = ", ".join(filter(None, (system, label, "" if alone else reward)))
    found = advise("heavy tail", subject, few, due, state, text, todo)
    own = (label,) if label else ()
    return replace(found, systems=(system,), estimators=own, measures=(reward,))


def model_bias(label: str) -> Diagnostic:
    """A value that is a model's prediction and nothing else."""
    text = (
        "Its interval says how much predictions vary, not how wrong the model is, which nothing"
        " here can tell. Decide by DR, which corrects the model by what was logged."
    )
    return Diagnostic("model bias", label, math.nan, 0.0, "caution", text)


def pareto_shape(largest: Floats, count: int) -> float:
    r"""Index :math:`k` of the generalised Pareto tail (Zhang and Stephens 2009, as in PSIS).

    The :math:`M = \min(n / 5, 3 \sqrt n)` largest of ``count`` weights, less the next one, are
    fitted; the small-sample prior of PSIS pulls :math:`k` towards 0.5 by 10 observations.
    """
    m = int(min(count / 5, 3 * math.sqrt(count), len(largest) - 1))
    if m < 5:
        return -math.inf
    x = largest[-m:] - largest[-m - 1]
    x = x[x > 1e-9 * largest[-1]]  # equal weights, as of one rank, make no tail
    m = len(x)
    if m < 5 or len(np.unique(x)) < 5:
        return -math.inf
    guesses = 30 + int(math.sqrt(m))
    b = 1 - np.sqrt(guesses / (np.arange(guesses) + 0.5))
    b = b / (3 * x[max(int(m / 4 + 0.5) - 1, 0)]) + 1 / x[-1]
    k = np.mean(np.log1p(-b[:, None] * x), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = m * (np.log(-b / k) - k - 1)
    fit = np.where(np.isfinite(fit), fit, -np.inf)
    weight = np.exp(fit - fit.max())
    best = float(np.sum(b * weight) / weight.sum())
    shape = float(np.mean(np.log1p(-best * x)))
    return (m * shape + 5) / (m + 10)
