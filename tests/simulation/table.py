"""``make simulate``: every row of these simulations at full size, as a page of the docs.

Run from the root: ``python tests/simulation/table.py [docs/coverage.md] [--only NAME ...]``. Each
file has ``rows(full)``; a file that was done at this commit is not done again after a stop.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEPT = ROOT / "build" / "simulate"
KEYS = ("coverage_value", "coverage_lift", "error_rate", "diagnosed")
HEADS = ("value covered", "lift covered", "wrongly called", "diagnosed")
INTRO = """# Coverage, as simulated

Every row is a condition that users meet, in worlds whose truth is known: how often the interval of
a value and of a lift holds the truth (0.95 is promised), how often something unrelated is called
related, and how often a diagnostic other than pass says before the fact that the interval may not
hold. Worlds are those of `tests/simulation/` and `tests/worlds/`, written apart from the library's
simulator. `make simulate` makes this page.

*Within* is two Monte Carlo standard errors of a share of 0.95 at so many replications: what is
further below 0.95 is no accident.
"""


def commit() -> str:
    """The commit these numbers are of."""
    call = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=9"]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()


def rows_of(file: Path, made_by: str) -> list[dict[str, Any]]:
    """The rows of a file, from its last run at this commit if there was one."""
    kept = KEPT / f"{file.stem}-{made_by}.json"
    if kept.exists() and not made_by.endswith("-dirty"):
        found: list[dict[str, Any]] = json.loads(kept.read_text())
        return found
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    began = time.perf_counter()
    rows = [dict(row) for row in module.rows(full=True)]
    print(f"{file.stem}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(rows, default=float))
    return rows


def lines_of(title: str, rows: list[dict[str, Any]]) -> list[str]:
    """A table with the columns that its rows have."""
    shown = [(k, h) for k, h in zip(KEYS, HEADS, strict=True) if any(k in row for row in rows)]
    heads = ["condition", "estimator", *(head for _, head in shown), "replications", "within"]
    out = [f"## {title}", "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for row in rows:
        n = int(row["replications"])
        cells = [str(row["condition"]), str(row.get("estimator") or "")]
        cells += ["" if row.get(k) is None else f"{row[k]:.3f}" for k, _ in shown]
        within = 2 * (0.95 * 0.05 / n) ** 0.5
        out.append(f"| {' | '.join([*cells, f'{n:,}', f'{within:.3f}'])} |")
    return [*out, ""]


def main() -> None:
    """Every file, or those named, and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="?", default=str(ROOT / "docs" / "coverage.md"))
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    sys.path.insert(0, str(HERE.parent))
    made_by, parts = commit(), [INTRO]
    for file in sorted(HERE.glob("test_*.py")):
        title = (file.read_text().split('"""')[1].split("\n")[0]).rstrip(".")
        if not given.only or file.stem in given.only:
            parts += ["\n".join(lines_of(title, rows_of(file, made_by)))]
    parts.append(f"Made at commit `{made_by}` by `make simulate`.\n")
    Path(given.page).write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
