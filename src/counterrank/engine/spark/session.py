"""The Spark session: the caller's, the running one, or one that is started here."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from counterrank.core.errors import UsageError
from counterrank.data.sources.lake import spoken

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
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "32",  # an empty one costs 50 ms, and 200 are usual
}
HOME = Path(__file__).resolve().parents[2]
_supplied: WeakSet[Any] = WeakSet()


def session_of(chosen: Spark) -> Any:
    """A session on the cluster that was chosen, with this package on its executors."""
    session = chosen.session or _started(chosen.master)
    if session not in _supplied:
        with spoken("sending the package to the executors"):
            _supply(session)
        _supplied.add(session)
    return session


def _started(master: str | None) -> Any:
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
        return _fitting(running, master)
    if master is not None and master.startswith("sc://"):
        with spoken(f"connecting to {master}"):
            return _configured(SparkSession.builder.remote(master), CONF).getOrCreate()
    _refuse_without_java()
    conf = CONF | OWN
    builder = SparkSession.builder.appName("counterrank")
    if master is None or master.startswith("local"):
        builder, conf = builder.master(master or "local[*]"), conf | LOCAL
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    else:
        builder = builder.master(master)
    with spoken(f"starting on {master or 'this machine'}"):
        return _configured(builder, conf).getOrCreate()


def _configured(builder: Any, conf: dict[str, str]) -> Any:
    for name, value in conf.items():
        builder = builder.config(name, value)
    return builder


def _fitting(running: Any, master: str | None) -> Any:
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


def _supply(session: Any) -> None:
    """Executors import the package that runs here, whatever they have installed."""
    session.addArtifacts(str(_archive()), pyfile=True)


@cache
def _archive() -> Path:
    """The package in a file, which executors fetch as they come; gone when Python ends."""
    files = sorted(HOME.rglob("*.py"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    folder = tempfile.mkdtemp(prefix=f"counterrank-{os.getpid()}-")  # see `scratch`
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / f"counterrank-{digest}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.relative_to(HOME.parent))
    return path
