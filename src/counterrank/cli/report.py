"""``counterrank report RESULT... -o page.html``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Results = Annotated[
    list[str],
    typer.Argument(metavar="RESULT", help="Folders that --out wrote, or JSON documents."),
]
Output = Annotated[str, typer.Option("--output", "-o", metavar="PATH", help="The page to write.")]
Title = Annotated[str, typer.Option(help="What the page is called. [default: what it shows]")]


def report(results: Results, output: Output = "report.html", title: Title = "") -> None:
    """Turn results into one page that shows them: self-contained, nothing is loaded."""
    from counterrank.cli import writing
    from counterrank.documents.saved import saved
    from counterrank.report import bundle, page

    documents = [saved(path) for path in results]
    html = page(documents, title=title)
    writing.whole(Path(output), lambda temporary: temporary.write_text(html, encoding="utf-8"))
    typer.echo(f"Wrote {output}.", err=True)
    if not bundle.there():
        typer.echo("Without charts: pip install 'counterrank[report]' draws them.", err=True)
