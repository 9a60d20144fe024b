"""``counterrank demo``: a simulated feed, from its log to a decision, and the truth beside it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from counterrank.cli.options import Quiet

Out = Annotated[str, typer.Option(metavar="DIR", help="Where data, result and page go.")]
Seed = Annotated[int, typer.Option(help="Seed of the simulated sessions.")]
Sessions = Annotated[int, typer.Option(help="How many sessions.")]


def demo(
    out: Out = "counterrank-demo",
    seed: Seed = 0,
    sessions: Sessions = 40_000,
    quiet: Quiet = False,
) -> None:
    """Simulate a short-video feed, choose a ranker from its log, then look at the truth."""
    from counterrank import progress
    from counterrank.api.learn_exposure import learn_exposure
    from counterrank.cli import demo_table, simulated, writing
    from counterrank.cli.output import say
    from counterrank.simulate import Plan
    from counterrank.verbs import demo as verb

    shown = progress.quiet if quiet else progress.bar
    plan = Plan(world=verb.feed(), sessions=sessions, seed=seed, runs=verb.CANDIDATES)
    data, bias = Path(out) / "data", Path(out) / "position_bias.json"
    simulated.write(plan, str(data), shown)
    log = str(data / "log.parquet")
    runs = {name: str(data / "runs" / f"{name}.parquet") for name in verb.CANDIDATES}
    learned = learn_exposure(log, reward="click")
    text = learned.to_json()
    writing.whole(bias, lambda path: path.write_text(text, encoding="utf-8"))
    found = verb.estimated(log, runs, learned.model, progress=shown)
    wide = shutil.get_terminal_size().columns
    say([*_opening(sessions, found.estimates[0].clusters, wide), ""])
    say([*demo_table.told(found, wide), ""])
    truth = {name: known[verb.REWARD].value for name, known in plan.world.truth().items()}
    result = verb.Revealed(found, truth)
    say([*demo_table.revealed(result, wide), ""])
    writing.folder(result, out)
    say(["The same by hand", *_by_hand(log, data, bias)])
    typer.echo(f"\nThe page: {Path(out) / 'report.html'}")


def _opening(sessions: int, users: int, wide: int) -> list[str]:
    from counterrank.wording import wrapped

    return wrapped(
        f"A short-video feed is simulated: {sessions:,} sessions of {users:,} users, all served by"
        " the production ranker, logged. What would four other rankers have earned?",
        wide,
    )


def _by_hand(log: str, data: Path, bias: Path) -> list[str]:
    from counterrank.verbs.demo import ESTIMATORS, REWARD

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
