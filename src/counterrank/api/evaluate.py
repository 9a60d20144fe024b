"""``evaluate``: ranked lists against judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

from counterrank.api import verb as v
from counterrank.core.parallel import quiet

if TYPE_CHECKING:
    from counterrank.results.result import Result


@v.verb
def evaluate(
    judgments: v.Table,
    runs: v.Lists,
    *,
    measure: v.Measures = v.MEASURES,
    baseline: str | None = None,
    decide_by: str = "",
    min_lift: v.MinLift = 0.0,
    margin: v.Margin = 0.02,
    guard: v.Guards = None,
    level: v.Level = 0.95,
    interval: Literal["normal", "t", "bootstrap", "bca", "bernstein"] = "t",
    test: Literal["permutation", "t", "bootstrap", "wilcoxon", "none"] = "permutation",
    correct: Literal["auto", "maxt", "holm", "bh", "none"] = "auto",
    family: v.Family = "measure",
    draws: v.Flips | None = None,
    resamples: v.Resamples = v.RESAMPLES,
    seed: v.Seed = 0,
    missing: v.Missing = "zero",
    no_relevant: v.Missing = "zero",
    unjudged: v.Unjudged = "ignore",
    duplicates: v.Duplicates = "error",
    ties: v.Ties = "id",
    columns: v.Columns = None,
    progress: v.Bar = quiet,
    **where: Unpack[v.Where],
) -> Result:
    """Evaluate ranked lists against judgments.

    ``judgments`` and each run are a path (Parquet, CSV, TSV, TREC text; file, folder or glob) or a
    pandas, Polars, PyArrow or DuckDB table. ``runs`` maps names to runs, or lists paths named by
    their files, or is one table with a ``system`` column. ``columns`` maps roles to column names.

    What is measured: ``measure`` is one or more labels like ``nDCG@10`` or ``AP(rel=4)@100``.
    What is compared: every system with ``baseline``, or every pair. ``test`` is permutation (with
    ``draws`` sign flips), t, bootstrap (with ``resamples``), wilcoxon or none; ``correct`` is maxt,
    holm, bh, none or auto (maxt for permutations, otherwise holm), over the ``family`` of each
    measure's comparisons or of all.
    What decides: ``decide_by``, one of the measures (the first), must reach ``min_lift``; every
    other that was asked for may lose at most ``margin`` of the baseline, or as ``guard`` says.
    How sure: ``interval`` is normal, t, bootstrap, bca or bernstein, at ``level``.
    Who counts: ``missing`` (zero, skip, error) is for judged users without a list,
    ``no_relevant`` (zero, skip, error) for users with nothing to find, ``unjudged`` (ignore, error)
    for listed users without judgments, ``duplicates`` (error, first) for an item twice in a list,
    ``ties`` (id, id32, file, expected) for equal scores.
    Where it runs: ``engine`` is local, spark or auto (Spark for Spark frames), with ``memory``,
    ``partitions``, ``scratch`` and ``inference``, or a `counterrank.Local` or `counterrank.Spark`.

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=100)
    >>> result = cr.evaluate(world.judgments, world.runs, measure="nDCG@10", baseline="popular")
    >>> len(result.comparisons)
    3
    """
    from counterrank.data.runs import Policies
    from counterrank.judged import pipeline
    from counterrank.judged.request import EvaluateRequest, JudgedTables, parse_measures
    from counterrank.metrics import measure as label
    from counterrank.stats.plan import Plan

    wanted = parse_measures(v.as_list(measure))
    rule = v.decision_rule(
        decide_by, min_lift, margin, guard, names=list(map(str, wanted)), label=label.label,
        others="show" if tuple(v.as_list(measure)) == v.MEASURES else "guard",
    )  # fmt: skip
    plan = Plan(baseline, test, correct, family, level, interval, draws, resamples, seed, rule)
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    request = EvaluateRequest(wanted, plan, policies)
    engine = v.engine_for(where, judgments, runs, ties=ties, plan=plan)
    return pipeline.evaluate(request, JudgedTables.of(judgments, runs, columns), engine, progress)
