"""Values of systems: a block per measure, a line per system and estimator; no number is cut."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from counterrank.core.format import (
    decimals,
    display_width,
    interval_text,
    list_names,
    number,
    p_value,
    pad,
    shorten,
    wrap_text,
)
from counterrank.diagnostics.diagnostic import verdict_of, worst
from counterrank.documents.coincidence import first_rows, joint_labels, reason
from counterrank.documents.decision import order_by_pairs
from counterrank.documents.requirements import READINGS, reading
from counterrank.report.terminal.bars import with_bars
from counterrank.stats.draws import FLIPS

if TYPE_CHECKING:
    from counterrank.results.result import Result, Row
    from counterrank.stats.compare import Comparison

    Versus = Mapping[tuple[str, str], Comparison]

SHORTEST_NAME = 8
INTERVAL, SHARE, P = 1, 4, 5  # columns that are left out, in turn, where a line would be too long
MARKS = {"better": "+", "worse": "-", "cannot_tell": " "}
TURN = {"better": "worse", "worse": "better", "cannot_tell": "cannot_tell"}
CORRECTIONS = {"maxt": "max-T", "holm": "Holm", "bh": "Benjamini-Hochberg"}


def value_lines(result: Result, wide: int) -> list[str]:
    """All blocks, then how to read them; what coincides by construction has one line."""
    joint = joint_labels(result.protocol, result.rows("estimates"))
    result = _joined(result, joint) if joint else result
    scales: Mapping[str, str] = result.protocol.get("scales", {})
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in result.estimates:
        scale = scales.get(row.estimator, "")  # nothing where a value is the reward's own
        groups.setdefault((row.reward or "", row.measure, scale), []).append(row)
    lines, claims, found = [], [], []
    for group, rows in groups.items():
        against, versus = _compared(result, group, rows)
        lines += [*_block(result, group, rows, against, versus, wide), ""]
        claims += wrap_text(_claims(group[1], against, versus), wide, "  ") if versus else []
        sizes = [c.detectable for c in versus.values() if math.isfinite(c.detectable)]
        places = decimals(sizes)
        ends = sorted({number(f(sizes), places) for f in (min, max)} if sizes else (), key=float)
        found += [f"{group[1]} {' to '.join(ends)}"] if ends else []
    lines = lines[:-1] + _sweep(result, wide) + ["", *wrap_text(_reading(result), wide)]
    lines += wrap_text(reason(joint), wide) if joint else []
    if result.kind == "evaluate" and result.comparisons:
        text = f"Differences found with 80% power, before correction: {', '.join(found)}."
        return lines + (wrap_text(text, wide) if found else []) + claims
    return lines + _believed(result, wide)


def _joined(result: Result, joint: Mapping[str, str]) -> Result:
    """The result with one row for what coincides."""

    def shown(rows: Sequence[Any]) -> list[Any]:
        some = first_rows(rows, [row.estimator for row in rows], joint)
        return [replace(row, estimator=joint.get(row.estimator, row.estimator)) for row in some]

    return replace(result, estimates=shown(result.estimates), comparisons=shown(result.comparisons))


def _compared(result: Result, group: Sequence[str], rows: list[Row]) -> tuple[str, Versus]:
    """What the block's systems are compared with: the baseline or, without one, the best."""
    own = {(row.estimator, row.measure, row.reward) for row in rows}
    mine = [c for c in result.comparisons if (c.estimator, c.measure, c.reward) in own]
    against = result.plan.baseline
    if against is None and mine:
        turn = -1 if group[1] in result.protocol["lower_is_better"] else 1
        against = order_by_pairs(((c.system, c.baseline, c.difference) for c in mine), turn)[0]
        mine = [seen_from(c, against) for c in mine if against in (c.system, c.baseline)]
    return against or "", {(c.system, c.estimator): c for c in mine}


def seen_from(c: Comparison, best: str) -> Comparison:
    """The comparison seen from the other side, if need be: the best is what is subtracted."""
    if c.baseline == best:
        return c
    return replace(
        c, system=c.baseline, baseline=best, difference=-c.difference, low=-c.high, high=-c.low,
        family_low=-c.family_high, family_high=-c.family_low, lift=None, claim=TURN[c.claim],
    )  # fmt: skip


def _heading(
    result: Result, group: Sequence[str], rows: list[Row], against: str, versus: Versus
) -> str:
    reward, measure, scale = group
    what = f"{reward}, {measure}" if reward else measure
    if result.kind == "funnel":
        sold = result.protocol["estimand"] == "sales"
        what = f"{measure} ({reward}) per user" if sold else f"{reward} if clicked, {measure}"
    if result.kind == "estimate":
        what = f"{scale} of {measure}" if scale else f"{measure} per {result.protocol['per']}"
    sizes = " to ".join(
        f"{n:,}" for n in sorted({min(r.units for r in rows), max(r.units for r in rows)})
    )
    text = f"{what}, {sizes} {'sessions' if result.kind == 'estimate' else 'users'}"
    if result.kind == "estimate" and result.protocol["cluster"] == "user":
        text += f" of {rows[0].clusters:,} users"
    text += " (lower is better)" if measure in result.protocol.get("lower_is_better", ()) else ""
    if versus and result.kind == "evaluate":
        text += f"; difference from {shorten(against, 30)}, p corrected"
    elif versus:
        text += f"; lift over {shorten(against, 20)}"
    return text


def _block(
    result: Result, group: Sequence[str], rows: list[Row], against: str, versus: Versus, wide: int
) -> list[str]:
    """A heading and the lines under it, with bars where there is room.

    All lines have the same decimals and names are shortened. If lines would still be too long, the
    lift beside a difference is left out, then each line has its own decimals, then the intervals of
    values go, then p.
    """
    changes = [versus.get((r.system, r.estimator)) for r in rows]
    spreads = [[r.se] if c is None else [r.se, c.se] for r, c in zip(rows, changes, strict=True)]
    common = [decimals([s for own in spreads for s in own])] * len(rows)
    each = [decimals(own) for own in spreads]
    labels = ["" if r.estimator == "mean" else r.estimator for r in rows]
    kinds = max(map(display_width, labels))
    apart = kinds > wide // 3  # then a system and its estimator have a line of their own
    kinds = 0 if apart else kinds
    longest = 2 if apart else max(display_width(shorten(r.system, 10**6)) for r in rows)
    for places, spared in (
        (common, ()), (common, (SHARE,)), (each, (SHARE,)), (each, (SHARE, INTERVAL)),
        (each, (SHARE, INTERVAL, P)),
    ):  # fmt: skip
        cells = [
            [x for n, x in enumerate(_cells(result, r, c, p)) if n not in spared]
            for r, c, p in zip(rows, changes, places, strict=True)
        ]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        room = wide - 2 - (kinds + 2 if kinds else 0) - sum(w + 2 for w in widths if w)
        if room >= min(longest, SHORTEST_NAME):
            break
    name = max(min(max(longest, SHORTEST_NAME), room), min(longest, SHORTEST_NAME))
    out = wrap_text(_heading(result, group, rows, against, versus), wide)
    for r, c, label, row in zip(rows, changes, labels, cells, strict=True):
        mark = MARKS[c.claim] if c else " "
        if apart:
            out += wrap_text(f"{mark} {shorten(r.system, wide // 2)}  {label}", wide, "    ")
            mark = " "
        parts = ["" if apart else pad(shorten(r.system, name), name)]
        parts += [pad(label, kinds)] if kinds else []
        parts += [x.rjust(w) for x, w in zip(row, widths, strict=True) if w]
        out.append(f"{mark} {'  '.join(parts)}".rstrip())
    if apart:
        return out
    if versus:
        ends = [(c.low, c.difference, c.high) if c else None for c in changes]
        return with_bars(out, ends, wide, zero="yes")
    return with_bars(out, [(r.low, r.value, r.high) for r in rows], wide, zero="no")


def _cells(result: Result, r: Row, c: Comparison | None, places: int) -> list[str]:
    """Value and change with their intervals, lift, and p; a lift only where it makes sense."""
    value = [number(r.value, places), interval_text(r.low, r.high, places)]
    if c is None:
        return [*value, "", "", "", ""]
    share = "" if c.lift is None or result.plan.baseline is None else f"{c.lift:+.1%}"
    if result.kind != "evaluate" and share and math.isfinite(c.lift_low):
        change = [share, f"[{c.lift_low:+.1%}, {c.lift_high:+.1%}]", ""]
    else:
        ends = interval_text(c.low, c.high, places, sign=True)
        share = share if result.kind == "evaluate" else ""
        change = [number(c.difference, places, sign=True), ends, share]
    return [*value, *change, p_value(c.p_corrected)]


def _reading(result: Result) -> str:
    """What the columns mean."""
    level, kind = f"{result.plan.level:.0%}", result.plan.interval
    if result.kind == "evaluate":
        method = {"t": "", "bca": "BCa "}.get(kind, f"{kind} ")
        text = f"[..]: {level} {method}interval, each by itself."
    else:
        unit = "user" if result.protocol.get("cluster") == "user" else "session"
        over = "over users" if result.kind == "funnel" else f"clustered by {unit}"
        join = " " if result.kind == "funnel" else ", "
        text = f"[..]: {level} {kind} interval{join}{over}."
    if not result.comparisons:
        return text
    c = result.comparisons[0]
    own, draws = (c.measure, c.reward, c.method), ""
    if c.test == "permutation" and c.draws:
        few = c.draws < min(result.plan.draws or FLIPS, FLIPS)
        draws = f" (all {c.draws:,} sign patterns)" if few else f" ({c.draws:,} flips)"
    fix = CORRECTIONS.get(c.correction, "")
    text += f" p: two-sided {c.test} test{draws}, "
    text += f"corrected by {fix} over {c.family}." if fix else "not corrected."
    than = "what it is compared with" if result.kind == "evaluate" else c.baseline
    alike = [x for x in result.comparisons if (x.measure, x.reward, x.method) == own]
    several = f" for {len(alike)} comparisons at once" if fix and len(alike) > 1 else ""
    wider = ", allowing for what this log cannot rule out" if c.bound_low is not None else ""
    if result.protocol.get("bounds") == "none":
        wider = ", if the assumptions hold"
    return f"{text} + better, - worse than {than}, by {level} intervals{several}{wider}."


def _claims(measure: str, against: str, versus: Versus) -> str:
    """Who is better, who is worse, who is not told apart, and whose numbers fail."""
    by: dict[str, list[str]] = {word: [] for word in READINGS.values()}
    for c in versus.values():
        by[reading(c.claim, c.verdict)].append(c.system)
    parts = [f"{word}: {list_names(names)}" for word, names in by.items() if names]
    return f"{measure} against {shorten(against, 30)}: {'; '.join(parts)}."


def _believed(result: Result, wide: int) -> list[str]:
    """What the weights are made of, and how far each system's numbers can be believed."""
    if result.kind == "evaluate":
        return []
    basis = {"estimate": _weights, "funnel": _conversions}[result.kind](result)
    words = {"pass": "can be believed", "caution": "with care", "fail": "not to be relied on"}
    out = wrap_text(basis, wide)
    lead = result.protocol["decides"]["estimator"]
    for system in result.systems[1:] if result.kind == "estimate" else result.systems:
        own = [d for d in result.diagnostics if d.subject in (system, "log", "sessions", "funnel")]
        own = [d for d in own if d.concerns(system, lead)]
        why = dict.fromkeys(d.name for d in own if verdict_of(d.state) != "pass")
        tail = f": {', '.join(why)}" if why else ""
        verdict = worst(own)
        text = f"{shorten(system, 40)}: {verdict} ({words[verdict]}){tail}."
        out += wrap_text(text, wide, "  ")
    return out


def _weights(result: Result) -> str:
    """What the weights of a log were made of, and what was known of views."""
    side = {
        "rank": "target rank over logged rank, by the position model",
        "exposure": "target exposure over logged exposure",
        "propensity": "target over logged probability of an item at its rank",
    }[result.protocol["logged_exposure"]]
    views = {
        "observed": "as logged",
        "rows": "only viewed rows were logged",
        "latent": "not logged, as likely as the position model says",
    }[result.protocol["views"]]
    told = "" if result.protocol["logged_exposure"] == "propensity" else f" Views: {views}."
    for column in result.protocol.get("left_aside", ()):
        told += f" The log's {column} was left aside (--logged {column} reads it)."
    return f"Weights: {side}.{told}"


def _conversions(result: Result) -> str:
    """What is measured of a funnel, who counts, and where the predictions came from."""
    told = result.protocol
    done = "shown" if told["basis"] == "shown" else "clicked"
    pairs = {"all": f"was not {done}", "rows": f"could not be {done}"}[told["pairs"]]
    text = f"A pair without a row {pairs}."
    if told["users_with_lists_only"]:
        more = told["users_with_lists_only"]
        who = "user has a list" if more == 1 else "users have lists"
        text += f" {more:,} {who} and no row, and still count{'s' * (more == 1)}."
    if told["floor"]:
        what = "exposure" if told["basis"] == "shown" else "ctr"
        text += f" {what} below {told['floor']:g} was raised to it."
    exposure = f"exposure: {told['exposure']}; " if told["basis"] == "shown" else ""
    return f"{text} {exposure}ctr: {told['ctr']}; cvr: {told['cvr']}."


def _sweep(result: Result, wide: int) -> list[str]:
    """Each clip's value, interval and effective sample size, then what the sweep speaks for."""
    lines: list[str] = []
    for best in result.tables.get("choices", ()):
        both = (best.system, best.measure)
        rows = [r for r in result.tables["sweep"] if (r.system, r.measure) == both]
        places = decimals([r.se for r in rows])
        values = [number(r.value, places) for r in rows]
        ends = [interval_text(r.low, r.high, places) for r in rows]
        left, right = max(map(len, values)), max(map(len, ends))
        shown = [
            f"  {r.estimator:<4} {r.clip:>6g}  {x:>{left}}  {e:>{right}}  {r.effective:>11,.0f}"
            for r, x, e in zip(rows, values, ends, strict=True)
        ]
        name = shorten(best.system, 30)
        lines += ["", f"{name}, {best.measure}: clip, value, interval, effective views"]
        lines += with_bars(shown, [(r.low, r.value, r.high) for r in rows], wide, zero="no")
        told = f"{number(best.value, places)} {interval_text(best.low, best.high, places)}"
        lines += wrap_text(f"  chosen: {best.estimator}, {told}. {best.reason}", wide, "  ")
    return lines
