"""A platform whose truth is known: its sizes, its policies, and the assumptions it breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal

from counterrank.core.arguments import Between, check_fields
from counterrank.core.arrays import AnyInts, Floats, Ints
from counterrank.core.errors import UsageError, unknown
from counterrank.simulate.behaviour import Behaviour, Examination, Reading, reading_of
from counterrank.simulate.latent import Latent, draw_latent
from counterrank.simulate.rankers import RANKERS, SPECIALISTS, Exposures, Ranker, rankers_of
from counterrank.simulate.truth import Known, Worth, true_position_bias, true_values, worth

Count = Annotated[int, Between(1)]
Share = Annotated[float, Between(0, 1)]


@dataclass(frozen=True, kw_only=True)
class World:
    r"""A platform of users, items and contexts, rankers in two stages, and readers.

    A session has a day, a context and a user. A candidate generator draws one of the context's
    candidate sets, a ranker orders it, and the first ``slots`` items are shown
    (Jeunen et al., 2024, Eq. 1). An item that is seen earns rewards by its quality in that context.

    Sizes: ``contexts``, ``items``, ``sets`` candidate sets per context with ``candidates`` items
    each, ``slots`` shown, ``days``, ``sessions_per_user``.

    Change: ``traffic`` is how much the shares of the contexts move from day to day, ``drift`` how
    much the items' quality does.

    Policies: ``ranker`` is how ``logged`` ranks, deterministic or plackett_luce with a
    ``temperature``. ``loggers`` maps rankers to shares of the sessions, ``arms`` rankers to shares
    of the users on whom they are tried out in an A/B test; the rest are the control.

    ``examination`` is a position model, cascade or dependent_clicks; several are dealt out to the
    contexts in turn. ``user_spread`` is how much users differ in how readily they react;
    ``user_contexts`` is one if each belongs to a context, any if all come in every context.
    ``length_spread`` d makes videos long in a quarter of the contexts: they are watched 20^d times
    as long. Above 0 there are two more rankers, each of which knows only one of the lengths.

    Assumptions of Jeunen et al. (2024), each true at 0 and broken as far as possible at 1:

    1. ``carry_over``: the better a user's last list, the less this one earns.
    2. ``cascading``: a click ends the session with this probability.
    3. ``interaction``: an item right below one of its own category earns this share less.
    4. ``trust``: an item that is seen earns less the lower it stands.
    5. ``missing_support``: this share of the items that a logger cannot show is shown by targets.

    ``seed`` draws the world; each sample has a seed of its own.
    """

    contexts: Count = 8
    items: Count = 200
    sets: Count = 12
    candidates: Count = 20
    slots: Count = 10
    days: Annotated[int, Between(1, 3650)] = 1
    sessions_per_user: Annotated[float, Between(1, float("inf"), "high")] = 4
    traffic: Share = 0.5
    drift: Share = 0.0
    ranker: Literal["deterministic", "plackett_luce"] = "deterministic"
    temperature: Annotated[float, Between(0.01)] = 1.0
    loggers: Mapping[str, float] = field(default_factory=lambda: {"logged": 1.0})
    arms: Mapping[str, float] = field(default_factory=dict)
    examination: str | Examination | Sequence[str | Examination] = "log2"
    user_spread: Share = 0.5
    user_contexts: Literal["one", "any"] = "one"
    length_spread: Share = 0.0
    carry_over: Share = 0.0
    cascading: Share = 0.0
    interaction: Share = 0.0
    trust: Share = 0.0
    missing_support: Share = 0.0
    seed: Annotated[int, Between(0)] = 0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.user_contexts == "any" and self.carry_over:
            raise UsageError(
                "carry_over needs users who stay in one context.",
                todo='Leave user_contexts at "one", or carry_over at 0.',
            )
        if not self.slots <= self.candidates <= self.items:
            raise UsageError(
                "A world needs slots <= candidates <= items.",
                found=f"Got {self.slots}, {self.candidates} and {self.items}.",
            )
        there = {**RANKERS, **(SPECIALISTS if self.length_spread else {})}
        _shares("loggers", self.loggers, there)
        _shares("arms", self.arms, there)
        if abs(sum(self.loggers.values()) - 1) > 1e-9:
            raise UsageError(
                "The loggers' shares must add up to 1.",
                found=f"They add up to {sum(self.loggers.values()):g}.",
            )
        if sum(self.arms.values()) > 1 + 1e-9:
            raise UsageError(
                "The arms' shares must add up to 1 or less; the rest is the control.",
                found=f"They add up to {sum(self.arms.values()):g}.",
            )
        _ = self.reading

    @cached_property
    def reading(self) -> Reading:
        """How users go down a list."""
        return reading_of(self)

    @cached_property
    def latent(self) -> Latent:
        """What nobody on the platform can see: quality, traffic, candidate sets."""
        return draw_latent(self)

    @cached_property
    def users(self) -> Behaviour:
        """What users do with a list."""
        return Behaviour(self)

    @cached_property
    def rankers(self) -> dict[str, Ranker]:
        """All rankers by name; what a logger cannot show depends on which rankers log."""
        return rankers_of(self)

    @cached_property
    def worth(self) -> dict[str, Worth]:
        """What is expected of each ranker, by day, context and rank."""
        return {name: worth(self, name) for name in self.rankers}

    @cached_property
    def position_bias(self) -> Floats:
        """P(V = 1 | R = r), contexts x slots: what a position-based model of this world holds."""
        return true_position_bias(self, self.worth)

    @cached_property
    def exposures(self) -> dict[str, Exposures]:
        """Exposure and propensity of every item under each ranker."""
        bias = self.position_bias
        return {n: Exposures(self.latent, r, bias) for n, r in self.rankers.items()}

    def items_at(self, x: Ints, s: Ints, places: AnyInts) -> Ints:
        """The items at given places of the candidate sets ``s`` in contexts ``x``."""
        return self.latent.sets[x[:, None], s[:, None], places]

    def truth(self, *, day: int | None = None) -> dict[str, dict[str, Known]]:
        """The true value of every reward under every ranker, over all days or on one (from 0)."""
        if day is not None and not 0 <= day < self.days:
            raise UsageError(
                f"This world has no day {day}.", found=f"Its days are 0 to {self.days - 1}."
            )
        return {name: true_values(self, worth, day) for name, worth in self.worth.items()}


def _shares(what: str, shares: Mapping[str, float], there: Mapping[str, str]) -> None:
    for name, share in shares.items():
        if name not in there:
            raise unknown(f'{what}: there is no ranker "{name}".', name, there, "There are")
        if not 0 < share <= 1:
            raise UsageError(
                f"{what}: a share must lie above 0 and not above 1.", found=f"{name} has {share}."
            )
