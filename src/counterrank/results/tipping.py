"""How strong hidden causes would have to be to turn a claim: rows of a result, and a diagnostic.

The mathematics is in `counterrank.stats.sensitivity`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from counterrank.core.arrays import divide
from counterrank.core.format import list_names
from counterrank.diagnostics.diagnostic import Diagnostic
from counterrank.results.result import Result, Row
from counterrank.stats.compare import Comparison
from counterrank.stats.moments import Pair
from counterrank.stats.sensitivity import MOST, Bound, lower_end, tipping_point
from counterrank.stats.units import Functions, Key

RANGE = 1.1  # the odds factor that is taken where nothing is known: a choice, named wherever used
NOTHING = float("nan")

Compared = tuple[Key, Key | None]  # what a bound is of: a value, or its difference from another
Swings = Mapping[Compared, Sequence[Pair]]  # what rises and falls of it, by each prediction


@dataclass(frozen=True)
class TippingRow:
    """A value or difference, and the odds factor ``gamma`` at which its ``claim`` turns.

    ``gamma`` is 1 where nothing is claimed, None where no factor up to 1,000 turns it. ``low`` and
    ``high`` are its ends at the factor ``at``. A row with a ``benchmark`` says instead what odds
    factor it is to forget that column.
    """

    system: str | None
    measure: str | None
    reward: str | None
    estimator: str | None
    baseline: str | None
    assumption: str
    benchmark: str | None
    claim: str | None
    gamma: float | None
    at: float
    low: float
    high: float


def with_tipping(
    result: Result, swings: Swings, functions: Functions, benchmarks: Mapping[str, float], who: str
) -> Result:
    """The result with a table of tipping points, and what is assumed of each candidate.

    ``who`` may know more than its chances say, ``benchmarks`` are odds factors by column.
    """
    values = {(r.system, r.measure, r.reward, r.estimator): r for r in result.estimates}
    changes = {(c.system, c.measure, c.reward, c.estimator): c for c in result.comparisons}
    rows = []
    for (key, other), pairs in swings.items():
        name = key.system, key.measure, key.reward, key.estimator
        known: Row | Comparison | None = values.get(name) if other is None else changes.get(name)
        if known is not None:
            rows.append(_row(known, _bounds(result, key, other, pairs, functions)))
    rows += [_benchmark(column, gamma) for column, gamma in benchmarks.items()]
    audits = {(d.name, d.subject): d for d in result.diagnostics}
    said = {(d.name, d.subject): d for d in _diagnostics(result, rows, who)}
    for of in audits.keys() & said.keys():  # what was found, and where the claim turns
        said[of] = replace(audits[of], meaning=f"{audits[of].meaning} {said[of].meaning}")
    others = [d for d in result.diagnostics if (d.name, d.subject) not in said]
    tables = {**result.tables, "tipping": rows}
    return replace(result, tables=tables, diagnostics=[*others, *said.values()])


def _bounds(
    result: Result, key: Key, other: Key | None, pairs: Sequence[Pair], functions: Functions
) -> list[Bound]:
    assert result.units is not None
    sides = [key for pair in pairs for key in pair]
    view = result.units.over(key, *([] if other is None else [other]), *sides)
    value, *rest = (
        None if one is None else view.estimate(one, functions[one]) for one in (key, other)
    )
    assert value is not None
    return [
        Bound.of(value, *(view.estimate(side, functions[side]) for side in pair), *rest)
        for pair in pairs
    ]


def _row(known: Row | Comparison, bounds: list[Bound]) -> TippingRow:
    """A value by its own interval, a difference by its family's."""
    turned, base = [b.turned() for b in bounds], None
    claim: str | None = None
    gamma: float | None = None
    if isinstance(known, Row):
        below, above = _widths(known.value, known.low, known.high, known.se)
    else:
        low, high = known.family_low, known.family_high
        below, above = _widths(known.difference, low, high, known.se)
        sides = [(bounds, below)] if low > 0 else [(turned, above)] if high < 0 else []
        gamma = tipping_point(*sides[0]) if sides else 1.0
        claim, base = known.claim, known.baseline
    return TippingRow(
        known.system, known.measure, known.reward, known.estimator, base, "confounding", None,
        claim, gamma, RANGE, lower_end(bounds, RANGE, below), -lower_end(turned, RANGE, above),
    )  # fmt: skip


def _widths(value: float, low: float, high: float, se: float) -> tuple[float, float]:
    """How many standard errors below and above an interval reaches."""
    return float(divide(value - low, se, 0.0)), float(divide(high - value, se, 0.0))


def _benchmark(column: str, gamma: float) -> TippingRow:
    of = (None,) * 5
    return TippingRow(*of, "confounding", column, None, gamma, RANGE, NOTHING, NOTHING)


def _diagnostics(result: Result, rows: Sequence[TippingRow], who: str) -> list[Diagnostic]:
    """What no log can tell, for each candidate by what decides."""
    lead, forgotten = result.protocol["decides"], [r for r in rows if r.benchmark is not None]
    found = []
    for row in rows:
        own = (row.measure, row.reward, row.estimator)
        if row.claim is None or own != (lead["measure"], lead["reward"], lead["estimator"]):
            continue
        text = f"No data can tell whether {who}. {_turns(row)}{_beside(row, forgotten)}"
        gamma = NOTHING if row.gamma is None else row.gamma
        systems, estimators = (str(row.system),), (str(row.estimator),)
        found.append(
            Diagnostic(
                "confounding", str(row.system), gamma, RANGE, "assumed", text, systems, estimators
            )
        )
    return found


def _turns(row: TippingRow) -> str:
    if row.claim == "cannot_tell":
        return f"There is no claim to turn; an odds factor of {RANGE:g} is assumed."
    if row.gamma is None:
        return f'No odds factor up to {MOST:,.0f} turns "{row.claim}".'
    holds = "holds" if row.gamma > RANGE else "does not hold"
    return (
        f'Odds that are off by a factor of {row.gamma:.2f} turn "{row.claim}": it {holds} at the'
        f" {RANGE:g} that is assumed."
    )


def _beside(row: TippingRow, forgotten: Sequence[TippingRow]) -> str:
    """Which columns are as strong as that, if they were forgotten."""
    if not forgotten or row.claim == "cannot_tell":
        return ""
    turn = float("inf") if row.gamma is None else row.gamma
    told = [f"{r.benchmark} ({r.gamma:.2f})" for r in forgotten if r.gamma is not None]
    strong = [str(r.benchmark) for r in forgotten if r.gamma is None or r.gamma >= turn]
    if strong:
        return f" A hidden cause as strong as {list_names(strong)} would: {', '.join(told)}."
    return f" Forgetting a column that is logged would not: {', '.join(told)}."
