"""``counterrank assess accuracy``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.cli import options
from counterrank.cli.assess_common import aligned, finish
from counterrank.cli.options import ByUnit, Columns, Format, Level, Out, Quiet, Strict
from counterrank.wording import wrapped

if TYPE_CHECKING:
    from counterrank.assess_result import Assessment

Source = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="system, estimator, estimate, truth; optionally low, high, repetition.",
    ),
]


def accuracy(
    table: Source,
    level: Level = 0.95,
    columns: Columns = None,
    out: Out = None,
    by_unit: ByUnit = None,
    format: Format = "table",
    strict: Strict = False,
    quiet: Quiet = False,
) -> None:
    """How close do estimators come to a known truth? Error, bias, coverage, order, regret."""
    from counterrank.cli import writing
    from counterrank.verbs import assess_accuracy as verb

    options.formatted(format)
    writing.refuse_early(by_unit, out, [table])
    result = verb.assess_accuracy(table, level=level, columns=options.column_names(columns))
    finish(result, lines, format=format, out=out, by_unit=by_unit, strict=strict, quiet=quiet)


def lines(result: Assessment, wide: int) -> list[str]:
    """A line per estimator, the smallest error first."""
    rows = sorted(result.estimates, key=lambda r: r.value)
    first = rows[0]
    text = (
        f"{first.systems} system{'s' * (first.systems > 1)}, {first.repetitions} repetition"
        f"{'s' * (first.repetitions > 1)}; errors are shares of the truth."
    )
    head = (
        "estimator",
        "RMSE",
        f"{first.level:.0%} interval",
        "bias",
        "sd",
        "cover",
        "tau",
        "regret",
    )
    cells = [
        (
            r.measure, f"{r.value:.3g}", f"[{r.low:.3g}, {r.high:.3g}]", f"{r.bias:+.1%}",
            _shown(math.sqrt(r.variance), ".1%"), _shown(r.coverage, ".0%"),
            _shown(r.kendall, ".2f"), f"{r.regret:.1%}",
        )
        for r in rows
    ]  # fmt: skip
    return [*wrapped(text, wide), "", *aligned(head, cells, wide)]


def _shown(x: float, form: str) -> str:
    return "n/a" if math.isnan(x) else format(x, form)
