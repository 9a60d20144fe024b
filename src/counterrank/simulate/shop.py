"""A shop whose truth is known: who sees what, clicks it, buys after a click, and who ranks how."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.conversions import ConversionMeasure, Sales, conversion_measure
from counterrank.core.arguments import one_of
from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import UsageError
from counterrank.position import position_bias as as_model

ROWS = ("clicks", "all", "shown")


@dataclass(frozen=True)
class FunnelSample:
    """A funnel with the true ctr and cvr as columns, and lists with the true cvr (and ctr).

    ``user_features`` and ``item_features``: what clicks depend on.
    """

    funnel: pl.DataFrame
    runs: dict[str, pl.DataFrame]
    user_features: pl.DataFrame
    item_features: pl.DataFrame


@dataclass(frozen=True)
class FunnelWorld:
    """Kinds of users and items. Axes: kind of user t, item i.

    ``exposure[t, i]``: chance that the shop shows an item; ``ctr[t, i]``: chance of a click on what
    is seen; ``cvr[t, i]``: chance of a conversion after one; ``price[i]``: what a conversion brings
    on average; ``share[t]``: how common a kind is; ``ranking[name][t]``: the items of a
    recommender, best first. ``wants[t]`` and ``offers[i]`` are rows of numbers whose products, and
    the last of what an item offers, make up what attracts.
    """

    ctr: Floats
    cvr: Floats
    price: Floats
    share: Floats
    ranking: dict[str, Ints]
    wants: Floats
    offers: Floats
    exposure: Floats

    def truth(self, ranker: str, measure: str = "DCG@10", *, reward: str = "conversion") -> float:
        r"""If clicked, :math:`\sum_t share_t \sum_i cvr_{ti}\, c(rank_{ti})`: a finite sum."""
        weight = conversion_measure(measure)
        if weight.form != "total":
            raise UsageError(f"The truth of {weight} is not a sum over pairs.")
        return self._value(ranker, self.cvr, weight, reward)

    def sales(
        self, ranker: str, position_bias: str, *, top: int = 10, reward: str = "conversion"
    ) -> float:
        r""":math:`\sum_t share_t \sum_i ctr_{ti}\, cvr_{ti}\, c(rank_{ti})`, :math:`c` as seen."""
        weight = Sales(k=top).of(as_model(position_bias))
        return self._value(ranker, self.ctr * self.cvr, weight, reward)

    def _value(self, ranker: str, gain: Floats, weight: ConversionMeasure, reward: str) -> float:
        c = weight.at(np.arange(1, self.ctr.shape[1] + 1))
        gain = gain * (self.price if reward == "spend" else 1.0)
        by_kind = np.take_along_axis(gain, self.ranking[ranker], axis=1) @ c
        return float(self.share @ by_kind)

    def sample(
        self, *, users: int = 2000, top: int = 10, seed: int = 0, rows: str = "clicks"
    ) -> FunnelSample:
        """Users drawn anew, their clicks and conversions, and lists of the ``top`` items.

        ``rows``: the funnel holds the clicks, or all pairs, of users who see everything; or what
        was ``shown`` to them, with its exposure, and clicks on that alone.
        """
        one_of("rows", rows, ROWS)
        rng = np.random.default_rng([seed, 1])
        kind = rng.choice(len(self.share), users, p=self.share)
        p, q = self.ctr[kind], self.cvr[kind]
        click = rng.random(p.shape) < p
        wanted = rng.random(p.shape) < q
        price = self.price * rng.exponential(size=p.shape)
        shown = np.ones(p.shape, bool)
        if rows == "shown":
            shown = rng.random(p.shape) < self.exposure[kind]
            click &= shown
        sold = click & wanted
        spend = sold * price
        there = {"clicks": click, "shown": shown, "all": np.ones(p.shape, bool)}[rows]
        user, item = np.nonzero(there)
        more = {} if rows != "shown" else {"shown": 1, "exposure": self.exposure[kind][there]}
        funnel = pl.DataFrame(
            {
                "user": user,
                "item": item,
                **more,
                "click": click[user, item].astype(np.int8),
                "conversion": sold[user, item].astype(np.int8),
                "spend": spend[user, item],
                "ctr": p[user, item],
                "cvr": q[user, item],
            }
        )
        return FunnelSample(
            funnel if rows == "all" else funnel.drop("cvr"),
            {
                name: _lists(order[kind, :top], {"cvr": q} | ({"ctr": p} if more else {}))
                for name, order in self.ranking.items()
            },
            _features("user", self.wants[kind]),
            _features("item", self.offers),
        )


def funnel_world(
    *, kinds: int = 50, items: int = 60, selection: float = 0.6, seed: int = 0
) -> FunnelWorld:
    """Users click what attracts them, and buy what suits them, which goes together.

    ``selection`` (0 to 1) is how much: the correlation of what attracts and what suits. The
    recommenders: ``seller`` sees dimly what suits, ``clickbait`` sees clearly what attracts,
    ``popular`` what attracts most users, ``random`` nothing. If all were clicked, ``seller`` would
    bring most; as people click what attracts them, ``clickbait`` sells most. The shop shows what
    attracts most users more often than the rest.
    """
    if not 0 <= selection <= 1:
        raise UsageError(f"selection must lie between 0 and 1, not {selection:g}.")
    rng = np.random.default_rng([seed, 0])
    shape = (kinds, items)
    wants, offers = rng.normal(size=(kinds, 4)), rng.normal(size=(4, items))
    taste = wants @ offers / 2
    own = rng.normal(size=(kinds, 4)) @ rng.normal(size=(4, items)) / 2
    charm = rng.normal(size=items)
    attracts = 0.8 * taste + 0.6 * charm
    suits = selection * attracts + np.sqrt(1 - selection**2) * own
    seen = {
        "seller": suits + 0.8 * rng.normal(size=shape),
        "clickbait": attracts + 0.2 * rng.normal(size=shape),
        "popular": np.tile(attracts.mean(axis=0), (kinds, 1)),
        "random": rng.normal(size=shape),
    }
    share = rng.gamma(2.0, size=kinds)
    return FunnelWorld(
        ctr=0.03 + 0.57 / (1 + np.exp(2 - 1.5 * attracts)),
        cvr=0.02 + 0.5 / (1 + np.exp(1.5 - 1.2 * suits)),
        price=20 * np.exp(0.5 * rng.normal(size=items)),
        share=share / share.sum(),
        ranking={name: np.argsort(-x, axis=1, kind="stable") for name, x in seen.items()},
        wants=wants,
        offers=np.column_stack([offers.T, charm]),
        exposure=np.tile(0.1 + 0.5 / (1 + np.exp(-attracts.mean(axis=0))), (kinds, 1)),
    )


def _lists(best: Ints, known: dict[str, Floats]) -> pl.DataFrame:
    users, top = best.shape
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(users), top),
            "item": best.ravel(),
            "rank": np.tile(np.arange(1, top + 1), users),
            **{name: np.take_along_axis(x, best, axis=1).ravel() for name, x in known.items()},
        }
    )


def _features(of: str, numbers: Floats) -> pl.DataFrame:
    columns = {f"f{place}": x for place, x in enumerate(numbers.T, 1)}
    return pl.DataFrame({of: np.arange(len(numbers)), **columns})
