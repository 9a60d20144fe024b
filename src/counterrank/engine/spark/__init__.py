"""Partitions on a Spark cluster: its session, tables as its frames, what its executors run."""
