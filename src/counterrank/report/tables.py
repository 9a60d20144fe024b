"""The tables of a page: what a result holds, in the order in which people ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterrank.report.html import name, table, text

Rows = Sequence[Mapping[str, Any]]

ESTIMATES = {
    "system": "system", "measure": "measure", "exposure": "exposure", "reward": "reward",
    "method": "method", "context": "context", "rank": "rank", "value": "value", "low": "low",
    "high": "high", "se": "standard error", "units": "units", "verdict": "verdict",
}  # fmt: skip
COMPARISONS = {
    "system": "system", "baseline": "against", "measure": "measure", "exposure": "exposure",
    "reward": "reward", "method": "method", "difference": "difference", "low": "low",
    "high": "high", "lift": "lift", "p": "p", "p_corrected": "p corrected",
    "detectable": "detectable",
}  # fmt: skip
STRATA = {
    "name": "stratum", "from": "from", "to": "to", "share": "share", "users": "users",
    "items": "items", "ratings": "ratings",
}  # fmt: skip
PARADOXES = {
    "measure": "measure", "ahead": "ahead overall", "behind": "better inside", "sentence": "reading"
}  # fmt: skip
LEFT = ("level", "family", "test", "correction", "draws")  # said once, in the protocol
WHAT: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("strata", "Strata", STRATA),
    ("paradoxes", "Answers that flip inside strata", PARADOXES),
    ("estimates", "Estimates", ESTIMATES),
    ("comparisons", "Comparisons", COMPARISONS),
    ("coverage", "Who was covered", {}),
    ("choices", "Which clip and estimator", {}),
    ("truth", "The truth, revealed", {}),
)


def sections(document: Mapping[str, Any], own: str) -> list[str]:
    """A section for each table that the document holds."""
    made = []
    for key, title, columns in WHAT:
        rows = document.get(key)
        if isinstance(rows, list) and rows and isinstance(rows[0], Mapping):
            body = rows_table(rows, columns, caption=title, id=f"{own}-{key}")
            told = document.get("revealed") if key == "truth" else None
            lead = f"<p>{text(told)}</p>" if told else ""
            made.append(f"<section><h2>{text(title)}</h2>{lead}{body}</section>")
    return made


def rows_table(rows: Rows, columns: Mapping[str, str], *, caption: str, id: str) -> str:
    """A table of the columns that the rows have; without a choice of columns, of all."""
    if not rows:
        return ""
    known = {key: title for key, title in columns.items() if key in rows[0]}
    rest = {
        key: key.replace("_", " ")
        for key, x in rows[0].items()
        if not _nested(x) and key not in LEFT and key not in known
    }
    return table(rows, known if columns is PARADOXES else known | rest, caption=caption, id=id)


def _nested(value: object) -> bool:
    return isinstance(value, (list, Mapping))


def diagnoses(document: Mapping[str, Any], own: str) -> str:
    """What the numbers rest on: what does not pass in full, the rest in a table."""
    found = document.get("diagnoses", [])
    if not found:
        return ""
    loud = sorted(
        (d for d in found if d["verdict"] != "pass"), key=lambda d: d["verdict"] != "fail"
    )
    cards = "".join(
        f'<li class="{text(d["verdict"])}"><strong>{text(d["verdict"])}: {name(d["name"])}</strong>'
        f" ({name(d['subject'])}). {text(d['meaning'])}</li>"
        for d in loud
    )
    columns = {
        "verdict": "verdict", "name": "diagnosis", "subject": "about", "value": "value",
        "threshold": "threshold", "meaning": "meaning",
    }  # fmt: skip
    every = table(found, columns, caption="All diagnoses", id=f"{own}-diagnoses")
    lead = f'<ul class="loud">{cards}</ul>' if cards else "<p>Every diagnosis passes.</p>"
    return (
        f"<section><h2>What this rests on</h2>{lead}<details><summary>All {len(found)} diagnoses"
        f"</summary>{every}</details></section>"
    )
