"""The table of an estimation: a block per reward, a line per ranker and estimator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from counterrank.wording import decimals, interval, number, p_value, shortened, wrapped

if TYPE_CHECKING:
    from counterrank.estimation import EstimateRow, Estimation, LiftRow


def table(result: Estimation, wide: int) -> list[str]:
    """All blocks, how to read them, and the verdict on each ranker."""
    lines: list[str] = []
    for reward in result.rewards:
        lines += [*_block(result, reward, wide), ""]
    return lines[:-1] + _sweep(result) + _reading(result, wide)


def _block(result: Estimation, reward: str, wide: int) -> list[str]:
    rows = [row for row in result.estimates if row.reward == reward]
    versus = {(c.system, c.measure): c for c in result.comparisons if c.reward == reward}
    places = decimals([r.se for r in rows] + [c.se for c in versus.values()])
    own = rows[0]
    heading = f"{reward} per {result.protocol['per']}, {own.units:,} sessions"
    if result.protocol["cluster"] == "user":
        heading += f" of {own.clusters:,} users"
    if versus:
        heading += f"; lift over {shortened(result.plan.baseline or '', 20)}"
    cells = [_cells(r, versus.get((r.system, r.measure)), places) for r in rows]
    widths = [max(len(c[n]) for c in cells) for n in range(len(cells[0]))]
    kinds = max(len(r.measure) for r in rows)
    room = wide - 4 - kinds - sum(w + 2 for w in widths if w)
    name = max(min(max(len(r.system) for r in rows), room), 8)
    out = wrapped(heading, wide)
    for r, c in zip(rows, cells, strict=True):
        mark = _mark(versus.get((r.system, r.measure)), result.plan.level)
        shown = [x.rjust(w) for x, w in zip(c, widths, strict=True) if w]
        label = f"{shortened(r.system, name):<{name}}  {r.measure:<{kinds}}"
        out.append(f"{mark} {label}  {'  '.join(shown)}".rstrip())
    return out


def _mark(c: LiftRow | None, level: float) -> str:
    if c is None or not c.p_corrected <= 1 - level:
        return " "
    return "+" if c.difference > 0 else "-"


def _cells(r: EstimateRow, c: LiftRow | None, places: int) -> list[str]:
    """Value and lift with their intervals, and p; the difference where a lift makes no sense."""
    own = [number(r.value, places), interval(r.low, r.high, places)]
    if c is None:
        return [*own, "", "", ""]
    known = math.isfinite(c.lift_low) and math.isfinite(c.lift_high)
    if known and abs(c.lift) < 100 and c.difference * c.lift >= 0:
        change = [f"{c.lift:+.1%}", f"[{c.lift_low:+.1%}, {c.lift_high:+.1%}]"]
    else:
        change = [
            number(c.difference, places, sign=True), interval(c.low, c.high, places, sign=True)
        ]  # fmt: skip
    return [*own, *change, p_value(c.p_corrected)]


def _sweep(result: Estimation) -> list[str]:
    """Each clip's value, interval and effective sample size, then what the sweep speaks for."""
    lines: list[str] = []
    for best in result.choices:
        rows = [r for r in result.sweep if (r.system, r.reward) == (best.system, best.reward)]
        places = decimals([r.se for r in rows])
        lines += ["", f"{best.system}, {best.reward}: clip, value, interval, effective views"]
        for r in rows:
            ends = interval(r.low, r.high, places)
            lines.append(
                f"  {r.measure:<4} {r.clip:>6g}  {number(r.value, places)}  {ends}"
                f"  {r.effective:>12,.0f}"
            )
        lines.append(f"  chosen: {best.measure}. {best.reason}")
    return lines


def _basis(result: Estimation) -> str:
    """What the weights were made of, and what was known of views."""
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
    return f"Weights: {side}.{told}"


def _reading(result: Estimation, wide: int) -> list[str]:
    """What the columns mean, and how far each ranker's numbers can be believed."""
    level = f"{result.plan.level:.0%}"
    unit = "user" if result.protocol["cluster"] == "user" else "session"
    text = f"[..]: {level} {result.plan.interval} interval, clustered by {unit}."
    if result.comparisons:
        c = result.comparisons[0]
        fix = {"holm": "Holm", "bh": "Benjamini-Hochberg"}.get(c.correction, "")
        text += f" p: two-sided {c.test} test, "
        text += f"corrected by {fix} over {c.family}." if fix else "not corrected."
        text += f" + better, - worse than {c.baseline}, at {level}."
    out = ["", *wrapped(text, wide), *wrapped(_basis(result), wide)]
    words = {"pass": "can be believed", "caution": "with care", "fail": "not to be relied on"}
    for system in result.systems[1:]:
        verdict = result.verdict_of(system)
        why = [d.name for d in result.loud if d.subject in (system, "log")]
        tail = f": {', '.join(dict.fromkeys(why))}" if why else ""
        out += wrapped(f"{system}: {verdict} ({words[verdict]}){tail}.", wide, "  ")
    return out
