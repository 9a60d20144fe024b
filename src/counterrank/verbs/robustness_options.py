"""What ``assess_robustness`` is asked for: measures under their means, kinds of loss, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from counterrank.arrays import workers
from counterrank.errors import UsageError, one_of
from counterrank.meta import geometric_twin
from counterrank.meta.reductions import REDUCTIONS
from counterrank.ranking import Binary, Measure, measure

NINE = ("P", "Recall", "F1", "AP", "nDCG", "RR", "ERR", "Bpref", "InfAP")
MEANS = ("both", "arithmetic", "geometric")


def measures_of(given: Sequence[str | Measure], rel: float | None, mean: str) -> list[Measure]:
    """Each measure under each mean asked for; a label that says geometric stays so."""
    labels = [given] if isinstance(given, (str, Measure)) else list(given)
    if labels and rel is not None:
        raise UsageError(
            "rel is for the nine default measures.", todo="Write it in the label: P(rel=4)@100."
        )
    asked = [measure(label) for label in labels] or [_at_100(name, rel or 1) for name in NINE]
    one_of("mean", mean, MEANS)
    wanted = [m for m in asked if m.mean == "geometric" or mean != "geometric"]
    twins = [geometric_twin(str(m)) for m in asked if mean != "arithmetic"]
    wanted += [measure(twin) for twin in twins if twin]
    if not wanted:
        raise UsageError(
            f"{asked[0]} has no geometric mean.", todo="Ask for mean=both or mean=arithmetic."
        )
    return list(dict.fromkeys(wanted))


def both_means(labels: Sequence[str], mean: str) -> dict[str, str]:
    """Labels of the measures under each mean asked for, and the values each is made of."""
    one_of("mean", mean, MEANS)
    found = {label: label for label in labels if mean != "geometric"}
    if mean != "arithmetic":
        found |= {twin: label for label in labels if (twin := geometric_twin(label))}
    if not found:
        raise UsageError(
            f"{labels[0]} has no geometric mean.", todo="Ask for mean=both or mean=arithmetic."
        )
    return found


def users_only(given: Sequence[str] | None) -> list[str]:
    """What can go missing from per-unit values: users."""
    kinds = reductions_of(["users"] if given is None else given)
    more = [kind for kind in kinds if kind != "users"]
    if more:
        raise UsageError(
            f"Per-unit values do not say what was judged, so {more[0]} cannot go missing.",
            todo="Give judgments and runs, or ask for users alone (--reduction users).",
        )
    return kinds


def reductions_of(given: Sequence[str]) -> list[str]:
    """Kinds of loss, each once."""
    words = [given] if isinstance(given, str) else list(given)
    kinds = list(dict.fromkeys(one_of("reduction", word, REDUCTIONS) for word in words))
    if not kinds:
        raise UsageError("No kind of loss is named.", todo=f"Some of: {', '.join(REDUCTIONS)}.")
    return kinds


def sizes_of(given: Sequence[float]) -> list[float]:
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


def samples_of(given: int) -> int:
    """A number of samples; one alone would leave the Monte Carlo error unknown."""
    if given < 2:
        raise UsageError(f"There must be at least two samples, not {given}.")
    return given


def threads_of(given: int) -> int:
    """A number of threads; 0 stands for the number of cores."""
    if given < 0:
        raise UsageError(
            f"There cannot be {given} threads.", todo="Use 0 for as many as there are cores."
        )
    return given or workers()


def _at_100(name: str, rel: float) -> Measure:
    found = measure(f"{name}@100")
    return replace(found, rel=rel) if isinstance(found, Binary) else found
