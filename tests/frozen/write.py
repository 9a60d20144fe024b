"""Write everything that is frozen anew: ``python tests/frozen/write.py [--spark]``.

A person does so deliberately, after a change that is meant to change documents, text or messages;
the diff then shows what it changed. With ``--spark`` the documents of a cluster (local[2]) too.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from frozen import faults, terminal, worlds
from frozen.cases import CASES, REDRAWN, SPARK, Case
from frozen.compare import STORED, changes, document, dumped, file_of


def documents() -> None:
    """Each case; on other engines as changes of the document in memory, where they are few."""
    whole: dict[tuple[str, str], tuple[Case, dict]] = {}
    for case in [*CASES, *REDRAWN]:
        told = document(case, case.result())
        file = file_of(case)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = dumped(told)
        if case.engine == "memory":
            whole[case.verb, case.name] = case, told
        else:
            base, first = whole[case.verb, case.name.rpartition(", ")[0]]
            first = {key: value for key, value in first.items() if key != "by_unit"}
            few = {"like": file_of(base).name, "changes": list(changes(first, told))}
            text = min(text, json.dumps(few, ensure_ascii=False) + "\n", key=len)
        file.write_text(text, encoding="utf-8")


def on_spark() -> None:
    """The cases of a cluster."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    import counterrank as cr

    builder = SparkSession.builder.master("local[2]")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    for case in SPARK:
        engine = {"engine": cr.Spark(session=session, partitions=4)}
        file = file_of(case, "spark")
        file.parent.mkdir(parents=True, exist_ok=True)
        told = document(case, case.result(engine, lambda file: session.read.parquet(file)))
        file.write_text(dumped(told), encoding="utf-8")
    session.stop()


def main() -> None:
    """All files, in place of those there are."""
    print(f"Writing {STORED} anew from the working code.", file=sys.stderr)
    kept = {"spark"} if "--spark" not in sys.argv else set()
    for folder in STORED.iterdir() if STORED.is_dir() else ():
        if folder.name not in kept:
            shutil.rmtree(folder)
    with tempfile.TemporaryDirectory() as folder:
        worlds.write(Path(folder))
        os.chdir(folder)
        documents()
        for name, text in terminal.printed().items():
            file = STORED / "terminal" / f"{name}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for group in faults.GROUPS:
            file = STORED / "messages" / f"{group}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(faults.refused(group), ensure_ascii=False, indent=1)
            file.write_text(text + "\n", encoding="utf-8")
        if "--spark" in sys.argv:
            on_spark()
        os.chdir(STORED)


if __name__ == "__main__":
    main()
