"""The table of a funnel: a block per reward and exposure, a line per run and estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterrank.cli.estimate_table import believed, block, tested
from counterrank.wording import shortened, wrapped

if TYPE_CHECKING:
    from counterrank.conversions import Weighting
    from counterrank.funnel_result import FunnelEstimation


def table(result: FunnelEstimation, wide: int) -> list[str]:
    """All blocks, how to read them, and the verdict on each run."""
    lines: list[str] = []
    for reward in result.rewards:
        for worth in result.exposures:
            lines += [*_block(result, reward, worth, wide), ""]
    return lines[:-1] + _reading(result, wide)


def _block(result: FunnelEstimation, reward: str, worth: Weighting, wide: int) -> list[str]:
    mine = (reward, str(worth))
    rows = [row for row in result.estimates if (row.reward, row.exposure) == mine]
    versus = {
        (c.system, c.measure): c for c in result.comparisons if (c.reward, c.exposure) == mine
    }
    heading = f"{reward}, {worth}, {rows[0].units:,} users"
    heading += "" if worth.better == "higher" else " (lower is better)"
    if versus:
        heading += f"; lift over {shortened(result.plan.baseline or '', 20)}"
    level, better = result.plan.level, worth.better
    return block(heading, rows, versus, level=level, wide=wide, better=better, label="measure")


def _reading(result: FunnelEstimation, wide: int) -> list[str]:
    level = result.plan.level
    text = f"[..]: {level:.0%} {result.plan.interval} interval over users."
    out = ["", *wrapped(text + tested(result.comparisons, level), wide)]
    out += wrapped(_basis(result), wide)
    for system in result.systems:
        about = (system, "funnel")
        out += believed(system, result.verdict_of(system), result.loud, about, wide)
    return out


def _basis(result: FunnelEstimation) -> str:
    """What is measured, who counts, and where the predictions came from."""
    told = result.protocol
    text = "Value: conversions of all that is listed, were it clicked, weighted by rank; per user."
    pairs = {"all": "was not clicked", "rows": "could not be clicked"}[told["pairs"]]
    text += f" A pair without a row {pairs}."
    if told["users_with_lists_only"]:
        more = told["users_with_lists_only"]
        who = "user has a list" if more == 1 else "users have lists"
        text += f" {more:,} {who} and no row, and still count{'s' * (more == 1)}."
    if told["floor"]:
        text += f" ctr below {told['floor']:g} was raised to it."
    return f"{text} ctr: {told['ctr']}; cvr: {told['cvr']}."
