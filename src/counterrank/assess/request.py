"""What each question of ``assess`` is asked, checked before any table is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from counterrank.assess.reduced_judgments import REDUCTIONS, SIZES
from counterrank.core.errors import UsageError
from counterrank.core.parallel import Progress, quiet, workers
from counterrank.data.runs import Policies, Runs, has_runs
from counterrank.engine import Engine, Local
from counterrank.metrics import Binary, Measure, measure
from counterrank.metrics.registry import geometric_twin
from counterrank.ope.estimators import estimator
from counterrank.ope.estimators.clipped_weight import CLIPS
from counterrank.ope.estimators.ips import Clipped, Estimator
from counterrank.position.models import PositionBias
from counterrank.results.result import Result
from counterrank.stats.plan import Plan

FEWEST_RESAMPLES = 20
NINE = ("P", "Recall", "F1", "AP", "nDCG", "RR", "ERR", "Bpref", "InfAP")

Folder = str | os.PathLike[str] | None


@dataclass(frozen=True)
class ValueRequest:
    """Which per-unit values: of judgments and runs, or from a table, a folder or a result.

    ``source`` is judgments if there are ``runs``; otherwise a table with unit, system, measure and
    value (as ``--by-unit`` writes it), a folder that ``--out`` wrote, or a result in memory;
    ``measures`` then picks some of its measures.
    """

    source: object
    runs: Runs | None = None
    measures: Sequence[str | Measure] = ()
    policies: Policies = field(default_factory=Policies)
    engine: Engine = field(default_factory=Local)
    columns: Mapping[str, str] | None = None
    progress: Progress = quiet

    @property
    def judged(self) -> bool:
        """Whether there are runs, to be judged."""
        return has_runs(self.runs)


@dataclass(frozen=True)
class ResamplingRequest:
    """Power or agreement: values, tests with flips, and intervals from resampled users.

    ``means`` is for agreement: both (each measure's geometric mean, too) or given.
    """

    values: ValueRequest
    plan: Plan
    resume: Folder = None
    means: str = "given"

    def __post_init__(self) -> None:
        if self.plan.resamples < FEWEST_RESAMPLES:
            raise UsageError(
                f"An interval needs at least {FEWEST_RESAMPLES} resamples.",
                found=f"Got {self.plan.resamples}.",
                todo="Use --resamples 1000.",
            )


@dataclass(frozen=True)
class RobustnessRequest:
    """What goes missing (``kinds`` of loss at falling ``sizes``), and how often it is drawn.

    ``measures`` are all that are asked of judgments; of a table, `forms` tells them.
    """

    values: ValueRequest
    plan: Plan
    mean: str
    measures: list[Measure]
    kinds: list[str]
    sizes: list[float]
    samples: int
    threads: int
    resume: Folder

    @classmethod
    def of(
        cls,
        values: ValueRequest,
        plan: Plan,
        *,
        rel: float | None,
        mean: str,
        reductions: Sequence[str],
        sizes: Sequence[float],
        samples: int,
        threads: int,
        resume: Folder,
    ) -> RobustnessRequest:
        """As a caller says it; no ``threads`` stand for the number of cores."""
        shares = _falling(sizes or SIZES)
        if samples < 2:
            raise UsageError(f"There must be at least two samples, not {samples}.")
        measures = _measures(values.measures, rel, mean) if values.judged else []
        kinds = _kinds(reductions, values.judged)
        return cls(
            values, plan, mean, measures, kinds, shares, samples, threads or workers(), resume
        )

    def forms(self, labels: Sequence[str]) -> dict[str, str]:
        """Labels of a table under each mean asked for, and the values each is made of."""
        forms = {label: label for label in labels if self.mean != "geometric"}
        if self.mean != "arithmetic":
            forms |= {twin: label for label in labels if (twin := geometric_twin(label))}
        return forms or _no_geometric(labels[0])


def _measures(labels: Sequence[str | Measure], rel: float | None, mean: str) -> list[Measure]:
    """Each measure under each mean asked for; a label that says geometric stays so."""
    if labels and rel is not None:
        raise UsageError(
            "rel is for the nine default measures.", todo="Write it in the label: P(rel=4)@100."
        )
    nine = [measure(f"{name}@100") for name in NINE]
    nine = [replace(m, rel=rel or 1) if isinstance(m, Binary) else m for m in nine]
    asked = [measure(label) for label in labels] or nine
    wanted = [m for m in asked if m.mean == "geometric" or mean != "geometric"]
    twins = [geometric_twin(str(m)) for m in asked if mean != "arithmetic"]
    wanted += [measure(twin) for twin in twins if twin]
    return list(dict.fromkeys(wanted)) or _no_geometric(asked[0])


def _kinds(given: Sequence[str], judged: bool) -> list[str]:
    """Kinds of loss, each once; from per-unit values only users can go missing."""
    kinds = list(dict.fromkeys(given or (REDUCTIONS if judged else ["users"])))
    more = [kind for kind in kinds if kind != "users"]
    if more and not judged:
        raise UsageError(
            f"Per-unit values do not say what was judged, so {more[0]} cannot go missing.",
            todo="Give judgments and runs, or ask for users alone (--reduction users).",
        )
    return kinds


@dataclass(frozen=True)
class DayRequest:
    """What is asked of every day. ``chances`` are columns of chances that all tables have.

    ``estimate`` is the verb of that name, by which a day's log says what lists would have earned.
    """

    control: str
    estimators: tuple[Estimator, ...]
    model: PositionBias | None
    contexts: tuple[str, ...]
    views: str
    estimate: Callable[..., Result]
    rewards: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    chances: tuple[str, ...] = ()

    def key(self) -> list[object]:
        """What the figures depend on besides rows, as plain values."""
        plain = [str(e) for e in self.estimators], str(self.model), self.control, self.contexts
        return [*plain, self.views, self.rewards, self.arms, self.chances]


def with_clips(labels: Sequence[str | Estimator], sweep: str) -> tuple[Estimator, ...]:
    """The estimators; in a sweep each that can be clipped, over all clips."""
    wanted = [estimator(label) for label in labels]
    if sweep == "clip":
        wanted = [
            kind
            for e in wanted
            for kind in ([replace(e, clip=m) for m in CLIPS] if isinstance(e, Clipped) else [e])
        ]
    return tuple(dict.fromkeys(wanted))


@dataclass(frozen=True)
class OnlineRequest:
    """Past experiments: a table of figures or, with ``runs``, a log with days and arms.

    ``offline`` to ``baseline`` are for a table, ``rewards`` and ``day`` for a log.
    """

    source: object
    runs: Runs | None
    offline: Sequence[str]
    kind: str
    baseline: str | None
    rewards: Sequence[str]
    day: DayRequest
    sweep: str
    truth: str
    correlate: str
    plan: Plan
    engine: str | Engine
    columns: Mapping[str, str] | None
    resume: Folder
    progress: Progress

    def __post_init__(self) -> None:
        if self.sweep != "none" and not self.logged:
            raise UsageError("A clip sweep needs a log and runs, not a table of figures.")

    @property
    def logged(self) -> bool:
        """Whether the source is a log."""
        return has_runs(self.runs)


def _falling(given: Iterable[float]) -> list[float]:
    """Shares that are left, falling."""
    sizes = sorted({float(size) for size in given}, reverse=True)
    bad = [size for size in sizes if not 0 < size <= 1]
    if bad or not sizes:
        raise UsageError(
            "A size is the share that is left: above 0 and at most 1.",
            found=f"Found {bad[0]:g}." if bad else "Found none.",
            todo="For example 1, 0.5, 0.1 and 0.01.",
        )
    return sizes


def _no_geometric(label: object) -> Any:
    raise UsageError(
        f"{label} has no geometric mean.", todo="Ask for mean=both or mean=arithmetic."
    )
