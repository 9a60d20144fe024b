"""Tables split into partitions in memory, as an engine on disk or on a cluster would."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from counterrank.core.errors import CounterrankError
from counterrank.core.faults import merge_errors
from counterrank.core.parallel import quiet
from counterrank.data.ids import hash_ids
from counterrank.engine import Local
from counterrank.engine.partitions import InMemory, Partition, Partitions, cut_in_memory
from counterrank.engine.wire import pack, unpack


class Parts(Partitions):
    """``count`` partitions by a hash of the unit, the last first; results go over the wire."""

    def __init__(self, whole: InMemory, unit: str, count: int) -> None:
        self.heads, self.inputs, self.count = whole.heads, whole.inputs, count
        tables = whole.partition.tables
        place = {n: hash_ids(t.frame[unit]) % np.uint64(count) for n, t in tables.items()}
        self.parts = [
            Partition(
                {n: replace(t, frame=t.frame.filter(place[n] == k)) for n, t in tables.items()}
            )
            for k in reversed(range(count))
        ]

    def map(self, work, label):
        done, faults = [], []
        for part in self.parts:
            try:
                done.append(unpack(pack(work(part))))
            except CounterrankError as error:
                faults.append(error)
        if faults:
            raise merge_errors(faults)
        return done


@dataclass(frozen=True)
class Split(Local):
    """This machine's memory, in ``partitions``."""

    @contextmanager
    def open(self, tables, progress=quiet):
        with cut_in_memory(self, tables, progress) as whole:
            yield Parts(whole, tables.unit, self.partitions)
