"""The decision a result speaks for: one sentence, its verdict, and what it rests on.

It reads the JSON document alone, so a saved result says the same as a fresh one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterrank.core.errors import UsageError, nearest
from counterrank.core.format import interval_text, number, printable, shorten

Row = Mapping[str, Any]
NAN = math.nan


@dataclass(frozen=True)
class Decision:
    """``verdict`` is ship, keep, open or distrust; ``system`` is the one the sentence is about."""

    verdict: str
    sentence: str
    grounds: str
    system: str = ""
    measure: str = ""
    baseline: str = ""


@dataclass(frozen=True)
class Criterion:
    """What a decision reads: one measure (of one reward) by one estimator, over the whole."""

    measure: str
    reward: str | None
    estimator: str

    def of(self, row: Row) -> bool:
        """Whether a row is one of these."""
        own = (row["measure"], row["reward"], row["estimator"], row["segment"])
        return own == (self.measure, self.reward, self.estimator, None)

    @property
    def words(self) -> tuple[str, str]:
        """What is measured, and by which estimator, if that is more than a mean."""
        what = f"{self.reward}, {self.measure}" if self.reward else self.measure
        return what, "" if self.estimator == "mean" else f"by {self.estimator}"

    def __str__(self) -> str:
        what, how = self.words
        return f"{what} ({how})" if how else what


NUMBERS = (
    "value", "se", "low", "high", "difference", "lift_low", "lift_high", "p", "p_corrected",
    "detectable",
)  # fmt: skip


def with_numbers(document: Row) -> Row:
    """The document with NaN where a number is not known, which JSON has as null."""
    rows = {
        name: [row | {k: NAN for k in NUMBERS if k in row and row[k] is None} for row in found]
        for name in ("estimates", "comparisons")
        if isinstance(found := document.get(name), list)
    }
    return {**document, **rows}


def decide(
    document: Row, *, measure: str = "", estimator: str = "", baseline: str = ""
) -> Decision:
    """What to do, by a measure and an estimator (default: what the result says) and a baseline."""
    document = with_numbers(document)
    sentences = document.get("tables", {}).get("recommendation")
    if sentences:
        return Decision("read", " ".join(sentences), grounds(document))
    if undecided(document):
        return Decision("open", undecided(document), grounds(document))
    reading = leading(document, measure=measure, estimator=estimator)
    base = baseline or document["protocol"].get("baseline") or ""
    found = _against(document, reading, base) if base else _among(document, reading)
    failed = [d for d in document["diagnostics"] if d["state"] == "fail"]
    if failed and found.verdict != "read":
        worst = f"{failed[0]['name']} of {shorten(str(failed[0]['subject']), 40)}"
        sentence = f"Do not decide on these numbers: {worst} fails. {failed[0]['meaning']}"
        return Decision("distrust", sentence, found.grounds, found.system, str(reading), base)
    return found


def undecided(document: Row) -> str:
    """Why nothing may be decided on this result, whatever its numbers; nothing if it may."""
    return str(document.get("protocol", {}).get("undecided") or "")


def leading(document: Row, *, measure: str = "", estimator: str = "") -> Criterion:
    """What a decision reads: as named, or else as the result says in its protocol."""
    rows = [r for r in document["estimates"] if r["segment"] is None]
    decides = dict(document["protocol"].get("decides") or {})
    for key, word in (("measure", measure), ("estimator", estimator)):
        if word:
            there = list(dict.fromkeys(str(r[key]) for r in rows))
            by_lower = {name.lower(): name for name in there}
            if word.lower() not in by_lower:
                raise UsageError(
                    f'The result has no {key} "{printable(word)}".',
                    found=nearest(word, there),
                    todo=f"It has: {', '.join(map(printable, there)) or 'none'}.",
                )
            decides[key] = by_lower[word.lower()]
    what, how = str(decides.get("measure", "")), str(decides.get("estimator", ""))
    return Criterion(what, decides.get("reward"), how)


def grounds(document: Row) -> str:
    """How many diagnostics are in which state."""
    states = [d["state"] for d in document.get("diagnostics", [])]
    parts = [f"{states.count(word)} {word}" for word in ("pass", "caution", "fail")]
    parts += [f"{states.count(w)} {w}" for w in ("untested", "assumed") if w in states]
    return f"Diagnostics: {', '.join(parts)}." if states else "No diagnostic was made."


def sign(document: Row, reading: Criterion) -> int:
    """+1 where more is better, -1 where less is."""
    return -1 if reading.measure in document["protocol"].get("lower_is_better", ()) else 1


def level_of(document: Row) -> float:
    """The level of its intervals."""
    return float(document["protocol"].get("level", 0.95))


def value_of(document: Row, reading: Criterion, system: str) -> float | None:
    """A system's value; the logged ranker has one of its own, whatever the estimator."""
    rows = [r for r in document["estimates"] if r["system"] == system and r["segment"] is None]
    own = [r for r in rows if reading.of(r)]
    own = own or [
        r for r in rows if (r["measure"], r["reward"]) == (reading.measure, reading.reward)
    ]
    return float(own[0]["value"]) if own else None


def _against(document: Row, label: Criterion, base: str) -> Decision:
    """Candidates against a baseline."""
    level, up = level_of(document), sign(document, label)
    own = [r for r in document["comparisons"] if label.of(r) and r["baseline"] == base]
    rest = f"{grounds(document)} By {label}, {level:.0%} confidence."
    if not own:
        return Decision(
            "open", f"Nothing was compared with {base} by {label}.", rest, "", str(label)
        )
    best = max(own, key=lambda r: _order(up * r["difference"]))
    name = shorten(str(best["system"]), 40)
    if best["claim"] == "better":
        better = [r for r in own if r["claim"] == "better"]
        sentence = f"Ship {name}: {label} {_change(best)} against {shorten(base, 40)}."
        sentence += _others(best, [r for r in better if r is not best], base)
        return Decision("ship", sentence, rest, str(best["system"]), str(label), base)
    worse = all(r["claim"] == "worse" for r in own)
    why = "every candidate is worse" if worse else "no candidate is clearly better"
    sentence = f"Keep {shorten(base, 40)}: {why}. The nearest, {name}: {label} {_change(best)}."
    if best["low"] * best["high"] > 0 and up * best["difference"] > 0:
        p, others = best["p_corrected"], best.get("family", "all comparisons")
        sentence += f" That may be chance once {others} are counted (p = {p:.2g})."
    elif not worse:
        sentence += _seen(document, best, label, base)
    return Decision("keep", sentence, rest, str(best["system"]), str(label), base)


def _others(best: Row, also: Sequence[Row], base: str) -> str:
    """Who else beats the baseline, and who is too close to the best to tell apart."""
    if not also:
        return ""
    text = f" {_names(also)} also beat{'s' * (len(also) == 1)} {shorten(base, 40)}."
    near = [r for r in also if best["low"] <= r["difference"] <= best["high"]]
    if near:
        text += f" {_names([best, *near])} are close, and were not compared with each other."
    return text


def _seen(document: Row, row: Row, label: Criterion, base: str) -> str:
    """How large a change would have shown, as a share of the baseline's value."""
    value = value_of(document, label, base)
    share = abs(row.get("detectable", NAN) / value) if value else NAN
    if not share < math.inf:
        return ""
    return f" These data show only changes of about {share:.0%} or more."


def _among(document: Row, label: Criterion) -> Decision:
    """All systems among each other."""
    level, up = level_of(document), sign(document, label)
    own = sorted(filter(label.of, document["estimates"]), key=lambda r: -_order(up * r["value"]))
    rest = f"{grounds(document)} By {label}, {level:.0%} confidence."
    if not own:
        return Decision("read", f"{document.get('kind', 'result')}: nothing to choose.", rest)
    name = shorten(str(own[0]["system"]), 40)
    if len(own) == 1:
        shown = f"{number(own[0]['value'], 4)} {interval_text(own[0]['low'], own[0]['high'], 4)}"
        sentence = f"{name} reaches {shown} by {label}; there is nothing to compare it with."
        return Decision("read", sentence, rest, str(own[0]["system"]), str(label))
    pair = {str(own[0]["system"]), str(own[1]["system"])}
    rows = filter(label.of, document["comparisons"])
    between = [r for r in rows if {str(r["system"]), str(r["baseline"])} == pair]
    second = shorten(str(own[1]["system"]), 40)
    if between and between[0]["claim"] != "cannot_tell":
        ahead = abs(between[0]["difference"])
        sentence = f"{name} is the best by {label}: {number(ahead, 4)} ahead of {second}, the next,"
        sentence += " beyond chance."
        return Decision("ship", sentence, rest, str(own[0]["system"]), str(label))
    sentence = f"{name} leads by {label}, but {second} is not separated from it."
    return Decision("open", sentence, rest, str(own[0]["system"]), str(label))


def _change(row: Row) -> str:
    """The difference in words: a lift where there is one."""
    if row["lift"] is not None and math.isfinite(row["lift_low"]):
        shown = f"{row['lift']:+.1%} [{row['lift_low']:+.1%}, {row['lift_high']:+.1%}]"
    else:
        places = 4
        shown = number(row["difference"], places, sign=True)
        shown += " " + interval_text(row["low"], row["high"], places, sign=True)
    return shown


def _order(x: float) -> float:
    """What is not known comes last."""
    return -math.inf if math.isnan(x) else x


def _names(rows: Sequence[Row]) -> str:
    return ", ".join(shorten(str(r["system"]), 30) for r in rows[:4]) + (
        f" and {len(rows) - 4} more" if len(rows) > 4 else ""
    )
