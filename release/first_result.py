"""A first result: two rankers against judgments, and one from a log, with nothing but the wheel."""

from __future__ import annotations

import counterrank as cr
from counterrank.simulate import World, judged_world, platform

judged = judged_world(seed=0)
by_judgments = cr.evaluate(judged.judgments, judged.runs)
assert len(by_judgments.estimates) > 0
print(by_judgments)

week = platform(World(seed=1), sessions=2_000, runs=["near"])  # a feed whose truth is known
by_log = cr.estimate(week.log, week.runs, position_bias="log2@10")
low, high = by_log.estimate("near", "DR", "click").interval()
assert low < week.truth["near"]["click"].value < high, (low, high)
print(by_log)
