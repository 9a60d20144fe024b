r"""The logger knew no more of a user than the contexts named, or the log can tell what it knew.

A personalised logger puts an item high for those who like it. An item then earns more at high ranks
though the rank itself sells nothing: a position curve harvested from clicks is too steep, and
`trust` is loud; weights by the right curve are not off at all. Where views were logged, the curves
of clicks and of views are compared (a test in the manner of Hausman 1978): among users, where
both trust and knowledge part them, and within users, where only trust does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from counterrank.assumptions.score_test import SURE, AuditRows, Effect
from counterrank.assumptions.trust_bias import CAUTION, by_doubling
from counterrank.diagnostics.diagnostic import Diagnostic


class RankSlopes(NamedTuple):
    r"""Change of the reward of a view per doubling of the rank (`by_doubling`).

    ``among`` users compares an item in its context, :math:`\beta_a`; ``within`` users only what one
    user was shown several times, :math:`\beta_w`. Their difference is what the logger knew; it has
    variance :math:`s_w^2 - s_a^2`, since :math:`\beta_a` is the better one where it knew nothing.
    """

    among: Effect
    within: Effect

    @property
    def knowledge(self) -> Effect:
        """What the logger knew, per doubling of the rank."""
        error = max(self.within.se**2 - self.among.se**2, 0.0) ** 0.5
        return Effect(self.among.size - self.within.size, error)

    @property
    def told(self) -> bool:
        """Whether what views earn differs with the rank beyond chance, for either reason."""
        return abs(self.among.z) > SURE and abs(self.among.size) >= CAUTION

    @property
    def sells(self) -> bool:
        """Whether the rank itself sells: within users, too, and to the same side."""
        same = self.among.size * self.within.size > 0
        return same and abs(self.within.z) > 1.96 and abs(self.within.size) >= CAUTION


def rank_slopes(rows: AuditRows) -> RankSlopes | None:
    """Both slopes where views, contexts and users are known."""
    if rows.alike is None or rows.again is None or rows.views == "latent" or not rows.named:
        return None
    among, within = (
        by_doubling(rows.reward, rows.seen, rows.rank, group, rows.of_row)
        for group in (rows.alike, rows.again)
    )
    return RankSlopes(among, within) if among.known else None


def confirm_within_users(found: Diagnostic | str, rows: AuditRows) -> Diagnostic | str:
    """What `trust` found fails a log only if the same user's rewards fall with the rank, too."""
    if isinstance(found, str) or found.state != "fail":
        return found
    slopes = rank_slopes(rows)
    if slopes is None or slopes.sells:
        return found
    text = (
        f" Within users it is {abs(slopes.within.size):.0%}, which chance explains: the logger may"
        " know who likes what, and then values by the right position model hold."
    )
    return replace(found, state="caution", meaning=found.meaning + text)


def logger_knowledge(rows: AuditRows, *, harvested: bool) -> Diagnostic | None:
    """The diagnostic where it can be asked; ``harvested``: the position model is from clicks."""
    slopes = rank_slopes(rows)
    if slopes is None:
        return None
    name, size = "logger knowledge", abs(slopes.among.size)
    if not slopes.told:
        text = (
            "Curves of clicks and of views agree: items stand no higher for those who like them"
            f" more; a difference of {slopes.among.visible:.1%} per doubling of the rank would have"
            " shown."
        )
        return Diagnostic(name, "log", size, CAUTION, "pass", text)
    text = f"A curve of clicks is {size:.0%} steeper per doubling of the rank than that of views"
    knew = abs(slopes.knowledge.z) > 1.96 and not slopes.sells
    why = ": the logger knows who likes what" if knew else ": the logger knows who likes what,"
    why += "" if knew else " or the rank itself sells; too few users saw an item twice to tell"
    if slopes.sells:
        why = ": the rank itself sells, within users, too"
    todo = " Learn the curve from views (--method views), not from clicks." if harvested else ""
    state = "caution" if harvested else "pass" if knew or slopes.sells else "untested"
    text += why + ". Values by a curve of views do not hang on what it knows." + todo
    return Diagnostic(name, "log", size, CAUTION, state, text)
