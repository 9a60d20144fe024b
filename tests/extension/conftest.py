"""The Spark cluster of tests/parity."""

from parity.conftest import cluster, spark  # noqa: F401
