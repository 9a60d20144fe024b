"""``strata``: judgments and runs in; holdout, weighted, within strata and stratified values out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from counterrank.compare import Plan
from counterrank.errors import InputError, UsageError, one_of
from counterrank.inference import RESAMPLES
from counterrank.policies import Policies
from counterrank.progress import Progress, quiet
from counterrank.ranking import DEFAULTS, Measure
from counterrank.schema import Named
from counterrank.strata_result import Stratification
from counterrank.stratified import counted, faces
from counterrank.stratified.versus import CORRECTIONS, TESTS
from counterrank.systems import Runs, in_one_pass, refuse_ties
from counterrank.verbs.evaluate import as_measures
from counterrank.verbs.strata_open import from_runs
from counterrank.verbs.strata_open import open_loop as as_open
from counterrank.verbs.strata_pass import Scored, scored
from counterrank.verbs.strata_truth import Asked, Truth, columns_of, truth

INTERVALS = ("normal", "t", "bootstrap")


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
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Stratification:
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

    The comparisons and the audit are computed when they are first asked for.

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=200)
    >>> result = cr.strata(world.judgments, world.runs, measures=["nDCG@10"], cut="quantile")
    >>> [row.name for row in result.strata]
    ['Q1', 'Q2']
    """
    wanted = as_measures(measures)
    one_of("interval", interval, INTERVALS)
    one_of("test", test, TESTS)
    one_of("correct", correct, CORRECTIONS)
    plan = Plan(baseline, test, correct, family, level, interval, 1, resamples, seed)
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    refuse_ties(wanted, ties)
    if open_runs is not None and open_loop is None:
        raise UsageError("open_runs need open_loop: the judgments they are held against.")
    named = Named(columns)
    asked = Asked(strata, cut, propensity, feedback, open_loop, named, columns_of(judgments))
    known, inputs, systems = in_one_pass(
        lambda: truth(judgments, wanted, no_relevant, asked),
        runs,
        lambda run, given, threads: scored(
            run, given, wanted, policies, threads, open_too=open_runs is None
        ),
        named,
        progress,
    )
    names = tuple(system.name for system in systems)
    plan.pairs(names)
    there, opened = _there(known, systems, missing), None
    _refuse_nothing(known, wanted, there, no_relevant)
    if known.open is not None:
        again = [s.opened for s in systems if s.opened is not None]
        if open_runs is not None:
            more, again = from_runs(open_runs, known.open, wanted, policies, named, progress)
            inputs += more
        opened = as_open(known.open, again, names, known.layout.pool, wanted, policies)
    named.refuse_unmet()
    return Stratification(
        systems=names,
        measures=tuple(wanted),
        layout=known.layout,
        propensities=known.propensities,
        ways={
            str(m): faces(
                m, known.layout, np.stack([s.scores[:, place] for s in systems], axis=1), there,
                no_relevant,
            )
            for place, m in enumerate(wanted)
        },
        plan=plan,
        policies=policies,
        inputs=(*known.inputs, *inputs),
        orders={s.name: s.order for s in systems},
        listed=tuple(d for s in systems for d in s.diagnoses),
        open=opened,
        progress=progress,
    )  # fmt: skip


def _refuse_nothing(
    known: Truth, measures: list[Measure], there: np.typing.NDArray[np.bool_], no_relevant: str
) -> None:
    """Those who have lists must have something to find, too."""
    for m in measures:
        if not counted(m, known.layout.pool, there, no_relevant).any():
            raise InputError(
                f"No user with a list of every system has anything to find for {m}.",
                todo="Count users without a list as 0 (--missing zero), or check rel=.",
            )


def _there(known: Truth, systems: list[Scored], missing: str) -> np.typing.NDArray[np.bool_]:
    """Users that count for every system."""
    there = np.ones(known.layout.pool.n, bool)
    if missing == "skip":
        there = np.all([s.present for s in systems], axis=0)
    if not there.any():
        raise InputError(
            "No user has a list of every system.",
            todo="Count users without a list as 0 (--missing zero), or evaluate systems apart.",
        )
    return there
