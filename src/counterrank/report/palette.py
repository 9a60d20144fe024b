"""Colours and style of pages, figures in notebooks, and pictures; safe for colour-blind readers."""

from __future__ import annotations

import re
from importlib.resources import files

# Contrast on the background: text 5.6 to 1, cores 5.0 to 1, outlines 3.2 to 1, in both.
LIGHT = {
    "bg": "#ffffff", "panel": "#f5f6f5", "ink": "#16191d", "ink2": "#4f565e", "rule": "#dcdfe2",
    "axis": "#868d95", "up": "#1b5e9e", "upw": "#cfe1f2", "upl": "#5b8fc0", "dn": "#b4540a",
    "dnw": "#f7dcc6", "dnl": "#cc7c3c", "nu": "#565e67", "nuw": "#e3e6e9", "nul": "#868d95",
    "cau": "#855600", "caubg": "#fcf1d8", "fail": "#a8173f", "failbg": "#fbe6ec",
    "focus": "#0b57d0", "s1": "#1b5e9e", "s2": "#b4540a", "s3": "#00785a", "s4": "#8a3a86",
    "s5": "#6b5d00", "s6": "#565e67",
}  # fmt: skip
DARK = {
    "bg": "#14171a", "panel": "#1d2125", "ink": "#e9ebed", "ink2": "#aab2ba", "rule": "#343a40",
    "axis": "#78818a", "up": "#7fb8ee", "upw": "#22415e", "upl": "#4f86b8", "dn": "#f09a5e",
    "dnw": "#53311a", "dnl": "#b96d38", "nu": "#b4bbc2", "nuw": "#353b42", "nul": "#78818a",
    "cau": "#e9b84f", "caubg": "#352a10", "fail": "#ff93ad", "failbg": "#401a26",
    "focus": "#8ab4ff", "s1": "#7fb8ee", "s2": "#f09a5e", "s3": "#4fd1a5", "s4": "#dc9bd8",
    "s5": "#d8c65a", "s6": "#b4bbc2",
}  # fmt: skip


def asset(file: str) -> str:
    """The text of a file of the page."""
    return files("counterrank.report").joinpath("assets", file).read_text(encoding="utf-8")


def page_style() -> str:
    """The style of a page: light or dark as its reader's system is, or as chosen; printed light."""
    return (
        f":root{{{_tokens(LIGHT)}}}"
        f"@media screen{{:root[data-theme=dark]{{{_tokens(DARK)}}}}}"
        "@media screen and (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{{_tokens(DARK)}}}}}"
        f"{asset('board.css')}{asset('page.css')}{asset('figure.css')}"
    )


def notebook_style() -> str:
    """The same for a part of a notebook, whose theme Jupyter and VS Code tell in their own ways."""
    dark = "body[data-jp-theme-light=false] .counterrank,body.vscode-dark .counterrank"
    rules = f"{asset('board.css')}{asset('figure.css')}"
    inside = re.sub(r"(^|(?<=\}))\s*([^{}@]+)\{", _scoped, rules)
    return f"<style>.counterrank{{{_tokens(LIGHT)}}}{dark}{{{_tokens(DARK)}}}{inside}</style>"


def picture_style() -> str:
    """The style of a picture: light, and every colour spelled out, as many readers ask for."""
    return re.sub(r"var\(--(\w+)\)", lambda found: LIGHT[found[1]], asset("figure.css"))


def _tokens(colours: dict[str, str]) -> str:
    scheme = "dark" if colours is DARK else "light"
    return "".join(f"--{name}:{value};" for name, value in colours.items()) + (
        f"color-scheme:{scheme}"
    )


def _scoped(rule: re.Match[str]) -> str:
    return ",".join(f".counterrank {one.strip()}" for one in rule[2].split(",")) + "{"
