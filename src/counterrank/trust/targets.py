"""What the numbers of each target rest on."""

from __future__ import annotations

from collections.abc import Mapping

from counterrank.estimates import Estimate
from counterrank.logged import (
    INNER,
    Basis,
    Key,
    Sessions,
    Target,
    Valued,
    Work,
    clipped,
    kept_weight,
)
from counterrank.trust import weights as about
from counterrank.trust.audits import log_audits
from counterrank.trust.diagnosis import Diagnosis, graded


def grounds(
    done: Mapping[str, Valued],
    found: Mapping[Key, Estimate],
    basis: Basis,
    work: Work,
    sessions: Sessions,
    targets: Mapping[str, Target],
) -> list[Diagnosis]:
    """What each ranker's numbers rest on, and the audits of the log by the first reward."""
    out = []
    for name, part in done.items():
        ratio = found[name, "MeanWeight", work.rewards[0]]
        chance = "none" if basis.logged == "rank" and basis.views != "rows" else "some"
        if targets[name].table.order == "score" and targets[name].scores == "order":
            out.append(tied(name, targets[name]))
        if part.absent:
            out.append(about.covered(name, part.absent, sessions.n, work.missing))
        if basis.model is not None and not basis.by_rank and basis.views != "rows":
            out.append(about.exposed(name, part.weights))
        out += [
            about.support(name, part.weights, chance=chance),
            about.mean_weight(name, ratio),
            about.effective_size(name, part.weights),
            about.largest_weight(name, part.weights),
            about.tail(name, part.weights),
        ]
        slates = found.get((name, "SlateWeight", work.rewards[0]))
        out += [] if slates is None else [about.effective_slates(name, slates)]
        for e in clipped(work.estimators):
            if e.name not in INNER and (name, str(e), work.rewards[0]) in found:
                kept = found[name, str(kept_weight(e)), work.rewards[0]]
                value = found[name, str(e), work.rewards[0]].value
                out.append(about.clipping(name, str(e), kept, value))
    mixed = mixture(sessions)
    return out + ([] if mixed is None else [mixed]) + log_audits(sessions, basis, work.rewards[0])


def tied(system: str, target: Target) -> Diagnosis:
    """Rows whose score another row of their list has, too."""
    frame = target.table.frame
    keys = [name for name in ("session", "draw", "score") if name in frame.columns]
    share = float(frame.select(keys).is_duplicated().to_numpy().mean())
    verdict = graded(-share, -0.01, -0.5)
    text = f"{share:.1%} of its rows share their score with another of their list."
    if verdict != "pass":
        text += (
            " Ties go by item id, so part of the value is an accident: give ranks, or finer scores."
        )
    return Diagnosis("ties", system, share, 0.01, verdict, text)


def mixture(sessions: Sessions) -> Diagnosis | None:
    """A log of several rankers: what it earned is then a mean over them, and of none."""
    for column in ("arm", "policy"):
        if sessions.log.has(column):
            kinds = sessions.blocks.frame[column].gather(sessions.blocks.start).n_unique()
            if kinds > 1:
                text = (
                    f'The column "{column}" has {kinds} values: "logged" is their mixture, and so'
                    " are lifts over it. Keep the sessions of one to compare with it alone."
                )
                return Diagnosis("one ranker", "log", float(kinds), 1.0, "caution", text)
    return None
