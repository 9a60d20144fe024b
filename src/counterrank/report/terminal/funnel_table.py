"""The table of a funnel: a block per reward and measure, a line per run and estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterrank.core.format import shorten, wrap_text
from counterrank.diagnostics.diagnostic import worst
from counterrank.report.terminal.estimate_table import block, p_value_sentence, trust_sentence

if TYPE_CHECKING:
    from counterrank.results.result import Result


def table(result: Result, wide: int) -> list[str]:
    """All blocks, how to read them, and the verdict on each run."""
    lines: list[str] = []
    for reward in dict.fromkeys(row.reward for row in result.estimates):
        for measure in dict.fromkeys(row.measure for row in result.estimates):
            lines += [*_block(result, reward, measure, wide), ""]
    return lines[:-1] + _reading(result, wide)


def _block(result: Result, reward: str, measure: str, wide: int) -> list[str]:
    rows = [row for row in result.estimates if (row.reward, row.measure) == (reward, measure)]
    versus = {
        (c.system, c.estimator): c
        for c in result.comparisons
        if (c.reward, c.measure) == (reward, measure)
    }
    better = "lower" if measure in result.protocol["lower_is_better"] else "higher"
    heading = f"{reward}, {measure}, {rows[0].units:,} users"
    heading += "" if better == "higher" else " (lower is better)"
    if versus:
        heading += f"; lift over {shorten(result.plan.baseline or '', 20)}"
    return block(heading, rows, versus, level=result.plan.level, wide=wide, better=better)


def _reading(result: Result, wide: int) -> list[str]:
    level = result.plan.level
    text = f"[..]: {level:.0%} {result.plan.interval} interval over users."
    out = ["", *wrap_text(text + p_value_sentence(result.comparisons, level), wide)]
    out += wrap_text(_basis(result), wide)
    for system in result.systems:
        about = (system, "funnel")
        verdict = worst(d for d in result.diagnostics if d.subject in about)
        out += trust_sentence(system, verdict, result.not_passing, about, wide)
    return out


def _basis(result: Result) -> str:
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
