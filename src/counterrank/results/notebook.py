"""What every result can do in a notebook: show itself, draw itself, become a pandas frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from counterrank.core.errors import UsageError, nearest
from counterrank.core.format import printable

WIDTH = 520  # pixels of a figure within a notebook's output
SHOWN = 100  # rows of a table there


class Notebook(ABC):
    """A result in a notebook. Everything here is read from its document alone."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain values, in the shape every verb shares."""

    def brief(self) -> Mapping[str, Any]:
        """The part of the document that is quick to compute: estimates, loud diagnoses, choices."""
        return self.to_dict()

    def plot(self, measure: str | None = None) -> Any:
        """The main figure as an Altair chart; ``measure`` is the measure or estimator to draw."""
        from counterrank.report import html as bundle

        if not bundle.there():
            raise UsageError(
                "Drawing needs the extra report, which is not installed.",
                todo="Install it: pip install 'counterrank[report]'.",
            )
        return _main_figure(self.brief(), measure).altair()

    def to_pandas(self) -> Any:
        """The estimates as a pandas frame."""
        if find_spec("pandas") is None:
            raise UsageError(
                "pandas is not installed.", todo="Install it, or use to_frame() for a Polars frame."
            )
        import pandas as pd

        return pd.DataFrame(self.brief()["estimates"])

    def _repr_html_(self) -> str:
        """The table, what does not pass and, where charts can be drawn, the main figure."""
        from counterrank.report import html as bundle
        from counterrank.report.charts import draw_svg
        from counterrank.report.figures import figures
        from counterrank.report.tables import estimates_table, loud

        document = self.brief()
        parts = [estimates_table(document, most=SHOWN), loud(document)]
        if bundle.there() and figures(document):
            parts.append(draw_svg(_main_figure(document, None), WIDTH))
        return f"<div>{''.join(parts)}</div>"


def _main_figure(document: Mapping[str, Any], measure: str | None) -> Any:
    """The first figure of the page, of all rows or of one measure's."""
    from counterrank.report.figures import figures

    rows = document["estimates"]
    if measure is not None:
        labels = list(dict.fromkeys(str(row["measure"]) for row in rows))
        if measure not in labels:
            raise UsageError(
                f'The result has no "{printable(measure)}".',
                found=nearest(measure, labels),
                todo=f"It has: {', '.join(labels)}.",
            )
        rows = [row for row in rows if row["measure"] == measure]
    found = figures({**document, "estimates": rows})
    if not found:
        raise UsageError("The result holds nothing to draw.")
    return found[0]
