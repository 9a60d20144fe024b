"""``counterrank assess power``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterrank.cli import options
from counterrank.cli.assess_common import Resamples, Resume, Tables, aligned, finish, resumed
from counterrank.cli.engine import with_engine
from counterrank.cli.evaluate import Draws
from counterrank.cli.options import (
    ByUnit,
    Columns,
    Duplicates,
    Format,
    Level,
    Measures,
    Missing,
    NoRelevant,
    Out,
    Quiet,
    Seed,
    Strict,
    Ties,
    Unjudged,
)
from counterrank.wording import p_value, wrapped

if TYPE_CHECKING:
    from counterrank.assess_result import Assessment
    from counterrank.engine import Engine

LARGEST = 20  # p-values shown of each curve, as in the paper


@with_engine
def power(
    tables: Tables,
    measure: Measures = None,
    level: Level = 0.95,
    draws: Draws = 100_000,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    unjudged: Unjudged = "ignore",
    duplicates: Duplicates = "error",
    ties: Ties = "id",
    columns: Columns = None,
    resume: Resume = None,
    out: Out = None,
    by_unit: ByUnit = None,
    format: Format = "table",
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    engine: Engine,
) -> None:
    """How well does each measure tell systems apart? p-values of all pairs, and their sum."""
    from counterrank import digest

    source, *runs = options.named_runs(tables)
    digest.begin([path for _, path in (source, *runs)])
    from counterrank import progress
    from counterrank.cli import writing
    from counterrank.verbs import assess_power as verb

    options.formatted(format)
    writing.refuse_early(by_unit, out, [path for _, path in (source, *runs)])
    result = verb.assess_power(
        source[1],
        runs,
        measures=options.labels(measure),
        level=level,
        draws=draws,
        resamples=resamples,
        seed=seed,
        missing=missing,
        no_relevant=no_relevant,
        unjudged=unjudged,
        duplicates=duplicates,
        ties=ties,
        engine=engine,
        columns=options.column_names(columns),
        resume=resumed(resume, out),
        progress=progress.quiet if quiet else progress.bar,
    )
    finish(
        result, lines, format=format, out=out, by_unit=by_unit, strict=strict, quiet=quiet,
        resume=resume,
    )  # fmt: skip


def lines(result: Assessment, wide: int) -> list[str]:
    """DP of each measure, the best first; then the top of each curve."""
    rows = sorted(result.estimates, key=lambda r: r.value)
    level = rows[0].level
    head = ("measure", "DP", f"{level:.0%} interval", f"p <= {1 - level:.2g}", "median p")
    cells = [
        (
            r.measure, f"{r.value:.4g}", f"[{r.low:.3g}, {r.high:.3g}]", f"{r.significant:.1%}",
            p_value(r.median_p),
        )
        for r in rows
    ]  # fmt: skip
    text = (
        f"DP: sum of the p-values of {rows[0].pairs} pairs (two-sided permutation test,"
        f" {result.protocol['draws']:,} flips); lower is better."
    )
    curves = {c.measure: c.p for c in result.tables["curves"]}
    shown = [c for c in range(LARGEST) if c < rows[0].pairs]
    out = [*wrapped(text, wide), "", *aligned(head, cells, wide), ""]
    out.append(f"The {len(shown)} largest p-values")
    for r in rows:
        top = " ".join(_short(curves[r.measure][c]) for c in shown)
        out += wrapped(f"{r.measure}: {top}", wide, "  ")
    return out


def _short(p: float) -> str:
    """Two decimals without the zero."""
    return "1.0" if p > 0.995 else f"{p:.2f}"[1:]
