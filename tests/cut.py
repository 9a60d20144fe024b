"""Tables cut into buckets in memory, as an engine would cut them; results go over the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import polars as pl

from counterrank.core.faults import merged
from counterrank.data.ids import hash_ids, unify_id_columns
from counterrank.engine import Bucket, Buckets
from counterrank.engine.wire import packed, unpacked
from counterrank.errors import CounterrankError
from counterrank.schema import Table


class Cut(Buckets):
    """``count`` buckets by a hash of the unit, in an order of no meaning; some may be empty."""

    def __init__(self, tables: Mapping[str, Table], by: str, count: int, seed: int = 0) -> None:
        self.heads = {n: replace(t, frame=t.frame.head(0)) for n, t in tables.items()}
        self.inputs = {n: t.input() for n, t in tables.items()}
        self.parts = []
        order = np.random.default_rng(seed).permutation(count)
        hashed = {n: hash_ids(t.frame[by]) % np.uint64(count) for n, t in tables.items()}
        for k in order:
            cut = {n: replace(t, frame=t.frame.filter(hashed[n] == k)) for n, t in tables.items()}
            self.parts.append(Bucket(cut))

    @property
    def count(self) -> int:
        return len(self.parts)

    def mapped(self, work, word):
        done, faults = [], []
        for part in self.parts:
            try:
                done.append(unpacked(packed(work(part))))
            except CounterrankError as error:
                faults.append(error)
        if faults:
            raise merged(faults)
        return done

    def exchanged(self, first, schema, key, second, word):
        made = [first(part) for part in self.parts]
        for frame in made:
            assert dict(frame.schema) == dict(schema)
        rows = pl.concat(made)
        place = rows[key].hash(1).to_numpy() % np.uint64(3)
        return [unpacked(packed(second(rows.filter(place == k)))) for k in range(3)]


def cut_into(count: int) -> Callable[..., object]:
    """What takes the place of ``bucketed``."""

    @contextmanager
    def bucketed(chosen, doors, *, by, ids, progress=None):
        read = {name: door.whole() for name, door in doors.items()}
        frames = [table.frame for table in read.values()]
        for column in ids:
            frames = unify_id_columns(frames, column)
        tables = {n: replace(t, frame=f) for (n, t), f in zip(read.items(), frames, strict=True)}
        yield Cut(tables, by, count)

    return bucketed
