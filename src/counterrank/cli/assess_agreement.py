"""``counterrank assess agreement``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

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

Means = Annotated[str, typer.Option(help="both: geometric means too; given: only those asked for.")]
SHOWN = 10  # rows of a long table


@with_engine
def agreement(
    tables: Tables,
    measure: Measures = None,
    means: Means = "both",
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
    """Do measures put systems in the same order? Correlations and inverted pairs, DCG first."""
    from counterrank import digest

    source, *runs = options.named_runs(tables)
    digest.begin([path for _, path in (source, *runs)])
    from counterrank import progress
    from counterrank.cli import writing
    from counterrank.verbs import assess_agreement as verb

    options.formatted(format)
    writing.refuse_early(by_unit, out, [path for _, path in (source, *runs)])
    result = verb.assess_agreement(
        source[1],
        runs,
        measures=options.labels(measure),
        means=means,
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
    """The matrix of taus, the pairs of measures, and the systems they put the other way round."""
    rows, level = list(result.estimates), result.estimates[0].level
    text = (
        "Inverted: share of pairs of systems that two measures order differently. Opposed: pairs"
        f" that both call different at {level:.0%}, in opposite directions."
    )
    head = ("measures", "Pearson", "Kendall", "inverted", f"{level:.0%} interval", "opposed")
    shown = rows[:1] + sorted(rows[1:], key=lambda r: -r.value)[:SHOWN]
    cells = [
        (
            f"{r.measure} / {r.other}", _number(r.pearson), _number(r.kendall), f"{r.value:.1%}",
            f"[{r.low:.1%}, {r.high:.1%}]", f"{r.opposed}",
        )
        for r in shown
    ]  # fmt: skip
    more = len(rows) - len(shown)
    out = [*_matrix(result, wide), "", *wrapped(text, wide), "", *aligned(head, cells, wide)]
    out += [f"and {more} more pairs of measures that agree better"] if more else []
    found = result.tables["opposed"]
    if found:
        out += ["", "Opposed systems, differences and p by each measure"]
        for o in found[:SHOWN]:
            line = (
                f"{o.measure} / {o.other}: {o.system} - {o.baseline}: {o.difference:+.4g}"
                f" ({p_value(o.p)}), {o.other_difference:+.4g} ({p_value(o.other_p)})"
            )
            out += wrapped(line, wide, "  ")
        out += [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return out


def _matrix(result: Assessment, wide: int) -> list[str]:
    """Kendall's tau of every two measures, as many columns as fit; last, with the own twin."""
    from counterrank.meta import geometric_twin

    tau = {(t.measure, t.other): t.kendall for t in result.tables["taus"]}
    tau |= {(b, a): value for (a, b), value in tau.items()}
    labels = list(dict.fromkeys(name for pair in tau for name in pair))
    twins = {a: geometric_twin(a) for a in labels if (a, geometric_twin(a)) in tau}
    labels = [a for a in labels if a not in twins.values()]
    numbered = [f"{n} {label}" for n, label in enumerate(labels, 1)]
    cells = [["" if a == b else _tau(tau[a, b]) for b in labels] for a in labels]
    head = [str(n) for n in range(1, len(labels) + 1)]
    if twins:
        head.append("geom.")
        for a, row in zip(labels, cells, strict=True):
            row.append(_tau(tau[a, twins[a]]) if a in twins else "")
    fit = max((wide - min(max(map(len, numbered)), 28)) // 6, 1)
    text = "Kendall's tau of the systems' orders"
    out = [text + ("; geom.: with its own geometric mean" if twins else "")]
    for begin in range(0, len(head), fit):
        part = slice(begin, begin + fit)
        rows = [(name, *row[part]) for name, row in zip(numbered, cells, strict=True)]
        out += ([""] if begin else []) + aligned(("", *head[part]), rows, wide)
    return out


def _tau(x: float) -> str:
    return "n/a" if math.isnan(x) else f"{x:.2f}"


def _number(x: float) -> str:
    return "n/a" if math.isnan(x) else f"{x:.3f}"
