"""One study from its data to its pages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from counterrank.assess.checkpoint import fingerprint
from counterrank.core.parallel import Progress, quiet
from counterrank.documents.document import plain
from counterrank.report.charts import Figure
from counterrank.results.output_files import make_folder, refuse_early, several, whole_text
from counterrank.studies.findings_page import html_page, markdown_page, summary_page
from counterrank.studies.registry import find_study, names
from counterrank.studies.sets import data_root, missing_set
from counterrank.studies.study import STEPS, Context, Study
from counterrank.version import __version__

FINDINGS, WIDE = "findings.json", 640


def reproduce_study(
    name: str,
    *,
    data: str | None = None,
    out: str = "",
    quick: bool = False,
    seed: int = 0,
    progress: Progress = quiet,
) -> dict[str, Any]:
    """What a study found, as plain values; ``findings.json`` and both pages are in ``out``."""
    study, began, root, commit = find_study(name), time.monotonic(), data_root(data), checkout()
    refuse_early(None, out or name, [])
    folder = make_folder(out or name)
    key = fingerprint(name, quick, seed, str(root), commit)
    context = Context(root, quick, seed, folder, progress, key)
    if absent := [needed for needed in study.data if not context.has(needed)]:
        raise missing_set(absent[0], root)
    found = plain_findings(asdict(study.run(context)))
    told = {"data": list(study.data), "command": command_line(study, quick, seed)}
    made = {"study": name, "title": study.title, "paper": study.paper, "quick": quick, **told}
    seconds = time.monotonic() - began
    made |= {"seed": seed, "seconds": seconds, "version": __version__, "commit": commit, **found}
    write_pages(made, folder, name)
    forget_steps(folder / STEPS)
    return made


def forget_steps(folder: Path) -> None:
    """Remove steps of this and of earlier runs; other files stay."""
    for file in folder.glob("*.json") if folder.is_dir() else ():
        if re.fullmatch("[0-9a-f]{12}-.*", file.name):
            file.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def plain_findings(found: Mapping[str, Any]) -> dict[str, Any]:
    """Values that JSON can hold."""
    values: dict[str, Any] = json.loads(json.dumps(plain(_lists(found))))
    return values


def _lists(value: Any) -> Any:
    """Tuples as lists and numbers of NumPy as numbers."""
    if isinstance(value, Mapping):
        return {key: _lists(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_lists(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def command_line(study: Study, quick: bool, seed: int) -> str:
    """What to type for the same again."""
    words = ["counterrank reproduce", study.name, *["--data DIR"] * bool(study.data)]
    return " ".join([*words, *["--quick"] * quick, *[f"--seed {seed}"] * bool(seed)])


def checkout() -> str:
    """The commit of the checkout that this code lies in, with a + if it was changed; or nothing."""
    git = ["git", "-C", str(Path(__file__).parent)]
    here = subprocess.run([*git, "describe", "--always", "--dirty=+", "--match", "-"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    own = subprocess.run([*git, "ls-files", "--error-unmatch", __file__], capture_output=True)
    return here.stdout.strip() if here.returncode == own.returncode == 0 else ""


def write_pages(found: Mapping[str, Any], folder: Path, name: str) -> list[Path]:
    """``findings.json``, ``NAME.md`` with a picture of each figure, and ``report.html``."""
    figures = [Figure(**figure) for figure in found["figures"]]
    drawn = {f"{name}-{number}.svg": figure.svg(WIDE) for number, figure in enumerate(figures, 1)}
    texts = {
        FINDINGS: json.dumps(found, indent=1),
        f"{name}.md": markdown_page(found, list(drawn)),
        "report.html": html_page(found),
        **drawn,
    }
    writers = {
        file: partial(Path.write_text, data=text, encoding="utf-8") for file, text in texts.items()
    }
    return [Path(file) for file in several(folder, writers)]


def write_documentation(results: Path, docs: Path) -> None:
    """Pages of finished runs into the documentation, then the summary of all that are there."""
    home = make_folder(str(docs / "reproductions"))
    for name in names():
        if (results / name / FINDINGS).exists():
            found = json.loads((results / name / FINDINGS).read_text(encoding="utf-8"))
            for path in write_pages(found, make_folder(str(results / name)), name):
                if path.name == FINDINGS:
                    shutil.copy(path, home / f"{name}.json")
                elif path.suffix != ".html":
                    shutil.copy(path, home / path.name)
    files = [home / f"{name}.json" for name in names()]
    known = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]
    whole_text(docs / "reproductions.md", summary_page(known))


if __name__ == "__main__":
    if sys.argv[1:]:
        write_documentation(*map(Path, sys.argv[1:]))
    else:
        print(*names())
