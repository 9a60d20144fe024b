"""The findings of a study as a Markdown page and as an HTML page, from their JSON alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterrank.report.charts import Figure
from counterrank.report.html import rows_as_table, text
from counterrank.report.page import complete_page, figure_section

Findings = Mapping[str, Any]
CLAIMS = {
    "sentence": "claim", "theirs": "theirs", "ours": "ours", "state": "here", "why": "why",
}  # fmt: skip
DIFFERENCES = {"where": "where", "paper": "paper", "ours": "ours", "because": "because"}


def cell_text(value: Any, se: float | None = None) -> str:
    """A number in four digits, with its standard error if known; texts as they are."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    whole = isinstance(value, int) or (float(value).is_integer() and abs(value) >= 1000)
    spread = "" if se is None else f" ± {se:.2g}"
    return (f"{value:,.0f}" if whole else f"{value:.4g}") + spread


def side_by_side(one: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Headings and texts of a table; a column with two numbers in a cell becomes two."""
    columns = list(zip(*one["rows"], strict=True)) or [() for _ in one["columns"]]
    headings: list[str] = []
    texts: list[list[str]] = []
    for heading, column in zip(one["columns"], columns, strict=True):
        cells = [c if isinstance(c, Mapping) else {"ours": c} for c in column]
        both = any(c.get("paper") is not None for c in cells)
        if both:
            headings.append(f"{heading}, paper")
            texts.append([cell_text(c.get("paper")) if "paper" in c else "" for c in cells])
        headings.append(f"{heading}, here" if both else heading)
        texts.append([cell_text(c["ours"], c.get("se")) for c in cells])
    return headings, [list(row) for row in zip(*texts, strict=True)]


def made_by(found: Findings) -> str:
    """Which run made the page."""
    commit = f", commit {found['commit']}" if found.get("commit") else ""
    size = "the quick form" if found["quick"] else "full size"
    return (
        f"Made by `{found['command']}` in {found['seconds']:.0f} s ({size}, counterrank"
        f" {found['version']}{commit})."
    )


def markdown_page(found: Findings, pictures: Sequence[str] = ()) -> str:
    """One page; ``pictures`` are files of the figures, in their order."""
    lines = [f"# {found['title']}", "", found["paper"], "", made_by(found), ""]
    lines += ["## What holds", "", *_markdown_rows(found["claims"], CLAIMS), ""]
    for one in found["tables"]:
        headings, rows = side_by_side(one)
        lines += [f"## {one['title']}", ""] + ([one["note"], ""] if one["note"] else [])
        lines += [*_markdown(headings, rows), ""]
    for figure, picture in zip(found["figures"], pictures, strict=False):
        lines += [f"## {figure['title']}", "", figure["reading"], ""]
        lines += [f"![{figure['title']}]({picture})", ""]
    if found["differences"]:
        lines += ["## The largest differences", ""]
        lines += [*_markdown_rows(found["differences"], DIFFERENCES), ""]
    if found["notes"]:
        lines += ["## Notes", "", *(f"- {note}" for note in found["notes"]), ""]
    return "\n".join(lines)


def _markdown_rows(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> list[str]:
    known = {key: head for key, head in columns.items() if any(row[key] != "" for row in rows)}
    return _markdown(list(known.values()), [[cell_text(row[key]) for key in known] for row in rows])


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(headings), "|" + "---|" * len(headings), *map(line, rows)]


def html_page(found: Findings) -> str:
    """The same as one HTML page, in the looks of all reports."""
    parts = [
        f"<section><h1>{text(found['title'])}</h1><p>{text(found['paper'])}</p>"
        f"<p>{text(made_by(found))}</p></section>",
        _section("What holds", found["claims"], CLAIMS, "claims"),
    ]
    for number, one in enumerate(found["tables"]):
        headings, rows = side_by_side(one)
        keyed = [dict(zip(headings, row, strict=True)) for row in rows]
        columns = {heading: heading for heading in headings}
        parts.append(_section(one["title"], keyed, columns, f"table{number}", one["note"]))
    parts.append(figure_section(1, [Figure(**figure) for figure in found["figures"]]))
    if found["differences"]:
        rows_ = [{k: cell_text(v) for k, v in row.items()} for row in found["differences"]]
        parts.append(_section("The largest differences", rows_, DIFFERENCES, "differences"))
    notes = "".join(f"<li>{text(note)}</li>" for note in found["notes"])
    parts.append(f"<section><h2>Notes</h2><ul>{notes}</ul></section>" if notes else "")
    return complete_page(found["title"], [f'<article id="r1">{"".join(parts)}</article>'])


def _section(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    name: str,
    note: str = "",
) -> str:
    lead = f"<p>{text(note)}</p>" if note else ""
    body = rows_as_table(rows, columns, caption=title, id=name)
    return f"<section><h2>{text(title)}</h2>{lead}{body}</section>"


def summary_page(every: Sequence[Findings]) -> str:
    """All claims of all studies in one table, with the pages below."""
    lines = ["# Reproductions", "", SUMMARY, ""]
    lines += _markdown(
        ["study", "paper", "claim", "theirs", "ours", "here", "why"],
        [
            [f"[{found['study']}](reproductions/{found['study']}.md)" + QUICK * found["quick"]]
            + [short_paper(found)]
            + [cell_text(claim[key]) or "-" for key in CLAIMS]
            for found in every
            for claim in found["claims"]
        ],
    )
    names = [f"reproductions/{found['study']}" for found in every]
    toctree = ["```{toctree}", ":hidden:", "", *names, "```"]
    return "\n".join([*lines, "", *toctree, ""])


SUMMARY = (
    "Published claims, made again by `counterrank reproduce STUDY`. A claim holds, does not hold,"
    " or cannot be told with the data at hand; each page has the paper's numbers beside ours, what"
    " explains the largest differences, and the command. Data are read from `--data DIR` or the"
    " folder that `COUNTERRANK_DATA` names. `make reproductions` writes it all anew."
)
QUICK = " (quick form)"


def short_paper(found: Findings) -> str:
    """Author and year."""
    return str(found["paper"]).partition(":")[0]
