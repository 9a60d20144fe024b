"""``counterrank reproduce``: a published study made again, or the list of studies."""

from __future__ import annotations

import shutil
import sys

from counterrank.api import verb as v
from counterrank.core.format import printable, wrap_text


@v.verb
def reproduce(
    study: str = "",
    *,
    data: v.Folder = None,
    quick: bool = False,
    seed: v.Seed = 0,
    out: v.File | None = None,
    quiet: bool = False,
) -> None:
    """Make a published study again: its numbers beside ours, and which claims hold."""
    from counterrank.cli.output import say
    from counterrank.core.parallel import bar
    from counterrank.core.parallel import quiet as silent
    from counterrank.studies.pipeline import reproduce_study

    wide = shutil.get_terminal_size().columns
    if not study:
        say(studies_list(wide))
        return
    folder = out or f"reproduce-{study}"
    found = reproduce_study(
        study,
        data=None if data is None else str(data),
        out=folder,
        quick=quick,
        seed=seed,
        progress=silent if quiet else bar,
    )
    lines = [found["title"], ""]
    for claim in found["claims"]:
        lines += wrap_text(f"{claim['state']}: {claim['sentence']} {claim['why']}", wide)
    say(lines)
    print(f"Wrote {printable(folder)}: findings.json, {study}.md, report.html.", file=sys.stderr)


def studies_list(wide: int) -> list[str]:
    """Every study: what it is, what it needs, how long it takes."""
    from counterrank.studies.registry import find_study, names

    lines = []
    for study in map(find_study, names()):
        needs = f"needs {', '.join(study.data)}" if study.data else "needs no data"
        lines += [study.name, *(f"  {line}" for line in wrap_text(study.paper, wide - 2))]
        lines.append(f"  {needs}; about {study.minutes:g} min on one core, less with --quick")
    return [*lines, "", "counterrank reproduce STUDY --data DIR makes one again."]
