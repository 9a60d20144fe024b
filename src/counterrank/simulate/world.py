"""A platform whose truth is known: its sizes, its policies, and the assumptions it breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from counterrank.core.arrays import AnyInts, Floats, Ints
from counterrank.core.errors import UsageError, nearest, one_of
from counterrank.simulate.behaviour import Behaviour, Examination, Reading, reading_of
from counterrank.simulate.latent import Latent, draw_latent
from counterrank.simulate.rankers import RANKERS, SPECIALISTS, Exposures, Ranker, rankers_of
from counterrank.simulate.truth import Known, Worth, true_position_bias, true_values, worth

KINDS = ("deterministic", "plackett_luce")
USER_CONTEXTS = ("one", "any")


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

    contexts: int = 8
    items: int = 200
    sets: int = 12
    candidates: int = 20
    slots: int = 10
    days: int = 1
    sessions_per_user: float = 4
    traffic: float = 0.5
    drift: float = 0.0
    ranker: str = "deterministic"
    temperature: float = 1.0
    loggers: Mapping[str, float] = field(default_factory=lambda: {"logged": 1.0})
    arms: Mapping[str, float] = field(default_factory=dict)
    examination: str | Examination | Sequence[str | Examination] = "log2"
    user_spread: float = 0.5
    user_contexts: str = "one"
    length_spread: float = 0.0
    carry_over: float = 0.0
    cascading: float = 0.0
    interaction: float = 0.0
    trust: float = 0.0
    missing_support: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("contexts", "items", "sets", "candidates", "slots", "days"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} must be a whole number from 1 on.", found=f"Got {value}.")
        for name in (
            "traffic", "drift", "user_spread", "length_spread", "carry_over", "cascading",
            "interaction", "trust", "missing_support",
        ):  # fmt: skip
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise UsageError(f"{name} must lie between 0 and 1.", found=f"Got {value}.")
        one_of("ranker", self.ranker, KINDS)
        one_of("user_contexts", self.user_contexts, USER_CONTEXTS)
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
        if not self.temperature > 0:
            raise UsageError("temperature must be above 0.", found=f"Got {self.temperature}.")
        if not 1 <= self.sessions_per_user < float("inf"):
            raise UsageError(
                "sessions_per_user must be 1 or more.", found=f"Got {self.sessions_per_user}."
            )
        if not isinstance(self.seed, int) or self.seed < 0:
            raise UsageError("A seed is a whole number from 0 on.", found=f"Got {self.seed}.")
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
        items: Ints = self.latent.sets[x[:, None], s[:, None], places]
        return items

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
            raise UsageError(
                f'{what}: there is no ranker "{name}".',
                found=nearest(name, there),
                todo=f"There are: {', '.join(there)}.",
            )
        if not 0 < share <= 1:
            raise UsageError(
                f"{what}: a share must lie above 0 and not above 1.", found=f"{name} has {share}."
            )
