"""``make simulate``: every row of these simulations at full size, as a page of the docs.

Run from the root: ``python tests/simulation/table.py [docs/coverage.md] [--only NAME ...]``. Each
file with ``rows(full)`` is a table of the page, which names the commit that made it. Made anew
are those named by ``--only`` (without it, those not made at this commit); the others stay as the
page has them. The page is written after each, so that a run may be cut short and go on.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEYS = ("coverage_value", "coverage_lift", "error_rate", "diagnosed", "range")
HEADS = ("value covered", "lift covered", "wrongly called", "diagnosed", "largest / least value")
INTRO = """# Coverage, as simulated

Every row is a condition that users meet, in worlds whose truth is known: how often the interval of
a value and of a lift holds the truth (0.95 is promised), how often something unrelated is called
related, and how often a diagnostic other than pass says before the fact that the interval may not
hold (of strata: how often it fails; of chances that are fitted or counted: how often the verdict is
not pass). Worlds are those of `tests/simulation/` and `tests/worlds/`, written apart from the
library's simulator. `make simulate` makes this page.

*Within* is two Monte Carlo standard errors of a share of 0.95 at so many replications: what is
further below 0.95 is no accident. Clipped weights cover more often than they say: their interval
reaches as far as clipping can move the value. Of several candidates the one that looks best has
the interval of its value as any other, which covers less; the result says that it was picked, and
has its difference corrected for that.
"""


def commit() -> str:
    """The commit these numbers are of."""
    call = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=9"]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()


def simulations() -> dict[Path, str]:
    """The files that make a table, with its title."""
    files = (f for f in sorted(HERE.glob("test_*.py")) if "\ndef rows(" in f.read_text())
    return {f: f.read_text().split('"""')[1].split("\n")[0].rstrip(".") for f in files}


def tables_of(page: Path) -> dict[str, str]:
    """The tables that a page has, by their titles."""
    if not page.exists():
        return {}
    parts = page.read_text(encoding="utf-8").split("\n## ")[1:]
    return {part.partition("\n")[0]: f"## {part.strip()}\n" for part in parts}


def make_rows(file: Path) -> list[dict[str, Any]]:
    """Run a file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    began = time.perf_counter()
    rows = [dict(row) for row in module.rows(full=True)]
    print(f"{file.stem}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return rows


def lines_of(title: str, rows: list[dict[str, Any]], made_by: str) -> list[str]:
    """A table with the columns that its rows have, and the commit that made them."""
    shown = [(k, h) for k, h in zip(KEYS, HEADS, strict=True) if any(k in row for row in rows)]
    heads = ["condition", "estimator", *(head for _, head in shown), "replications", "within"]
    out = [f"## {title}", "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for row in rows:
        n = int(row["replications"])
        cells = [str(row["condition"]), str(row.get("estimator") or "")]
        cells += ["" if row.get(k) is None else f"{row[k]:.3f}" for k, _ in shown]
        within = 2 * (0.95 * 0.05 / n) ** 0.5
        out.append(f"| {' | '.join([*cells, f'{n:,}', f'{within:.3f}'])} |")
    return [*out, "", f"Made at commit `{made_by}`.", ""]


def main() -> None:
    """Every file, or those named, and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="?", default=str(ROOT / "docs" / "coverage.md"))
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    sys.path.insert(0, str(HERE.parent))
    page, made_by = Path(given.page), commit()
    titles, tables = simulations(), tables_of(page)
    for file, title in titles.items():
        done = tables.get(title, "").endswith(f"`{made_by}`.\n") and not made_by.endswith("-dirty")
        if file.stem in given.only if given.only else not done:
            tables[title] = "\n".join(lines_of(title, make_rows(file), made_by))
            found = [tables[title] for title in titles.values() if title in tables]
            page.write_text("\n".join([INTRO, *found]), encoding="utf-8")


if __name__ == "__main__":
    main()
