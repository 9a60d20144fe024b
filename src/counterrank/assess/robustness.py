r"""Robustness of measures: does the order of systems outlive the loss of judgments?

Follows Valcarce et al. 2020, section 4.2. All systems are evaluated on reduced judgments, many
times for each size where chance decides what is lost. The tau of each order with the order on all
judgments says how much of it is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from counterrank.assess.reduced_judgments import OF_USERS, SAYS, Evidence, Reductions, ValueEvidence
from counterrank.assess.request import RobustnessRequest
from counterrank.core.arrays import Floats
from counterrank.core.format import interval_text
from counterrank.core.parallel import map_threads, one_blas_thread
from counterrank.matching.pool import Pool
from counterrank.results.result import Row
from counterrank.results.rows import as_row
from counterrank.stats.correlation import kendall_tau
from counterrank.stats.estimates import normal_quantile
from counterrank.stats.permutation import Keep, at_once

CELLS = 1 << 20  # samples x judgments looked at together


@dataclass(frozen=True)
class TauRow:
    """Mean tau of one measure at one size; the share ``level`` of samples lies in the band."""

    reduction: str
    measure: str
    size: float
    kendall: float
    se: float
    low: float
    high: float
    level: float
    samples: int


@dataclass(frozen=True)
class ValueRow:
    """What one system scores as judgments go missing: mean and band over samples, by size."""

    reduction: str
    measure: str
    system: str
    size: list[float]
    value: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True, eq=False)
class Track:
    """One kind of loss at falling ``sizes``. Everything is by size, then measures x samples.

    ``values`` are measures x samples x systems, and ``tau`` is that of their order with the order
    on all judgments.
    """

    kind: str
    sizes: tuple[float, ...]
    values: tuple[Floats, ...]
    tau: tuple[Floats, ...]


def reduce_judgments(
    evidence: Evidence | ValueEvidence, request: RobustnessRequest, keep: Keep = at_once
) -> list[Track]:
    """Every kind of loss at every size; ``keep`` holds pieces that are done."""
    reductions = Reductions(evidence.pool, request.plan.seed)
    pieces = [(kind, size) for kind in request.kinds for size in request.sizes]
    values: dict[str, list[Floats]] = {kind: [] for kind in request.kinds}
    with one_blas_thread():  # with more, the last digits of products would depend on their number
        full = evidence.value
        for kind, size in request.values.progress(pieces, "reducing judgments"):
            compute = partial(_values, evidence, reductions, request, kind, size)
            values[kind].append(keep(f"{kind}-{size!r}", compute))
    return [
        Track(kind, tuple(request.sizes), tuple(own), tuple(taus_on_reduced(full, x) for x in own))
        for kind, own in values.items()
    ]


def taus_on_reduced(full: Floats, reduced: Floats) -> Floats:
    """Tau of each sample's order (measures x samples x systems) with the full one.

    0 where a side sees no difference: reduced judgments that tell no two systems apart say nothing
    of the order.
    """
    return np.nan_to_num(kendall_tau(full[:, None], reduced, missing="skip"), nan=0.0)


def _values(
    evidence: Evidence | ValueEvidence,
    reductions: Reductions,
    request: RobustnessRequest,
    kind: str,
    size: float,
) -> Floats:
    """All samples of one piece: measures x samples x systems."""
    samples = range(reductions.samples(kind, size, request.samples))
    if kind in OF_USERS:  # what is said of a user does not change: all samples in one product
        rows = [reductions.left_over(kind, size, sample) for sample in samples]
        return evidence.under(np.stack(rows).astype(float))
    assert isinstance(evidence, Evidence)  # per-unit values have no judgments to lose
    step = max(1, CELLS // len(evidence.pool.rating))
    blocks = [samples[start : start + step] for start in range(0, len(samples), step)]

    def among(block: range) -> Floats:
        return evidence.among(np.stack([reductions.left_over(kind, size, s) for s in block]))

    return np.concatenate(map_threads(among, blocks, request.threads), axis=1)


@dataclass(frozen=True)
class Area:
    """Mean of tau over the sizes from the smallest to the largest, and its Monte Carlo error."""

    value: float
    se: float


def area(tracks: Sequence[Track], contrast: Floats) -> Area:
    r"""A combination of the measures' areas, averaged over kinds of loss.

    .. math:: A = \frac{1}{K} \sum_k \sum_s v_s \sum_m b_m \bar\tau_{kms}

    :math:`v_s` are the weights of the trapezoid rule over sizes :math:`s`, divided by their sum;
    :math:`b` is ``contrast``: a single 1 for the area of one measure, 1 and -1 for a difference.
    All measures see the same samples, so their differences are paired: the error follows from
    :math:`\sum_m b_m \tau_{kms}` of each sample.
    """
    mean, variance = 0.0, 0.0
    for track in tracks:
        for weight, tau in zip(trapezoid(track.sizes), track.tau, strict=True):
            each = contrast @ tau
            mean += float(weight * each.mean()) / len(tracks)
            if len(each) > 1:
                spread = float(each.var(ddof=1)) / len(each)
                variance += (weight / len(tracks)) ** 2 * spread
    return Area(float(mean), float(np.sqrt(variance)))


def single(place: int, measures: int) -> Floats:
    """The contrast that picks one measure."""
    return np.eye(1, measures, place).ravel()


def trapezoid(sizes: Sequence[float]) -> Floats:
    """Weights of the trapezoid rule, divided by their sum; sizes in any order."""
    order = np.argsort(sizes)
    step = np.diff(np.asarray(sizes, float)[order])
    weight = (np.append(step, 0) + np.append(0, step)) / 2 if len(step) else np.ones(1)
    out = np.empty(len(weight))
    out[order] = weight / weight.sum()
    return out


def area_rows(
    tracks: Sequence[Track], labels: Sequence[str], level: float, **told: Any
) -> Iterator[Row]:
    """The areas under the measures' curves over all kinds of loss, then by kind (``segment``).

    Intervals are those of the Monte Carlo: for these users and systems, not for others.
    """
    z = normal_quantile((1 + level) / 2)
    for kind, some in [(None, tracks), *((track.kind, [track]) for track in tracks)]:
        for m, label in enumerate(labels):
            a = area(some, single(m, len(labels)))
            ends = {"low": a.value - z * a.se, "high": a.value + z * a.se, "level": level}
            yield as_row(a, measure=label, estimator="area", segment=kind, **ends, **told)


def tau_rows(tracks: Sequence[Track], labels: Sequence[str], level: float) -> Iterator[TauRow]:
    """Every curve, from all judgments down to the fewest."""
    for track in tracks:
        for m, label in enumerate(labels):
            for size, tau in zip(track.sizes, track.tau, strict=True):
                x = tau[m]
                se = float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else 0.0
                low, high = _band(x, level).tolist()
                yield TauRow(track.kind, label, size, float(x.mean()), se, low, high, level, len(x))


def value_rows(
    tracks: Sequence[Track], labels: Sequence[str], systems: Sequence[str], level: float
) -> Iterator[ValueRow]:
    """Absolute values, as in the paper's Fig. 4 but for each system."""
    for track in tracks:
        mean = np.stack([x.mean(axis=1) for x in track.values], axis=-1)
        low, high = np.stack([_band(x, level) for x in track.values], axis=-1)
        for m, label in enumerate(labels):
            for s, system in enumerate(systems):
                figures = (x[m, s].tolist() for x in (mean, low, high))
                yield ValueRow(track.kind, label, system, list(track.sizes), *figures)


def _band(x: Floats, level: float) -> Floats:
    """Two ends between which the share ``level`` of samples lies (second axis, or the only one)."""
    return np.quantile(x, [(1 - level) / 2, (1 + level) / 2], axis=min(x.ndim - 1, 1))


def protocol(pool: Pool, request: RobustnessRequest) -> dict[str, Any]:
    """What was lost, and how the loss was measured."""
    reductions = Reductions(pool)
    return {
        "reductions": {k: {"lost": SAYS[k], "of": reductions.total(k)} for k in request.kinds},
        "sizes": request.sizes,
        "samples": request.samples,
        "seed": request.plan.seed,
        "correlation": "Kendall tau-b with the order on all judgments; 0 where all systems tie",
        "area": "mean of tau over sizes by the trapezoid rule; over all kinds: their mean",
        "interval": "normal, Monte Carlo only: for these users and systems",
        "equally_many_judgments": "the smaller id is lost first",
        "left_without_judgments": "not counted, as if never in the table",
        "largest_rating_when_reduced": "that of all judgments",
    }


def recommend_by_robustness(
    tracks: Sequence[Track], labels: Sequence[str], level: float
) -> list[str]:
    """The most robust measure and who is not separated from it; the least; where it is weak."""
    size = _areas(tracks, len(labels))
    best, worst = int(np.argmax(size)), int(np.argmin(size))
    others = [m for m in range(len(labels)) if m != best]
    near = [m for m in others if not areas_differ(tracks, best, m, len(labels), level)]
    weak = _weakness(tracks, labels, best, level)
    shown = _with_ends(tracks, best, len(labels), level)
    if not others:
        return [
            f"{labels[best]} has an area under the curve of tau of {shown}.",
            "No other measure was assessed, so whether one does better is not known.",
            weak,
        ]
    if len(near) == len(others):
        return [
            "The measures are not separated: the area under the curve of tau goes from"
            f" {size[worst]:.3f} to {size[best]:.3f}.",
            "Choose by what the measure means, not by its robustness on these data.",
            weak,
        ]
    first = (
        f"For these users and systems {labels[best]} keeps the order best when judgments are"
        f" missing: its area under the curve of tau is {shown}"
    )
    if near:
        first += f"; not separated from it: {', '.join(labels[m] for m in near)}"
    second = (
        f"Least robust is {labels[worst]} ({_with_ends(tracks, worst, len(labels), level)}): what"
        " it prefers on these judgments it may not prefer on others."
    )
    if worst in near:
        second = "Which is least robust is not settled."
    return [f"{first}.", second, weak]


def areas_differ(tracks: Sequence[Track], m: int, other: int, measures: int, level: float) -> bool:
    """Whether two areas differ by more than the Monte Carlo explains; samples are paired.

    One measure is compared with all others, so the level is divided among them. Losses that are not
    drawn have a single outcome, and say nothing of chance.
    """
    drawn = [track for track in tracks if any(tau.shape[-1] > 1 for tau in track.tau)]
    if not drawn:
        return False
    gap = area(drawn, single(m, measures) - single(other, measures))
    far = normal_quantile(1 - (1 - level) / (2 * max(measures - 1, 1)))
    return bool(abs(gap.value) > max(far * gap.se, 1e-12))


def _with_ends(tracks: Sequence[Track], m: int, measures: int, level: float) -> str:
    """An area with its interval; one that is not drawn has none."""
    a = area(tracks, single(m, measures))
    half = normal_quantile((1 + level) / 2) * a.se
    ends = " " + interval_text(a.value - half, a.value + half, 3)
    return f"{a.value:.3f}" + (ends if half else ", without an interval")


def _weakness(tracks: Sequence[Track], labels: Sequence[str], best: int, level: float) -> str:
    """The kind of loss that costs the best measure most, and who withstands it better."""
    each = [_areas([track], len(labels)) for track in tracks]
    place = min(range(len(tracks)), key=lambda k: each[k][best])
    size, track = each[place], tracks[place]
    own = _with_ends([track], best, len(labels), level)
    text = f"{labels[best]} is weakest where {SAYS[track.kind]} ({own})"
    rival = int(np.argmax(size))
    if rival != best and areas_differ([track], rival, best, len(labels), level):
        own = _with_ends([track], rival, len(labels), level)
        text += f"; if that is your worry, take {labels[rival]} ({own})"
    return f"{text}; a robust order need not be significant, which assess power tells."


def _areas(tracks: Sequence[Track], measures: int) -> list[float]:
    return [area(tracks, single(m, measures)).value for m in range(measures)]
