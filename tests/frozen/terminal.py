"""What the command line prints: calls, a line each, whose output is frozen."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys

BIAS = "--reward click --position-bias 'table(1,0.7,0.5,0.4,0.3)'"
CALLS = {
    "evaluate": "evaluate judgments.parquet new=good.parquet tied.parquet weak.csv"
    " --baseline new --draws 1000",
    "evaluate-csv": "evaluate judgments.parquet both.parquet weak.csv -m nDCG@5 -m RR --test t"
    " --correct bh --format csv --partitions 3",
    "estimate": f"estimate log.parquet new.parquet old.parquet {BIAS} --reward dwell",
    "estimate-sweep": f"estimate log.parquet new.parquet {BIAS} --sweep clip --context context",
    "funnel": "funnel funnel.parquet a=sale_a.parquet b=sale_b.parquet -m DCG@5 -m P@5",
    "funnel-models": "funnel bare_funnel.parquet sale_a.parquet --ctr rates --cvr rates"
    " --format csv",
    "strata": "strata judgments.parquet good.parquet tied.parquet weak.csv -m nDCG@5 -m P@5"
    " --strata 3 --cut quantile",
    "strata-open": "strata judgments.parquet good.parquet tied.parquet weak.csv both.parquet"
    " -m nDCG@5 --open-loop open.parquet",
    "exposure": "exposure seen.parquet --method harvest --context query --model power",
    "exposure-by": "exposure seen.parquet --by device --out pbm.json\n"
    "estimate seen.parquet shuffled.parquet --reward click --position-bias pbm.json",
    "check": "check judgments.parquet good.parquet again.parquet",
    "check-log": "check log.parquet new.parquet --position-bias log2",
    "check-funnel": "check bare_funnel.parquet predicted.parquet sale_a.parquet",
    "power": "assess power judgments.parquet good.parquet tied.parquet weak.csv -m nDCG@5 -m RR"
    " --draws 1000 --resamples 500",
    "agreement": "assess agreement judgments.parquet good.parquet tied.parquet weak.csv -m nDCG@5"
    " --draws 1000 --resamples 500",
    "robustness": "assess robustness judgments.parquet good.parquet tied.parquet weak.csv"
    " -m nDCG@5 -m RR --samples 4",
    "online": "assess online past.parquet --baseline old",
    "accuracy": "assess accuracy trials.parquet",
    "measures": "measures\nmeasures 'nDCG(gain=exp)@5'",
    "gate": "evaluate judgments.parquet new=good.parquet old=weak.csv -m nDCG@5 --baseline old"
    " --draws 500 --out out --quiet\ngate out --decide-by nDCG@5",
    "refused": "evaluate judgments.parquet gone.parquet\nestimate log.parquet new.parquet\n"
    "evaluate judgments.parquet good.parquet -m nDGC",
}
REDRAWN = ("power", "agreement", "strata-open")  # their intervals come from resamples


class Ended(BaseException):
    """Stands for the end of the process."""


def printed() -> dict[str, str]:
    """What every call prints, run one after another in one process of their own."""
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, check=True, encoding="utf-8",
        env={**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    found: dict[str, str] = json.loads(done.stdout)
    return {name: text.replace(os.getcwd(), "FOLDER") for name, text in found.items()}


def _called(line: str) -> str:
    """Output, errors and exit code of one call."""
    from counterrank.cli import main

    ends = []

    def end(code: int) -> None:
        ends.append(code)
        raise Ended

    sys.argv = ["counterrank", *shlex.split(line)]
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdout, sys.stderr = (io.TextIOWrapper(x, "utf-8", write_through=True) for x in (out, err))
    os._exit = end  # type: ignore[assignment]
    with contextlib.suppress(Ended):
        main()
    said = "".join(f"\n! {row}" for row in err.getvalue().decode().splitlines())
    return f"$ counterrank {line}\n{out.getvalue().decode().rstrip()}{said}\n= {ends[0]}\n"


def words(text: str) -> list[str]:
    """The text without its numbers and the sentences after the table, which may name others."""
    table = text.split("What this rests on")[0]
    return re.sub(r"[-+]?\d[\d,.e-]*", "#", table).split()


def rounded(text: str) -> list[str]:
    """The lines with numbers to ten digits: the last ones depend on the order of sums."""
    return re.sub(r"\d+\.\d{11,}", lambda m: f"{float(m[0]):.10g}", text).splitlines()


if __name__ == "__main__":
    real, leave = sys.stdout, os._exit
    texts = {name: "\n".join(map(_called, calls.splitlines())) for name, calls in CALLS.items()}
    real.write(json.dumps(texts))
    real.flush()
    leave(0)
