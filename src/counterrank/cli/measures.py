"""``counterrank measures [NAME]``: what there is, and what a name means."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, fields
from typing import Any, Literal

from counterrank.api.verb import verb

TIES = (
    "equal scores: item id, descending by bytes, as trec_eval (--ties id); file order (file);"
    " 32-bit scores, as rec_eval (id32)"
)
EXPECTED = "; exact mean over all orders (expected)"


@verb
def measures(name: str | None = None, *, format: Literal["table", "json", "csv"] = "table") -> None:
    """List the measures, or print one's exact definition."""
    from counterrank.core.labels import load_plugins
    from counterrank.metrics import measure

    broken = load_plugins()
    found = [kind() for kind in measure.kinds.values()] if name is None else [measure(name)]
    if format == "json":
        print(json.dumps([_record(m) for m in found], indent=1, ensure_ascii=False))
    elif format == "csv":
        print("name,better,says")
        for m in found:
            print(f'{m.name},{m.better},"{m.about.says}"')
    elif name is None:
        _list(found, broken)
    else:
        _define(found[0])


def _list(found: list[Any], broken: list[str]) -> None:
    from counterrank.metrics import ALIASES

    for m in found:
        _wrapped(m.name, m.about.says)
    _wrapped("", "Other names: " + ", ".join(f"{a} = {b}" for a, b in ALIASES.items()) + ".")
    print("\nWrite NAME(option=value)@k, as in AP(rel=4)@100. All but pnDCG also take")
    print("mean=geometric. `counterrank measures NAME` prints the exact definition.")
    for sentence in broken:
        print(sentence)


def _define(m: Any) -> None:
    about = m.about
    lines = {
        "": about.says,
        "formula": about.formula,
        "gain": about.gain,
        "discount": about.discount,
        "ideal": about.ideal,
        "ties": TIES + (EXPECTED if m.linear else ""),
        "empty": about.empty,
        "missing": "0 for a judged user without a list; policy missing can skip them"
        if m.better == "higher"
        else "every relevant item below the list, for a judged user without one",
        "mean": "ratio of means"
        if not m.geometric
        else "arithmetic; mean=geometric floors each user at floor=1e-05",
        "options": ", ".join(f"{f.name}={getattr(m, f.name)}" for f in fields(m) if f.name != "k"),
        "better": m.better,
        "agrees": about.peers,
        "source": about.source,
    }
    print(str(m))
    for head, text in lines.items():
        _wrapped(head, text)


def _wrapped(head: str, text: str) -> None:
    for place, line in enumerate(textwrap.wrap(text, 68)):
        print(f"  {head if place == 0 else '':<9}{line}")


def _record(m: Any) -> dict[str, Any]:
    return {
        "label": str(m),
        "better": m.better,
        "options": {f.name: str(getattr(m, f.name)) for f in fields(m)},
        **asdict(m.about),
    }
