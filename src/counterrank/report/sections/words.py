"""What words mean, where a page uses them."""

from __future__ import annotations

WORDS = {
    "if the assumptions hold": "the interval of chance alone, for all candidates at once.",
    "what these data cannot rule out": "the same, over all that the log leaves possible of broken"
    " assumptions, or over a named range where it says nothing.",
    "lift": "difference from the baseline over the size of the baseline's value.",
    "claim": "what a comparison shows: better, worse, or cannot tell. The decision reads it.",
    "verdict": "whether the numbers can be believed: pass, caution or fail.",
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
    "p corrected": "how often such a difference arises by chance, allowing for all comparisons made"
    " together.",
}
