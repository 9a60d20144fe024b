"""The decision a result speaks for: one sentence, its verdict, and what it rests on.

It reads the JSON document alone, so a saved result says the same as a fresh one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterrank.core.format import interval_text, number, shorten

PREFERRED = ("DR", "SNDR", "SNIPS", "IPS")  # of estimators, where none is named
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Decision:
    """``verdict`` is ship, keep, open or distrust; ``system`` is the one the sentence is about."""

    verdict: str
    sentence: str
    grounds: str
    system: str = ""
    measure: str = ""
    baseline: str = ""


def decide(document: Row, *, measure: str = "", baseline: str = "") -> Decision:
    """What to do, by ``measure`` (default: the first asked for) against ``baseline``."""
    if document.get("recommendation"):
        return Decision("read", " ".join(document["recommendation"]), grounds(document))
    label = measure or leading_measure(document)
    base = baseline or document.get("protocol", {}).get("baseline") or ""
    found = _against(document, label, base) if base else _among(document, label)
    failed = [d for d in document.get("diagnoses", []) if d["verdict"] == "fail"]
    if failed and found.verdict != "read":
        worst = f"{failed[0]['name']} of {shorten(str(failed[0]['subject']), 40)}"
        sentence = f"Do not decide on these numbers: {worst} fails. {failed[0]['meaning']}"
        return Decision("distrust", sentence, found.grounds, found.system, label, base)
    return found


def leading_measure(document: Row) -> str:
    """The measure a decision reads first: the first asked for, or the safest estimator there is."""
    labels = list(dict.fromkeys(str(row["measure"]) for row in document.get("estimates", [])))
    estimators = [label for label in PREFERRED if label in labels]
    if document.get("kind") in ("estimate", "funnel") and estimators:
        return estimators[0]
    return next((label for label in labels if label != "OnPolicy"), "")


def grounds(document: Row) -> str:
    """How many diagnoses pass, caution and fail."""
    verdicts = [d["verdict"] for d in document.get("diagnoses", [])]
    parts = [f"{verdicts.count(word)} {word}" for word in ("pass", "caution", "fail")]
    return f"Diagnoses: {', '.join(parts)}." if verdicts else "No diagnosis was made."


def rows_of_measure(rows: Sequence[Row], label: str) -> list[Row]:
    """The rows of one measure; of several rewards or methods, those of the first."""
    own = [row for row in rows if row["measure"] == label]
    for key in ("reward", "exposure", "method"):
        if own and key in own[0]:
            first = "stratified" if key == "method" else own[0][key]
            own = [row for row in own if row[key] == first]
    return own


def is_significant(row: Row, level: float) -> bool:
    """Whether the difference is significant after correction."""
    p = row.get("p_corrected")
    return p is not None and p <= 1 - level + 1e-12


def sign(document: Row, label: str) -> int:
    """+1 where more is better, -1 where less is, by the measure or by the weight of ranks."""
    lower = document.get("protocol", {}).get("lower_is_better", ())
    worths = [
        row.get("exposure") for row in rows_of_measure(document.get("estimates", []), label)[:1]
    ]
    return -1 if {label, *worths} & set(lower) else 1


def level_of(document: Row) -> float:
    """The level of its intervals."""
    return float(document.get("protocol", {}).get("level", 0.95))


def value_of(document: Row, label: str, system: str) -> float | None:
    """A system's value by a measure; where it has none, by the first that it has."""
    rows = [r for r in document.get("estimates", []) if r["system"] == system]
    own = rows_of_measure(rows, label) or rows
    return float(own[0]["value"]) if own else None


def _against(document: Row, label: str, base: str) -> Decision:
    """Candidates against a baseline."""
    level, up = level_of(document), sign(document, label)
    own = [r for r in rows_of_measure(document["comparisons"], label) if r["baseline"] == base]
    rest = f"{grounds(document)} By {label}, {level:.0%} confidence."
    if not own:
        return Decision("open", f"Nothing was compared with {base} by {label}.", rest, "", label)
    best = max(own, key=lambda r: up * r["difference"])
    name = shorten(str(best["system"]), 40)
    if up * best["difference"] > 0 and is_significant(best, level):
        better = [r for r in own if up * r["difference"] > 0 and is_significant(r, level)]
        sentence = f"Ship {name}: {_change(best)} against {shorten(base, 40)}."
        sentence += _others(best, [r for r in better if r is not best], base)
        return Decision("ship", sentence, rest, str(best["system"]), label, base)
    worse = all(up * r["difference"] < 0 and is_significant(r, level) for r in own)
    why = "every candidate is worse" if worse else "no candidate is clearly better"
    sentence = f"Keep {shorten(base, 40)}: {why}. The nearest, {name}: {_change(best)}."
    if best["low"] * best["high"] > 0 and up * best["difference"] > 0:
        p, others = best["p_corrected"], best.get("family", "all comparisons")
        sentence += f" That may be chance once {others} are counted (p = {p:.2g})."
    elif not worse:
        sentence += _seen(document, best, label, base)
    return Decision("keep", sentence, rest, str(best["system"]), label, base)


def _others(best: Row, also: Sequence[Row], base: str) -> str:
    """Who else beats the baseline, and who is too close to the best to tell apart."""
    if not also:
        return ""
    text = f" {_names(also)} also beat{'s' * (len(also) == 1)} {shorten(base, 40)}."
    near = [r for r in also if best["low"] <= r["difference"] <= best["high"]]
    if near:
        text += f" {_names([best, *near])} are close, and were not compared with each other."
    return text


def _seen(document: Row, row: Row, label: str, base: str) -> str:
    """How large a change would have shown, as a share of the baseline's value."""
    value = value_of(document, label, base)
    if not value or not row.get("detectable"):
        return ""
    share = abs(row["detectable"] / value)
    return f" These data show only changes of about {share:.0%} or more."


def _among(document: Row, label: str) -> Decision:
    """All systems among each other."""
    level, up = level_of(document), sign(document, label)
    own = sorted(
        rows_of_measure(document.get("estimates", []), label), key=lambda r: -up * r["value"]
    )
    rest = f"{grounds(document)} By {label}, {level:.0%} confidence."
    if not own:
        return Decision("read", f"{document.get('kind', 'result')}: nothing to choose.", rest)
    name = shorten(str(own[0]["system"]), 40)
    if len(own) == 1:
        shown = f"{number(own[0]['value'], 4)} {interval_text(own[0]['low'], own[0]['high'], 4)}"
        sentence = f"{name} reaches {shown} by {label}; there is nothing to compare it with."
        return Decision("read", sentence, rest, str(own[0]["system"]), label)
    pair = {str(own[0]["system"]), str(own[1]["system"])}
    rows = rows_of_measure(document["comparisons"], label)
    between = [r for r in rows if {str(r["system"]), str(r["baseline"])} == pair]
    second = shorten(str(own[1]["system"]), 40)
    if between and is_significant(between[0], level):
        ahead = abs(between[0]["difference"])
        how = f"{own[0]['method']} {label}" if "method" in own[0] else label
        sentence = f"{name} is the best by {how}: {number(ahead, 4)} ahead of {second}, the next,"
        sentence += " beyond chance."
        return Decision("ship", sentence, rest, str(own[0]["system"]), label)
    sentence = f"{name} leads by {label}, but {second} is not separated from it."
    return Decision("open", sentence, rest, str(own[0]["system"]), label)


def _change(row: Row) -> str:
    """The difference in words: a lift where there is one."""
    if row.get("lift") is not None and row.get("lift_low") is not None:
        shown = f"{row['lift']:+.1%} [{row['lift_low']:+.1%}, {row['lift_high']:+.1%}]"
    else:
        places = 4
        shown = number(row["difference"], places, sign=True)
        shown += " " + interval_text(row["low"], row["high"], places, sign=True)
    by = f"{row['reward']} (by {row['measure']})" if "reward" in row else row["measure"]
    return f"{by} {shown}"


def _names(rows: Sequence[Row]) -> str:
    return ", ".join(shorten(str(r["system"]), 30) for r in rows[:4]) + (
        f" and {len(rows) - 4} more" if len(rows) > 4 else ""
    )
