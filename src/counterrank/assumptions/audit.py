"""Audits of a log: is what off-policy estimates assume (Jeunen et al., 2024, section 4) so?

Each reads the log alone, takes one assumption and looks for what would break it. An audit is loud
only if the effect is beyond chance (3.3 standard errors, between users) and large enough to matter.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterrank.assumptions import support as data
from counterrank.assumptions.audit_rows import Shown, shown
from counterrank.assumptions.carry_over import carry_over
from counterrank.assumptions.examination_audit import examination, position_fit
from counterrank.assumptions.interaction import interaction
from counterrank.assumptions.trust_bias import trust
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.ope.basis import Basis
from counterrank.ope.log import Sessions
from counterrank.ope.log_audit import MOST, Extent


def log_audits(
    sessions: Sessions,
    basis: Basis,
    reward: str,
    extent: Extent | None = None,
    *,
    most: float = MOST,
) -> list[Diagnosis]:
    """All audits of one reward; logs of more than ``most`` rows by a fixed sample of users.

    Sessions that are such a sample already come with the ``extent`` of their log.
    """
    whole = _extent(sessions, reward) if extent is None else extent
    known = [
        data.events(whole.events, whole.sessions, reward),
        data.users(whole.users, whole.sessions),
        data.views(basis),
    ]
    if known[0].verdict == "fail":
        return known
    rows = shown(sessions, basis, reward, most=most if extent is None else np.inf)
    found = [*_assumptions(rows), data.variety(rows)]
    if basis.model is not None and basis.views != "latent":
        curves = basis.curves
        contexts = int(rows.context.max()) + 1
        if len(curves) == 1:
            curves = np.broadcast_to(curves, (contexts, curves.shape[1]))
        found.append(position_fit(rows, curves))
    audits = [d for d in found if isinstance(d, Diagnosis)]
    if rows.n < whole.sessions:
        note = f" (By {rows.n:,} of {whole.sessions:,} sessions.)"
        audits = [replace(d, meaning=d.meaning + note) for d in audits]
    return [*audits, *_silent([text for text in found if isinstance(text, str)]), *known]


def _extent(sessions: Sessions, reward: str) -> Extent:
    """That of a log in memory."""
    events = np.count_nonzero(sessions.column(reward, 0, sessions.n))
    users = None if sessions.cluster is None else int(sessions.cluster.max()) + 1
    return Extent(sessions.n, int(events), users)


def _assumptions(rows: Shown) -> list[Diagnosis | str]:
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
