"""``counterrank assess robustness``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.cli import options
from counterrank.cli.assess_common import Resume, Tables, aligned, finish, resumed
from counterrank.cli.engine import with_engine
from counterrank.cli.options import (
    ByUnit,
    Columns,
    Duplicates,
    Format,
    Level,
    Missing,
    Out,
    Quiet,
    Seed,
    Strict,
    Ties,
    Unjudged,
)
from counterrank.wording import number, wrapped

if TYPE_CHECKING:
    from counterrank.assess_result import Assessment
    from counterrank.engine import Engine

Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="LABEL",
        help="A measure, like nDCG@10; repeat for more. [default: P, Recall, F1, AP, nDCG, RR,"
        " ERR, Bpref and InfAP at 100]",
    ),
]
Rel = Annotated[
    float | None, typer.Option(help="Rating from which an item is relevant, for the default.")
]
Mean = Annotated[str, typer.Option(help="Mean of each measure: both, arithmetic or geometric.")]
Losses = Annotated[
    list[str] | None,
    typer.Option(
        "--reduction",
        metavar="KIND",
        help="What goes missing: ratings, items, users, popular_items, large_users; repeat for"
        " more. [default: all]",
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE,...", help="Shares left. [default: 1, 0.9 down to 0.05 by 0.05, 0.01]"
    ),
]
Samples = Annotated[int, typer.Option(help="Samples of each size, where chance decides.")]
Skipped = Annotated[str, typer.Option(help="Users with nothing to find: zero, skip.")]
Threads = Annotated[int, typer.Option(help="Threads; 0: as many as cores. No number changes.")]

HEADS = {
    "ratings": "ratings",
    "items": "items",
    "users": "users",
    "popular_items": "popular",
    "large_users": "large",
}


@with_engine
def robustness(
    tables: Tables,
    measure: Measures = None,
    rel: Rel = None,
    mean: Mean = "both",
    reduction: Losses = None,
    sizes: Sizes = None,
    samples: Samples = 50,
    level: Level = 0.95,
    seed: Seed = 0,
    missing: Missing = "zero",
    no_relevant: Skipped = "zero",
    unjudged: Unjudged = "ignore",
    duplicates: Duplicates = "error",
    ties: Ties = "id",
    columns: Columns = None,
    threads: Threads = 0,
    resume: Resume = None,
    out: Out = None,
    by_unit: ByUnit = None,
    format: Format = "table",
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Which measure keeps the order of systems when judgments go missing?"""
    from counterrank import digest

    source, *runs = options.named_runs(tables)
    digest.begin([path for _, path in (source, *runs)])
    from counterrank import progress
    from counterrank.cli import writing
    from counterrank.meta.reductions import SIZES
    from counterrank.verbs import assess_robustness as verb

    options.formatted(format)
    writing.refuse_early(by_unit, out, [path for _, path in (source, *runs)])
    result = verb.assess_robustness(
        source[1],
        runs,
        measures=options.labels(measure),
        rel=rel,
        mean=mean,
        reductions=options.labels(reduction) or None,
        sizes=SIZES if sizes is None else options.numbers("--sizes", sizes),
        samples=samples,
        level=level,
        seed=seed,
        missing=missing,
        no_relevant=no_relevant,
        unjudged=unjudged,
        duplicates=duplicates,
        ties=ties,
        engine=engine,
        columns=options.column_names(columns),
        threads=threads,
        resume=resumed(resume, out),
        progress=progress.quiet if quiet else progress.bar,
    )
    finish(
        result, lines, format=format, out=out, by_unit=by_unit, strict=strict, quiet=quiet,
        resume=resume,
    )  # fmt: skip


def lines(result: Assessment, wide: int) -> list[str]:
    """The area of each measure over all kinds of loss and under each, the best first."""
    kinds = list(result.protocol["reductions"])
    each = {(row.measure, row.reduction): row for row in result.tables["areas"]}
    rows = sorted(result.estimates, key=lambda row: -row.value)
    error = max(row.se for row in result.tables["areas"])
    text = (
        "Area under the curve of Kendall's tau with the order on all judgments, over the share of"
        " judgments left; 1: the order never changes. Monte Carlo error at most"
        f" {number(error, 4)}."
    )
    cells = [
        [
            row.measure,
            number(row.value, 3),
            *(number(each[row.measure, kind].value, 3) for kind in kinds),
        ]
        for row in rows
    ]
    table = aligned(["measure", "all", *(HEADS[kind] for kind in kinds)], cells, wide)
    return [*wrapped(text, wide), "", *table]
