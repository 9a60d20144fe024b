"""``counterrank demo``: a simulated feed, from its log to a decision, and the truth beside it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from counterrank.api import verb as v
from counterrank.core.format import decimals, interval_text, number, printable, wrap_text

if TYPE_CHECKING:
    from counterrank.results.result import Result, Row
    from counterrank.stats.compare import Comparison


@v.verb
def demo(
    *,
    out: v.File = "counterrank-demo",
    seed: v.Seed = 0,
    sessions: v.Count = 40_000,
    quiet: bool = False,
) -> None:
    """Simulate a short-video feed, choose a ranker from its log, then look at the truth."""
    from counterrank.api import demo as verb
    from counterrank.api.exposure import exposure
    from counterrank.cli import simulate as simulated
    from counterrank.cli.output import say
    from counterrank.core.file_writer import whole_text
    from counterrank.core.parallel import bar
    from counterrank.core.parallel import quiet as silent
    from counterrank.results import output_files as files
    from counterrank.simulate import SamplePlan

    files.refuse_early(None, out, [])
    shown = silent if quiet else bar
    plan = SamplePlan(world=verb.feed(), sessions=sessions, seed=seed, runs=verb.CANDIDATES)
    data, bias = Path(out) / "data", Path(out) / "position_bias.json"
    simulated.refuse_others(data, [bias])
    simulated.write(plan, str(data), shown)
    log = str(data / "log.parquet")
    runs = {name: str(data / "runs" / f"{name}.parquet") for name in verb.CANDIDATES}
    learned = exposure(log, reward="click")
    whole_text(bias, learned.to_json())
    found = verb.estimate_feed(log, runs, learned.model, progress=shown)
    wide = shutil.get_terminal_size().columns
    truth = {name: known[verb.REWARD].value for name, known in plan.world.truth().items()}
    result = verb.reveal(found, truth)
    files.folder(result, out)
    say([*_opening(sessions, found.estimates[0].clusters, wide), ""])
    say([*told(found, wide), ""])
    say([*revealed(result, wide), ""])
    say(["The same by hand", *map(printable, _by_hand(log, data, bias))])
    print(f"\nThe page: {printable(str(Path(out) / 'report.html'))}")


def _opening(sessions: int, users: int, wide: int) -> list[str]:
    return wrap_text(
        f"A short-video feed is simulated: {sessions:,} sessions of {users:,} users, all served by"
        " the production ranker, logged. What would four other rankers have earned?",
        wide,
    )


def _by_hand(log: str, data: Path, bias: Path) -> list[str]:
    from counterrank.api.demo import ESTIMATORS, REWARD

    model = shlex.quote(str(bias))
    return [
        f"  {_command()} exposure {shlex.quote(log)} \\",
        f"    --reward click --out {model}",
        f"  {_command()} estimate {shlex.quote(log)} \\",
        f"    {shlex.quote(str(data / 'runs'))}/*.parquet --reward {REWARD} \\",
        f"    --position-bias {model} \\",
        f"    --context context -e {','.join(ESTIMATORS)}",
    ]


def _command() -> str:
    """What to type to get here again."""
    if shutil.which("counterrank"):
        return "counterrank"
    called = os.path.relpath(sys.argv[0])
    return "python -m counterrank" if called.endswith("__main__.py") else shlex.quote(called)


BAR = 36


def told(found: Result, wide: int) -> list[str]:
    """The estimates: nDCG, watch time by DR and its lift, and what should be done."""
    from counterrank.api.demo import LEADING, USUAL, best_by
    from counterrank.documents.decision import grounds as rests_on
    from counterrank.report.terminal import decision_lines
    from counterrank.report.terminal.value_table import MARKS

    seconds, places = _leading(found)
    usual = {r.system: r for r in found.estimates if r.estimator == USUAL}
    share = decimals(r.se for r in usual.values())
    lifts = {c.system: c for c in found.comparisons if c.estimator == LEADING}
    first = {label: best_by(found, label) for label in (USUAL, LEADING)}
    lines = []
    for name, r in seconds.items():
        c = lifts.get(name)
        lines.append(
            f"{MARKS[c.claim] if c else ' '} {name:<10}  "
            + (number(usual[name].value, share) if name in usual else "").rjust(share + 2)
            + ("*" if first[USUAL] == name else " ")
            + number(r.value, places).rjust(9)
            + ("*" if first[LEADING] == name else " ")
            + interval_text(r.low, r.high, places).rjust(17)
            + (_lift(c) if c else "")
        )
    head = f"{'':<12}  {USUAL:>{share + 2}} {'by ' + LEADING:>9} {'95% interval':>17}    lift"
    document = found.to_dict()
    return [
        *wrap_text(
            "Seconds watched per session, estimated from the log alone; lift over logged", wide
        ),
        head,
        *(line.rstrip() for line in lines),
        *wrap_text(f"* the first by {USUAL}, by {LEADING}; + better, - worse than logged.", wide),
        *decision_lines(document, wide),
        *wrap_text(rests_on(document), wide),
    ]


def _lift(c: Comparison) -> str:
    """The lift with its interval, where there is one."""
    return "" if c.lift is None else f"{c.lift:+8.1%}  [{c.lift_low:+.1%}, {c.lift_high:+.1%}]"


def revealed(result: Result, wide: int) -> list[str]:
    """The truth on the same scale, how often intervals hold it, and what nDCG would have cost."""
    from counterrank.api.demo import LEADING
    from counterrank.report.terminal.bars import TRUTH, draw_bars

    seconds, places = _leading(result)
    rows = {r.system: r for r in result.truth if r.estimator in (LEADING, "OnPolicy")}
    drawn = draw_bars(
        [(r.low, r.value, r.high) for r in seconds.values()],
        BAR,
        marks=[rows[name].truth for name in seconds],
        sign=TRUTH,
    )
    lines = [
        f"  {name:<10}  {bar:<{BAR}}  {number(r.value, places):>8}"
        f"  {number(rows[name].truth, places):>8}  {rows[name].inside:>6}"
        for (name, r), bar in zip(seconds.items(), drawn, strict=True)
    ]
    held = [
        f"{label} {sum(r.inside == 'yes' for r in own)} of {len(own)}"
        for label in dict.fromkeys(r.estimator for r in result.truth)
        if (own := [r for r in result.truth if r.estimator == label])
    ]
    key = f"{TRUTH} the truth"
    return [
        "Now the truth, which no estimate has seen",
        f"  {'':<10}  {key:<{BAR}}  {'by ' + LEADING:>8}  {'truth':>8}  {'inside':>6}",
        *lines,
        *wrap_text(f"Intervals that hold the truth: {', '.join(held)}.", wide),
        "",
        *wrap_text(result.revealed, wide),
    ]


def _leading(found: Result) -> tuple[dict[str, Row], int]:
    """The rows a decision reads, by system, and how many decimals they need."""
    from counterrank.api.demo import LEADING

    rows = {r.system: r for r in found.estimates if r.estimator in (LEADING, "OnPolicy")}
    return rows, decimals(r.se for r in rows.values())
