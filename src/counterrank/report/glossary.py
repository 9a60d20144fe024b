"""The words of a page, for those who meet them for the first time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from counterrank.report.html import text

WORDS = {
    "DR": "doubly robust: a model's prediction, mended by what the data show. Read this one first.",
    "SNDR": "DR with its corrections brought to a common scale.",
    "DM": "the model's prediction alone, which nothing mends.",
    "IPS": "what was seen, weighted by how rarely it is seen. Right on average, but unsteady.",
    "SNIPS": "IPS brought to a common scale: steadier, a little biased in small data.",
    "Naive": "what was counted, as if everything had been clicked alike. For contrast only.",
    "OnPolicy": "what the live ranker earned, simply averaged.",
    "logged": "the ranker that was live while the data were collected.",
    "DCG": "gains added up, less for lower ranks.",
    "nDCG": "DCG as a share of each user's best possible; it may order systems differently.",
    "P": "share of relevant items among the first.",
    "Recall": "share of a user's relevant items found among the first.",
    "AP": "average precision: precision at each relevant item, averaged.",
    "RR": "one over the rank of the first relevant item.",
    "holdout": "all held-out feedback together, as usual.",
    "stratified": "the strata's values, each weighed by its share of the feedback.",
    "open loop": "feedback on items shown at random: the nearest thing to the truth.",
    "detectable": "the smallest difference that such data would usually show.",
    "corrected": "p allowing for all comparisons made together.",
}


def words(document: Mapping[str, Any]) -> str:
    """Those of the words that the result uses."""
    used = {"corrected", "detectable"} if document.get("comparisons") else set()
    for row in document.get("estimates", []):
        for key in ("system", "measure", "method", "exposure"):
            label = str(row.get(key, ""))
            used |= {label, re.split(r"[(@]", label)[0]}
    rows = "".join(
        f"<dt>{text(word)}</dt><dd>{text(said)}</dd>"
        for word, said in WORDS.items()
        if word in used
    )
    return f"<section><h2>Words</h2><dl>{rows}</dl></section>" if rows else ""
