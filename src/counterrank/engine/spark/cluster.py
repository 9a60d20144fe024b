"""A Spark cluster: its session, tables shuffled by their unit, and the work sent to partitions."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakSet

from counterrank.core import errors
from counterrank.core.errors import CounterrankError, UsageError
from counterrank.core.faults import DataError, merge_errors
from counterrank.core.labels import Value
from counterrank.core.owned_folder import owned_folder
from counterrank.core.parallel import Progress
from counterrank.data.checks import some_rows
from counterrank.data.schema import Input
from counterrank.data.sources.dataframes import spoken
from counterrank.engine.partitions import Partition, Partitions, Tables, merge_in_turn
from counterrank.engine.scratch import PREFIX
from counterrank.engine.spark.executor import (
    COUNTED,
    FAULTS,
    SENT,
    TAG,
    Lane,
    Refusal,
    Refusals,
    on_count,
    on_key,
    on_partition,
)
from counterrank.engine.spark.frames import shuffle
from counterrank.engine.wire import unpack

if TYPE_CHECKING:
    from counterrank.engine.engines import Spark


CONF = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.session.timeZone": "UTC",
}
OWN = {  # of the whole application, so only where Spark is started here
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # what matters is told by the message
    "spark.driver.maxResultSize": "2g",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # executors have a process per core
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
}
LOCAL = {
    "spark.driver.memory": "2g",  # at most: here it is the executors' as well
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # Java is busy for seconds only
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "32",  # an empty one costs 50 ms, and 200 are usual
}
FEW = 32  # partitions whose results come to the driver one by one, which saves a shuffle
HOME = Path(__file__).resolve().parents[2]
_supplied: WeakSet[Any] = WeakSet()


def session_of(chosen: Spark) -> Any:
    """A session on the cluster that was chosen, with this package on its executors."""
    session: Any = chosen.session or _start_session(chosen.master)
    if session not in _supplied:
        with spoken("sending the package to the executors"):
            session.addArtifacts(str(_archive()), pyfile=True)
        _supplied.add(session)
    return session


def _start_session(master: str | None) -> Any:
    """The session that runs, if it fits; otherwise a new one, which lasts as long as Python."""
    try:
        import pandas  # noqa: F401  mapInArrow asks for it
        import pyarrow  # noqa: F401
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise UsageError(
            "The Spark engine needs pyspark, pyarrow and pandas.",
            found=f"{error.name} is not installed.",
            todo="pip install 'counterrank[spark]'",
        ) from error
    running = SparkSession.getActiveSession()
    if running is not None:
        return _check_master(running, master)
    if master is not None and master.startswith("sc://"):
        with spoken(f"connecting to {master}"):
            return _configure(SparkSession.builder.remote(master), CONF).getOrCreate()
    _refuse_without_java()
    conf = CONF | OWN
    builder = SparkSession.builder.appName("counterrank")
    if master is None or master.startswith("local"):
        builder, conf = builder.master(master or "local[*]"), conf | LOCAL
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    else:
        builder = builder.master(master)
    with spoken(f"starting on {master or 'this machine'}"):
        return _configure(builder, conf).getOrCreate()


def _configure(builder: Any, conf: dict[str, str]) -> Any:
    for name, value in conf.items():
        builder = builder.config(name, value)
    return builder


def _check_master(running: Any, master: str | None) -> Any:
    """Spark has one cluster per process: another one cannot be had beside it."""
    where = getattr(running, "sparkContext", None) if master else None
    if where is not None and where.master != master:
        raise UsageError(
            f"Spark already runs on {where.master} in this process, not on {master}.",
            todo="Stop that session first (session.stop()), or pass it: Spark(session=...).",
        )
    return running


def _refuse_without_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (shutil.which("java") or (home and (Path(home) / "bin" / "java").exists())):
        raise UsageError(
            "Spark needs Java, and there is none.",
            found="No java on the PATH, and JAVA_HOME is not set.",
            todo="Install Java 17 or later, or connect to a cluster: --master sc://HOST:15002.",
        )


@cache
def _archive() -> Path:
    """This package in a file, which executors import whatever they have installed.

    It is gone when Python ends.
    """
    files = sorted(HOME.rglob("*.py"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    stack = ExitStack()
    folder = stack.enter_context(owned_folder(Path(tempfile.gettempdir()), PREFIX))
    atexit.register(stack.close)
    path = folder / f"counterrank-{digest}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.relative_to(HOME.parent))
    return path


def _send_by_value() -> None:
    """Have classes of users sent as they are: executors cannot import where they are defined."""
    from pyspark import cloudpickle

    kinds = list(Value.__subclasses__())
    for kind in kinds:
        kinds += kind.__subclasses__()
        home = kind.__module__.partition(".")[0]
        if home not in (HOME.name, "__main__") and home in sys.modules:
            cloudpickle.register_pickle_by_value(sys.modules[home])


A = TypeVar("A")
B = TypeVar("B")
P = TypeVar("P")


@contextmanager
def cut_on_spark(engine: Spark, tables: Tables, progress: Progress) -> Iterator[Partitions]:
    """The tables in partitions on a cluster, which keeps them until the context ends."""
    session = session_of(engine)
    from pyspark.errors import PySparkException  # only now: who has no pyspark is told so

    with spoken("looking at the tables"):
        count = engine.partitions or int(session.conf.get("spark.sql.shuffle.partitions"))
        rows, lanes = shuffle(session, tables, count)
        with suppress(PySparkException):  # serverless clusters refuse: each pass cuts anew
            rows = rows.persist()
    try:
        inputs = _inputs(rows, lanes, tables, progress)
        yield OnSpark(rows, lanes, count, inputs, tables.needs, progress)
    finally:
        with suppress(Exception):  # a cluster that is gone has let go already
            rows.unpersist()


def _inputs(
    rows: Any, lanes: Mapping[str, Lane], tables: Tables, progress: Progress
) -> dict[str, Input]:
    """What results remember of the tables; the count also brings the rows together.

    What a schema refused on the way is raised.
    """
    schemas = tables.schemas
    with ThreadPoolExecutor(1) as aside:
        sums = aside.submit(lambda: {name: s.source.sha256() for name, s in schemas.items()})
        for _ in progress([0], "Shuffling"):
            with spoken("bringing the rows of each unit together"):
                counted = rows.select("key", TAG, "rows").mapInArrow(on_count, COUNTED).collect()
    heights: dict[int, int] = {}
    for tag, count, _ in counted:
        heights[tag] = heights.get(tag, 0) + count
    for schema in schemas.values():
        schema.source.refuse_changed()
    if any(refused for _, _, refused in counted):
        with spoken("asking what was refused"):
            said = rows.filter(rows["key"] == FAULTS).select("data").toArrow()
        faults = [fault for data in said["data"] for fault in unpack(data.as_py()).all]
        raise _refused(faults, {name: heights.get(lane.tag, 0) for name, lane in lanes.items()})
    inputs = {}
    for name, lane in lanes.items():
        height = heights.get(lane.tag, 0)
        if not height:
            some_rows(lane.head.frame, lane.head.name)
        inputs[name] = Input(lane.head.name, height, sums.result()[name])
    return inputs


class OnSpark(Partitions):
    """Partitions on a cluster; what ``work`` and ``then`` yield are rows there until the end."""

    engine = "spark"

    def __init__(
        self,
        rows: Any,
        lanes: Mapping[str, Lane],
        count: int,
        inputs: Mapping[str, Input],
        needs: str,
        progress: Progress,
    ) -> None:
        self.rows, self.lanes, self.count, self.inputs = rows, lanes, count, inputs
        self.needs, self.progress = needs, progress
        self.heads = {name: lane.head for name, lane in lanes.items()}

    def map(self, work: Callable[[Partition], A], label: str) -> list[A]:
        """``work`` on every partition, on the executors."""
        return self._run(work, lambda number: number, label)

    def reduce(self, work: Callable[[Partition], A | None], label: str) -> A:
        """Where there are many, neighbours are merged on the executors: the driver gets few."""
        if self.count <= FEW:
            return super().reduce(work, label)
        count, groups = self.count, max(round(self.count**0.5), 1)
        parts = self._run(
            work, lambda number: number * groups // count, label, lambda part: part, groups
        )
        return cast(A, merge_in_turn(parts))

    def exchange(
        self, work: Callable[[Partition], Mapping[int, P]], then: Callable[[P], B], label: str
    ) -> B:
        """Pieces are shuffled by their key."""
        return cast(B, merge_in_turn(self._run(work, None, label, then, self.count)))

    def _run(
        self,
        work: Callable[[Partition], Any],
        key: Callable[[int], int] | None,
        label: str,
        then: Callable[[Any], Any] | None = None,
        count: int = 0,
    ) -> list[Any]:
        """The results in the order of keys: of ``work``, or of ``then`` on what met under a key.

        ``count`` is how many Spark partitions the keys are shuffled to.
        """
        _send_by_value()
        with spoken(label):
            sent = self.rows.mapInArrow(on_partition(self.lanes, self.needs, work, key), SENT)
            if then is not None:
                near = sent.repartition(count, "key").sortWithinPartitions("key", "part", "piece")
                sent = near.mapInArrow(on_key(then), SENT)
        for _ in self.progress([0], label):
            with spoken(f"{label[:1].lower()}{label[1:]}"):
                table = sent.toArrow()
        values: dict[tuple[int, int], dict[int, Any]] = {}
        columns = (table[name] for name in ("key", "part", "piece", "data"))
        for number, part, piece, data in zip(*columns, strict=True):
            own = values.setdefault((number.as_py(), part.as_py()), {})
            own[piece.as_py()] = data.as_buffer()
        results = [
            unpack(b"".join(own[i] for i in sorted(own))) for _, own in sorted(values.items())
        ]
        faults = [fault for value in results if isinstance(value, Refusals) for fault in value.all]
        if faults:
            raise merge_errors(list(map(_error, faults)))
        return results


def _refused(faults: Sequence[Refusal], heights: Mapping[str, int]) -> CounterrankError:
    """One error for what schemas refused, of the first table that has any."""
    name = next(name for name in heights if any(fault.table == name for fault in faults))
    alike = [_error(fault) for fault in faults if fault.table == name]
    return merge_errors(alike, rows=heights[name])


def _error(fault: Refusal) -> CounterrankError:
    if fault.data is not None:
        return DataError(fault.data)
    kind: type[CounterrankError] = getattr(errors, fault.kind, CounterrankError)
    return kind(fault.wrong, found=fault.found, todo=fault.todo)
