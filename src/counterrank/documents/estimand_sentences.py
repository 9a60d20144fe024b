"""What each verb estimates, in plain sentences that follow its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SENTENCES = {
    "evaluate": "The mean of each measure over the judged {unit}s, for the lists of each system.",
    "estimate": "What each ranker would have earned per {per} of each reward, had it, and not the"
    " logged one, chosen the lists of the logged sessions.",
    "funnel": "Sales: what the lists of each recommender would bring per user. Every listed item"
    " counts the chance that its rank is seen, times the chance of a click when seen, times what a"
    " click brings.",
    "strata": "The mean of each measure over users: as collected, weighted against what the"
    " collecting system pushed, and within and across strata of that.",
    "exposure": "How likely a user sees what stands at each rank.",
    "check": "Nothing: whether these tables can be used, and what estimates would rest on.",
    "assess power": "The sum of the p-values of all pairs of systems, for each measure.",
    "assess robustness": "How much of the order of systems each measure keeps while judgments go"
    " missing: the area under Kendall's tau.",
    "assess agreement": "The probability that two measures order a pair of systems differently.",
    "assess online": "The correlation of offline figures with what experiments found.",
    "assess accuracy": "The relative root mean squared error of each estimator.",
}
IF_CLICKED = (
    "Not sales: what everything that a recommender lists would bring per user if all of it were"
    " clicked, weighted by rank. Who would click is left out, so it decides nothing."
)
SKIPPED = {
    "missing": " {Unit}s without a list are left out, so each system has its own {unit}s.",
    "no_relevant": " {Unit}s with nothing to find are left out.",
}


def estimand(kind: str, protocol: Mapping[str, Any]) -> str:
    """What a verb estimates; every option that changes it is said."""
    words = {"unit": "user", "per": "session", **protocol}
    words["Unit"] = str(words["unit"]).capitalize()
    text = SENTENCES[kind]
    if kind in ("evaluate", "strata"):
        policies = protocol.get("policies", {})
        text += "".join(more for name, more in SKIPPED.items() if policies.get(name) == "skip")
    if kind in ("evaluate", "strata") and "mean=geometric" in str(protocol.get("measures")):
        text += " Labels with mean=geometric have the geometric mean in the place of the mean."
    if kind == "evaluate" and "pnDCG" in str(protocol.get("measures")):
        text += " pnDCG is the ratio of two means."
    if kind == "funnel" and protocol.get("estimand") == "if-clicked":
        text = IF_CLICKED
        if "share" in str(protocol.get("exposures")):
            text += " Labels with Published are shares of each user's own conversions."
    if kind in ("estimate", "funnel"):
        text += _of_estimators(kind, protocol)
    return text.format_map(
        {**words, "per": "view" if words["per"] == "impression" else words["per"]}
    )


def _of_estimators(kind: str, protocol: Mapping[str, Any]) -> str:
    """What some estimators, and sessions without a list, make of it."""
    text = ""
    labels = list(protocol.get("estimators", ()))
    if kind == "estimate" and protocol.get("missing") == "skip":
        text += " Sessions without a list are left out, so each ranker has its own sessions."
    if kind == "estimate" and protocol.get("missing") == "logged":
        text += " Sessions without a list keep the logged one."
    if protocol.get("scales"):
        names = ", ".join(dict.fromkeys(protocol["scales"].values()))
        text += f" {names}: not earnings, but what was logged and earned, by its place in the new"
        text += " list; per session."
    if cut := protocol.get("winsorise"):
        sizes = ", ".join(f"{name} to {size:g}" for name, size in cut.items())
        text += f" Larger rewards are cut: {sizes}."
    if any("clip=" in label for label in labels):
        text += " With clip=, rare rows weigh less than they should; "
        text += {"estimate": "the interval allows for it.", "funnel": "no interval knows of it."}[
            kind
        ]
    return text
