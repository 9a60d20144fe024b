"""The page: decision, estimates, comparisons, figures, diagnostics, protocol, provenance."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from counterrank.documents.decision import Decision, decide
from counterrank.report import html as bundle
from counterrank.report import tables
from counterrank.report.charts import DATA, Figure
from counterrank.report.figures import figures
from counterrank.report.html import data, name, text, visible
from counterrank.version import __version__

Document = Mapping[str, Any]

# Nothing may be fetched, whatever the data say.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline';"
    " img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
)
SIMULATED = "<p>Simulated data: the truth is known and stands at the end.</p>"
NO_CHARTS = (
    "<section><h2>Figures</h2><p>Charts need an extra: <code>pip install"
    " 'counterrank[report]'</code>. The tables above hold the same numbers.</p></section>"
)
SIGNS = {"ship": "✓", "keep": "=", "open": "?", "distrust": "✗", "read": ""}
WORDS = {
    "ship": "ship it", "keep": "keep what you have", "open": "not decided",
    "distrust": "do not decide on this", "read": "for information",
}  # fmt: skip


def page(documents: Sequence[Document], *, title: str = "") -> str:
    """One HTML page of one or more results, which loads nothing from anywhere."""
    drawn = bundle.can_draw()
    parts = [_result(n, one, drawn=drawn) for n, one in enumerate(documents, 1)]
    heading = title or " and ".join(dict.fromkeys(str(d.get("kind", "result")) for d in documents))
    scripts = [f"<script>{bundle.script()}</script>"] if drawn else []
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Counterrank: {text(heading)}</title>",
            f"<style>{_asset('page.css')}</style></head>",
            f"<body><header><p>Counterrank <span>{text(heading)}</span></p>",
            '<button type="button" id="theme">Dark or light</button></header><main>',
            *parts,
            f"</main><footer>Made by counterrank {text(__version__)}. This page is complete in"
            " itself and loads nothing.</footer>",
            *scripts,
            f"<script>{_asset('page.js')}</script></body></html>",
        ]
    )


def _asset(file: str) -> str:
    return files("counterrank.report").joinpath("assets", file).read_text(encoding="utf-8")


def _result(number: int, document: Document, *, drawn: bool) -> str:
    """One result, from its decision to its provenance."""
    shown = "".join(_figure(number, f) for f in figures(document)) if drawn else ""
    parts = [
        _decision(decide(document), str(document.get("estimand", ""))),
        SIMULATED * ("truth" in document.get("tables", {})),
        tables.diagnostics(document, f"r{number}"),
        f"<section><h2>Figures</h2>{shown}</section>" if shown else NO_CHARTS * (not drawn),
        *tables.sections(document, f"r{number}"),
        tables.words(document),
        _protocol(document),
        _provenance(document),
    ]
    return f'<article id="r{number}">{"".join(parts)}</article>'


def _decision(decision: Decision, estimand: str) -> str:
    told = f"<p class='estimand'>What is estimated: {text(estimand)}</p>" if estimand else ""
    return (
        f'<section class="decision {decision.verdict}"><h1><span class="badge">'
        f'<span aria-hidden="true">{SIGNS[decision.verdict]}</span> {WORDS[decision.verdict]}'
        f"</span></h1><p class='sentence'>{text(decision.sentence)}</p>"
        f"{told}<p class='rests'>{text(decision.grounds)}</p></section>"
    )


def _figure(number: int, figure: Figure) -> str:
    own = f"r{number}-{figure.name}"
    return (
        f'<figure id="{own}"><figcaption><h3>{name(figure.title)}</h3><p>{text(figure.reading)}</p>'
        f'</figcaption><div class="chart" data-for="{own}"></div>'
        f'<p><button type="button" class="csv" data-for="{own}">Data as CSV</button></p>'
        f'<script type="application/json" class="chart-of">{data(visible(figure.chart))}</script>'
        f'<script type="application/json" class="{DATA}-of">{data(visible(figure.rows))}</script>'
        "</figure>"
    )


def _protocol(document: Document) -> str:
    rows = "".join(
        f"<dt>{text(str(key).replace('_', ' '))}</dt><dd>{_value(value)}</dd>"
        for key, value in document.get("protocol", {}).items()
    )
    lead = "<p>Every choice behind the numbers.</p>"
    return f"<section><h2>Protocol</h2>{lead}<dl>{rows}</dl></section>" if rows else ""


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "<br>".join(f"{name(k)}: {_value(v)}" for k, v in value.items()) or "-"
    if isinstance(value, (list, tuple)):
        return ", ".join(name(v) for v in value) or "-"
    return "-" if value is None or value == "" else name(value)


def _provenance(document: Document) -> str:
    source = document.get("provenance", {})
    columns = {"name": "input", "rows": "rows", "sha256": "sha256"}
    kept = tables.rows_table(source.get("inputs", []), columns, caption="Inputs", id="inputs")
    command = source.get("command")
    again = (
        f"<p>The same again:</p><pre><code>{text(shlex.join(command))}</code></pre>"
        if command
        else ""
    )
    seed = document.get("protocol", {}).get("seed")
    return (
        f"<section><h2>Provenance</h2><p>counterrank {text(source.get('version', ''))}"
        f"{f', seed {text(seed)}' if seed is not None else ''}.</p>{again}{kept}</section>"
    )
