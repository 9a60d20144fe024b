r"""How many users the A/B test of a candidate takes, and what would tell where a log cannot.

The test gives half of its users the candidate. With :math:`\sigma^2` the variance of the logged
ranker's value by user, as the log has it (:math:`G\, se^2` of :math:`G` users), a difference of
:math:`\Delta` is found with 80 % power at the level of 5 % by

.. math:: N = 4\, (z_{.975} + z_{.8})^2\, \sigma^2 / \Delta^2

users, both halves together. A log of :math:`n` sessions whose interval reaches :math:`h` below the
difference by chance, and :math:`b` further by what it cannot rule out, tells a difference of
:math:`\Delta > b` from 0 with about :math:`n\, (h / (\Delta - b))^2` sessions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from counterrank.documents.requirements import Requirement, Row, known, known_ends

Z = 1.959964 + 0.841621  # of the level 5 %, two-sided, and of 80 % power
LOGGED = "logged"
NEEDLESS = 1000  # times what there is: no plan to gather more
LITTLE = 0.01  # of the width of an interval: not worth a word


def users_needed(document: Row, lead: Requirement) -> int | None:
    """Users (or sessions, where users are not known) of a test that finds the difference."""
    own = lead.criterion
    rows = [
        r
        for r in document["estimates"]
        if (r["system"], r["measure"], r["reward"]) == (LOGGED, own.measure, own.reward)
    ]
    se = known(rows[0].get("se")) if rows else None
    clusters = document["protocol"].get("clusters")
    if not se or not clusters or not lead.difference:
        return None
    return _rounded(4 * Z**2 * clusters * se**2 / lead.difference**2)


def sessions_needed(lead: Requirement) -> int | None:
    """Sessions (or users) after which such data would tell; None where they never would."""
    row, ahead = lead.row, lead.difference
    if ahead is None or lead.ends is None or not row.get("units"):
        return None
    end = lead.ends[0 if lead.up > 0 else 1]
    plain = known(row.get("family_low" if lead.up > 0 else "family_high"))
    chance = abs(ahead - (end if plain is None else plain))
    rest = max(lead.up * (ahead - end) - chance, 0.0) + lead.least * lead.size
    left = lead.up * ahead - rest
    times = (chance / left) ** 2 if left > 0 else math.inf
    return None if times > NEEDLESS else _rounded(times * row["units"])


def size_of_test(document: Row, lead: Requirement) -> str:
    """How large the test is, in a sentence."""
    users = users_needed(document, lead)
    if users is None:
        return ""
    return f" The test needs about {users:,} {_who(document)}, half of them with each ranker."


def what_would_tell(document: Row, lead: Requirement) -> list[str]:
    """What a log that cannot tell lacks: sessions, columns, chance."""
    told = []
    unit = {"estimate": "sessions"}.get(str(document.get("kind")), "users")
    many = sessions_needed(lead)
    if many is not None:
        told.append(f"about {many:,} {unit} like these (there are {lead.row['units']:,})")
    columns = _columns(document, lead)
    if columns:
        told.append(f"a log with {' and '.join(columns)}")
    users, clusters = users_needed(document, lead), document["protocol"].get("clusters")
    if users is not None and users / 2 < NEEDLESS * clusters:
        share = users / 2 / clusters
        times = f"{share:.0%} of" if share < 1 else f"{share:,.{int(share < 2)}f} times"
        told.append(
            f"its own lists, shown to about {_rounded(users / 2):,} {_who(document)} drawn by"
            f" chance ({times} those of this log)"
        )
    return told


def in_one_sentence(told: Sequence[str]) -> str:
    """What would tell."""
    return f" What would tell: {'; or '.join(told)}." if told else ""


def _columns(document: Row, lead: Requirement) -> list[str]:
    """Columns that a log lacks and audits, or narrower bounds, would read; the best first."""
    said = document["protocol"]
    if document.get("kind") != "estimate":
        return []
    untested = {d.get("id") for d in document["diagnostics"] if d["state"] == "untested"}
    gains = _gains(document, lead)
    untimed = untested.issuperset({"carry_over", "late_rewards"}) and not said.get("dates")
    lacking = {
        "viewed": ("viewed", said.get("views") == "latent"),
        "context": ("the contexts its ranker looked at (--context)", not said.get("contexts")),
        "user": ("user", said.get("cluster") == "session"),
        "timestamp": ("timestamp", untimed),
        "propensity": (
            "propensity (the chance of what was shown)",
            said.get("logged_exposure") == "rank",
        ),
        "swaps": ("some neighbours swapped by chance", gains.get("swaps", 0) >= LITTLE),
    }
    found = [
        (max(gains.get(log, 0.0), 0.0), words) for log, (words, lacks) in lacking.items() if lacks
    ]
    return [_with_gain(words, gain) for gain, words in sorted(found, key=lambda x: -x[0])[:3]]


def _with_gain(words: str, gain: float) -> str:
    """What to log, and by how much of its width the second interval would narrow."""
    if gain < LITTLE:
        return words
    note = f"interval up to {gain:.0%} narrower)"
    return f"{words[:-1]}; {note}" if words.endswith(")") else f"{words} ({note}"


def _gains(document: Row, lead: Requirement) -> dict[str, float]:
    """By how much of its width the second interval would narrow at most, by what to log."""
    kind, row = "lift_" if lead.lift else "", lead.row
    ends = known_ends(row, f"{kind}bound_")
    if ends is None:
        return {}
    return {
        r["log"]: 1 - (then[1] - then[0]) / (ends[1] - ends[0])
        for r in document.get("tables", {}).get("narrowing", ())
        if all(r[key] == row[key] for key in ("system", "baseline", "measure", "estimator"))
        and (then := known_ends(r, kind)) is not None
    }


def _who(document: Row) -> str:
    return "users" if document["protocol"].get("cluster") == "user" else "sessions"


def _rounded(x: float) -> int:
    """To two digits, upwards."""
    step: int = 10 ** max(math.floor(math.log10(max(x, 1.0))) - 1, 0)
    return math.ceil(x / step) * step
