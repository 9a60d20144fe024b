"""The table of an estimation: a block per reward, a line per ranker and estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterrank.cli.lift_table import believed, block, tested
from counterrank.cli.wording import decimals, interval, number, shortened, wrapped

if TYPE_CHECKING:
    from counterrank.estimation import Estimation


def table(result: Estimation, wide: int) -> list[str]:
    """All blocks, how to read them, and the verdict on each ranker."""
    lines: list[str] = []
    for reward in result.rewards:
        lines += [*_block(result, reward, wide), ""]
    return lines[:-1] + _sweep(result) + _reading(result, wide)


def _block(result: Estimation, reward: str, wide: int) -> list[str]:
    rows = [row for row in result.estimates if row.reward == reward]
    versus = {(c.system, c.measure): c for c in result.comparisons if c.reward == reward}
    own = rows[0]
    heading = f"{reward} per {result.protocol['per']}, {own.units:,} sessions"
    if result.protocol["cluster"] == "user":
        heading += f" of {own.clusters:,} users"
    if versus:
        heading += f"; lift over {shortened(result.plan.baseline or '', 20)}"
    return block(heading, rows, versus, level=result.plan.level, wide=wide)


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
    text += tested(result.comparisons, result.plan.level)
    out = ["", *wrapped(text, wide), *wrapped(_basis(result), wide)]
    for system in result.systems[1:]:
        out += believed(system, result.verdict_of(system), result.loud, (system, "log"), wide)
    return out
