"""Kills, full disks, closed pipes and inputs that change at random moments of verbs that write.

Afterwards every file is the old one or the new one, byte for byte, and those of a result are of one
run; nothing else was touched; and once more without a fault leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from faults.calls import begin

EVALUATE = "evaluate judged.csv old.csv new.csv -m {} --test none --quiet"
WRITERS = {  # in two forms, whose files differ
    "out": (f"{EVALUATE} --out made/out", "P@2", "RR"),
    "out beside others": (f"{EVALUATE} --out made", "P@2", "RR"),
    "by-unit": (f"{EVALUATE} --by-unit made/units.csv", "P@2", "RR"),
    "disk": (f"{EVALUATE} --partitions 3 --scratch made --by-unit made/u.parquet", "P@2", "RR"),
    "report": ("report saved -o made/page.html --title {}", "one", "two"),
    "gate": ("gate saved --summary made/summary.md --min-lift {}", "1%", "2%"),
    "exposure": ("exposure log.csv --method em --out made/model.json --level {}", "0.9", "0.8"),
    "simulate": ("simulate --out made/world --sessions 100 --quiet --seed {}", "0", "1"),
    "assess": (
        "assess power judged.csv old.csv new.csv --draws 50 --resamples 20 --quiet --out made/power"
        " --seed {}", "0", "1",
    ),
    "demo": ("demo --out made/demo --sessions 300 --quiet --seed {}", "0", "1"),
    "reproduce": ("reproduce primer --quick --quiet --out made/primer --seed {}", "0", "1"),
}  # fmt: skip
SWAPPED = "judged.csv"
FAULTS = ("kill", "end", "interrupt", "full", "pipe", "swap")
SIGNALS = {"kill": signal.SIGKILL, "end": signal.SIGTERM, "interrupt": signal.SIGINT}
ENDS = {"end": (0, 3, 143, -15), "interrupt": (0, 3, 130, -2), "kill": (0, 3, -9),
        "full": (0, 2, 3), "pipe": (0, 3), "swap": (0, 2, 3)}  # fmt: skip
TIMED = ("findings.json", "primer.md", "report.html")  # of studies: they say how long it took


def digests(folder: Path, *, inside: bool) -> dict[str, str]:
    """What stands in a folder: the made, or all else."""
    files = [p for p in folder.rglob("*") if p.is_file() and not on_its_way(p, folder)]
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in files
        if ("made" in p.relative_to(folder).parts[:1]) == inside
    }


def on_its_way(path: Path, folder: Path) -> bool:
    """Whether it lies in a folder with our mark, or is a result so far."""
    parts = path.relative_to(folder).parts
    return any(
        p.startswith((".counterrank-", "counterrank-", ".steps", "unfinished")) for p in parts
    )


@dataclass
class Writer:
    """A verb that writes, what it leaves in either form, and how long it takes."""

    name: str
    folder: Path
    forms: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def messages(self) -> Path:
        """A file for what goes to standard error, outside of the folder."""
        return self.folder.with_name(f"{self.folder.name}-messages")

    def line(self, form: int) -> list[str]:
        """The command in one of its forms."""
        line, *values = WRITERS[self.name]
        return line.format(values[form]).split()

    def empty(self) -> None:
        """An empty folder; where a result lies beside others, one with a file of others."""
        shutil.rmtree(self.folder / "made", ignore_errors=True)
        (self.folder / "made").mkdir()
        if self.name == "out beside others":
            (self.folder / "made" / "notes.txt").write_text("mine\n")

    def run(self, form: int) -> dict[str, str]:
        """What it leaves without a fault."""
        start = time.monotonic()
        work = begin(self.line(form), self.folder, self.messages)
        work.join(120)
        self.seconds = time.monotonic() - start
        assert work.exitcode in (0, 3), self.messages.read_text()
        return digests(self.folder, inside=True)

    def learn(self) -> None:
        """Both forms, each into an empty folder; an append of either to the other."""
        for form in (0, 1):
            self.empty()
            self.forms.append(self.run(form))
        assert self.forms[0] != self.forms[1]
        if self.name == "gate":
            self.forms.append(self.run(0))
        self.empty()


def inject(writer: Writer, fault: str, rng: random.Random) -> str:
    """One fault into one writer over its older form; what is wrong afterwards, or nothing."""
    folder = writer.folder
    writer.empty()
    if rng.random() < 0.7:
        writer.run(1)
    old, before = digests(folder, inside=True), digests(folder, inside=False)

    work = begin(writer.line(0), folder, writer.messages, fault, rng.randrange(0, 60_000))
    if fault in SIGNALS or fault == "swap":
        time.sleep(rng.uniform(0.0, 1.0) * writer.seconds)
    if fault in SIGNALS:
        with contextlib.suppress(ProcessLookupError):
            os.kill(work.pid, SIGNALS[fault])
    if fault == "swap":
        text = (folder / SWAPPED).read_text()
        (folder / "other").write_text("\n".join(text.split("\n")[:30]) + "\n")
        (folder / "kept").write_text(text)
        os.replace(folder / "other", folder / SWAPPED)
    work.join(120)
    if work.exitcode is None:
        work.kill()
        return "it hangs"
    if fault == "swap":
        os.replace(folder / "kept", folder / SWAPPED)
    err = writer.messages.read_text() if writer.messages.exists() else ""
    begun = "cli/__init__.py" in err  # before its first line nobody can catch a signal
    if "Traceback" in err and (fault != "interrupt" or begun):
        return err[-600:]
    if work.exitcode not in ENDS[fault] and (fault != "interrupt" or begun):
        return f"exit code {work.exitcode}: {err[-300:]}"
    if digests(folder, inside=False) != before:
        return "something else was touched"
    found = digests(folder, inside=True)
    return "" if fault == "swap" and work.exitcode == 0 else mixed(writer, old, found)


def mixed(writer: Writer, old: dict[str, str], found: dict[str, str]) -> str:
    """What is neither old nor new, or is of both where all is one result."""
    new = writer.forms[0] if not (writer.name == "gate" and old) else writer.forms[2]
    odd = [name for name, own in found.items()
           if own not in (old.get(name), new.get(name)) and not name.endswith(TIMED)]  # fmt: skip
    if odd:
        return f"neither old nor new: {odd}"
    lost = [name for name in old if name not in found]
    if lost:
        return f"lost: {lost}"
    whole = writer.name in ("out", "assess")
    return "of two runs" if whole and found not in (old, new) else ""


def attack_writers(count: int, seed: int, folder: Path) -> tuple[int, list[str]]:
    """So many faults, each into a folder that holds an old result or nothing."""
    rng, failed, writers = random.Random(seed), [], {}
    for turn in range(count):
        name = list(WRITERS)[(turn + seed) % len(WRITERS)]
        if name not in writers:
            writers[name] = Writer(name, folder)
            writers[name].learn()
        fault = rng.choice(FAULTS)
        if wrong := inject(writers[name], fault, rng):
            failed.append(f"{name}, {fault}: {wrong}")
        writers[name].run(0)
        left = [str(p) for p in (folder / "made").rglob("*") if on_its_way(p, folder)]
        if left:
            failed.append(f"{name}, {fault}: left behind: {left}")
    return count, failed
