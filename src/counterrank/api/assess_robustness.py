"""``assess robustness``: which measure keeps the order of systems when judgments are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

from counterrank.api import verb as v
from counterrank.core.parallel import quiet

if TYPE_CHECKING:
    from counterrank.results.result import Result

Losses = Literal["ratings", "items", "users", "popular_items", "large_users"]


@v.verb
def assess_robustness(
    table: v.Table,
    runs: v.MoreLists = None,
    *,
    measure: v.Measures = (),
    rel: float | None = None,
    mean: Literal["both", "arithmetic", "geometric"] = "arithmetic",
    reduction: Losses | Sequence[Losses] = (),
    sizes: float | Sequence[float] = (),
    samples: v.Resamples = 50,
    level: v.Level = 0.95,
    seed: v.Seed = 0,
    missing: v.Missing = "zero",
    no_relevant: Literal["zero", "skip"] = "zero",
    unjudged: v.Unjudged = "ignore",
    duplicates: v.Duplicates = "error",
    ties: v.Ties = "id",
    columns: v.Columns = None,
    threads: Annotated[int, v.Between(0, 1024)] = 0,
    resume: v.Folder = None,
    progress: v.Bar = quiet,
    **where: Unpack[v.Where],
) -> Result:
    """Take judgments away, order the systems again, and see how much of the order is left.

    ``table`` is judgments if there are ``runs``, both as for ``evaluate``. Otherwise it is a table
    of per-unit values, a folder that ``--out`` wrote, or a result; of those only users can go
    missing, as it is not known what was judged. ``measure`` is by default the nine of
    Valcarce et al. 2020 at a cut-off of 100, with ``rel`` as the threshold of the binary ones
    (1 unless given). ``mean`` is both, arithmetic or geometric.

    What goes missing: ``reduction`` is all or some of ratings, items, users (at random,
    ``samples`` times for each of ``sizes``, the shares that are left), popular_items and
    large_users (those with the most judgments; of equally many the smaller id goes first).

    Who counts: policies as in ``evaluate``, applied to what is left. A user without any judgment
    left is not judged any more; one without a relevant item left counts by ``no_relevant``
    (zero or skip).
    A column fold in judgments and all runs pools folds: a user counts once in each.

    ``level`` is the share of samples inside the bands. ``threads`` changes no number (0: all
    cores). ``resume`` names a folder for results so far: the same call goes on where it stopped.

    The estimates are the areas under each measure's curve of tau, over all kinds of loss and by
    kind (the segment). The tables are curves (tau by size) and values (of each system by size).

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=100)
    >>> result = cr.assess_robustness(
    ...     world.judgments, world.runs, measure=["nDCG@10", "RR@10"], samples=5)
    >>> len(result.estimates), len(result.recommendation)
    (4, 3)
    """
    from counterrank.assess import pipeline
    from counterrank.assess.request import RobustnessRequest, ValueRequest
    from counterrank.data.runs import Policies
    from counterrank.stats.plan import Plan

    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    engine = v.engine_for(where, table, runs, ties=ties)
    values = ValueRequest(table, runs, v.as_list(measure), policies, engine, columns, progress)
    plan = Plan(level=level, seed=seed, test="none")
    request = RobustnessRequest.of(
        values, plan, rel=rel, mean=mean, reductions=v.as_list(reduction), sizes=v.as_list(sizes),
        samples=samples, threads=threads, resume=resume,
    )  # fmt: skip
    return pipeline.assess_robustness(request)
