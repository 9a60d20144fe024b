"""``make torture``: the generators at length, whose figures become docs/reliability.md.

torture.py [documents] [command lines] [faults] [seed]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.calls import call, write_tables
from faults.injector import FAULTS, WRITERS, attack_writers
from faults.mutants import attack_documents, attack_lines

ROOT = Path(__file__).resolve().parents[2]
USUAL = (10_000, 10_000, 200, 0)
PAGE = """# Reliability

What happens when something goes wrong: a document that was cut off, a command line of other
words, a full disk, `kill -9`. Below are the figures of the last long run; `make torture` makes
them anew. `tests/faults/` runs the same generators, briefly, with every change, beside a test for
each fault that was ever found.

| what | attempts | failures | longest, s | took, s |
|---|---|---|---|---|
{rows}

Run on {date}, commit {commit}, seed {seed}, Python {python} on {system}.

- **Mutated documents**: results and position models with places changed, removed, doubled or cut
  off, given to `gate`, `report`, `repeat` and `estimate`. **Mutated command lines**: words of
  every verb dropped, swapped, cut or put in. Both must end with exit code 0, 2 or 3, without a
  traceback.
- **Faults while writing**: {faults}, at random moments of {writers}. Every file must then be the
  old one or the new one, byte for byte; `result.json`, `units.parquet` and `report.html` of one
  run; nothing else touched; and the next run must leave nothing behind.

A failure here is a defect. `SECURITY.md` says what is trusted, and [what is
tested where](compatibility.md) on which systems.
"""


def commit() -> str:
    """The commit of this checkout, with a + if it was changed."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--match", "-"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def main(documents: int, lines: int, faults: int, seed: int) -> int:
    """Attack, write the page, and say what failed."""
    warnings.simplefilter("ignore")
    made_of, rows, every = commit(), [], []
    with tempfile.TemporaryDirectory() as place:
        folder = write_tables(Path(place) / "work")
        os.chdir(folder)
        words = "evaluate judged.csv old.csv new.csv -m nDCG@3,P@2 --baseline old --out saved"
        assert call(*words.split(), "--quiet", "--draws", 200)[0] == 0
        for name, count, attack in (("mutated documents", documents, attack_documents),
                                    ("mutated command lines", lines, attack_lines)):  # fmt: skip
            begin = time.monotonic()
            done, failed, longest = attack(count, seed, folder)
            took = time.monotonic() - begin
            rows.append(f"| {name} | {done:,} | {len(failed)} | {longest:.1f} | {took:.0f} |")
            print(rows[-1], flush=True)
            every += [f"{words}\n{where}" for where, words in failed.items()]
        begin = time.monotonic()
        fresh = write_tables(Path(place) / "fresh")
        os.rename(folder / "saved", fresh / "saved")
        done, wrong = attack_writers(faults, seed, fresh)
        took = time.monotonic() - begin
        rows.append(f"| faults while writing | {done:,} | {len(wrong)} | | {took:.0f} |")
        print(rows[-1], flush=True)
        os.chdir(ROOT)
    told = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": made_of, "seed": seed,
            "python": sys.version.split()[0], "system": sys.platform,
            "faults": ", ".join(FAULTS), "writers": ", ".join(WRITERS)}  # fmt: skip
    if (documents, lines, faults, seed) == USUAL:
        page = PAGE.format(rows="\n".join(rows), **told)
        (ROOT / "docs" / "reliability.md").write_text(page, encoding="utf-8")
    print("\n\n".join([*every, *wrong]), file=sys.stderr)
    return bool(every or wrong)


if __name__ == "__main__":
    given = [int(x) for x in sys.argv[1:5]]
    sys.exit(main(*given, *USUAL[len(given) :]))
