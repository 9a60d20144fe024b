"""A real Spark cluster on loopback: one master, two workers, from the classes in pip's pyspark."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HOST = "127.0.0.1"
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # Java optimises for hours; these are seconds


class Cluster:
    """``url`` is the master's; workers have one core each and may be killed."""

    def __init__(self, folder: Path, *, workers: int = 2, memory: str = "1g") -> None:
        self.folder, self.memory = folder, memory
        self.port = _free_port()
        self.url = f"spark://{HOST}:{self.port}"
        self.all: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.started = 0
        args = ["--host", HOST, "--port", str(self.port), "--webui-port", str(_free_port())]
        self._begin("org.apache.spark.deploy.master.Master", "master", args)
        self._until(lambda: _answers(self.port), "master")
        for _ in range(workers):
            self.start_worker()

    def start_worker(self) -> None:
        """One more worker; returns when the master knows it."""
        self.started += 1
        name = f"worker{self.started}"
        work = self.folder / name
        args = ["--host", HOST, "--cores", "1", "--memory", self.memory, "--work-dir", str(work)]
        args += ["--webui-port", str(_free_port()), self.url]
        self.workers.append(self._begin("org.apache.spark.deploy.worker.Worker", name, args))
        self._until(lambda: b"Successfully registered" in self._log(name), name)

    def kill_worker(self) -> None:
        """End the oldest worker and its executor at once, as a machine that is switched off."""
        worker = self.workers.pop(0)
        family = [worker.pid, *_descendants(worker.pid)]
        for pid in family:
            _kill(pid)
        worker.wait(timeout=30)

    def stop(self) -> None:
        """End everything that was started."""
        family = [
            pid for p in self.all if p.poll() is None for pid in [*_descendants(p.pid), p.pid]
        ]
        for pid in family:
            _kill(pid)
        for process in self.all:
            process.wait(timeout=30)

    def _begin(self, kind: str, name: str, args: list[str]) -> subprocess.Popen[bytes]:
        import pyspark

        home = Path(pyspark.__file__).parent
        environment = os.environ | {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": LIGHT,
            "SPARK_LOCAL_DIRS": str(self.folder / f"{name}-local"),
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(home / "bin" / "spark-class"), kind, *args],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=self.folder,
            )
        self.all.append(process)
        return process

    def _log(self, name: str) -> bytes:
        return (self.folder / f"{name}.log").read_bytes()

    def _until(self, ready: object, name: str) -> None:
        assert callable(ready)
        for _ in range(900):  # a busy machine takes minutes
            if ready():
                return
            if self.all[-1].poll() is not None:
                break
            time.sleep(0.2)
        self.stop()
        raise RuntimeError(f"Spark's {name} did not start: {self._log(name)[-2000:].decode()}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        port: int = found.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex((HOST, port)) == 0


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    """Processes begun by a process, and by these (Linux)."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            found = re.match(r"\d+ \(.*\) \S+ (\d+)", text, re.DOTALL)
            if found:
                parents.setdefault(int(found[1]), []).append(int(entry.name))
    children = parents.get(pid, [])
    return children + [below for child in children for below in _descendants(child)]
