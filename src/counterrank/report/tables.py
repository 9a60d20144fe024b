"""The tables of a page: what a result holds, in the order in which people ask, and its words.

Those of `estimates_table`, `decision` and `not_passing` need no script: they are for notebooks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from counterrank.documents.decision import decide
from counterrank.report.html import name, table, text

Document = Mapping[str, Any]
Rows = Sequence[Document]

KEYS = {key: key for key in ("system", "measure", "reward", "estimator", "segment")}
ESTIMATES = {
    **KEYS, "value": "value", "low": "low", "high": "high", "se": "standard error",
    "units": "units", "verdict": "verdict",
}  # fmt: skip
COMPARISONS = {
    **KEYS, "baseline": "against", "difference": "difference", "low": "low", "high": "high",
    "lift": "lift", "p": "p", "p_corrected": "p corrected", "claim": "claim",
    "detectable": "detectable",
}  # fmt: skip
CHANGE = {
    "difference": "difference", "lift": "lift", "p_corrected": "p corrected", "claim": "claim"
}  # fmt: skip
STRATA = {
    "name": "stratum", "low": "propensity from", "high": "to", "share": "share", "users": "users",
    "items": "items", "ratings": "ratings",
}  # fmt: skip
PARADOXES = {
    "measure": "measure", "ahead": "ahead overall", "behind": "better inside", "sentence": "reading"
}  # fmt: skip
LEFT = (  # said once, in the protocol, or beside the decision
    "level", "family", "test", "correction", "draws", "lift_family_low", "lift_family_high",
)  # fmt: skip
WHAT: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("strata", "Strata", STRATA),
    ("paradoxes", "Answers that flip inside strata", PARADOXES),
    ("estimates", "Estimates", ESTIMATES),
    ("comparisons", "Comparisons", COMPARISONS),
    ("coverage", "Who was covered", {}),
    ("choices", "Which clip and estimator", {}),
    ("truth", "The truth, revealed", {}),
)


def sections(document: Document, own: str) -> list[str]:
    """A section for each table that the document holds."""
    made, there = [], {**document.get("tables", {}), **document}
    for key, title, columns in WHAT:
        rows = there.get(key)
        if isinstance(rows, list) and rows and isinstance(rows[0], Mapping):
            body = rows_table(rows, columns, caption=title, id=f"{own}-{key}")
            reading = there.get("revealed") if key == "truth" else None
            lead = f"<p>{text(reading)}</p>" if reading else ""
            made.append(f"<section><h2>{text(title)}</h2>{lead}{body}</section>")
    return made


def rows_table(rows: Rows, columns: Mapping[str, str], *, caption: str, id: str) -> str:
    """A table of the columns that the rows have; without a choice of columns, of all."""
    if not rows:
        return ""
    rest = {
        key: key.replace("_", " ")
        for key, x in rows[0].items()
        if not isinstance(x, (list, Mapping)) and key not in (*LEFT, *columns)
    }
    asked = columns if columns is PARADOXES else {**columns, **rest}
    known = {
        key: title for key, title in asked.items() if any(r.get(key) is not None for r in rows)
    }
    return table(rows, known, caption=caption, id=id)


def diagnostics(document: Document, own: str) -> str:
    """What the numbers rest on: what does not pass in full, the rest in a table."""
    found = document.get("diagnostics", [])
    if not found:
        return ""
    worst = sorted((d for d in found if d["state"] != "pass"), key=lambda d: d["state"] != "fail")
    cards = "".join(f'<li class="{text(d["state"])}">{_line(d)}</li>' for d in worst)
    columns = {
        "state": "state", "name": "diagnostic", "subject": "about", "value": "value",
        "threshold": "threshold", "meaning": "meaning",
    }  # fmt: skip
    every = table(found, columns, caption="All diagnostics", id=f"{own}-diagnostics")
    lead = f'<ul class="loud">{cards}</ul>' if cards else "<p>Every diagnostic passes.</p>"
    return (
        f"<section><h2>What this rests on</h2>{lead}<details><summary>All {len(found)} diagnostics"
        f"</summary>{every}</details></section>"
    )


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


def words(document: Document) -> str:
    """Those of the words that the result uses."""
    used = {"corrected", "detectable"} if document.get("comparisons") else set()
    for row in document.get("estimates", []):
        for key in ("system", "measure", "estimator"):
            label = str(row[key] or "")
            used |= {label, re.split(r"[(@]", label)[0]}
    rows = "".join(
        f"<dt>{text(word)}</dt><dd>{text(said)}</dd>"
        for word, said in WORDS.items()
        if word in used
    )
    return f"<section><h2>Words</h2><dl>{rows}</dl></section>" if rows else ""


def estimates_table(document: Document, *, most: int) -> str:
    """The first ``most`` estimates, each beside its difference from the baseline, if any."""
    base = document.get("protocol", {}).get("baseline")
    against = {
        tuple(c[key] for key in KEYS): {key: c[key] for key in CHANGE}
        for c in document.get("comparisons", [])
        if c["baseline"] == base
    }
    rows = [{**r, **against.get(tuple(r[key] for key in KEYS), {})} for r in document["estimates"]]
    if not rows:
        return ""
    titles = {k: ESTIMATES[k] for k in ESTIMATES if k != "verdict"} | CHANGE
    titles["verdict"] = ESTIMATES["verdict"]
    shown = {k: title for k, title in titles.items() if any(r.get(k) is not None for r in rows)}
    more = f"<p>and {len(rows) - most:,} more rows.</p>" if len(rows) > most else ""
    return table(rows[:most], shown, caption="Estimates", id="", sort="no") + more


def decision(document: Document) -> str:
    """What the result says to do, where there is something to decide."""
    found = decide(document)
    if found.verdict == "read":
        return ""
    return f"<p><strong>Decision: {text(found.verdict)}.</strong> {text(found.sentence)}</p>"


def not_passing(document: Document) -> str:
    """Diagnostics that do not pass."""
    found = [d for d in document.get("diagnostics", []) if d["state"] != "pass"]
    lines = "".join(f"<li>{_line(d)}</li>" for d in found)
    return f"<ul>{lines}</ul>" if lines else "<p>Every diagnostic passes.</p>"


def _line(d: Document) -> str:
    """What a diagnostic says, and of what."""
    return (
        f"<strong>{text(d['state'])}: {name(d['name'])}</strong>"
        f" ({name(d['subject'])}). {text(d['meaning'])}"
    )
