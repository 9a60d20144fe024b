"""What the numbers of each target rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from counterrank.diagnostics.diagnosis import Diagnosis, graded
from counterrank.estimates import Uncertain
from counterrank.logged import (
    INNER,
    Basis,
    Key,
    Shared,
    Valued,
    Work,
    clipped,
    kept_weight,
)
from counterrank.schema import Table
from counterrank.trust import weights as about


def grounds(
    targets: Mapping[str, Valued],
    found: Mapping[Key, Uncertain],
    basis: Basis,
    work: Work,
    shared: Shared,
    tables: Sequence[Table],
) -> list[Diagnosis]:
    """What each ranker's numbers rest on; ``tables`` are theirs, rows or not."""
    out = []
    order = {table.system: table.order for table in tables}
    for name, part in targets.items():
        ratio = found[name, "MeanWeight", work.rewards[0]]
        chance = "none" if basis.logged == "rank" and basis.views != "rows" else "some"
        if order[name] == "score" and work.scores == "order":
            out.append(tied(name, part))
        if part.faults.absent.count:
            absent = part.faults.absent.count
            out.append(about.covered(name, absent, shared.sessions, work.missing))
        if basis.model is not None and not basis.by_rank and basis.views != "rows":
            out.append(about.exposed(name, part.weights))
        out += [
            about.support(name, part.weights, chance=chance),
            about.mean_weight(name, ratio),
            about.effective_size(name, part.weights),
            about.largest_weight(name, part.weights),
            about.tail(name, part.weights),
        ]
        out += [] if part.slates is None else [about.effective_slates(name, *part.slates)]
        for e in clipped(work.estimators):
            if e.name not in INNER and (name, str(e), work.rewards[0]) in found:
                kept = found[name, str(kept_weight(e)), work.rewards[0]]
                value = found[name, str(e), work.rewards[0]].value
                out.append(about.clipping(name, str(e), kept, value))
    return out


def tied(system: str, part: Valued) -> Diagnosis:
    """Rows whose score another row of their list has, too."""
    share = part.tied / part.rows
    verdict = graded(-share, -0.01, -0.5)
    text = f"{share:.1%} of its rows share their score with another of their list."
    if verdict != "pass":
        text += (
            " Ties go by item id, so part of the value is an accident: give ranks, or finer scores."
        )
    return Diagnosis("ties", system, share, 0.01, verdict, text)


def mixture(shared: Shared, *, loggers: Sequence[str] = ()) -> list[Diagnosis]:
    """A log of several rankers: what it earned is then a mean over them, and of none.

    Policies whose lists are known (``loggers``) are one logger together.
    """
    for column in shared.arms.columns:
        kinds = shared.arms[column].n_unique()
        if kinds > 1 and not (column == "policy" and loggers):
            text = (
                f'The column "{column}" has {kinds} values: "logged" is their mixture, and so'
                " are lifts over it. Keep the sessions of one to compare with it alone."
            )
            return [Diagnosis("one ranker", "log", float(kinds), 1.0, "caution", text)]
    return []
