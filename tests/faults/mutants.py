"""Documents and command lines with something wrong in them, by a seed."""

from __future__ import annotations

import copy
import json
import random
import time
from pathlib import Path
from typing import Any

from faults.calls import OUTCOMES, call, outcome

ODD: list[Any] = [
    None, True, False, 0, -1, 1e308, -0.0, 0.5, 10**30, "", "x", "pass", "fail", "FAIL", "\x1b[31m",
    "=1+1", "@all", "名前", [], {}, [None], [[]], {"": None}, {"name": "x"}, "9" * 400,
]  # fmt: skip
KINDS = {
    "evaluate": "evaluate judged.csv old.csv new.csv -m nDCG@3 --baseline old --draws 50",
    "estimate": "estimate log.csv target.csv --position-bias log2",
    "funnel": "funnel funnel.csv old.csv new.csv -m DCG@3",
    "strata": "strata judged.csv old.csv new.csv -m nDCG@3",
    "exposure": "exposure log.csv --method em",
    "check": "check judged.csv old.csv",
    "power": "assess power judged.csv old.csv new.csv --draws 50 --resamples 20",
    "agreement": "assess agreement judged.csv old.csv new.csv --draws 50 --resamples 20",
    "robustness": "assess robustness judged.csv old.csv new.csv --samples 2",
}


def documents() -> list[dict[str, Any]]:
    """One document of each verb, of the tables where we are."""
    found = []
    for line in KINDS.values():
        code, out, err = call(*line.split(), "--format", "json")
        assert code == 0, err
        found.append(json.loads(out))
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    if not isinstance(value, (dict, list)):
        return [path]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(p for key, own in inner for p in places(own, (*path, key)))]


def mutant(document: Any, where: list[tuple[Any, ...]], rng: random.Random) -> str:
    """The document with one to three places changed, removed, doubled, or its text cut."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        *path, last = rng.choice(where[1:])
        home = document
        try:
            for key in path:
                home = home[key]
            match rng.choice(["set", "set", "set", "drop", "copy", "rename"]):
                case "set":
                    home[last] = rng.choice(ODD)
                case "drop":
                    del home[last]
                case "copy":
                    home[last] = [home[last], home[last]]
                case _:
                    home[f"{last}x"] = home.pop(last)
        except (LookupError, TypeError, AttributeError):
            continue  # another change was there before
    text = json.dumps(document)
    if rng.random() < 0.05:
        cut = rng.randrange(len(text))
        text = text[:cut] + rng.choice(["", "]", '"', "\x00", "NaN", "{" * 2000]) + text[cut + 1 :]
    return text


def attack_documents(count: int, seed: int, folder: Path) -> tuple[int, dict[str, str], float]:
    """So many documents to every verb that reads some; failures by where, and the longest time."""
    rng, failed, longest = random.Random(seed), {}, 0.0
    several = [(d, places(d)) for d in documents()]
    file = folder / "mutant.json"
    for turn in range(count):
        document, where = rng.choice(several)
        file.write_text(mutant(document, where, rng))
        reading = [["gate", file], ["report", file, "-o", folder / "page.html"]]
        if turn % 25 == 0:
            reading = [["repeat", file]]
        if document["kind"] == "exposure":
            reading.append(
                ["estimate", "log.csv", "target.csv", "--position-bias", file, "--dry-run"]
            )
        words = reading[turn % len(reading)]
        begin = time.monotonic()
        code, trace = outcome(*words)
        longest = max(longest, time.monotonic() - begin)
        if code not in OUTCOMES:
            failed.setdefault("\n".join(trace.splitlines()[-3:]) or str(code), str(words))
            (folder / f"failed-{len(failed)}.json").write_text(file.read_text())
    return count, failed, longest


LINES = [*KINDS.values(), "gate saved", "report saved -o page.html", "repeat saved --data .",
         "simulate --out world --sessions 20 --quiet", "demo --out shown --sessions 100 --quiet",
         "reproduce primer --quick --out made", "assess online log.csv --reward click",
         "assess accuracy judged.csv",
         "measures", "measures nDCG", "check judged.csv old.csv --measure P@2"]  # fmt: skip
WORDS = [
    "", "-", "--", "=", ",", "nope", "judged.csv", "old.csv", "log.csv", "saved", ".", "/", "..",
    "--format=json", "--format=csv", "--format=x", "--dry-run", "--strict", "-m", "nDCG@0",
    "P(rel=)@5", "--baseline", "old", "--columns", "user=nope", "user=", "--level", "2", "nan",
    "--seed", "-1", "--draws=1", "--interval=bca", "--test=none", "--correct=bh", "--quiet",
    "--config", "--memory=1", "--partitions=2", "--partitions=0", "\x1b[31m", "名前", "9" * 50,
    "--decide-by", "--min-lift=x", "--guard", "a=1", "--help", "--position-bias", "table(1,0.5)",
    "log2@2", "@", "a=b=c", "--missing=skip", "--ties=expected", "--out", "--by-unit=units.csv",
]  # fmt: skip
REHEARSED = ("evaluate", "estimate", "funnel", "strata", "exposure", "check", "assess")
ENDLESS = ("--mlflow", "--master", "--engine")  # not what this is about


def mutated_line(rng: random.Random) -> list[str]:
    """A command line with words dropped, doubled, swapped, changed or put in."""
    words = rng.choice(LINES).split()
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(words)) if words else 0
        match rng.choice(["in", "in", "set", "drop", "swap", "cut"]):
            case "in":
                words.insert(place + 1, rng.choice(WORDS))
            case "set" if words:
                words[place] = rng.choice(WORDS)
            case "drop" if words:
                del words[place]
            case "swap" if words:
                other = rng.randrange(len(words))
                words[place], words[other] = words[other], words[place]
            case "cut" if words:
                words[place] = words[place][: rng.randrange(len(words[place]) + 1)]
    return [w for w in words if not w.startswith(ENDLESS)]


def attack_lines(count: int, seed: int, folder: Path) -> tuple[int, dict[str, str], float]:
    """So many command lines; most are only rehearsed, one in ten runs."""
    rng, failed, longest = random.Random(seed), {}, 0.0
    for _ in range(count):
        words = mutated_line(rng)
        if rng.random() < 0.9 and words and words[0] in REHEARSED:
            words.append("--dry-run")
        begin = time.monotonic()
        code, trace = outcome(*words)
        longest = max(longest, time.monotonic() - begin)
        if code not in OUTCOMES:
            failed.setdefault("\n".join(trace.splitlines()[-3:]) or str(code), str(words))
    return count, failed, longest
