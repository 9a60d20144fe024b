"""What a study is, what it may ask for, and what it says in the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from scipy.special import stdtr

from counterrank.core.parallel import Progress, quiet
from counterrank.documents.document import plain
from counterrank.report.charts import Figure
from counterrank.results.output_files import make_folder, whole_text

A = TypeVar("A")
State = Literal["holds", "does not hold", "cannot be told here"]
STEPS = ".steps"
SURE = 0.05  # of a p-value


@dataclass(frozen=True)
class Cell:
    """One number twice: as printed in the paper (as text to keep its digits), and as found here."""

    paper: float | str | None
    ours: float | str | None
    se: float | None = None


@dataclass(frozen=True)
class ComparedTable:
    """A table of the paper; a cell may be a text, a number or both numbers side by side."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, or of ours, and whether it holds here.

    ``theirs`` and ``ours`` are the two figures behind it, as short texts for the summary.
    """

    sentence: str
    state: State
    why: str
    theirs: str = ""
    ours: str = ""


@dataclass(frozen=True)
class Difference:
    """Where the paper's number and ours lie apart, and why, by something that was tried."""

    where: str
    paper: float | str
    ours: float | str
    because: str


@dataclass(frozen=True)
class Reproduction:
    """What a study found: tables, claims, the largest differences, notes and figures."""

    tables: Sequence[ComparedTable]
    claims: Sequence[Claim]
    differences: Sequence[Difference] = ()
    notes: Sequence[str] = ()
    figures: Sequence[Figure] = ()


def holds(truth: bool) -> State:
    """The state of a claim that can be told."""
    return "holds" if truth else "does not hold"


def spread(x: Sequence[float]) -> tuple[float, float | None]:
    """Mean and its standard error, which one value does not have."""
    return float(np.mean(x)), float(np.std(x, ddof=1) / len(x) ** 0.5) if len(x) > 1 else None


def sure_lead(one: Sequence[float], other: Sequence[float]) -> int:
    """1 if the first is surely larger, -1 if smaller, 0 if that may be chance: paired t, 5 %."""
    gap, gap_se = spread(np.subtract(one, other).tolist())
    if gap_se is None or not gap:
        return 0
    t = gap / max(gap_se, 1e-12)
    return int(np.sign(t)) if 2 * stdtr(len(one) - 1, -abs(t)) < SURE else 0


def by_signs(signs: Sequence[int], least: int) -> State:
    """So many surely so and none the other way; or more surely the other way; or neither."""
    if signs.count(-1) > signs.count(1):
        return "does not hold"
    return "holds" if signs.count(1) >= least and -1 not in signs else "cannot be told here"


@dataclass(frozen=True)
class Context:
    """What a study is given: data by name, its size and seed, and where its steps are kept."""

    root: Path | None = None
    quick: bool = False
    seed: int = 0
    out: Path | None = None
    bar: Progress = quiet
    fingerprint: str = ""
    loaded: dict[str, Any] = field(default_factory=dict)

    def data(self, name: str) -> Any:
        """A data set, in the shape that ``sets.py`` says; a missing one says how to get it."""
        from counterrank.studies.sets import load_set

        if name not in self.loaded:
            self.loaded[name] = load_set(name, self.root)
        return self.loaded[name]

    def has(self, name: str) -> bool:
        """Whether a data set is there."""
        from counterrank.studies.sets import find_set

        return find_set(name, self.root) is not None

    def progress(self, items: Sequence[A], label: str) -> Iterable[A]:
        """The items, with a bar on a terminal."""
        return self.bar(items, label)

    def step(self, key: str, work: Callable[[], Any]) -> Any:
        """What ``work`` returns, as JSON has it; a run that was killed finds it on the disk."""
        if self.out is None:
            return json.loads(json.dumps(plain(work())))
        file = make_folder(str(self.out / STEPS)) / f"{self.fingerprint[:12]}-{key}.json"
        with suppress(FileNotFoundError, ValueError):  # as of a disk that lost a part
            return json.loads(file.read_text(encoding="utf-8"))
        whole_text(file, text := json.dumps(plain(work())))
        return json.loads(text)


@dataclass(frozen=True)
class Study:
    """A published study: its paper, the data sets it needs and the minutes it takes in full."""

    name: str
    title: str
    paper: str
    data: Sequence[str]
    minutes: float
    run: Callable[[Context], Reproduction]
