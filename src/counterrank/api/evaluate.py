"""``evaluate``: what can be asked of judged lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from counterrank.core.parallel import Progress, quiet
from counterrank.data.runs import Policies, Runs, tables_of
from counterrank.engine import Engine
from counterrank.engine import engine as choose_engine
from counterrank.judged import pipeline
from counterrank.judged.request import EvaluateRequest, JudgedTables, parse_measures
from counterrank.metrics import DEFAULTS, Measure
from counterrank.results.result import Result
from counterrank.stats.compare import Plan
from counterrank.stats.inference import RESAMPLES
from counterrank.stats.permutation import DRAWS


def evaluate(
    judgments: object,
    runs: Runs,
    *,
    measures: Sequence[str | Measure] = DEFAULTS,
    baseline: str | None = None,
    level: float = 0.95,
    interval: str = "normal",
    test: str = "permutation",
    correct: str | None = None,
    family: str = "all",
    draws: int = DRAWS,
    resamples: int = RESAMPLES,
    seed: int = 0,
    missing: str = "zero",
    no_relevant: str = "zero",
    unjudged: str = "ignore",
    duplicates: str = "error",
    ties: str = "id",
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Result:
    """Evaluate ranked lists against judgments.

    ``judgments`` and each run are a path (Parquet, CSV, TSV, TREC text; file, folder or glob) or a
    pandas, Polars, PyArrow or DuckDB table. ``runs`` maps names to runs, or lists paths named by
    their files, or is one table with a ``system`` column. ``columns`` maps roles to column names.

    What is measured: ``measures`` are labels like ``nDCG@10`` or ``AP(rel=4)@100``.
    What is compared: every system with ``baseline``, or every pair. ``test`` is permutation (with
    ``draws`` sign flips), t, bootstrap (with ``resamples``), wilcoxon or none; ``correct`` is maxt,
    holm, bh or none, over the ``family`` of all comparisons or of each measure's.
    How sure: ``interval`` is normal, t, bootstrap, bca or bernstein, at ``level``.
    Who counts: ``missing`` (zero, skip, error) is for judged users without a list,
    ``no_relevant`` (zero, skip, error) for users with nothing to find, ``unjudged`` (ignore, error)
    for listed users without judgments, ``duplicates`` (error, first) for an item twice in a list,
    ``ties`` (id, id32, file, expected) for equal scores.
    Where it runs: ``engine`` is local, spark, or one of `counterrank.Local` and `counterrank.Spark`
    with what they may use; auto is Spark for Spark frames.

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=100)
    >>> result = cr.evaluate(world.judgments, world.runs, measures=["nDCG@10"], baseline="popular")
    >>> len(result.comparisons)
    3
    """
    plan = Plan(baseline, test, correct, family, level, interval, draws, resamples, seed)
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    request = EvaluateRequest(parse_measures(measures), plan, policies)
    chosen = choose_engine(engine, [judgments, *tables_of(runs)])
    return pipeline.evaluate(request, JudgedTables.of(judgments, runs, columns), chosen, progress)
