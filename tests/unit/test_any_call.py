"""Random calls of every verb on random, partly broken tables: a result or a message, no traceback.

`attack` can be run for longer by hand: ``python tests/unit/test_any_call.py SECONDS SEED``.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import time
import traceback
from pathlib import Path

import polars as pl
import pytest

from counterrank.cli.commands import COMMANDS, run
from counterrank.core.errors import CounterrankError
from frozen import worlds

OUTCOMES = (0, 2, 3)
FIT = {  # tables that a verb can read, for calls that come far
    "evaluate": ["judgments good weak", "judgments both", "judgments.csv weak.csv", "one.j one.r"],
    "strata": ["judgments good weak tied", "one.j one.r"],
    "estimate": ["log new old", "exposed_log new", "slates slate_target", "log sampled", "one.l"],
    "funnel": ["funnel sale_a sale_b", "clicks sale_a", "funnel.csv sale_a", "one.f one.r"],
    "exposure": ["seen", "scrolled", "swapped", "one.l"],
    "check": ["judgments good", "log new", "funnel sale_a", "one.j one.r", "units"],
    "assess power": ["units", "judgments good weak"],
    "assess robustness": ["units", "judgments good weak"],
    "assess agreement": ["units", "judgments good weak"],
    "assess online": ["past", "past_wide", "dated new=new old=old"],
    "assess accuracy": ["trials"],
}
WORDS = {
    "measure": ["nDCG@5", "ap", "RR,P@3", "DCG(gain=exp)@2", "nDCG@0", "P(rel=9)@5", "log2@3", "x"],
    "estimator": ["IPS", "snips,dr", "IPS(clip=2)", "DM", "nDCG", "RIPS", "Naive", "IPS(clip=0)"],
    "position_bias": ["log2", "power(eta=1)", "geometric(p=0.5)", "table(1,0.5)", "log2@2", "x"],
    "reward": ["click", "dwell", "spend", "rank", "session", "click,dwell", "conversion", "user"],
    "context": ["context", "user", "query", "item", "rank", "a,b"],
    "baseline": ["good", "logged", "old", "new", "x", "sale_a", ""],
    "columns": [
        "user=uid",
        "item=sku",
        "rank=place",
        "user=item",
        "score=rank",
        "x=y",
        "rank=click",
    ],
    "cut": ["width", "quantile", "items", "country", "rating", "user"],
    "propensity": ["popularity", "published", "propensity", "chances.parquet", "rating"],
    "feedback": ["feedback.parquet", "good.parquet"],
    "open_loop": ["open.parquet", "good.parquet"],
    "open_run": ["good=open_good.parquet", "weak=open_weak.parquet"],
    "logger": ["a=logger_a.parquet", "b=logger_b.parquet"],
    "predictions": ["predicted.parquet"],
    "user_features": ["user_features.csv"],
    "item_features": ["item_features.parquet"],
    "ctr": ["column", "rates", "factors", "logistic", "x"],
    "cvr": ["column", "rates", "logistic"],
    "by": ["device", "rank", "user", "x"],
    "swapped": ["coin", "device"],
    "control": ["control", "new"],
    "offline": ["RR", "nDCG@10,RR", "x"],
    "memory": ["1GB", "1", "x"],
    "scratch": [".", "nowhere"],
    "master": ["local[1]"],
    "sizes": ["1,0.5", "0", "2", "x"],
    "reduction": ["users", "items,ratings", "x"],
}
NUMBERS = ["0", "1", "2", "7", "30", "-1", "0.5", "0.9", "1e9", "nan", "inf", "x", "9" * 30]
SMALL = {"draws": "40", "resamples": "20", "samples": "2", "sizes": "1,0.6"}


def break_table(table: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    """The table with one thing wrong, or only another."""
    column = rng.choice(table.columns)
    some = (pl.int_range(0, pl.len()) % rng.choice([1, 2, 50])) == 0
    odd = {
        "empty": lambda: table.clear(),
        "one": lambda: table.head(1),
        "few": lambda: table.head(rng.choice([2, 3, 7])),
        "gone": lambda: table.drop(column),
        "null": lambda: table.with_columns(pl.when(~some).then(pl.col(column)).alias(column)),
        "all null": lambda: table.with_columns(pl.lit(None).alias(column)),
        "same": lambda: table.with_columns(pl.lit(1).alias(column)),
        "zero": lambda: table.with_columns(pl.lit(0.0).alias(column)),
        "nan": lambda: table.with_columns(pl.lit(float("nan")).alias(column)),
        "huge": lambda: table.with_columns(pl.lit(1e308).alias(column)),
        "text": lambda: table.with_columns(pl.col(column).cast(pl.String)),
        "list": lambda: table.with_columns(pl.concat_list(pl.col(column)).alias(column)),
        "twice": lambda: pl.concat([table, table]),
        "shuffled": lambda: table.sample(fraction=1, shuffle=True, seed=rng.randrange(99)),
        "renamed": lambda: table.rename({column: rng.choice(["uid", "名前", "row", "x y"])}),
        "system": lambda: table.with_columns(system=pl.lit(rng.choice(["s", "名前", ""]))),
        "exposure": lambda: table.with_columns(exposure=pl.lit(rng.choice([0.5, 0.0, 1.0]))),
        "propensity": lambda: table.with_columns(propensity=pl.lit(rng.choice([0.5, 1.0, 2.0]))),
    }
    return odd[rng.choice(list(odd))]()


def random_call(rng: random.Random, folder: Path) -> list[str]:
    """Words of a call, and the tables it names, some of them broken on the way."""
    verb = rng.choice(list(FIT))
    command = COMMANDS[verb]
    words = verb.split()
    for name in rng.choice(FIT[verb]).split():
        label, mark, stem = name.rpartition("=")
        path = f"{stem}.parquet" if "." not in stem or stem[:4] == "one." else stem
        if path.endswith(".parquet") and rng.random() < 0.3:
            broken = break_table(pl.read_parquet(folder / path), rng)
            path = f"broken{rng.randrange(3)}.parquet"
            broken.write_parquet(folder / path)
        words.append(label + mark + path)
    options = [a for a in command.arguments.values() if not a.place]
    given = {a.name: SMALL[a.name] for a in options if a.name in SMALL}
    for a in rng.sample(options, min(len(options), rng.randrange(5))):
        if a.name in WORDS:
            given[a.name] = rng.choice(WORDS[a.name])
        elif a.words:
            given[a.name] = rng.choice([w for w in (*a.words, "x") if w != "spark"])
        elif a.kind in (int, float):
            given[a.name] = rng.choice(NUMBERS)
    if verb == "estimate" and rng.random() < 0.7:
        given["position_bias"] = "log2"
    given.pop("master", None)
    for name, value in given.items():
        words.append(f"--{name.replace('_', '-')}={value}")
    words += rng.choice([[], [], ["--dry-run"], ["--strict"], ["--format=json"], ["--format=csv"]])
    return words


def outcome(words: list[str]) -> tuple[object, str]:
    """The exit code of a call, or the traceback that nobody should see."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return run(words), ""
    except CounterrankError:
        return 2, ""
    except SystemExit as end:
        return end.code, ""
    except Exception:
        return "traceback", traceback.format_exc()


def attack(seconds: float, seed: int, folder: Path) -> tuple[int, dict[str, str]]:
    """So many calls in so much time, and those that failed, by where they did."""
    worlds.write(folder)
    small = {"j": "judgments", "r": "good", "l": "log", "f": "funnel"}
    for name, whole in small.items():
        pl.read_parquet(folder / f"{whole}.parquet").head(3).write_parquet(
            folder / f"one.{name}.parquet"
        )
    rng, calls, failed = random.Random(seed), 0, {}
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        words = random_call(rng, folder)
        code, told = outcome(words)
        calls += 1
        if code not in OUTCOMES:
            where = "\n".join(told.splitlines()[-4:]) or str(code)
            if where not in failed:
                failed[where] = f"call {calls} of seed {seed}: {' '.join(words)}"
    return calls, failed


@pytest.mark.filterwarnings("ignore")
def test_any_call_ends_with_a_result_or_a_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calls, failed = attack(6.0, 20, tmp_path)
    assert calls > 20
    assert not failed, "\n\n".join(f"{call}\n{where}" for where, call in failed.items())


if __name__ == "__main__":
    import os
    import tempfile
    import warnings

    warnings.simplefilter("ignore")
    place = Path(tempfile.mkdtemp())
    os.chdir(place)
    done, wrong = attack(float(sys.argv[1]), int(sys.argv[2]), place)
    print(done, "calls,", len(wrong), "ways to fail")
    for where, call in wrong.items():
        print(f"\n{call}\n{where}")
