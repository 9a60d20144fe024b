"""A cluster's documents against those written once (see tests/frozen/write.py)."""

from __future__ import annotations

import pytest

import counterrank as cr
from frozen import worlds
from frozen.cases import SPARK
from frozen.compare import differences, document, stored

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frozen")
    worlds.write(folder)
    return folder


@pytest.mark.parametrize("case", SPARK, ids=lambda case: case.name)
def test_document(spark, tables, case):
    engine = {"engine": cr.Spark(session=spark, partitions=4)}
    made = case.result(engine, lambda file: spark.read.parquet(str(tables / file)))
    found = differences(stored(case, "spark"), document(case, made), case)
    assert not found, "\n".join([f"{case.name} on Spark:", *found[:12]])
