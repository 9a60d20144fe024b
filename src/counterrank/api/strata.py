"""``strata``: holdout, weighted, within strata of the feedback, and stratified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

from counterrank.api import verb as v
from counterrank.core.parallel import quiet

if TYPE_CHECKING:
    from counterrank.results.result import Result


@v.verb
def strata(
    judgments: v.Table,
    runs: v.Lists,
    *,
    measure: v.Measures = v.MEASURES,
    strata: Annotated[int | Sequence[int], v.Between(1, 20)] | None = None,
    cut: str = "quantile",
    propensity: v.MoreTable = None,
    feedback: v.MoreTable = None,
    open_loop: v.MoreTable = None,
    open_run: v.MoreLists = None,
    per: Literal["user", "item"] = "user",
    baseline: str | None = None,
    decide_by: str = "",
    min_lift: v.MinLift = 0.0,
    margin: v.Margin = 0.02,
    guard: v.Guards = None,
    level: v.Level = 0.95,
    interval: Literal["normal", "t", "bootstrap"] = "t",
    test: Literal["t", "none"] = "t",
    correct: v.Correct = "holm",
    family: v.Family = "measure",
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
    """Evaluate ranked lists by holdout, IPS, SNIPS, within strata of the feedback, and stratified.

    Tables are given as for ``evaluate``.

    What is cut: ``cut`` is quantile (about the same feedback in each), width (bins of equal
    propensity range, as published), items (about the same number of items in each), into ``strata``
    parts (4 if not said, of width 2; of several numbers, the one to take is recommended and taken,
    and the table ``numbers`` has all), or a column of the judgments, whose values are the strata.
    By what: ``propensity`` is popularity (a power of an item's feedback count where a power law
    fits the counts, otherwise as frequency), frequency (the share of users an item has feedback of,
    shrunken), published (that of the paper's code), a column of the judgments, or a table of item,
    propensity and perhaps user; with columns select (how likely an item is shown) and interact (how
    likely it is used if shown) in place of propensity, it is their product. Feedback is counted in
    the judgments, or in the table ``feedback``.
    What is true: ``open_loop`` are judgments of items shown at random. How well each method orders
    the systems as they do is then told (``agreement``, for four systems or more). ``open_run`` are
    runs of the same names for them. ``agreement_pairs`` tests every two methods (Williams).
    Per what: values are of a ``user``, or per ``item``: over how many the user judged (``|S_u|``).
    What is compared: every system with ``baseline``, or every pair, under every method. ``test`` is
    t or none; ``correct`` is holm, bh or none, over the ``family`` of the comparisons by one
    measure and method (measure), which is one question, or of all; it corrects the paradox audit
    too, over all pairs and measures.
    What decides: as for ``evaluate``, by the stratified value.
    How sure: ``interval`` is normal, t or bootstrap (with ``resamples``), at ``level``.
    Who counts: as for ``evaluate``. Users with nothing to find (``no_relevant``) count as 0: to
    leave them out (skip, as published) selects by the outcome. A stratum's mean is over users with
    something to find there. ``missing="skip"`` leaves out users whom any system has no list for.
    Where it runs: ``engine`` is local, spark or auto (Spark for Spark frames), with ``memory``,
    ``partitions``, ``scratch`` and ``inference``, or a `counterrank.Local` or `counterrank.Spark`.
    The numbers do not depend on it.

    The result's tables are ``strata``, ``paradoxes`` and ``agreement``; ``audit`` counts what was
    looked for.

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=200)
    >>> result = cr.strata(world.judgments, world.runs, measure="nDCG@10", cut="quantile")
    >>> [row.name for row in result.strata]
    ['Q1', 'Q2']
    """
    from counterrank.core.errors import UsageError
    from counterrank.data.runs import Policies
    from counterrank.data.schema import ColumnNames
    from counterrank.judged.request import parse_measures, validate_ties
    from counterrank.metrics import measure as label
    from counterrank.stats.plan import Plan
    from counterrank.stratified import pipeline
    from counterrank.stratified.request import Choices, StrataTables

    wanted = list(parse_measures(v.as_list(measure)))
    rule = v.decision_rule(
        decide_by, min_lift, margin, guard, names=list(map(str, wanted)), label=label.label,
        others="show" if tuple(v.as_list(measure)) == v.MEASURES else "guard",
    )  # fmt: skip
    plan = Plan(baseline, test, correct, family, level, interval, 1, resamples, seed, rule)
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    validate_ties(wanted, ties)
    if open_run is not None and open_loop is None:
        raise UsageError(
            "open_run needs open_loop: the judgments that its lists are held against.",
            todo="Give them too: --open-loop JUDGMENTS.",
        )
    named = ColumnNames.of(columns)
    choices = Choices(strata, cut, propensity, feedback, named, judgments)
    request = choices.request(
        tuple(wanted), policies, plan, more=open_loop, own=open_run is not None, per=per
    )
    tables = StrataTables.of(choices.schemas(open_loop), runs, open_run, named)
    given = (judgments, feedback, propensity, open_loop, runs, open_run)
    engine = v.engine_for(where, *given, ties=ties)
    return pipeline.strata(request, tables, engine, progress)
