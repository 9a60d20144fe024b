"""Every verb on a real cluster gives the numbers of memory, whatever the partitions."""

from __future__ import annotations

import threading
import time

import pytest

import counterrank as cr
from parity_worlds import cases, differences

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def plain():
    """The documents of tables in memory, each made once."""
    return {name: case.told(lambda frame: frame) for name, case in cases().items()}


@pytest.mark.parametrize("partitions", [1, 7, 64])
@pytest.mark.parametrize("name", cases())
def test_on_a_cluster(plain, spark, name, partitions):
    """Spark frames, in no order, are all it is given."""

    def made(frame):
        return spark.createDataFrame(frame.to_arrow()).repartition(3)

    engine = cr.Spark(session=spark, partitions=partitions)
    told = cases()[name].told(made, engine=engine)
    assert not list(differences(plain[name], told))


@pytest.mark.parametrize("name", ["evaluate", "estimate", "funnel", "strata"])
def test_only_moments_come_back(plain, spark, name):
    """Values, intervals and lifts without anybody's values."""
    case = cases()[name]
    options = {**case.options, "test": "t"}
    engine = cr.Spark(session=spark, partitions=5, inference="moments")
    told = type(case)(case.verb, case.tables, options).told(lambda frame: frame, engine=engine)
    units = type(case)(case.verb, case.tables, options).told(lambda frame: frame)
    for kind in ("estimates", "comparisons"):
        assert not list(differences(units[kind], told[kind], kind))


def test_spark_frames_ask_for_spark(plain, spark):
    made = cases()["estimate"].told(lambda frame: spark.createDataFrame(frame.to_arrow()))
    assert made["protocol"]["engine"] == "spark"


@pytest.mark.parametrize("name", ["estimate", "evaluate"])
def test_a_worker_dies_in_the_middle_of_it(plain, cluster, spark, name):
    """What it held is made again elsewhere, and the numbers are the same."""
    running = threading.Event()
    finished = threading.Event()

    def kill() -> None:
        running.wait(60)
        tracker = spark.sparkContext.statusTracker()
        until = time.monotonic() + 60
        while not tracker.getActiveStageIds() and time.monotonic() < until:
            time.sleep(0.01)
        assert not finished.is_set(), "the work was over before a worker died"
        cluster.kill_worker()

    killer = threading.Thread(target=kill)
    killer.start()

    def progress(steps, word):
        for step in steps:
            if word.startswith(("joining", "evaluating")):  # the pass that does the work
                running.set()
            yield step

    try:
        told = cases()[name].told(
            lambda frame: spark.createDataFrame(frame.to_arrow()),
            engine=cr.Spark(session=spark, partitions=24),
            progress=progress,
        )
    finally:
        finished.set()
        running.set()
        killer.join()
        cluster.start_worker()
    assert not list(differences(plain[name], told))
