"""A few users have most sessions (Zipf 1.0 to 1.5): value and lift are covered, and it is said."""

from __future__ import annotations

import pytest

from one_slot_shop import FULL, Shop, holds, tally, tolerance

SAID = ("effective_users",)
UNEQUAL = [(zipf, differ) for zipf in (1.0, 1.2, 1.5) for differ in (0.2, 0.6)]


def rows(full: bool) -> list[dict]:
    """Zipf's exponents, users who differ little and much, and users who all come equally often."""
    count = 1000 if full else 60
    found = []
    for zipf, differ in UNEQUAL:
        shop = Shop(sessions=2000, users=300, zipf=zipf, users_differ=differ)
        name = f"300 users, sessions Zipf {zipf}, rates differ by {differ}"
        found += tally(shop, name, count, about=SAID)
    shop = Shop(sessions=2000, users=300, zipf=0.0)
    return found + tally(shop, "300 users, equal sessions", count, about=SAID)


@pytest.fixture(scope="module")
def table() -> list[dict]:
    return rows(FULL)


def test_few_effective_users_are_covered_or_said(table):
    for row in table:
        assert holds(row), row


def test_coverage_does_not_fall_where_few_users_decide(table):
    """All unequal rows together: a normal interval of the plain clustered error has .75 to .90."""
    unequal = [row for row in table if "Zipf" in row["condition"]]
    count = unequal[0]["replications"] * len(UNEQUAL)  # two estimators share their logs
    for name in ("coverage_value", "coverage_lift"):
        mean = sum(row[name] for row in unequal) / len(unequal)
        assert 0.93 - tolerance(0.93, count) <= mean <= 0.985, (name, mean)


def test_few_effective_users_are_said_and_many_are_not(table):
    for row in table:
        assert row["diagnosed"] == ("Zipf" in row["condition"])
