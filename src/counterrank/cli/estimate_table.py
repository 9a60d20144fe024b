"""The table of an estimation: a block per reward, a line per ranker and estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterrank.cli.lift_table import believed, block, tested
from counterrank.cli.output import beside
from counterrank.logged import estimator
from counterrank.wording import decimals, interval, number, shortened, wrapped

if TYPE_CHECKING:
    from counterrank.estimation import EstimateRow, Estimation, LiftRow


def table(result: Estimation, wide: int) -> list[str]:
    """All blocks, how to read them, and the verdict on each ranker."""
    lines: list[str] = []
    scales = dict.fromkeys(_scale(row.measure) for row in result.estimates)
    for reward in result.rewards:
        for scale in scales:
            lines += [*_block(result, reward, scale, wide), ""]
    return lines[:-1] + _sweep(result, wide) + _reading(result, wide)


def _scale(label: str) -> str:
    """Nothing if an estimator's value is the reward's, otherwise its name, like nDCG."""
    kind = estimator(label)
    return kind.name if kind.total == "no" else ""


def _block(result: Estimation, reward: str, scale: str, wide: int) -> list[str]:
    """The estimators of one reward that share a scale."""

    def mine(row: EstimateRow | LiftRow) -> bool:
        return row.reward == reward and _scale(row.measure) == scale

    rows = [row for row in result.estimates if mine(row)]
    versus = {(c.system, c.measure): c for c in result.comparisons if mine(c)}
    own = rows[0]
    what = f"{scale} of {reward}" if scale else f"{reward} per {result.protocol['per']}"
    heading = f"{what}, {own.units:,} sessions"
    if result.protocol["cluster"] == "user":
        heading += f" of {own.clusters:,} users"
    if versus:
        heading += f"; lift over {shortened(result.plan.baseline or '', 20)}"
    return block(heading, rows, versus, level=result.plan.level, wide=wide)


def _sweep(result: Estimation, wide: int) -> list[str]:
    """Each clip's value, interval and effective sample size, then what the sweep speaks for."""
    lines: list[str] = []
    for best in result.choices:
        rows = [r for r in result.sweep if (r.system, r.reward) == (best.system, best.reward)]
        places = decimals([r.se for r in rows])
        values = [number(r.value, places) for r in rows]
        ends = [interval(r.low, r.high, places) for r in rows]
        left, right = max(map(len, values)), max(map(len, ends))
        shown = [
            f"  {r.measure:<4} {r.clip:>6g}  {x:>{left}}  {both:>{right}}  {r.effective:>11,.0f}"
            for r, x, both in zip(rows, values, ends, strict=True)
        ]
        name = shortened(best.system, 30)
        lines += ["", f"{name}, {best.reward}: clip, value, interval, effective views"]
        lines += beside(shown, [(r.low, r.value, r.high) for r in rows], wide, zero="no")
        lines += wrapped(f"  chosen: {best.measure}. {best.reason}", wide, "  ")
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
