"""``strata``: judgments and runs in; holdout, weighted, within strata and stratified values out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from counterrank.core.errors import UsageError
from counterrank.core.parallel import Progress, quiet
from counterrank.data.runs import Policies, Runs, tables_of
from counterrank.data.schema import ColumnNames
from counterrank.engine import Engine
from counterrank.engine import engine as as_engine
from counterrank.judged.request import parse_measures, validate_ties
from counterrank.metrics import DEFAULTS, Measure
from counterrank.results.result import Result
from counterrank.stats.compare import Plan
from counterrank.stats.inference import RESAMPLES
from counterrank.stratified import pipeline
from counterrank.stratified.request import Choices, StrataTables, validate_row_order

INTERVALS = ("normal", "t", "bootstrap")
TESTS = ("t", "none")
CORRECTIONS = ("holm", "bh", "none")


def strata(
    judgments: object,
    runs: Runs,
    *,
    measures: Sequence[str | Measure] = DEFAULTS,
    strata: int | None = None,
    cut: str = "width",
    propensity: object = None,
    feedback: object = None,
    open_loop: object = None,
    open_runs: Runs | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    interval: str = "normal",
    test: str = "t",
    correct: str = "holm",
    family: str = "all",
    resamples: int = RESAMPLES,
    seed: int = 0,
    missing: str = "zero",
    no_relevant: str = "skip",
    unjudged: str = "ignore",
    duplicates: str = "error",
    ties: str = "id",
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Result:
    """Evaluate ranked lists by holdout, IPS, SNIPS, within strata of the feedback, and stratified.

    Tables are given as for ``evaluate``.

    What is cut: ``cut`` is width (bins of equal propensity range), quantile (about the same
    feedback in each), items (about the same number of items in each), into ``strata`` parts (2 if
    not said), or a column of the judgments, whose values are the strata.
    By what: ``propensity`` is popularity (the paper's power of an item's feedback count), published
    (that of the paper's code), a column of the judgments, or a table of item, propensity and
    perhaps user. Feedback is counted in the judgments, or in the table ``feedback``.
    What is true: ``open_loop`` are judgments of items shown at random. How well each method orders
    the systems as they do is then told (``agreement``, for four systems or more). ``open_runs`` are
    runs of the same names for them, if not the same.
    What is compared: every system with ``baseline``, or every pair, under every method. ``test`` is
    t or none; ``correct`` is holm, bh or none, over the ``family`` of all comparisons or those of
    each measure and method; it corrects the paradox audit too.
    How sure: ``interval`` is normal, t or bootstrap (with ``resamples``), at ``level``.
    Who counts: as for ``evaluate``; but ``no_relevant`` is skip, as published: a stratum's mean is
    over users with something to find there. ``missing="skip"`` leaves out users whom any system
    has no list for.
    Where: ``engine`` is local, spark, or a `Local` or `Spark` that says more (memory, partitions);
    auto is Spark for Spark frames. The numbers do not depend on it.

    The result's tables are ``strata``, ``paradoxes`` and ``agreement``; ``audit`` counts what was
    looked for.

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=200)
    >>> result = cr.strata(world.judgments, world.runs, measures=["nDCG@10"], cut="quantile")
    >>> [row.name for row in result.strata]
    ['Q1', 'Q2']
    """
    wanted = list(parse_measures(measures))
    plan = Plan(baseline, test, correct, family, level, interval, 1, resamples, seed)
    plan = plan.only(tests=TESTS, corrections=CORRECTIONS, intervals=INTERVALS)
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    validate_ties(wanted, ties)
    if open_runs is not None and open_loop is None:
        raise UsageError("open_runs need open_loop: the judgments they are held against.")
    named = ColumnNames(columns)
    choices = Choices(strata, cut, propensity, feedback, named, judgments)
    own = open_runs is not None
    request = choices.request(tuple(wanted), policies, plan, more=open_loop, own=own)
    tables = StrataTables.of(choices.schemas(open_loop), runs, open_runs, named)
    given = [judgments, feedback, propensity, open_loop, *tables_of(runs), *tables_of(open_runs)]
    chosen = as_engine(engine, given)
    validate_row_order(policies, chosen)
    return pipeline.strata(request, tables, chosen, progress)
