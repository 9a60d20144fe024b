"""Formulas as MathML, which browsers draw by themselves, so that pages need no network."""

from __future__ import annotations

from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def inline(self: Any, node: Any) -> None:
    """A formula within a line."""
    self.body.append(convert(node.astext()))
    raise SkipNode


def block(self: Any, node: Any) -> None:
    """A formula that stands by itself."""
    self.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}
