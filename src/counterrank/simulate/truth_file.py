"""``truth.json``: what the world is, and what every ranker is worth in it."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from counterrank.core.labels import Value
from counterrank.simulate.latent import REWARDS
from counterrank.simulate.rankers import RANKERS, SPECIALISTS
from counterrank.simulate.sample import SamplePlan
from counterrank.simulate.world import World
from counterrank.version import __version__


def truth_document(plan: SamplePlan) -> dict[str, Any]:
    """Truth over all days and by day, the position bias, and every choice that was made."""
    world = plan.world
    return {
        "kind": "simulate",
        "truth": {
            name: {reward: asdict(known) for reward, known in rewards.items()}
            for name, rewards in world.truth().items()
        },
        "by_day": [
            {"day": day, "ranker": name, "reward": reward, **asdict(known)}
            for day in range(world.days)
            for name, rewards in world.truth(day=day).items()
            for reward, known in rewards.items()
        ],
        "position_bias": _position_bias(world),
        "rankers": {name: {**RANKERS, **SPECIALISTS}[name] for name in world.rankers},
        "rewards": list(REWARDS),
        "world": _options(world),
        "sample": {
            name: getattr(plan, name)
            for name in ("sessions", "seed", "views", "given", "stochastic", "draws")
        },
        "provenance": {"version": __version__},
    }


def _position_bias(world: World) -> list[dict[str, Any]]:
    """c(r), once for all contexts or once for each."""
    rows = world.position_bias.tolist()
    if not world.reading.by_context:
        return [{"context": None, "weights": rows[0]}]
    return [{"context": x, "weights": row} for x, row in enumerate(rows)]


def _options(world: World) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, Value):
            return str(value)
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        return dict(value) if hasattr(value, "items") else value

    return {field.name: plain(getattr(world, field.name)) for field in fields(world)}
