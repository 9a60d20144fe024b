"""The direct method is as wrong as its model, which its interval does not know: always said."""

from __future__ import annotations

import pytest

from one_slot_shop import FULL, Shop, holds, tally, tolerance

SAID = ("model_bias", "heavy_tail")


def rows(full: bool) -> list[dict]:
    """A model of shrunken means, near and far from the logger."""
    count, found = 1000 if full else 30, []
    for name, logger in (("near", (0.4, 0.3, 0.2, 0.1)), ("far", (0.9, 0.07, 0.02, 0.01))):
        shop = Shop(sessions=1000, logger=logger)
        found += tally(shop, f"{name} target", count, estimator=("DM", "DR"), about=SAID)
    return found


@pytest.fixture(scope="module")
def table() -> list[dict]:
    return rows(FULL)


def test_the_direct_method_is_always_cautioned(table):
    for row in table:
        if row["estimator"] == "DM":
            assert row["diagnosed"] == 1
            assert holds(row)


def test_the_caution_is_for_the_direct_method_alone(table):
    near, far = (row for row in table if row["estimator"] == "DR")
    assert near["diagnosed"] <= 0.05 + tolerance(0.05, near["replications"])
    assert near["diagnosed"] <= far["diagnosed"]
