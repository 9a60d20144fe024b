"""Tables cut into parts by a hash of the unit, as an engine would: for tests of bucket functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from counterrank.blocks import one_kind, scattered
from counterrank.engine import Bucket, Buckets
from counterrank.engine.wire import packed, unpacked
from counterrank.schema import Door


class Cut(Buckets):
    """The tables of ``doors`` in ``count`` buckets; results go over the wire, last bucket first."""

    def __init__(
        self,
        doors: Mapping[str, Door],
        count: int,
        by: str = "user",
        ids: Sequence[str] = ("user", "item"),
    ) -> None:
        tables = [door.whole() for door in doors.values()]
        frames = [table.frame for table in tables]
        for column in ids:
            frames = one_kind(frames, column)
        self.inputs = {name: table.input() for name, table in zip(doors, tables, strict=True)}
        self.heads = {
            name: replace(table, frame=frame.clear())
            for name, table, frame in zip(doors, tables, frames, strict=True)
        }
        owner = [scattered(frame[by]) % count for frame in frames]
        self.buckets = [
            Bucket(
                {
                    name: replace(table, frame=frame.filter(own == place))
                    for name, table, frame, own in zip(doors, tables, frames, owner, strict=True)
                }
            )
            for place in range(count)
        ]

    @property
    def count(self):
        return len(self.buckets)

    def mapped(self, work, word):
        return [unpacked(packed(work(bucket))) for bucket in self.buckets[::-1]]

    def exchanged(self, first, schema, key, second, word):
        raise NotImplementedError
