"""The second generator of logs tells the truth, and is clean where nothing is broken."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import counterrank as cr
from worlds.catalogue import MOBILE, REWARDS, SHARES
from worlds.feed import Feed
from worlds.judged import Judged
from worlds.rankers import conditional_chances, marginal_chances, mixed_chances
from worlds.shop import Shop
from worlds.truth import of_chances, of_logger, population

TINY = {"items": 8, "pages": 2, "pool": 3, "ranks": 3, "variants": 2, "seed": 4}
NODES = np.linspace(-6.0, 6, 13)  # of a trapezoidal rule, exact to 1e-8 here
DENSITY = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()


def earned(feed: Feed, cell, slots, effect, day=0, before=0.0) -> np.ndarray:
    """Expected rewards of one list in one cell, by going through the outcomes rank by rank."""
    a, t, p, d, h = cell
    cat, total, alive = feed.catalogue, np.zeros(len(REWARDS)), 1.0
    survive = {"down": 1.0, "independent": 1.0}
    for k, slot in enumerate(slots, start=1):
        steep = feed.steepness
        c = k**-steep if feed.curve == "power" else steep ** (k - 1)
        c **= 1 + feed.device_curve * (1 if d == 0 else -1)
        logit = cat.logit[a, t, p, d, h, slot] + effect
        logit -= feed.drift * day / feed.days * cat.hidden[p, slot]
        r = 0.5 / (1 + np.exp(-logit))
        r = r * k**-feed.trust + feed.trust * 0.1 / k * (1 - r)
        for above in slots[max(0, k - 3) : k - 1]:
            r *= 1 - feed.interaction * (cat.kind[p, above] == cat.kind[p, slot])
        r *= 1 + feed.carry_over * before
        # down: among those who got this far and whose patience has not ended, all see rank k
        alive = survive[feed.reading]
        item = cat.pool[p, slot]
        total += alive * c * r * cat.gains[a, item]
        survive["independent"] *= 1 - feed.examination * c * r
        survive["down"] *= 1 - feed.examination * r
    return total


def goodness(feed: Feed, a, p, slots) -> float:
    c = feed.average_curve
    worth = [np.clip(feed.catalogue.appeal[a, p, slot] / 2, -1, 1) for slot in slots]
    return sum(x * y for x, y in zip(worth, c, strict=True)) / sum(c)


def cells(feed: Feed):
    for a, t, p, d, h in product(range(4), range(2), range(feed.pages), range(2), range(2)):
        share = SHARES[a] / 2 / feed.pages * (MOBILE if d else 1 - MOBILE) / 2
        yield (a, t, p, d, h), share


def lists_of(feed: Feed, system: str, cell) -> list[tuple[float, tuple[int, ...]]]:
    """Every list a system may show in a cell, with its chance."""
    a, t, p, *_ = cell
    if system != "logged":
        orders = [o[a, 0, p, 0, 0, 0] for o in feed.orders[system]]
        coin = feed.coin(system)
        return list(zip([coin, 1 - coin], map(tuple, orders), strict=False))
    found = []
    for number, logger in enumerate(feed.every_logger):
        scores = logger.scores
        here = scores[tuple(0 if n == 1 else i for i, n in zip(cell, scores.shape, strict=False))]
        share = feed.logger_shares()[number, a, t]
        if feed.logger == "deterministic":
            for row in here:
                found.append((share / len(here), tuple(np.argsort(-row)[: feed.ranks])))
            continue
        w = np.exp(here[0])
        for order in permutations(range(feed.pool), feed.ranks):
            chance, left = share, w.sum()
            for slot in order:
                chance *= w[slot] / left
                left -= w[slot]
            found.append((chance, order))
    return found


def slow_truth(feed: Feed, system: str, days, first: float) -> np.ndarray:
    """The value by loops over cells, lists, days and users' effects."""
    before = {}  # kind and trait: mean quality of lists
    for (a, t, p, d, h), share in cells(feed):
        for chance, slots in lists_of(feed, system, (a, t, p, d, h)):
            good = share * chance * goodness(feed, a, p, slots)
            before[a, t] = before.get((a, t), 0) + good / (SHARES[a] / 2)
    total = np.zeros(len(REWARDS))
    for cell, share in cells(feed):
        q = (1 - first) * before[cell[:2]]
        for chance, slots in lists_of(feed, system, cell):
            for b, density in zip(NODES * feed.user_sigma, DENSITY, strict=True):
                for day in days:
                    part = share * chance * density / len(days)
                    total += part * earned(feed, cell, slots, b, day, q)
    return total


VIOLATIONS = {
    "trust": 0.5,
    "interaction": 0.5,
    "examination": 0.6,
    "carry_over": 0.5,
    "device_curve": 0.4,
    "drift": 1.5,
    "late": 3.0,
    "selection": 0.5,
    "confounding": 1.0,
    "exposure_error": 0.1,
    "lost_views": 0.3,
    "lost_below": 0.5,
    "leave": 0.5,
    "assignment": 1.0,
    "assignment_kind": 1.5,
}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"curve": "geometric", "steepness": 0.8, "device_curve": 0.4},
        {"trust": 0.5, "interaction": 0.5},
        {"examination": 0.6},
        {"examination": 0.6, "reading": "down", "interaction": 0.3},
        {"carry_over": 0.5, "personal": 1.0, "loggers": 2, "assignment": 1.0},
        {"hidden_worth": 1.5, "loggers": 3, "assignment": 1.0, "assignment_kind": 2.0},
        {"drift": 1.5, "days": 2},
        {"logger": "stochastic", "pool": 4, "trust": 0.4},
        {"logger": "stochastic", "personal": 1.0, "confounding": 1.0, "carry_over": 0.5},
    ],
    ids=str,
)
def test_the_truth_is_that_of_slow_loops(options):
    feed = Feed(**{**TINY, **options})
    days = range(feed.days) if feed.drift else [0]
    truth = feed.truth(first=0.2)
    for system in ("logged", "equal", "hidden_up"):
        slow = slow_truth(feed, system, days, 0.2)
        fast = [truth[system][reward].value for reward in REWARDS]
        np.testing.assert_allclose(fast, slow, rtol=1e-6, atol=1e-9)


def test_later_days_are_those_after_the_log():
    feed = Feed(**TINY, drift=1.5, days=2)
    later = feed.truth([2, 3], first=1)
    slow = slow_truth(feed, "hidden_up", [2, 3], 1)
    np.testing.assert_allclose([t.value for t in later["hidden_up"].values()], slow, rtol=1e-6)
    assert later["hidden_up"]["click"].value < feed.truth()["hidden_up"]["click"].value


def test_drawn_truths_agree_with_enumerated_ones():
    """Lists of a stochastic logger that readers leave, and carry-over with it, are drawn."""
    feed = Feed(**{**TINY, "pool": 4}, logger="stochastic", examination=0.6)
    drawn = feed.truth()["logged"]["click"]
    slow = slow_truth(feed, "logged", [0], 1)[0]
    assert 0 < drawn.error < 0.01 * drawn.value
    assert abs(drawn.value - slow) < 4 * drawn.error
    for system in ("logged", "equal"):
        found = population(feed, system, range(14), sessions=20_000)["click"]
        truth = feed.truth()[system]["click"]
        assert abs(found.value - truth.value) < 4 * np.hypot(found.error, truth.error)
    left = Feed(**TINY, carry_over=0.5, examination=1e-9)
    linear = Feed(**TINY, carry_over=0.5).truth()["logged"]["click"].value
    drawn = population(left, "logged", range(14), sessions=20_000)["click"]
    assert abs(drawn.value - linear) < 4 * drawn.error


def test_lists_and_chances_earn_the_same():
    feed = Feed(**TINY, logger="stochastic")
    (logger,) = feed.every_logger
    by_chance = of_logger(feed, logger, [0])
    sure = np.eye(3)[feed.orders["better"][0][:, :, :, :, :, 0]]  # [..., rank, slot]
    found = of_chances(feed, np.swapaxes(sure, -1, -2), [0]).truths(feed, 1)
    truth = feed.truth()
    np.testing.assert_allclose(found[:, 0], [t.value for t in truth["better"].values()])
    assert truth["logged"]["click"].value == by_chance.truths(feed, 1)[0, 0]


@pytest.mark.parametrize("violation", VIOLATIONS)
@pytest.mark.parametrize("logger", ["deterministic", "stochastic"])
def test_a_violation_of_strength_0_is_none(violation, logger):
    """It fades: a trace of it leaves log and truth as they are, and its full strength does not."""
    clean = Feed(seed=1, logger=logger, loggers=2, pages=3, variants=2, ranks=6, pool=6, days=4)
    trace = replace(clean, **{violation: 1e-12})
    broken = replace(clean, **{violation: VIOLATIONS[violation]})
    one, two, three = (feed.log(400, seed=3) for feed in (clean, trace, broken))
    assert_frame_equal(one.log, two.log)
    assert {**one.runs}.keys() == two.runs.keys()
    for system in ("logged", "better", "hidden_down"):
        value, other = (week.truth[system]["click"] for week in (one, two))
        assert value.value == pytest.approx(other.value, rel=1e-8, abs=4 * other.error)
    no_exposure = violation == "exposure_error" and logger == "deterministic"
    assert one.log.equals(three.log) == no_exposure


def test_the_same_seed_gives_the_same_log():
    one, two, other = (Feed(seed=2).log(200, seed=s) for s in (5, 5, 6))
    assert_frame_equal(one.log, two.log)
    assert_frame_equal(one.runs["equal"], two.runs["equal"])
    assert not one.log.equals(other.log)


def test_candidates_are_worth_what_they_are_called():
    for seed in range(5):
        week = Feed(seed=seed, logger="stochastic").log(100)
        lift = {name: week.lift(name) for name in week.runs}
        assert lift["better"] > 0.05
        assert lift["worse"] < -0.05
        assert lift["equal"] == pytest.approx(0, abs=1e-9)
        assert lift["slightly_worse"] == pytest.approx(-0.03)
        assert not week.runs["equal"].equals(week.log.select("session", "item", "rank"))


def test_marginal_chances_are_averages_of_conditional_ones():
    weights = np.array([[2.0, 1.0, 0.5, 0.1], [0.3, 1.0, 2.5, 0.2]])  # by intent
    orders = np.array(list(permutations(range(4), 3)))
    marginal = np.zeros((2, 4, 3))
    mixture = np.zeros((4, 3))
    for order in orders:
        for h in (0, 1):
            conditional = conditional_chances(weights[h], order)
            for k in range(3):  # P(list down to k) summed over what may follow and stand above
                marginal[h, order[k], k] += conditional.prod()
        for k in range(3):
            mixture[order[k], k] += mixed_chances(weights[:, None], order[None])[0].prod()
    np.testing.assert_allclose(marginal_chances(weights, 3), marginal, atol=1e-9)
    np.testing.assert_allclose(marginal_chances(weights, 3).mean(axis=0), mixture, atol=1e-9)
    np.testing.assert_allclose(marginal_chances(weights, 4).sum(axis=1), 1, atol=1e-9)


def test_logged_propensities_come_true():
    """By rank, items of a page stand where they should as often as the log says."""
    feed = Feed(seed=1, logger="stochastic", pages=1, pool=12, confounding=1.0, personal=1.0)
    log = feed.log(8000).log
    top = log.filter(pl.col("rank") == 1)
    np.testing.assert_allclose(top["propensity"], top["conditional_propensity"], rtol=1e-8)
    (table,) = feed.logger_chances
    for rank in (1, 2, 7, 10):
        # 1/p over the rows of an item adds up to the number of sessions, if p is never tiny
        common = feed.catalogue.pool[0][table[..., rank - 1].min(axis=(0, 1, 2, 3, 4)) > 0.02]
        rows = log.filter((pl.col("rank") == rank) & pl.col("item").is_in(common.tolist()))
        weights = rows.group_by("item").agg(
            w=(1 / pl.col("propensity")).sum(), s=(1 / pl.col("propensity") ** 2).sum()
        )
        assert weights.height == len(common) > 3
        assert ((weights["w"] - 8000) / weights["s"].sqrt()).abs().max() < 4.5


def share_within(found: float, due: float, n: int) -> bool:
    return abs(found - due) < 4.5 * np.sqrt(due * (1 - due) / n) + 1e-12


def test_logs_break_as_they_are_told_to():
    clean, n = Feed(seed=3), 4000
    log = clean.log(n).log
    for rank, due in zip((1, 4, 10), clean.average_curve[[0, 3, 9]], strict=True):
        assert share_within(log.filter(pl.col("rank") == rank)["viewed"].mean(), due, n)
    lost = replace(clean, lost_views=0.3).log(n).log
    unclicked = log["viewed"].sum() - log["click"].sum()
    kept = (lost["viewed"].sum() - lost["click"].sum()) / unclicked
    assert share_within(kept, 0.7, unclicked)
    empty = n - log.group_by("session").agg(pl.col("click").sum())["click"].clip(0, 1).sum()
    fewer = replace(clean, selection=0.5).log(n)
    assert share_within((n - fewer.log["session"].n_unique()) / empty, 0.5, empty)
    assert fewer.runs["equal"]["session"].n_unique() == fewer.log["session"].n_unique()
    late = replace(clean, late=3.0).log(n).log
    assert late["click"].equals(log["click"])
    ratio = late.group_by("day").agg(pl.col("purchase").sum()).sort("day")["purchase"]
    ratio = ratio / log.group_by("day").agg(pl.col("purchase").sum()).sort("day")["purchase"]
    assert ratio[0] > 0.9
    assert ratio[13] < 0.5
    assert "device" not in replace(clean, hide=("device",)).log(50).log.columns
    assert "viewed" not in replace(clean, views=False).log(50).log.columns


def test_a_hidden_kind_is_late_and_leads_away():
    """What only the hidden kind meets changes its rows, and no others."""
    clean, n = Feed(seed=3), 4000
    log, cat = clean.log(n).log, clean.catalogue
    names = np.unique(cat.pool[cat.hidden > 0]).tolist()
    hidden = pl.col("item").is_in(names)
    slow = replace(clean, late=1.0, late_hidden=9.0).log(n).log
    kept = {
        kind: slow.filter(rows)["purchase"].sum() / log.filter(rows)["purchase"].sum()
        for kind, rows in (("hidden", hidden), ("other", ~hidden))
    }
    assert kept["hidden"] < 0.7 < 0.9 < kept["other"]
    led = log.filter(hidden & (pl.col("click") > 0))["session"].unique()
    left = replace(clean, leave=0.4).log(n).log["session"].unique()
    assert share_within((n - left.len()) / led.len(), 0.4, led.len())
    assert set(range(n)) - set(left) <= set(led)


def test_views_get_lost_below_more_than_above():
    clean, n = Feed(seed=3), 4000
    log, lost = clean.log(n).log, replace(clean, lost_below=0.5).log(n).log
    for rank, due in ((1, 1.0), (10, 0.5)):
        rows = (table.filter(pl.col("rank") == rank) for table in (log, lost))
        before, after = (float((t["viewed"] - t["click"]).sum()) for t in rows)
        assert share_within(after / before, due, int(before))


def test_lists_that_learned_from_the_log_look_better_than_they_are():
    """Their truth is that of their lists, as slow loops know it; their clicks flatter them."""
    feed = Feed(**{**TINY, "pages": 3}, leak=2.0, user_sigma=0.0)
    assert feed.log(300, seed=1).lift("worse") > replace(feed, leak=0.0).log(300).lift("worse")
    small = feed.taught(np.random.default_rng(0).normal(size=feed.catalogue.appeal.shape))
    for system in ("worse", "equal"):
        slow = slow_truth(small, system, [0], 1)
        np.testing.assert_allclose([t.value for t in small.truth()[system].values()], slow)

    def flattery(**options) -> list[float]:
        """Estimated less true lift of a poor candidate, log by log."""
        found = []
        for seed in range(8):
            world = Feed(seed=seed, **options)
            log = world.log(2000, seed=seed)
            result = cr.estimate(
                log.log, {"worse": log.runs["worse"]}, reward="click", estimator="IPS",
                position_bias=world.position_bias,
            )  # fmt: skip
            found.append(result.comparisons[0].lift - log.lift("worse"))
        return found

    assert abs(np.mean(flattery())) < 0.02
    assert np.mean(flattery(leak=2.0)) > 0.02
    assert np.mean(flattery(peek=0.1)) > 0.05
    assert Feed(seed=1, peek=0.5).log(200).lift("worse") == Feed(seed=1).log(200).lift("worse")


@pytest.mark.parametrize("activity", ["fixed", "poisson", "zipf"])
def test_users_have_as_many_sessions_as_asked_for(activity):
    log = Feed(activity=activity, per_user=4, exponent=1.5).log(2000).log
    counts = log.group_by("user").agg(n=pl.col("session").n_unique())["n"]
    assert counts.sum() == 2000
    if activity == "zipf":
        assert counts.max() > 500
    else:
        assert counts.len() == 500


@pytest.mark.parametrize("options", [{}, {"logger": "stochastic"}], ids=["sorted", "drawn"])
def test_estimates_of_clean_worlds_are_near_the_truth(options):
    """Values by IPS and DR in 20 worlds: none beyond 4 standard errors, nor their mean."""
    z: dict[str, list[float]] = {}
    for seed in range(20):
        feed = Feed(seed=seed, per_user=2, **options)
        week = feed.log(800, seed=seed)
        runs = {name: week.runs[name] for name in ("better", "equal")}
        found = cr.estimate(
            week.log, runs, reward="click", estimator=["IPS", "DR"],
            position_bias=feed.position_bias, context=["user_kind"], test="none",
        )  # fmt: skip
        for row in found.estimates:
            truth = week.truth[row.system]["click"].value
            z.setdefault(f"{row.system} {row.estimator}", []).append((row.value - truth) / row.se)
    assert len(z) == 5
    for name, scores in z.items():
        assert np.abs(scores).max() < 4, name
        assert abs(np.mean(scores)) < 4 / np.sqrt(20), name


def test_tables_of_a_clean_world_pass_the_check():
    for options in ({}, {"logger": "stochastic", "loggers": 2}):
        feed = Feed(seed=1, **options)
        week = feed.log(3000)
        found = cr.check(
            week.log, {"better": week.runs["better"]}, reward=["click"],
            position_bias=feed.position_bias, context=["user_kind"],
        )  # fmt: skip
        assert not [d.name for d in found.not_passing if d.state == "fail"]
        assert {row.system for row in _estimated(week)} == {"logged", "equal"}


def _estimated(week):
    return cr.estimate(
        week.log, {"equal": week.runs["equal"]}, reward="profit", estimator="IPS",
        position_bias=week.feed.position_bias, logger=week.loggers or None, test="none",
    ).estimates  # fmt: skip


def test_sales_of_a_shop_are_its_truth():
    """By loops, and by weighting what was shown, whose chance is known."""
    shop = Shop(seed=2, items=12, length=5)
    attraction, suits, _ = shop.tables
    slow = 0.0
    for a, items in enumerate(shop.lists["seller"]):
        for k, i in enumerate(items, start=1):
            logit = attraction[a, i] + shop.user_sigma * NODES
            ctr = sum(0.3 / (1 + np.exp(-(logit + s))) @ DENSITY for s in (-0.5, 0.5))
            slow += k**-shop.steepness * ctr / (1 + np.exp(-suits[a, i])) / len(attraction)
    assert shop.truth()["seller"] == pytest.approx(slow, rel=1e-7)
    week = shop.sample(6000)
    seen = week.funnel.with_columns(w=pl.col("conversion") * pl.col("shown") / pl.col("exposure"))
    for name, run in week.runs.items():
        rows = run.join(seen, on=["user", "item"]).with_columns(
            pl.col("w") * pl.col("rank").cast(float) ** -shop.steepness
        )
        sums = rows.group_by("user").agg(pl.col("w").sum())["w"]
        assert abs(sums.mean() - shop.truth()[name]) < 4 * sums.std() / np.sqrt(6000), name
    assert shop.truth("if-clicked")["buyer"] > shop.truth("if-clicked")["seller"]


def test_a_shop_that_follows_hidden_liking_misleads():
    shop = Shop(seed=2, liking=3.0)
    week = shop.sample(6000).funnel
    weighted = (week["click"] * week["shown"] / week["exposure"]).sum() / week["ctr"].sum()
    clean = Shop(seed=2).sample(6000).funnel
    fair = (clean["click"] * clean["shown"] / clean["exposure"]).sum() / clean["ctr"].sum()
    assert fair == pytest.approx(1, abs=0.02)
    assert weighted > 1.05
    assert Shop(log_exposure=False).sample(5).funnel.columns.count("exposure") == 0


def test_judged_truths_are_those_of_all_judgments():
    world = Judged(seed=1, popularity_bias=0.8, choice=0.5)
    sample = world.sample(1500)
    runs = {name: run for name, run in sample.runs.items() if name != "random"}
    for measure in ("P", "DCG", "nDCG", "Recall"):
        found = cr.evaluate(sample.everything, runs, measure=f"{measure}@10", test="none")
        for row in found.estimates:
            assert row.value == pytest.approx(sample.truth(measure)[row.system])
            if measure in ("P", "DCG"):
                due = world.expected(measure)[row.system]
                assert abs(row.value - due) < 4 * row.se
    rows = sample.judgments
    weighted = (rows["rating"] / rows["propensity"]).sum() / sample.relevant.sum()
    assert weighted == pytest.approx(1, abs=0.1)
    assert rows["rating"].mean() > 1.2 * sample.relevant.mean()
    assert sample.open_loop["rating"].mean() == pytest.approx(sample.relevant.mean(), abs=0.01)
