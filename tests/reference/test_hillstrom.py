"""A randomised e-mail experiment: what each e-mail brings is known from those who got it.

64,000 customers got one of three e-mails (or none), a third each. An e-mail is an item, getting it
is the click, with probability 1/3 by design; a policy is a list of one e-mail per customer.
"""

from __future__ import annotations

import polars as pl
import pytest

import counterrank as cr

SEGMENTS = ("Mens E-Mail", "Womens E-Mail", "No E-Mail")
REWARDS = ("visit", "conversion", "spend")


@pytest.fixture(scope="module")
def mails(data):
    return pl.read_parquet(data / "hillstrom-email" / "log.parquet")


def funnel(mails: pl.DataFrame) -> pl.DataFrame:
    """Who got what and what came back; a customer's forecast is the mean of all customers."""
    return mails.select(
        "visit", "conversion", "spend", user="customer", item="segment", click=pl.lit(1),
        ctr=pl.lit(1 / 3),
    )  # fmt: skip


def policy(mails: pl.DataFrame, item: pl.Expr) -> pl.DataFrame:
    """A list of one e-mail per customer, with what an average e-mail brings as predictions."""
    guess = {"cvr": "visit", "cvr_conversion": "conversion", "cvr_spend": "spend"}
    return mails.select(
        user="customer", item=item, rank=pl.lit(1),
        **{column: pl.col(reward).mean() for column, reward in guess.items()},
    )  # fmt: skip


def test_every_e_mail_earns_what_its_customers_brought(mails):
    runs = {name: policy(mails, pl.lit(name)) for name in SEGMENTS}
    result = cr.funnel(
        funnel(mails), runs, reward=REWARDS, measure="CG@1", estimator=["IPS", "SNIPS", "DR"]
    )
    assert {row.units for row in result.estimates} == {64_000}
    for row in result.estimates:
        own = mails.filter(pl.col("segment") == row.system)[row.reward]
        error = float(own.std()) / len(own) ** 0.5
        if row.estimator == "SNIPS":
            assert row.value == pytest.approx(float(own.mean()), rel=1e-12)
            assert row.se == pytest.approx(error, rel=0.01)
        assert row.low < float(own.mean()) < row.high
    for label in ("IPS", "SNIPS", "DR"):
        best = {
            reward: max(SEGMENTS, key=lambda s: result.estimate(s, label, reward).value)
            for reward in REWARDS
        }
        assert best == dict.fromkeys(REWARDS, "Mens E-Mail")
    weight = [d for d in result.diagnostics if d.name == "mean weight"]
    assert [d.state for d in weight] == ["pass"] * 3


def test_a_policy_that_sends_by_past_purchases(mails):
    """Women's e-mail to those who bought women's goods: known from those who got it by chance."""
    chosen = pl.when(pl.col("womens") == 1).then(pl.lit("Womens E-Mail"))
    chosen = chosen.otherwise(pl.lit("Mens E-Mail"))
    runs = {"all men": policy(mails, pl.lit("Mens E-Mail")), "by past": policy(mails, chosen)}
    result = cr.funnel(
        funnel(mails), runs, reward=["visit"], measure="CG@1", estimator=["SNIPS", "DR"]
    )
    got = mails.with_columns(chosen=chosen)
    by_kind = got.filter(pl.col("segment") == pl.col("chosen")).group_by("womens")
    share = got.group_by("womens").agg(share=pl.len() / got.height)
    means = by_kind.agg(mean=pl.col("visit").mean()).join(share, on="womens")
    known = float((means["mean"] * means["share"]).sum())
    for label in ("SNIPS", "DR"):
        low, high = result.estimate("by past", label).interval(0.95)
        assert low < known < high
    men = float(mails.filter(pl.col("segment") == "Mens E-Mail")["visit"].mean())
    for c in result.comparisons:
        assert c.low < known - men < c.high


def test_conversions_are_seen_only_after_a_visit(mails):
    """The visit is the click: chance of the e-mail (1/3) times that of a visit, by channel.

    What an e-mail would sell if everybody visited is, within a channel, conversions over visits.
    """
    cell = ["segment", "channel"]
    rate = mails.group_by(cell).agg(rate=pl.col("visit").mean())
    clicked = mails.filter(pl.col("visit") == 1).join(rate, on=cell)
    table = clicked.select(
        "conversion", user="customer", item="segment", click=pl.lit(1), ctr=pl.col("rate") / 3
    )
    runs = {name: policy(mails, pl.lit(name)).select("user", "item", "rank") for name in SEGMENTS}
    result = cr.funnel(table, runs, measure="CG@1", estimator=["Naive", "IPS", "SNIPS"])
    share = mails.group_by("channel").agg(share=pl.len() / mails.height)
    sold = clicked.group_by(cell).agg(cvr=pl.col("conversion").mean()).join(share, on="channel")
    for name in SEGMENTS:
        own = sold.filter(pl.col("segment") == name)
        known = float((own["cvr"] * own["share"]).sum())
        for label in ("IPS", "SNIPS"):
            low, high = result.estimate(name, label).interval(0.95)
            assert low < known < high
            assert result.estimate(name, label).value == pytest.approx(known, rel=0.02)
        assert result.estimate(name, "Naive").interval(0.95)[1] < known / 5  # visits are rare
    assert {row.units for row in result.estimates} == {64_000}
