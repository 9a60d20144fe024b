"""Two real policies, each estimated from the other's log, beside what each did earn."""

from __future__ import annotations

from typing import Any

import polars as pl
from scipy.special import ndtr

from counterrank.api.assess_accuracy import assess_accuracy
from counterrank.api.estimate import estimate
from counterrank.report.charts import Figure, forest_plot
from counterrank.results.result import Result
from counterrank.stats.functions_of_means import mean
from counterrank.stats.inference import holm
from counterrank.stats.units import Estimate, Key, Units
from counterrank.studies.sets import CAMPAIGNS, POLICIES
from counterrank.studies.study import (
    Claim,
    ComparedTable,
    Context,
    Difference,
    Reproduction,
    State,
    Study,
    holds,
)

ESTIMATORS = ("IPS", "IPS(clip=100)", "SNIPS", "DM", "DR", "DR(clip=100)", "SNDR")
CONSISTENT = ("IPS", "SNIPS", "DR", "SNDR")
MOST = 100_000  # impressions of a log that are used, drawn at random
SURE, LEVEL = 1.96, 0.05
COARSE = 0.5  # a test that sees no bias of half the value tells nothing


def impression_log(log: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Each impression as a session of its own: item, rank, click, propensity."""
    if log.height > MOST:
        log = log.sample(MOST, seed=seed)
    columns = [pl.col("item"), pl.col("position").alias("rank"), "click", "propensity"]
    return log.select(columns).with_row_index("session")


def policy_of(log: pl.DataFrame, name: str) -> pl.DataFrame:
    """How likely each item is at each rank: all alike, or the shares in the policy's own log."""
    items, ranks = (log.select(pl.col(c).unique().sort()) for c in ("item", "rank"))
    every = items.join(ranks, how="cross")
    if name == "random":
        return every.with_columns(propensity=pl.lit(1 / items.height))
    shares = log.group_by("item", "rank").len()
    shares = shares.with_columns(propensity=pl.col("len") / pl.col("len").sum().over("rank"))
    return every.join(shares.drop("len"), on=["item", "rank"])


def earned(log: pl.DataFrame) -> Estimate:
    """Clicks per impression of a policy, from its own log."""
    key = Key("own", "click")
    own = Units(log["session"], {key: (log["click"].to_numpy().astype(float),)})
    return own.estimate(key, mean)


def estimated(log: pl.DataFrame, target: str, policy: pl.DataFrame) -> Result:
    """What the target would have earned on the impressions of another policy's log."""
    run = log.select("session", "rank").join(policy, on="rank")
    return estimate(
        log, {target: run}, reward="click", estimator=ESTIMATORS, logged="propensity",
        views="rows", disjoint="zero", test="none",
    )  # fmt: skip


def open_bandit(context: Context) -> Reproduction:
    """Every campaign, both ways, every estimator."""
    logs = context.data("open-bandit")
    campaigns = [c for c in CAMPAIGNS if all((p, c) in logs for p in POLICIES)]
    rows: list[tuple[Any, ...]] = []
    for campaign in context.progress(campaigns[::-1][: 1 if context.quick else 3], "campaigns"):
        own = {p: impression_log(logs[p, campaign], context.seed) for p in POLICIES}
        for logger, target in (POLICIES, POLICIES[::-1]):
            truth = earned(own[target])

            def work(logger: str = logger, target: str = target, own: Any = own) -> list[Any]:
                found = estimated(own[logger], target, policy_of(own[target], target))
                return [
                    (r.estimator, r.value, r.se, r.low, r.high)
                    for r in found.estimates
                    if r.system == target
                ]

            found = context.step(f"{campaign}-{target}", work)
            rows += [(campaign, target, truth.value, truth.se, *row) for row in found]
    return _told(rows)


def _told(rows: list[tuple[Any, ...]]) -> Reproduction:
    """The findings in words."""
    named = "campaign", "target", "truth", "truth se", "estimator", "value", "se", "low", "high"
    table = pl.DataFrame(rows, schema=list(named), orient="row")
    gap = (pl.col("value") - pl.col("truth")) / (pl.col("se") ** 2 + pl.col("truth se") ** 2).sqrt()
    table = table.with_columns(gap=gap, error=pl.col("value") / pl.col("truth") - 1)
    trials = table.select(
        "estimator", "truth", system=pl.col("campaign") + " " + pl.col("target"), estimate="value"
    )
    accuracy = assess_accuracy(trials).tables["accuracy"] if table["target"].len() > 14 else []
    right = pl.col("estimator").is_in(CONSISTENT)
    apart = table.filter(pl.col("gap").abs() > SURE)
    good, others = apart.filter(right).height, apart.filter(~right).height
    count = table.filter(right).height
    least = holm(2 * ndtr(-table.filter(right)["gap"].abs().to_numpy())).min()
    both = (pl.col("se") ** 2 + pl.col("truth se") ** 2).sqrt()
    unseen = float(table.filter(right).select(SURE * both / pl.col("truth")).median().item())
    told: State = "does not hold" if least <= LEVEL else "cannot be told here"
    wide = table.filter((pl.col("high") - pl.col("low")) > pl.col("truth"))
    gross = table.sort(pl.col("error").abs(), descending=True).head(5)
    best = min(accuracy, key=lambda r: r.value).measure if accuracy else "none"
    return Reproduction(
        tables=[
            ComparedTable(
                "Clicks per impression, estimated from the other policy's log",
                ("campaign", "policy", "on-policy", "its se", "estimator", "estimate", "se", "low",
                 "high", "gap in se", "relative error"), table.rows(),
                "The gap is estimate minus on-policy value over the standard error of both.",
            ),
            *([ComparedTable("Relative root mean squared error over the six cases",
                             ("estimator", "RMSE"), [(r.measure, r.value) for r in accuracy])]
              if accuracy else []),
        ],
        claims=[
            Claim("Unbiased and consistent estimators agree with what the policy earned.",
                  "holds" if least > LEVEL and unseen < COARSE else told,
                  f"{good} of {count} values of {', '.join(CONSISTENT)} lie more than {SURE}"
                  " standard errors of the difference from it; the least p after Holm is"
                  f" {least:.2g}. In half of the rows a bias of {unseen:.0%} of the value"
                  f" would go unseen; from {COARSE:.0%} on that tells nothing.",
                  "unbiased",
                  f"{good} of {count} apart"),
            Claim("So do clipped estimators and the direct method, by their standard errors.",
                  holds(others <= LEVEL * (table.height - count)),
                  f"{others} of {table.height - count} lie apart: a standard error knows no bias."
                  " The intervals of clipped ones allow for it and become very wide; DM gives back"
                  " the logger's own rate, as so few clicks tell its model little.", "-",
                  f"{others} of {table.height - count} apart"),
            Claim("The estimators can be told apart by their errors here.",
                  "cannot be told here",
                  f"In {wide.height} of {table.height} rows the interval is wider than the value"
                  f" itself: some 40 clicks in 10,000 impressions. {best} is nearest, by chance or"
                  " not.", "-", best),
        ],
        differences=[
            Difference(f"{r['estimator']} of {r['target']}, {r['campaign']}", r["truth"],
                       r["value"], f"{r['gap']:+.1f} standard errors of the difference; few clicks:"
                       f" that of the on-policy value is {r['truth se'] / r['truth']:.0%} of it")
            for r in gross.iter_rows(named=True)
        ],
        notes=["The Thompson sampling policy is known by its own log: its probability of an item at"
               " a position is the share of its impressions there. The logged propensities move"
               " with time and are used where it is the logger.",
               "An impression is a session of its own, so SIPS, RIPS and IIPS are IPS.",
               "Here the on-policy value stands where other pages have the paper's."],
        figures=[
            Figure(f"forest-{n}", f"{campaign}: {target}", "Points are estimates from the other"
                   " policy's log with their intervals; diamonds what the policy earned.",
                   own.select("estimator", "value", "low", "high", "truth").to_dicts(),
                   forest_plot("value", "estimator", order=list(ESTIMATORS), diamond="truth",
                               title="clicks per impression"))
            for n, ((campaign, target), own) in enumerate(
                table.partition_by("campaign", "target", as_dict=True).items(), 1)
        ],
    )  # fmt: skip


STUDY = Study(
    "open-bandit",
    "Two real policies, each estimated from the other's log",
    "Saito et al. 2021: Open Bandit Dataset and Pipeline, whose logs of a random and a Thompson"
    " sampling policy these are.",
    ("open-bandit",),
    1,
    open_bandit,
)
