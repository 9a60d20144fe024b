"""The second interval: shifts by brute force, influences by leaving users out, and its claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import counterrank as cr
import counterrank.ope.bounds as bounds
from counterrank.assumptions.assumption import Belief, Shift
from counterrank.assumptions.drift import BEND, carry_on
from counterrank.assumptions.examination import leaving_share
from counterrank.assumptions.registry import ASSUMPTIONS
from counterrank.assumptions.trust_bias import Trust
from counterrank.assumptions.two_way import depth
from counterrank.stats.corner_bounds import CornerBounds, Shifts
from counterrank.stats.estimates import ClusterSizes, Estimate, quantile
from counterrank.stats.plan import Plan
from counterrank.stats.units import Key
from worlds.feed import Feed

CONTEXTS = ["page", "user_kind", "device"]


@pytest.fixture(scope="module")
def small():
    """A small log with every assumption a little broken, and what was believed of it."""
    feed = Feed(seed=3, pages=2, variants=3, ranks=5, pool=5, trust=0.3, items=20, per_user=3)
    world = feed.log(1500)
    return world, *believed(feed, world.log, world.runs["better"])


def believed(feed, log, run):
    """The result of one target, and what was believed of its clicks."""
    kept, whole = {}, bounds.believe

    def keep(sample):
        kept.update(whole(sample))
        return kept

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "believe", keep)
        result = cr.estimate(
            log, {"new": run}, reward="click", estimator="DR", context=CONTEXTS,
            position_bias=feed.position_bias,
        )  # fmt: skip
    return result, kept["click"]


def plain_value(world, name, b, t, q, key):
    """F row by row in plain Python."""
    lists: dict = {}
    for row in world.runs[name].iter_rows(named=True):
        lists.setdefault(row["session"], {})[row["item"]] = row["rank"]
    total, seen = 0.0, set()
    for row in world.log.iter_rows(named=True):
        to, r, g = lists[row["session"]].get(row["item"]), row["rank"], key(row)
        seen.add(row["session"])
        if to is not None:
            w = b[to] * t[to] / (b[r] * t[r])
            total += b[to] * t[to] * q[g] + w * (row["click"] - row["viewed"] * t[r] * q[g])
    return total / len(seen)


def test_shifts_of_curve_and_trust_are_differences_of_values(small):
    world, _, found = small
    rows = world.log.to_dicts()
    ranks = range(1, 6)
    key = lambda row: (row["page"], row["user_kind"], row["device"], row["item"])  # noqa: E731
    given = {r: r**-0.7 for r in ranks}
    share = {r: np.mean([x["viewed"] for x in rows if x["rank"] == r]) for r in ranks}
    views, clicks = {}, {}
    for x in rows:
        views.setdefault(key(x), {}).setdefault(x["rank"], 0.0)
        views[key(x)][x["rank"]] += x["viewed"]
        clicks[key(x)] = clicks.get(key(x), 0.0) + x["click"]
    by_rank = {r: sum(x["click"] for x in rows if x["rank"] == r) for r in ranks}
    one = dict.fromkeys(ranks, 1.0)
    worth = lambda t: {  # noqa: E731
        g: clicks[g] / due if (due := sum(v * t[r] for r, v in own.items())) else 0.0
        for g, own in views.items()
    }
    t = dict(one)
    for _ in range(4000):  # the likelihood, factor by factor
        q = worth(t)
        due = {r: sum(q[g] * own.get(r, 0.0) for g, own in views.items()) for r in ranks}
        t = {r: by_rank[r] / due[r] for r in ranks}
    curve = plain_value(world, "better", share, one, worth(one), key)
    before = plain_value(world, "better", given, one, worth(one), key)
    after = plain_value(world, "better", share, t, worth(t), key)
    shifts = found.shifts["new"]
    assert shifts["position curve", 0].value == pytest.approx(curve - before, abs=1e-9)
    assert shifts["trust", 0].value == pytest.approx(after - curve, abs=1e-7)


def test_what_an_effect_does_to_an_estimate_is_what_fits_anew_say(small):
    """Rewards as expected, then some a little more or less: by brute force, factors fitted anew.

    A slope that all items share moves an estimate as much as the target: the factors hold it.
    """
    world, _, _ = small
    with pytest.MonkeyPatch.context() as patch:
        kept, places = {}, bounds._places
        patch.setattr(bounds, "_places", lambda *args: kept.update(places(*args)) or kept)
        found = believed(world.feed, world.log, world.runs["better"])[1]
    far, slopes = depth(found.belief.log), found.learned["own slopes"].more

    def belief_of(paid):
        old = found.belief.log
        return Belief(replace(old, rows=replace(old.rows, reward=paid), paid=paid))

    mu = found.belief.tilted.mu
    usual = belief_of(mu)
    log, place = usual.log, replace(kept["new"], log=usual.log, memo={})
    z = far[log.rank] - slopes["mean"][log.group]
    for chosen in (log.group == np.argmax(np.bincount(log.group)), log.group % 2 == 0, log.n > 0):
        ends = []
        for size in (1e-4, -1e-4):
            other = belief_of(mu * np.exp(size * z * chosen))
            own = replace(place, log=other.log, memo={})
            ends.append(other.value(own, other.tilted, usual.b).value)
        move = float(np.sum(usual.carried(place, usual.tilted) * z * chosen)) / log.n
        assert move == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-4)
    cell = usual.at(place, usual.tilted).direct * (far[place.rank] - slopes["mean"][place.group])
    assert move == pytest.approx(cell.sum() / log.n, rel=1e-6)


def test_a_change_per_doubling_is_told_as_it_is(small):
    """Of five ranks, though curves reach to 50: nothing is expected there."""
    log = small[2].belief.log
    paid = small[2].belief.plain.mu * np.exp(-0.2 * depth(log)[log.rank])
    belief = Belief(replace(log, rows=replace(log.rows, reward=paid), paid=paid))
    assert Trust().learn(belief).size == pytest.approx(np.expm1(-0.2), rel=1e-6)


@pytest.mark.parametrize("name", ["position curve", "trust", "drift", "examination"])
def test_influences_are_those_of_a_jackknife(small, name):
    """Leaving a user out moves the shift by its influence over the sessions that are left."""
    world, _, found = small
    users = world.log["user"].unique(maintain_order=True).sort().to_list()
    whole, n = found.shifts["new"][name, 0], found.belief.log.n
    picked = np.linspace(0, len(users) - 1, 12).astype(int)
    got, due = [], []
    for number in picked:
        some = world.log.filter(pl.col("user") != users[number])
        run = world.runs["better"].join(some.select("session").unique(), on="session", how="semi")
        less = believed(world.feed, some, run)[1].shifts["new"][name, 0]
        bend = BEND if name == "drift" else 1.0  # of the value alone
        got.append((whole.value - less.value) * n / bend)
        due.append(whole.psi[number])
    scale = float(np.std(whole.psi))
    # of drift, what the worth of items owes to a user is left out
    assert np.corrcoef(got, due)[0, 1] > (0.9 if name == "drift" else 0.97)
    assert np.abs(np.array(got) - due).max() < 0.6 * scale


def test_what_ips_counts_0_is_in_its_second_interval_alone():
    """Items below the fold of 3 were never in a session's list; each has its worth elsewhere."""
    rng = np.random.default_rng(5)
    n, items, c = 3000, 6, 0.8 ** np.arange(6)
    worth = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    order = np.argsort(rng.random((n, items)), axis=1)
    log = pl.DataFrame(
        {
            "session": np.repeat(np.arange(n), 3),
            "user": np.repeat(np.arange(n), 3),
            "item": order[:, :3].ravel(),
            "rank": np.tile([1, 2, 3], n),
        }
    )
    seen = rng.random(len(log)) < c[log["rank"].to_numpy() - 1]
    liked = rng.random(len(log)) < worth[log["item"].to_numpy()]
    log = log.with_columns(viewed=seen.astype(int), click=(seen & liked).astype(int))
    best = np.tile(np.arange(items)[::-1][:3], n)
    new = log.select("session", "rank").with_columns(item=pl.Series(best))
    truth = float(c[:3] @ worth[::-1][:3])
    result = cr.estimate(
        log, {"new": new}, reward="click", position_bias="geometric(p=0.8)",
        estimator=["IPS", "SNIPS", "DR", "nDCG"], disjoint="zero",
    )  # fmt: skip
    rows = {r.estimator: r for r in result.estimates if r.system == "new"}
    assert rows["IPS"].high < truth < rows["IPS"].bound_high
    assert rows["DR"].bound_low < truth < rows["DR"].bound_high
    lacking = truth * (1 - 1 / 2)  # half of the items are in a list of three of six
    assert rows["IPS"].bound_high - rows["IPS"].high > 0.8 * lacking
    for e in ("SNIPS", "DR"):
        assert rows[e].bound_high - rows[e].high < 0.5 * lacking
    assert rows["nDCG"].bound_low is rows["nDCG"].bound_high is None
    against = {c.estimator: c for c in result.comparisons}
    assert against["IPS"].claim != "worse" or against["IPS"].lift > 0


@pytest.mark.parametrize(
    ("times", "says"),
    [
        (lambda s: s, "its times are no dates, so it counts as 14 days"),
        (lambda s: 1_700_000_000 + 3600 * s, "The trend of the log's 6.25 days up to its end"),
    ],
)
def test_a_counter_is_not_said_to_be_days(times, says):
    session = np.repeat(np.arange(151), 2)
    log = pl.DataFrame(
        {
            "session": session, "item": np.tile([0, 1], 151), "rank": np.tile([1, 2], 151),
            "viewed": 1, "click": (session * 7) % 3 == 0, "timestamp": times(session),
        }
    ).with_columns(pl.col("click").cast(int))  # fmt: skip
    new = log.select("session", "item", rank=3 - pl.col("rank"))
    result = cr.estimate(log, {"new": new}, reward="click", position_bias="log2")
    [drift] = [d for d in result.diagnostics if d.name == "drift"]
    assert says in drift.meaning


@pytest.mark.parametrize("apart", [0.0, 0.3])
def test_contexts_that_are_seen_otherwise_have_curves_of_their_own(apart):
    """Even pages are read deeper than odd ones; one curve for all is wrong for a target by page."""
    rng = np.random.default_rng(1)
    n, depth = 6000, 6
    page = rng.integers(0, 4, n)
    worth = rng.uniform(0.05, 0.5, (4, depth))
    order = np.argsort(-worth[page] + rng.normal(0, 0.15, (n, depth)), axis=1)
    each, rank = np.repeat(np.arange(n), depth), np.tile(np.arange(1, depth + 1), n)
    own = np.where(page % 2, np.exp(apart), np.exp(-apart))[each]
    item, better = order.ravel(), np.where(page % 2, -1, 1)[each]
    seen = rng.random(n * depth) < rank**-own
    log = pl.DataFrame(
        {
            "session": each, "user": each // 3, "page": page[each], "item": item, "rank": rank,
            "viewed": seen.astype(int),
            "click": (seen & (rng.random(n * depth) < worth[page[each], item])).astype(int),
        }
    )  # fmt: skip
    by = (-better * worth[page[each], item]).reshape(n, depth)
    to = 1 + np.argsort(np.argsort(by, axis=1), axis=1).ravel()
    run = log.select("session", "item").with_columns(rank=pl.Series(to))
    truth = float(np.sum(run["rank"].to_numpy() ** -own * worth[page[each], item])) / n
    live = float(np.sum(rank**-own * worth[page[each], item])) / n
    result = cr.estimate(
        log, {"new": run}, reward="click", context="page", position_bias="views", estimator="DR"
    )
    [d] = [d for d in result.diagnostics if d.name == "position curve"]
    assert ("in one of the contexts" in d.meaning) == bool(apart)
    [c] = result.comparisons
    assert c.lift_bound_low < truth / live - 1 < c.lift_bound_high


@pytest.mark.parametrize("curve", ["views", None])
def test_views_tell_of_examination_where_propensities_were_logged(curve):
    feed = Feed(seed=1, logger="stochastic", days=14)
    week = feed.log(4000, seed=1)
    log = week.log.drop("exposure", "propensity_above", "conditional_propensity", strict=False)
    result = cr.estimate(
        log, {"new": week.runs["better"]}, reward="click", context=["user_kind", "device"],
        logged="propensity", position_bias=curve,
    )  # fmt: skip
    [d] = [d for d in result.diagnostics if d.name == "examination" and d.systems]
    assert d.state == "pass"
    assert "standard error" in d.meaning


def test_a_share_that_leaves_is_mantel_and_haenszels():
    rng = np.random.default_rng(1)
    paid, stratum = rng.integers(0, 2, 400) * 1.0, rng.integers(0, 3, 400)
    on, user = (rng.random(400) < 0.7 - 0.3 * paid) * 1.0, rng.integers(0, 60, 400)
    found = leaving_share(on, paid, stratum, user, 60)
    assert found is not None
    top = bottom = 0.0
    for k in range(3):
        here = stratum == k
        a, b = (on[here & (paid == x)].sum() for x in (1, 0))
        one, none = ((here & (paid == x)).sum() for x in (1, 0))
        top, bottom = top + a * none / here.sum(), bottom + b * one / here.sum()
    assert found[0] == pytest.approx(1 - top / bottom)
    left = [leaving_share(on[user != u], paid[user != u], stratum[user != u], user[user != u], 60)
            for u in range(60)]  # fmt: skip
    change = np.array([found[0] - one[0] for one in left if one is not None])
    assert np.sqrt(np.sum(change**2)) == pytest.approx(np.sqrt(found[1] @ found[1]), rel=0.1)


@pytest.mark.parametrize("degree", [1, 2])
def test_what_is_carried_on_is_the_polynomial_of_least_squares(degree):
    rng = np.random.default_rng(2)
    x, y = np.append(rng.random(48), [0.0, 1.0]), rng.random(50)

    def ahead(x, y, mean):
        return np.polyval(np.polyfit(x, y, degree), 1.2) - mean

    far, psi = carry_on(y, x, 0.7, degree)
    assert far == pytest.approx(ahead(x, y, y.mean()))
    left = [ahead(np.delete(x, i), np.delete(y, i), 0.0) for i in range(48)]
    due = (
        ahead(x, y, 0.0) - np.array(left) - (y.mean() - [np.delete(y, i).mean() for i in range(48)])
    )
    assert np.corrcoef(psi[:48], due * 50)[0, 1] > 0.95
    assert np.std(psi[:48]) == pytest.approx(np.std(due) * 50, rel=0.25)


def test_the_second_interval_is_the_union_over_corners():
    rng = np.random.default_rng(4)
    a, b = Key("new", "click", "DR"), Key("logged", "click", "OnPolicy")
    psi = rng.normal(size=(5, 40))
    sizes = ClusterSizes.ones(40)
    one, other = Estimate(1.2, psi[0], sizes, 0), Estimate(1.0, psi[1], sizes, 0)
    shifts = Shifts(np.array([0.1, -0.3, 0.2]), psi[2:] / 2, np.array([0.0, 0.01, 0.0]))
    corners = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]], float)
    found = CornerBounds(corners, {a: shifts}, {a: psi[0], b: psi[1]}, 40)
    ends = found.difference(a, b, one, other, 2.5)
    lows, highs = [], []
    for corner in corners:
        moved = psi[0] - psi[1] + corner @ shifts.psi
        se = np.sqrt(40 / 39 * np.sum(moved**2) / 40**2 + corner**2 @ shifts.extra)
        d = 0.2 + corner @ shifts.value
        lows.append(d - 2.5 * se)
        highs.append(d + 2.5 * se)
    assert (ends.low, ends.high) == pytest.approx((min(lows), max(highs)))
    alone = found.value(a, one, 2.5)
    assert alone is not None
    assert alone[0] < one.value - 2.5 * one.se + 1e-12
    assert found.value(b, other, 2.5) is None
    for size in (np.nan, np.inf):
        far = replace(found, shifts={a: replace(shifts, value=np.array([size, 0.0, 0.0]))})
        with np.errstate(invalid="ignore"), pytest.raises(cr.InputError, match="has no ends"):
            far.difference(a, b, one, other, 2.5)
        with np.errstate(invalid="ignore"), pytest.raises(cr.InputError, match="has no ends"):
            far.value(a, one, 2.5)


@pytest.fixture(scope="module")
def clean():
    feed = Feed(seed=1)
    world = feed.log(10_000)
    call = {"reward": "click", "position_bias": feed.position_bias, "context": CONTEXTS}
    return world, call


def test_claims_are_over_the_second_interval_and_clean_logs_pass(clean):
    world, call = clean
    result = cr.estimate(world.log, world.runs, estimator="DR", **call)
    rows = {c.system: c for c in result.comparisons}
    assert rows["worse"].claim == "worse"
    for c in rows.values():
        assert c.bound_low <= c.family_low <= c.family_high <= c.bound_high
        assert c.lift_bound_low <= world.lift(c.system) <= c.lift_bound_high
        assert c.claim != "better" or c.bound_low > 0
    assert [c.verdict for c in rows.values()].count("pass") >= 4
    names = {d.name for d in result.diagnostics}
    assert {a.name for a in ASSUMPTIONS if not a.assumed} <= names
    document = result.to_dict()
    assert "lift_bound_low" in document["comparisons"][0]
    assert document["protocol"]["bounds"] == "auto"


def test_without_bounds_the_plain_form_stays(clean):
    world, call = clean
    run = {"worse": world.runs["worse"]}
    both = [cr.estimate(world.log, run, bounds=how, **call) for how in ("auto", "none")]
    for one, other in zip(*(r.comparisons for r in both), strict=True):
        assert (one.low, one.high, one.p, one.lift) == (other.low, other.high, other.p, other.lift)
        assert other.bound_low is None
    assert "bound_low" not in both[1].to_dict()["estimates"][0]
    for result, label in zip(both, (False, True), strict=True):
        text = " ".join(str(result).partition("What this rests on")[0].split())
        assert (", if the assumptions hold." in text) == label
        assert (", if the assumptions hold." in cr.gate(result).markdown()) == label


def test_what_is_missing_is_untested_and_what_is_allowed_widens(clean):
    world, call = clean
    bare = world.log.drop("viewed", "timestamp", "day")
    call = call | {"views": "latent", "estimator": "DR"}
    run = {"better": world.runs["better"]}
    found = {}
    for allow in (None, {"drift": 0.2}, {"drift": 0.0}):
        result = cr.estimate(bare, run, allow=allow, **call)
        states = {d.name: d.state for d in result.diagnostics if d.subject == "better"}
        assert states["position curve"] == states["drift"] == "untested" or allow == {"drift": 0.0}
        found[str(allow)] = result.comparisons[0].bound_high - result.comparisons[0].bound_low
        assert result.comparisons[0].verdict == "caution"
    assert found["{'drift': 0.0}"] < found["None"] < found["{'drift': 0.2}"]
    with pytest.raises(cr.UsageError, match="tempo"):
        cr.estimate(bare, run, allow={"tempo": 0.1}, **call)


def test_what_a_column_would_narrow_is_the_interval_without_what_it_tells(clean):
    """The row of what to log is the interval of a call that allows for nothing it would tell."""
    world, call = clean
    bare, run = world.log.drop("timestamp", "day"), {"better": world.runs["better"]}
    call = call | {"estimator": "DR"}
    one = cr.estimate(bare, run, **call)
    rows = {r["log"]: r for r in one.rows("narrowing")}
    assert rows.keys() == {"timestamp", "propensity"}  # all else was told
    known = cr.estimate(bare, run, allow={"drift": 0.0, "carry over": 0.0}, **call)
    (due,) = known.comparisons
    ends = ("low", "high", "lift_low", "lift_high")
    told = [rows["timestamp"][end] for end in ends]
    due = [
        getattr(due, end.replace("low", "bound_low").replace("high", "bound_high")) for end in ends
    ]
    assert told == pytest.approx(due, rel=1e-9)
    by_disk = cr.estimate(bare, run, partitions=3, inference="moments", **call)
    for a, b in zip(one.rows("narrowing"), by_disk.rows("narrowing"), strict=True):
        assert [b[end] for end in ends] == pytest.approx([a[end] for end in ends], rel=1e-9)
    (c,) = one.comparisons
    assert c.claim == "cannot_tell"
    less = 1 - (told[3] - told[2]) / (c.lift_bound_high - c.lift_bound_low)
    assert less > 0.1
    text = " ".join(str(one).split())
    assert f"a log with timestamp (interval up to {less:.0%} narrower)" in text
    whole = cr.estimate(world.log, run, **call)
    assert {r["log"] for r in whole.rows("narrowing")} == {"propensity"}


def test_nobody_is_told_to_log_what_is_there(clean):
    """Few sessions leave carry-over untold; their times were logged, users in one of two logs."""
    world, call = clean
    few = world.log.filter(
        pl.col("session").is_in(world.log["session"].unique().sort().head(300).to_list())
    )
    run = world.runs["better"].join(few.select("session").unique(), on="session", how="semi")
    for log, lacks in ((few, ""), (few.drop("user"), "user")):
        result = cr.estimate(log, {"better": run}, **call | {"estimator": "DR"})
        (told,) = [d for d in result.diagnostics if d.name == "carry over"]
        assert told.state == "untested"
        assert ("Log user" in told.meaning) == bool(lacks)
        assert "timestamp" not in told.meaning
        assert "timestamp" not in str(result).partition("What would tell")[2]
        rows = {r["log"] for r in result.rows("narrowing")}
        assert ("user" in rows, "timestamp" in rows) == (bool(lacks), False)


def test_a_longer_horizon_widens(clean):
    world, call = clean
    run = {"better": world.runs["better"]}
    width = []
    for days in (0, 7, 14):
        c = cr.estimate(world.log, run, estimator="DR", horizon=days, **call).comparisons[0]
        width.append(c.bound_high - c.bound_low)
    assert width[0] < width[1] < width[2]


def test_what_fails_claims_nothing(clean):
    world, call = clean
    few = world.log.with_columns(click=pl.when(pl.col("session") == world.log["session"][0])
                                 .then(pl.col("click")).otherwise(0))  # fmt: skip
    result = cr.estimate(few, {"worse": world.runs["worse"]}, estimator="DR", **call)
    assert {(c.verdict, c.claim) for c in result.comparisons} == {("fail", "cannot_tell")}


def test_trust_that_sells_is_covered():
    feed = Feed(seed=5, trust=0.3)
    world = feed.log(10_000)
    result = cr.estimate(
        world.log, world.runs, reward="click", estimator="DR", context=CONTEXTS,
        position_bias=feed.position_bias,
    )  # fmt: skip
    outside = 0
    for c in result.comparisons:
        assert c.lift_bound_low <= world.lift(c.system) <= c.lift_bound_high
        outside += not c.lift_low <= world.lift(c.system) <= c.lift_high
    assert outside >= 4


def test_shifts_add_and_scale():
    one = Shift(1.0, np.array([1.0, -1.0]), 2.0)
    both = one + one * -0.5
    assert (both.value, both.psi.tolist(), both.extra) == (0.5, [0.5, -0.5], 2.5)


def test_the_unit_of_a_reward_changes_no_lift(clean):
    """Seconds or milliseconds, euros or cents: the second interval of a lift is the same."""
    world, call = clean
    told = []
    for unit in (1.0, 1000.0):
        log = world.log.with_columns(click=pl.col("click") * unit)
        result = cr.estimate(log, {"new": world.runs["better"]}, estimator="DR", **call)
        c = result.comparisons[0]
        told.append([c.lift, c.lift_bound_low, c.lift_bound_high])
    assert told[1] == pytest.approx(told[0], abs=1e-3)  # Newton ends on other digits


def test_shares_of_two_runs_are_compared_without_a_second_interval(clean):
    world, call = clean
    runs = {name: world.runs[name] for name in ("worse", "equal")}
    result = cr.estimate(world.log, runs, estimator=["DR", "nDCG"], baseline="equal", **call)
    rows = {(c.system, c.estimator): c for c in result.comparisons}
    assert rows["worse", "nDCG"].bound_low is rows["worse", "nDCG"].lift_bound_high is None
    assert rows["worse", "nDCG"].low is not None
    assert rows["worse", "DR"].bound_low < rows["worse", "DR"].low


@pytest.mark.parametrize("told", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("alike", [0.0, 0.9])
def test_a_union_of_one_sided_ends_holds_every_candidate_at_once(told, alike):
    """By draws, for truths at, between and beyond both corners, and candidates alike or not.

    ``told`` is the correlation of the value and of what it is once shifted: how much noise the
    shift brings. A shift that is known to be there at all (the far end of 4) leaves one side.
    """
    many, draws = 6, 40_000
    plan = Plan()
    rng = np.random.default_rng(5)
    common = rng.standard_normal((2, draws, 1))
    e0, more = np.sqrt(alike) * common + np.sqrt(1 - alike) * rng.standard_normal((2, draws, many))
    e1 = (told * e0 + np.sqrt(1 - told**2) * more) / told  # the shifted value's error
    two = quantile(1 - 0.05 / many, "normal", np.inf)  # Bonferroni's, at least the critical value
    z = plan.union_width(two, 0.95, many, np.inf)
    assert 1.96 < z < two
    for moved in (0.0, 0.3, 1.0, 2.0, 4.0, 8.0):
        for sides in (np.ones(many), (-1.0) ** np.arange(many)):
            shift = moved * sides  # the truth is where the shift takes the value
            low = np.minimum(e0 - two, shift + e1 - z / told)
            high = np.maximum(e0 + two, shift + e1 + z / told)
            outside = ((low > shift) | (high < shift)).any(axis=1).mean()
            assert outside <= 0.05 + 3 * np.sqrt(0.05 / draws), (moved, outside)
