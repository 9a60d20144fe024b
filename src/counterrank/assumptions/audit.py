"""Audits of a log: is what off-policy estimates assume (Jeunen et al., 2024, section 4) so?

Each reads the log alone, takes one assumption and looks for what would break it. An audit is loud
only if the effect is beyond chance (3.3 standard errors, between users) and large enough to matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from counterrank.assumptions import support
from counterrank.assumptions.audit_rows import AuditRows
from counterrank.assumptions.carry_over import carry_over
from counterrank.assumptions.examination_audit import examination, position_fit
from counterrank.assumptions.interaction import interaction
from counterrank.assumptions.trust_bias import trust
from counterrank.diagnostics.diagnosis import Diagnosis


@dataclass(frozen=True)
class Extent:
    """How much a log holds: sessions, rows with a reward, users if they were logged."""

    sessions: int
    events: int
    users: int | None


def audit_extent(whole: Extent, reward: str, views: str) -> list[Diagnosis]:
    """Whether there are events (first), users and views to learn from."""
    return [
        support.events(whole.events, whole.sessions, reward),
        support.users(whole.users, whole.sessions),
        support.views(views),
    ]


def audit_assumptions(rows: AuditRows, whole: Extent) -> list[Diagnosis]:
    """All audits by the rows of a log, or of some of its users, which is then said."""
    found = [*_assumptions(rows), support.variety(rows)]
    if rows.curves is not None and rows.views != "latent":
        found.append(position_fit(rows, rows.curves))
    audits = [d for d in found if isinstance(d, Diagnosis)]
    if rows.n < whole.sessions:
        note = f" (By {rows.n:,} of {whole.sessions:,} sessions.)"
        audits = [replace(d, meaning=d.meaning + note) for d in audits]
    return [*audits, *_silent([text for text in found if isinstance(text, str)])]


def _assumptions(rows: AuditRows) -> list[Diagnosis | str]:
    """Assumptions 1 to 4."""
    neighbours = interaction(rows)
    loud = isinstance(neighbours, Diagnosis) and neighbours.verdict != "pass"
    # the first item has no neighbour above: where neighbours matter, it is no fair comparison
    return [carry_over(rows), examination(rows), neighbours, trust(rows, top=2 if loud else 1)]


def _silent(reasons: list[str]) -> list[Diagnosis]:
    """What could not be audited, and why."""
    share = 1 - len(reasons) / 4
    if not reasons:
        return []
    text = f"{len(reasons)} of 4 assumptions could not be audited: {'; '.join(reasons)}."
    return [Diagnosis("audited", "log", share, 1.0, "caution", text)]
