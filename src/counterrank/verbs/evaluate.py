"""``evaluate``: judgments and runs in, measures with intervals, comparisons and grounds out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from counterrank.compare import Plan
from counterrank.data.runs import Runs, tables_of
from counterrank.engine import Engine
from counterrank.engine import engine as as_engine
from counterrank.errors import UsageError, one_of
from counterrank.evaluation import Evaluation
from counterrank.inference import DRAWS, INTERVALS, RESAMPLES
from counterrank.judged import gathered, refuse_empty
from counterrank.policies import Policies
from counterrank.progress import Progress, quiet
from counterrank.ranking import DEFAULTS, Measure, measure
from counterrank.schema import Named
from counterrank.systems import refuse_ties


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
) -> Evaluation:
    """Evaluate ranked lists against judgments.

    ``judgments`` and each run are a path (Parquet, CSV, TSV, TREC text; file, folder or glob) or a
    pandas, Polars, PyArrow or DuckDB table. ``runs`` maps names to runs, or lists paths named by
    their files, or is one table with a ``system`` column. ``columns`` maps roles to column names.

    What is measured: ``measures`` are labels like ``nDCG@10`` or ``AP(rel=4)@100``.
    What is compared: every system with ``baseline``, or every pair. ``test`` is permutation (with
    ``draws`` sign flips), t, bootstrap (with ``resamples``), wilcoxon or none; ``correct`` is maxt,
    holm, bh, tukey or none, over the ``family`` of all comparisons or of each measure's.
    How sure: ``interval`` is normal, t, bootstrap, bca or bernstein, at ``level``.
    Who counts: ``missing`` (zero, skip, error) is for judged users without a list,
    ``no_relevant`` (zero, skip, error) for users with nothing to find, ``unjudged`` (ignore, error)
    for listed users without judgments, ``duplicates`` (error, first) for an item twice in a list,
    ``ties`` (id, id32, file, expected) for equal scores.
    Where it runs: ``engine`` is local, spark, or one of `counterrank.Local` and `counterrank.Spark`
    with what they may use; auto is Spark for Spark frames.

    The comparisons are computed when they are first asked for.

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=100)
    >>> result = cr.evaluate(world.judgments, world.runs, measures=["nDCG@10"], baseline="popular")
    >>> len(result.comparisons)
    3
    """
    wanted = as_measures(measures)
    one_of("interval", interval, INTERVALS)
    plan = Plan(baseline, test, correct, family, level, interval, draws, resamples, seed)
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    _refuse_unbounded(wanted, interval)
    return evaluated(
        judgments, runs, wanted, plan, policies, engine=engine, columns=columns, progress=progress
    )


def evaluated(
    judgments: object,
    runs: Runs,
    measures: list[Measure],
    plan: Plan,
    policies: Policies,
    *,
    engine: str | Engine,
    keep: str = "values",
    columns: Mapping[str, str] | None,
    progress: Progress,
) -> Evaluation:
    """The evaluation; ``keep`` is values, or hits as well for who goes on with them."""
    refuse_ties(measures, policies.ties)
    named = Named(columns)
    chosen = as_engine(engine, [judgments, *tables_of(runs)])
    found = gathered(
        judgments,
        runs,
        measures,
        policies,
        engine=chosen,
        keep=keep,
        drawn=plan.drawn if keep == "values" else None,
        columns=named,
        progress=progress,
    )
    named.refuse_unmet()
    if plan.baseline is not None:
        plan.pairs(found.measured.systems)
    refuse_empty(found.measured, measures, policies)
    return Evaluation(found, plan, progress)


def as_measures(labels: Sequence[str | Measure]) -> list[Measure]:
    """The measures of the labels, each once."""
    if isinstance(labels, (str, Measure)):
        labels = [labels]
    wanted = list(dict.fromkeys(measure(label) for label in labels))
    if not wanted:
        raise UsageError("No measure was asked for.", todo=f"For example {DEFAULTS[1]}.")
    return wanted


def _refuse_unbounded(measures: list[Measure], interval: str) -> None:
    loose = [str(m) for m in measures if not m.plain_mean]
    if interval == "bernstein" and loose:
        raise UsageError(
            "A Bernstein interval needs the plain mean of values between 0 and 1.",
            found=f"Not so: {', '.join(loose)}.",
            todo="Leave them out, or take another interval.",
        )
