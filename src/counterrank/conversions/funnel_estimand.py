"""What a funnel estimates: sales where the tables allow it, otherwise conversions if clicked.

Sales need the chance that a rank is seen, and outcomes of what was shown, or a ctr of what is
listed. Without them no number of a funnel says what lists would sell, and none decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from counterrank.core.errors import UsageError
from counterrank.position.models import PositionBias

POSITION = "how likely a rank is seen (--position-bias)"
OUTCOMES = (
    "what was shown and not clicked (a column shown, or events view), or a column ctr in every run"
    " (the chance of a click when the item is seen)"
)
LOG = " Log what every user was shown, at which rank, and how likely that was."
INSTEAD = (
    " Where lists were logged with their ranks, ask counterrank estimate LOG RUN... --reward"
    " purchase."
)


@dataclass(frozen=True)
class Estimand:
    """``name``: sales, if-clicked, or auto until tables are known.

    ``basis``: outcomes are known of what was ``shown``, or of what was clicked: ``click``, which
    makes sales where the runs say how likely a listed item is clicked: ``listing``. ``undecided``
    is why the numbers decide nothing.
    """

    name: str = "auto"
    basis: str = "click"
    undecided: str = ""

    def settle(self, *, shown: bool, listed: bool, position: PositionBias | None) -> Estimand:
        """With what the tables have: ``shown`` rows, a ctr of what is ``listed``."""
        lacking = [POSITION] if position is None else []
        lacking += [] if shown or listed else [OUTCOMES]
        instead = LOG * (not shown) + INSTEAD
        if self.name == "sales" and lacking:
            raise UsageError(
                "Sales cannot be estimated from these tables.",
                found=f"What lacks: {'; and '.join(lacking)}.",
                todo="Give it, or ask for --estimand if-clicked, which is not sales." + instead,
            )
        if self.name == "if-clicked" or lacking:
            why = "No decision: conversions if everything listed were clicked are not sales."
            if lacking:
                why += f" For sales give {'; and '.join(lacking)}." + instead
            else:
                why += " These tables allow sales: leave --estimand if-clicked and -m out."
            return Estimand("if-clicked", "click", why)
        return replace(self, name="sales", basis="shown" if shown else "listing")
