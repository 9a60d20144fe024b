"""``assess_robustness``: which measure keeps the order of systems when judgments are missing?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from counterrank.arrays import workers
from counterrank.errors import UsageError, one_of
from counterrank.evaluation import Evaluation
from counterrank.meta.checkpoint import Checkpoint, fingerprint
from counterrank.meta.reduced import Evidence
from counterrank.meta.reductions import REDUCTIONS, SIZES
from counterrank.meta.robustness import tracks
from counterrank.progress import Progress, quiet
from counterrank.ranking import Measure, measure
from counterrank.robustness_result import Robustness
from counterrank.systems import Runs
from counterrank.verbs.evaluate import evaluate

BINARY = ("P", "Recall", "F1", "AP", "RR", "Bpref", "InfAP")
NINE = ("P", "Recall", "F1", "AP", "nDCG", "RR", "ERR", "Bpref", "InfAP")
MEANS = ("both", "arithmetic", "geometric")


def assess_robustness(
    judgments: object,
    runs: Runs,
    *,
    measures: Sequence[str | Measure] = (),
    rel: float | None = None,
    mean: str = "both",
    reductions: Sequence[str] = REDUCTIONS,
    sizes: Sequence[float] = SIZES,
    samples: int = 50,
    level: float = 0.95,
    seed: int = 0,
    missing: str = "zero",
    no_relevant: str = "zero",
    unjudged: str = "ignore",
    duplicates: str = "error",
    ties: str = "id",
    columns: Mapping[str, str] | None = None,
    threads: int = 0,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = quiet,
) -> Robustness:
    """Take judgments away, order the systems again, and see how much of the order is left.

    ``judgments`` and ``runs`` are given as to ``evaluate``. ``measures`` are by default the nine of
    Valcarce et al. 2020 at a cut-off of 100, with ``rel`` as the threshold of the binary ones
    (1 unless given). ``mean`` is both, arithmetic or geometric.

    What goes missing: ``reductions`` are some of ratings, items, users (at random, ``samples``
    times for each of ``sizes``, the shares that are left), popular_items and large_users (those
    with the most judgments; of equally many the smaller id goes first).

    Who counts: policies as in ``evaluate``, applied to what is left. A user without any judgment
    left is not judged any more; one without a relevant item left counts by ``no_relevant``
    (zero or skip).

    ``level`` is the share of samples inside the bands. ``threads`` changes no number. ``resume``
    names a folder for results so far: the same call goes on where it was stopped.

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=100)
    >>> result = cr.assess_robustness(
    ...     world.judgments, world.runs, measures=["nDCG@10", "RR@10"], samples=5)
    >>> len(result.recommendation)
    3
    """
    wanted = _measures(measures, rel, one_of("mean", mean, MEANS))
    kinds = _reductions(reductions)
    shares = _sizes(sizes)
    one_of("no_relevant", no_relevant, ("zero", "skip"))
    if samples < 1:
        raise UsageError(f"There must be at least one sample, not {samples}.")
    evaluation = evaluate(
        judgments,
        runs,
        measures=wanted,
        level=level,
        test="none",
        missing=missing,
        no_relevant=no_relevant,
        unjudged=unjudged,
        duplicates=duplicates,
        ties=ties,
        columns=columns,
        progress=progress,
    )
    if len(evaluation.systems) < 2:
        raise UsageError(
            "One system has no order to lose.", todo="Give at least two runs; better, ten or more."
        )
    found = tracks(
        Evidence(evaluation.pool, evaluation.hits, wanted, evaluation.policies),
        kinds,
        shares,
        samples=samples,
        seed=seed,
        threads=threads or workers(),
        stored=Checkpoint(resume, _key(evaluation, samples, seed)),
        progress=progress,
    )
    return Robustness(evaluation, tuple(found), samples, seed)


def _measures(given: Sequence[str | Measure], rel: float | None, mean: str) -> list[Measure]:
    """Each measure under each mean asked for; a label that names its mean keeps it."""
    labels = [given] if isinstance(given, (str, Measure)) else list(given)
    if labels and rel is not None:
        raise UsageError(
            "--rel is for the default measures.", todo="Write it in the label: P(rel=4)@100."
        )
    if not labels:
        with_rel = f"(rel={rel:g})" if rel is not None and rel != 1 else ""
        labels = [f"{name}{with_rel if name in BINARY else ''}@100" for name in NINE]
    asked = [measure(label) for label in labels]
    plain = [m for m in asked if m.mean == "arithmetic" and mean != "geometric"]
    geometric = [_geometric(m) for m in asked if mean != "arithmetic" or m.mean == "geometric"]
    wanted = dict.fromkeys([*plain, *(m for m in geometric if m is not None)])
    if not wanted:
        raise UsageError("No measure is left.", todo="Ask for mean=both.")
    return list(wanted)


def _geometric(m: Measure) -> Measure | None:
    """The same measure with a geometric mean, if it has one."""
    if m.mean == "geometric":
        return m
    try:
        return replace(m, mean="geometric")
    except UsageError:
        return None


def _reductions(given: Sequence[str]) -> list[str]:
    words = [given] if isinstance(given, str) else list(given)
    kinds = list(dict.fromkeys(one_of("reductions", word, REDUCTIONS) for word in words))
    if not kinds:
        raise UsageError("No kind of loss is named.", todo=f"Some of: {', '.join(REDUCTIONS)}.")
    return kinds


def _sizes(given: Sequence[float]) -> list[float]:
    sizes = sorted({float(size) for size in given}, reverse=True)
    bad = [size for size in sizes if not 0 < size <= 1]
    if bad or not sizes:
        raise UsageError(
            "A size is the share of judgments that is left, above 0 and at most 1.",
            found=f"Found {bad[0]:g}." if bad else "Found none.",
            todo="For example 1, 0.5, 0.1 and 0.01.",
        )
    return sizes


def _key(evaluation: Evaluation, samples: int, seed: int) -> str:
    """What the values on reduced judgments depend on, besides kind and size."""
    pool = evaluation.pool
    hits = [x for h in evaluation.hits for x in (h.unit, h.rank, h.judgment, h.first, h.last, h.depth)]
    return fingerprint(
        "robustness",
        [str(m) for m in evaluation.measures],
        asdict(evaluation.policies),
        samples,
        seed,
        [str(x) for x in pool.units],
        [str(x) for x in pool.items],
        pool.size,
        pool.rating,
        *hits,
    )
