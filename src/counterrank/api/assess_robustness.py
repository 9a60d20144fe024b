"""``assess robustness``: which measure keeps the order of systems when judgments are missing?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from counterrank.assess import pipeline
from counterrank.assess.reduced_judgments import SIZES
from counterrank.assess.request import SAMPLES, RobustnessRequest, ValueRequest
from counterrank.core.parallel import Progress, quiet
from counterrank.data.runs import Policies, Runs
from counterrank.engine import Engine
from counterrank.metrics import Measure
from counterrank.results.result import Result
from counterrank.stats.compare import Plan


def assess_robustness(
    source: object,
    runs: Runs | None = None,
    *,
    measures: Sequence[str | Measure] = (),
    rel: float | None = None,
    mean: str = "both",
    reductions: Sequence[str] | None = None,
    sizes: Sequence[float] = SIZES,
    samples: int = SAMPLES,
    level: float = 0.95,
    seed: int = 0,
    missing: str = "zero",
    no_relevant: str = "zero",
    unjudged: str = "ignore",
    duplicates: str = "error",
    ties: str = "id",
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    threads: int = 0,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = quiet,
) -> Result:
    """Take judgments away, order the systems again, and see how much of the order is left.

    ``source`` is judgments if there are ``runs``, both as for ``evaluate``. Otherwise it is a table
    of per-unit values, a folder that ``--out`` wrote, or a result; of those only users can go
    missing, as it is not known what was judged. ``measures`` are by default the nine of
    Valcarce et al. 2020 at a cut-off of 100, with ``rel`` as the threshold of the binary ones
    (1 unless given). ``mean`` is both, arithmetic or geometric.

    What goes missing: ``reductions`` are all or some of ratings, items, users (at random,
    ``samples`` times for each of ``sizes``, the shares that are left), popular_items and
    large_users (those with the most judgments; of equally many the smaller id goes first).

    Who counts: policies as in ``evaluate``, applied to what is left. A user without any judgment
    left is not judged any more; one without a relevant item left counts by ``no_relevant``
    (zero or skip).

    ``level`` is the share of samples inside the bands. ``threads`` changes no number (0: all
    cores). ``resume`` names a folder for results so far: the same call goes on where it stopped.

    The estimates are the areas under each measure's curve of tau, over all kinds of loss. The
    tables are areas (by kind), curves (tau by size) and values (of each system by size).

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=100)
    >>> result = cr.assess_robustness(
    ...     world.judgments, world.runs, measures=["nDCG@10", "RR@10"], samples=5)
    >>> len(result.estimates), len(result.recommendation)
    (4, 3)
    """
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    values = ValueRequest(source, runs, measures, policies, engine, columns, progress)
    plan = Plan(level=level, seed=seed, test="none")
    request = RobustnessRequest.of(
        values, plan, rel=rel, mean=mean, reductions=reductions, sizes=sizes, samples=samples,
        threads=threads, resume=resume,
    )  # fmt: skip
    return pipeline.assess_robustness(request)
