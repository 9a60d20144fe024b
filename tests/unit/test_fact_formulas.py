"""The statistics behind the audits of facts, written out in plain loops."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

from counterrank.assumptions.assignment import history_difference
from counterrank.assumptions.late_rewards import arrival, bins_of_time
from counterrank.assumptions.leak import foreseen_views, same_session
from counterrank.assumptions.logged_chances import chance_misfit
from counterrank.assumptions.lost_views import gaps_above, view_shortfall
from counterrank.assumptions.outcome_selection import empty_sessions, visible_selection
from counterrank.assumptions.score_test import Effect

RANKS, SESSIONS, USERS = 4, 60, 12


@pytest.fixture
def rows():
    """A small log: rows of sessions of users, as arrays."""
    rng = np.random.default_rng(3)
    session = np.repeat(np.arange(SESSIONS), RANKS)
    rank = np.tile(np.arange(RANKS), SESSIONS)
    user = rng.integers(0, USERS, SESSIONS)
    seen = (rng.random(len(rank)) < 0.8 - 0.15 * rank).astype(float)
    paid = seen * (rng.random(len(rank)) < 0.4)
    return {
        "rng": rng, "session": session, "rank": rank, "user": user, "seen": seen, "paid": paid,
        "item": rng.integers(0, 5, len(rank)), "w": rng.random(len(rank)) * 2,
    }  # fmt: skip


def by_user(user, values):
    sums = defaultdict(float)
    for u, x in zip(user, values, strict=True):
        sums[u] += x
    return list(sums.values())


def test_sessions_without_reward(rows):
    session, rank, paid = rows["session"], rows["rank"], rows["paid"]
    chance = 0.1 + 0.2 * rows["rng"].random(len(rank))
    found, due = empty_sessions(paid, chance, session, rank, rows["user"])
    scale = [paid[rank == r].sum() / chance[rank == r].sum() for r in range(RANKS)]
    mu = np.array([chance[i] * scale[rank[i]] for i in range(len(rank))])
    e = [math.prod(1 - m for m in mu[session == s]) for s in range(SESSIONS)]
    g = [
        sum(e[session[i]] * mu[i] / (1 - mu[i]) for i in np.flatnonzero(rank == r))
        / mu[rank == r].sum()
        for r in range(RANKS)
    ]
    more = [(paid[session == s].sum() == 0) - e[s] for s in range(SESSIONS)]
    psi = list(more)
    for i in range(len(rank)):
        psi[session[i]] += g[rank[i]] * (paid[i] - mu[i])
    noise = math.sqrt(sum(x * x for x in by_user(rows["user"], psi)))
    assert due == pytest.approx(e)
    assert found.size == pytest.approx(sum(more) / sum(e))
    assert found.se == pytest.approx(noise / sum(e))


def test_what_selection_would_have_shown_falls_with_the_noise():
    due = np.full(1000, 0.5)
    shares = [visible_selection(Effect(0.0, se), due) for se in (0.001, 0.01, 0.03)]
    assert 0 < shares[0] < shares[1] < shares[2] < 1
    assert visible_selection(Effect(0.5, 0.01), due) > shares[1]  # users who differ hide it


def test_rewards_still_to_come(rows):
    user = rows["user"]
    turn = np.sort(rows["rng"].integers(0, 30, SESSIONS))
    age = bins_of_time(turn - turn.min())
    assert (np.diff(age) >= 0).all()
    assert all(len(set(age[turn == t])) == 1 for t in set(turn))
    y, m = rows["rng"].random(SESSIONS), 0.5 + rows["rng"].random(SESSIONS)
    bins = age.max() + 1
    found = arrival(y, m, age, user)
    least = None
    ratio = [y[age == b].sum() / m[age == b].sum() for b in range(bins)]
    variance = [
        sum(x * x for x in by_user(user, (y - ratio[b] * m) * (age == b))) / m[age == b].sum() ** 2
        for b in range(bins)
    ]
    for late in (1, 2, 4):
        new, old = age >= bins - late, age < bins - late
        R = {part: y[w].sum() / m[w].sum() for part, w in (("new", new), ("old", old))}
        steps = [(ratio[b + 1] - ratio[b]) ** 2 / 2 for b in range(bins - late - 1)]
        tau = max(np.mean(steps) - np.mean(variance[: bins - late]), 0)
        psi = (y - R["new"] * m) * new / m[new].sum() - (y - R["old"] * m) * old / m[old].sum()
        s2 = sum(x * x for x in by_user(user, psi)) + tau * (1 / late + 1 / (bins - late))
        z = (R["new"] - R["old"]) / math.sqrt(s2)
        least = z if least is None else min(z, least)
    assert found.z == pytest.approx(least)


def test_history_of_users_by_logger(rows):
    user, rng = rows["user"], rows["rng"]
    left, due = rng.normal(size=SESSIONS), 0.5 + rng.random(SESSIONS)
    mine = (rng.random(SESSIONS) < 0.5).astype(float)
    often = [int((user == u).sum()) for u in user]
    score, bottom = np.zeros(SESSIONS), 0.0
    for s in range(SESSIONS):
        alike = [t for t in range(SESSIONS) if often[t] == often[s]]
        others = [t for t in range(SESSIONS) if user[t] == user[s] and t != s]
        score[s] = (mine[s] - mine[alike].mean()) * left[others].sum()
        bottom += mine[s] * due[others].sum()
    found = history_difference(left, due, mine, user)
    assert found.size == pytest.approx(score.sum() / bottom)
    assert found.se == pytest.approx(math.sqrt(sum(x * x for x in by_user(user, score))) / bottom)


def test_chances_beside_what_happens(rows):
    session, item, user = rows["session"], rows["item"], rows["user"]
    half, context = user % 2, np.zeros(SESSIONS, np.int64)
    pi = np.array([0.2, 0.4, 0.3, 0.5, 0.6])
    chance = pi[item]
    chance[np.flatnonzero(item == 4)[0]] = 0.1  # changes from session to session: left out
    happened = rows["seen"]
    top = bottom = promised = seen = 0.0
    for a in range(4):
        n = [int((half == h).sum()) for h in (0, 1)]
        E = [n[h] * pi[a] for h in (0, 1)]
        H = [happened[(item == a) & (half[session] == h)].sum() for h in (0, 1)]
        top += (H[0] - E[0]) * (H[1] - E[1]) / sum(E)
        bottom += E[0] * E[1] / sum(E)
        promised, seen = promised + sum(E), seen + sum(H)
    found = chance_misfit(happened, chance, item, session, context, half, user)
    assert found.variance == pytest.approx(top / bottom)
    assert found.covered == pytest.approx((item != 4).mean())
    assert found.promised == pytest.approx(promised / seen)
    assert found.se > 0


def test_gaps_above_what_was_seen(rows):
    session, rank, seen = rows["session"], rows["rank"] + 1, rows["seen"]
    of_row = rows["user"][session]
    below = [i for i in range(len(rank)) if rank[i] > 1]
    gap = sum(seen[i] * (1 - seen[i - 1]) for i in below) / sum(seen[i] for i in below)
    share = {r: np.mean([seen[i - 1] for i in below if rank[i] == r]) for r in (2, 3, 4)}
    will = sum(seen[i] * (1 - share[rank[i]]) for i in below) / sum(seen[i] for i in below)
    found = gaps_above(seen, session, rank, of_row)
    assert found.share.size == pytest.approx(gap)
    assert found.at_will == pytest.approx(will)
    assert len(found.by_rank) == RANKS - 1
    whole = np.tile([1.0, 1.0, 1.0, 0.0], SESSIONS)
    assert gaps_above(whole, session, rank, of_row).share.size == 0
    fewer = view_shortfall(seen, np.full(len(seen), 0.9), of_row)
    assert fewer.size == pytest.approx(1 - seen.sum() / (0.9 * len(seen)))


def test_views_that_lists_foresaw(rows):
    rank, seen, paid, w = rows["rank"], rows["seen"], rows["paid"], rows["w"]
    of_row = rows["user"][rows["session"]]
    b = np.array([seen[rank == r].mean() for r in rank])
    often = (w * paid * b).sum() / (w * paid).sum()
    value = (w * (seen - b)).sum() / ((1 - often) * (w * paid).sum())
    found = foreseen_views(w, seen, paid, rank, of_row)
    assert found.size == pytest.approx(value)
    looked = foreseen_views(w + 3 * paid, seen, paid, rank, of_row)
    assert looked.z > 2.5 > abs(found.z)


def test_lists_that_follow_the_session_and_not_the_user(rows):
    """Weights that a user's other sessions share say nothing; those of the session alone do."""
    session, item = rows["session"], rows["item"]
    of_row = rows["user"][session]
    again = of_row * 5 + item
    taste = rows["rng"].random(USERS * 5)[again]
    common = (rows["seen"], item, rows["rank"], again, of_row)
    known = same_session(taste, rows["paid"], *common)
    looked = same_session(taste + rows["paid"], rows["paid"], *common)
    assert looked.z > 2.5
    assert abs(known.z) < 2


def test_an_interval_that_is_not_inside_is_no_pass():
    assert Effect(0.0, 0.01).equivalence(0.02, 0.1) == "pass"
    assert Effect(0.0, 0.02).equivalence(0.02, 0.1) == "untested"
    assert Effect(0.05, 0.01).equivalence(0.02, 0.1) == "caution"
    assert Effect(-0.2, 0.01).equivalence(0.02, 0.1) == "fail"
    assert Effect(0.0, 0.0).equivalence(0.02, 0.1) == "untested"
