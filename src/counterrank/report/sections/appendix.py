"""The appendix: every pair, every row, words, protocol, provenance, and how to repeat it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from counterrank.core.format import p_value
from counterrank.documents.requirements import Criterion, direction, known
from counterrank.report.drawing import as_percent, ends_words, said
from counterrank.report.gaps import Gap, gap
from counterrank.report.html import name, rows_as_table, system, text
from counterrank.report.sections.decision_header import units_of
from counterrank.report.sections.words import WORDS

Document = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]
PAIRS = 12  # systems whose pairs make a matrix
MOST = 1000  # rows of a table; documents and CSV have all
SIGNS = {"better": "▲", "worse": "▼"}
CORES = {"better": "△", "worse": "▽"}

KEYS = {key: key for key in ("system", "measure", "reward", "estimator", "segment")}
ESTIMATES = {
    **KEYS, "value": "value", "low": "low", "high": "high", "bound_low": "wide low",
    "bound_high": "wide high", "se": "standard error", "units": "units", "verdict": "verdict",
}  # fmt: skip
COMPARISONS = {
    **KEYS, "baseline": "against", "difference": "difference", "low": "low, by itself",
    "high": "high, by itself", "family_low": "low, all at once", "family_high": "high, all at once",
    "bound_low": "wide low", "bound_high": "wide high", "lift": "lift", "p": "p",
    "p_corrected": "p corrected", "detectable": "detectable", "claim": "claim",
    "verdict": "verdict",
}  # fmt: skip
DIAGNOSTICS = {
    "state": "state", "name": "diagnostic", "subject": "about", "value": "value",
    "threshold": "wanted", "meaning": "meaning",
}  # fmt: skip
STRATA = {
    "name": "stratum", "low": "propensity from", "high": "to", "share": "share", "users": "users",
    "items": "items", "ratings": "ratings",
}  # fmt: skip
TITLES = {
    "strata": ("Strata", STRATA),
    "systems": ("Each system's days, offline against online", {}),
    "coverage": ("Who was covered", {}),
    "choices": ("Which clip and estimator", {}),
    "tipping": ("How strong hidden causes would have to be", {}),
    "narrowing": ("The second interval, had more been logged", {}),
    "truth": ("The truth, revealed", {}),
    "ranks": ("Ranks", {}),
}
ALWAYS = ("p corrected", "detectable", "claim", "verdict", "if the assumptions hold")


def appendix(document: Document, own: str, lead: Criterion | None) -> list[str]:
    """Parts that are closed until somebody asks."""
    parts = []
    if lead and (pairs := pair_matrix(document, lead)):
        parts.append(_closed("Every pair of rankers", pairs))
    for key, title, columns in (
        ("estimates", "Every estimate", ESTIMATES),
        ("comparisons", "Every comparison", COMPARISONS),
    ):
        parts += _part(document.get(key, []), columns, title, f"{own}-{key}", strict=True)
    for key, (title, columns) in TITLES.items():
        rows = document.get("tables", {}).get(key)
        if isinstance(rows, list) and rows and isinstance(rows[0], Mapping):
            parts += _part(rows, columns, title, f"{own}-{key}")
    found = sorted(document.get("diagnostics", []), key=lambda d: d["state"] == "pass")
    parts += _part(found, DIAGNOSTICS, "Every diagnostic", f"{own}-diagnostics", strict=True)
    parts += [_words(document), _protocol(document), _provenance(document)]
    return [part for part in parts if part]


def _closed(title: str, inner: str) -> str:
    return f"<details><summary>{text(title)}</summary><div>{inner}</div></details>"


def _part(
    rows: Rows, columns: Mapping[str, str], title: str, id: str, *, strict: bool = False
) -> list[str]:
    if not rows:
        return []
    shown = known_columns(rows, columns, strict=strict)
    body = rows_as_table(rows[:MOST], shown, caption=f"{title}: {len(rows):,} rows", id=id)
    more = (
        f"<p>The first {MOST:,} of {len(rows):,} rows; <code>--format csv</code> prints all.</p>"
        if len(rows) > MOST
        else ""
    )
    return [_closed(title, body + more)]


def known_columns(
    rows: Rows, columns: Mapping[str, str], *, strict: bool = False
) -> dict[str, str]:
    """The columns that rows have; unless ``strict``, also those that nobody named."""
    rest = {} if strict else {
        key: key.replace("_", " ") for key, x in rows[0].items()
        if not isinstance(x, (list, Mapping))
    }  # fmt: skip
    asked = {**columns, **{key: title for key, title in rest.items() if key not in columns}}
    return {key: title for key, title in asked.items() if any(known_cell(r, key) for r in rows)}


def known_cell(row: Mapping[str, Any], key: str) -> bool:
    """Whether a row has something there."""
    value = row.get(key)
    return value is not None and value != "" and value == value


def pair_matrix(document: Document, lead: Criterion) -> str:
    """Row against column, by what decides; a cell's detail is told when it is pressed."""
    rows = [r for r in document.get("comparisons", []) if lead.of(r) and known(r["difference"])]
    names = list(dict.fromkeys(str(r[k]) for r in rows for k in ("baseline", "system")))
    if not 3 <= len(names) <= PAIRS or len(rows) < len(names):
        return ""
    up = direction(document, lead.measure)
    pairs: dict[tuple[str, str], Gap] = {}
    for r in rows:
        a, b = str(r["system"]), str(r["baseline"])
        pairs[a, b], pairs[b, a] = gap(r, a, False, up), gap(r, b, True, up)
    head = "".join(f'<th scope="col">{system(b)}</th>' for b in names)
    cells = {a: "".join(_pair(document, a, b, pairs) for b in names) for a in names}
    body = "".join(f'<tr><th scope="row">{system(a)}</th>{cells[a]}</tr>' for a in names)
    return (
        f'<p class="s">Row against column, {text(str(lead))}. ▲ ▼ better or worse; △ ▽ only if the'
        " assumptions hold; = cannot tell. Press a cell for its detail.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Every pair">'
        f'<table class="cm"><thead><tr><th scope="col">against</th>{head}</tr></thead>'
        f'<tbody>{body}</tbody></table></div><p class="detail" aria-live="polite"></p>'
    )


def _pair(document: Document, a: str, b: str, pairs: Mapping[tuple[str, str], Gap]) -> str:
    found = pairs.get((a, b))
    if found is None:
        return '<td class="self">·</td>'
    d = found.difference
    sign = SIGNS.get(d.claim) or CORES.get(d.clear) or "="
    row, p = found.row, known(found.row["p_corrected"])
    say = partial(said, places=4, sign=True)
    detail = f"{a} against {b}: {say(d.value)}"
    detail += f", {as_percent(found.lift.value)}" if found.lift else ""
    detail += f"; {row['level']:.0%} interval, for all pairs at once, {ends_words(d.core, say)}"
    if d.wings:
        detail += f"; allowing for what is not ruled out {ends_words(d.wings, say)}"
    detail += f"; p {p_value(p)}, corrected by {row['correction']}" if p is not None else ""
    detail += f"; {units_of(document, row['units'])}." if row["units"] is not None else "."
    return (
        f'<td><button type="button" data-detail="{text(detail)}">{said(d.value, 3, sign=True)}'
        f" {sign}</button></td>"
    )


def _words(document: Document) -> str:
    """Those of the words that the result uses."""
    used = set(ALWAYS) if document.get("comparisons") else set()
    if any(row.get("lift") is not None for row in document.get("comparisons", [])):
        used.add("lift")
    if any(row.get("bound_low") is not None for row in document.get("comparisons", [])):
        used.add("what these data cannot rule out")
    for row in document.get("estimates", []):
        for key in ("system", "measure", "estimator"):
            label = str(row[key] or "")
            used |= {label, re.split(r"[(@]", label)[0]}
    rows = "".join(
        f"<dt>{text(word)}</dt><dd>{text(meant)}</dd>"
        for word, meant in WORDS.items()
        if word in used
    )
    return _closed("What the words mean", f'<dl class="g">{rows}</dl>') if rows else ""


def _protocol(document: Document) -> str:
    rows = "".join(
        f"<dt>{text(str(key).replace('_', ' '))}</dt><dd>{_value(value)}</dd>"
        for key, value in document.get("protocol", {}).items()
    )
    return (
        _closed("Protocol: every choice behind the numbers", f'<dl class="g">{rows}</dl>')
        if rows
        else ""
    )


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "<br>".join(f"{name(k)}: {_value(v)}" for k, v in value.items()) or "\u2013"
    if isinstance(value, (list, tuple)):
        return (
            ", ".join(_value(v) if isinstance(v, Mapping) else name(v) for v in value) or "\u2013"
        )
    return "\u2013" if value is None or value == "" else name(value)


def _provenance(document: Document) -> str:
    source = document.get("provenance", {})
    columns = {"name": "input", "rows": "rows", "sha256": "sha256"}
    inputs = source.get("inputs", [])
    table = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Inputs">'
        + rows_as_table(inputs, columns, caption="Inputs", id="", sort=False)
        + "</div>"
        if inputs
        else ""
    )
    command, seed = source.get("command"), document.get("protocol", {}).get("seed")
    again = (
        f'<p>The same again:</p><pre tabindex="0" role="region" aria-label="Command"><code>'
        f"{text(shlex.join(command))}</code></pre>"
        if command
        else "<p>Made in Python; <code>counterrank repeat</code> makes it again from its files.</p>"
    )
    made = f"counterrank {text(source.get('version', ''))}"
    made += f", seed {text(seed)}" if seed is not None else ""
    return _closed("Provenance, and how to repeat this", f"<p>{made}.</p>{again}{table}")
