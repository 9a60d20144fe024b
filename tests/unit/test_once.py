"""Kept properties: computed once, without a lock, and the same for every thread."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from counterrank.core.parallel import cached_property


class Thing:
    def __init__(self, meet):
        self.meet = meet
        self.calls = []

    @cached_property
    def value(self):
        """Some list."""
        self.calls.append(1)
        self.meet.wait()
        return []


def test_computed_once():
    thing = Thing(threading.Barrier(1))
    assert thing.value is thing.value
    assert thing.calls == [1]
    assert Thing.value.__doc__ == "Some list."


def test_threads_that_compute_it_at_the_same_time_share_one_value():
    thing = Thing(threading.Barrier(2, timeout=30))
    with ThreadPoolExecutor(2) as team:
        a, b = (team.submit(lambda: thing.value) for _ in range(2))
        assert a.result() is b.result() is thing.value
    assert thing.calls == [1, 1]


def test_two_instances_do_not_wait_for_each_other():
    meet = threading.Barrier(2, timeout=30)
    with ThreadPoolExecutor(2) as team:
        jobs = [team.submit(lambda thing: thing.value, Thing(meet)) for _ in range(2)]
        assert all(job.result() == [] for job in jobs)
