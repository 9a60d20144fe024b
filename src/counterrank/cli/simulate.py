"""``counterrank simulate``: a platform whose truth is known, as files."""

from __future__ import annotations

from typing import Annotated

import typer

from counterrank.cli.options import Quiet
from counterrank.errors import UsageError, one_of

Out = Annotated[str, typer.Option(metavar="DIR", help="Where the files go.")]
Sessions = Annotated[int, typer.Option(help="How many sessions.")]
Seed = Annotated[int, typer.Option(help="Seed of the sample.")]
WorldSeed = Annotated[int, typer.Option(help="Seed of the world.")]
Contexts = Annotated[int, typer.Option(help="Contexts.")]
Items = Annotated[int, typer.Option(help="Items.")]
Sets = Annotated[int, typer.Option(help="Candidate sets per context.")]
Candidates = Annotated[int, typer.Option(help="Items in a candidate set.")]
Slots = Annotated[int, typer.Option(help="Items shown.")]
Days = Annotated[int, typer.Option(help="Days.")]
PerUser = Annotated[float, typer.Option(help="Mean number of sessions of a user.")]
Traffic = Annotated[float, typer.Option(help="How much traffic changes by day, 0 to 1.")]
Drift = Annotated[float, typer.Option(help="How much quality changes by day, 0 to 1.")]
RankerKind = Annotated[
    str, typer.Option("--ranker", help="How production ranks: deterministic, plackett_luce.")
]
Temperature = Annotated[float, typer.Option(help="Temperature of a plackett_luce production.")]
Loggers = Annotated[
    list[str] | None,
    typer.Option("--logger", metavar="RANKER=SHARE", help="Who logs; repeat. [default: logged=1]"),
]
Arms = Annotated[
    list[str] | None,
    typer.Option("--arm", metavar="RANKER=SHARE", help="An A/B arm, by share of users; repeat."),
]
Examinations = Annotated[
    list[str] | None,
    typer.Option(
        "--examination",
        metavar="LABEL",
        help="A position model, cascade or dependent_clicks; several are dealt out to the contexts."
        " [default: log2]",
    ),
]
UserSpread = Annotated[float, typer.Option(help="How much users differ, 0 to 1.")]
UserContexts = Annotated[str, typer.Option(help="Contexts of a user: one, any.")]
LengthSpread = Annotated[
    float, typer.Option(help="How much longer a quarter of the contexts watches, 0 to 1.")
]
CarryOver = Annotated[float, typer.Option(help="Break assumption 1: effect of the last list.")]
Cascading = Annotated[float, typer.Option(help="Break assumption 2: clicks end sessions.")]
Interaction = Annotated[float, typer.Option(help="Break assumption 3: effect of the item above.")]
Trust = Annotated[float, typer.Option(help="Break assumption 4: effect of the rank on clicks.")]
Missing = Annotated[float, typer.Option(help="Break assumption 5: items only targets show.")]
Views = Annotated[str, typer.Option(help="Views in the log: observed, latent, viewed_only.")]
Given = Annotated[str, typer.Option(help="Exposures given the candidates or the context.")]
Stochastic = Annotated[str, typer.Option(help="Runs of stochastic rankers: exposure, draws.")]
Draws = Annotated[int, typer.Option(help="Lists per session if runs are draws.")]
Runs = Annotated[
    list[str] | None,
    typer.Option("--run", metavar="RANKER", help="Whose runs to write; repeat. [default: all]"),
]
TruthFormat = Annotated[str, typer.Option("--format", help="Show the truth as table or json.")]


def simulate(
    out: Out = "counterrank-simulated",
    sessions: Sessions = 2000,
    seed: Seed = 0,
    world_seed: WorldSeed = 0,
    contexts: Contexts = 8,
    items: Items = 200,
    sets: Sets = 12,
    candidates: Candidates = 20,
    slots: Slots = 10,
    days: Days = 1,
    sessions_per_user: PerUser = 4,
    traffic: Traffic = 0.5,
    drift: Drift = 0.0,
    ranker: RankerKind = "deterministic",
    temperature: Temperature = 1.0,
    logger: Loggers = None,
    arm: Arms = None,
    examination: Examinations = None,
    user_spread: UserSpread = 0.5,
    user_contexts: UserContexts = "one",
    length_spread: LengthSpread = 0.0,
    carry_over: CarryOver = 0.0,
    cascading: Cascading = 0.0,
    interaction: Interaction = 0.0,
    trust: Trust = 0.0,
    missing_support: Missing = 0.0,
    views: Views = "observed",
    given: Given = "candidates",
    stochastic: Stochastic = "exposure",
    draws: Draws = 20,
    run: Runs = None,
    format: TruthFormat = "table",
    quiet: Quiet = False,
) -> None:
    """Simulate a platform: write its log, runs, judgments and the true value of every ranker."""
    from counterrank import progress
    from counterrank.cli.simulated import show, write
    from counterrank.simulate import Plan, World

    one_of("--format", format, ("table", "json"))
    world = World(
        contexts=contexts,
        items=items,
        sets=sets,
        candidates=candidates,
        slots=slots,
        days=days,
        sessions_per_user=sessions_per_user,
        traffic=traffic,
        drift=drift,
        ranker=ranker,
        temperature=temperature,
        loggers=shares("--logger", logger) or {"logged": 1.0},
        arms=shares("--arm", arm),
        examination=tuple(examination) if examination else "log2",
        user_spread=user_spread,
        user_contexts=user_contexts,
        length_spread=length_spread,
        carry_over=carry_over,
        cascading=cascading,
        interaction=interaction,
        trust=trust,
        missing_support=missing_support,
        seed=world_seed,
    )
    plan = Plan(
        world=world,
        sessions=sessions,
        seed=seed,
        views=views,
        given=given,
        stochastic=stochastic,
        draws=draws,
        runs=run,
    )
    written = write(plan, out, progress.quiet if quiet else progress.bar)
    show(plan, written, format)


def shares(option: str, given: list[str] | None) -> dict[str, float]:
    """``RANKER=SHARE`` as a mapping."""
    found = {}
    for text in given or []:
        name, _, share = text.partition("=")
        try:
            found[name] = float(share)
        except ValueError:
            raise UsageError(
                f'{option} cannot read "{text}".', todo="Write RANKER=SHARE, as in near=0.5."
            ) from None
    return found
